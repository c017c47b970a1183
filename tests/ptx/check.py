"""Checks what nvcc made of the kernels; tests/scripts/devices/ptx.sh runs it.

    check.py ptx FILE.ptx...           the rules of tests/ptx/ptx.py
    check.py code FILE.ptx... OBJECT...  the rules for machine code, below
    check.py sizes NVCC OBJECT...      registers, widths of stores and loads,
                                       and instructions by pipe, against
                                       tests/ptx/sizes.txt
    check.py update NVCC OBJECT...     writes those into the table, and their
                                       bounds into BENCHMARKS.md
    check.py report                    whether BENCHMARKS.md has those bounds
    check.py show NVCC OBJECT...       prints those, and the bounds they set, of
                                       the kernels that fit $KERNELS, or of all
    check.py archs OBJECT...           which architectures the objects hold

OBJECT is an object of a build, which holds machine code, NVCC is a version as
13.0.88. cuobjdump and nvdisasm are in the toolkit, or in PyPI's packages
nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm; CUOBJDUMP names the first.

Machine code: no kernel has local memory, and MUFU, the unit of approximations,
does only what nvcc itself begins exact sequences with: RSQ where the PTX has a
rounded square root (or our seed of one), RCP where it has a rounded reciprocal
or a division of integers, RSQ64H and RCP64H where it has one in f64; and RSQ of
a NaN, which makes the NaN of a rounded division. Flushing is in those sequences
only, too. Everything else of MUFU is an approximation.
"""
import pathlib
import re
import sys

import objects
import pipes
import ptx
import report
import show
import sizes


# --- rules --------------------------------------------------------------------

def has(operations, pattern):
    return any(re.match(pattern, operation) for operation in operations)


INTEGER_DIVISION = r"(?:div|rem)\.[us]\d+"
BEGINS = {
    "RSQ": r"sqrt\.rn\.f32|rsqrt\.approx\.ftz\.f32",
    "RCP": r"rcp\.rn\.f32|div\.rn\.f32|" + INTEGER_DIVISION,
    "RSQ64H": r"sqrt\.rn\.f64",
    "RCP64H": r"(?:rcp|div)\.rn\.f64",
}
FLUSHES = r"(?:sqrt|rcp|div)\.rn\.f(?:32|64)|" + INTEGER_DIVISION


def is_exact(instruction, operations):
    """Whether a MUFU begins an exact sequence, or makes a division's NaN."""
    unit = instruction.op.split(".")[1]
    if unit == "RSQ" and instruction.operands.endswith(", -QNAN"):
        return has(operations, r"div\.rn\.f32")
    return unit in BEGINS and has(operations, BEGINS[unit])


def code_faults(function, operations):
    for instruction in function.code:
        where = (f"{function.arch} {function.name} {instruction.address:#x}: "
                 f"{instruction.op} {instruction.operands}")
        parts = instruction.op.split(".")
        if parts[0] in ("LDL", "STL"):
            yield where + ": local memory"
        elif parts[0] == "MUFU" and not is_exact(instruction, operations):
            yield where + ": an approximation"
        elif "FTZ" in parts and not has(operations, FLUSHES):
            yield where + ": flushes"


def check_code(paths):
    operations, faults, count = {}, [], 0
    for path in (path for path in paths if path.endswith(".ptx")):
        for name, own in ptx.operations(pathlib.Path(path).read_text()).items():
            operations.setdefault(name, set()).update(own)
    for path in (path for path in paths if not path.endswith(".ptx")):
        for (arch, name), (_, memory) in objects.resources(path).items():
            if memory:
                faults.append(f"{arch} {name}: {memory} bytes of local memory")
        for function in objects.functions(path):
            count += len(function.code)
            if function.name not in operations:
                faults.append(f"{function.name}: not in the PTX")
            own = operations.get(function.name, set())
            faults += code_faults(function, own)
    print(f"{count} instructions")
    return faults if count else ["no machine code"]


def check_ptx(paths):
    faults, count = [], 0
    for path in paths:
        text = pathlib.Path(path).read_text()
        count += sum(bool(re.search(rf"\.{ptx.FLOAT}\b", operation))
                     for _, _, operation, _ in ptx.instructions(text))
        faults += [f"{path}, {fault}" for fault in ptx.faults(text)]
    print(f"{count} floating-point instructions")
    return faults if count else ["no floating-point instructions"]


# --- command line -------------------------------------------------------------

def archs(paths):
    print(*sorted({arch for path in paths
                   for arch, _ in objects.resources(path)},
                  key=sizes.arch_number))
    return []


def update(version, paths):
    faults = sizes.update(version, paths)
    if not faults:
        report.update()
    return faults


WITH_VERSION = {"sizes": sizes.check, "update": update, "show": show.show}
WITHOUT = {"ptx": check_ptx, "code": check_code, "archs": archs}


def run(command, *arguments):
    if command == "report":
        return report.check()
    if command in WITH_VERSION:
        version, *paths = arguments
        return WITH_VERSION[command](version, paths)
    return WITHOUT[command](arguments)


def main(*arguments):
    try:
        faults = run(*arguments)
    except (pipes.UnknownOpcode, sizes.NoMainLoop) as error:
        faults = [str(error)]
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    known = sys.argv[1:2] == ["report"] or (
        len(sys.argv) > 2 and sys.argv[1] in {**WITH_VERSION, **WITHOUT})
    if not known:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
