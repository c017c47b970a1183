"""Checks what nvcc made of the kernels; tests/scripts/devices/ptx.sh runs it.

    check.py ptx FILE.ptx...           the rules of tests/ptx/ptx.py
    check.py code FILE.ptx... OBJECT...  the rules for machine code, below
    check.py sizes NVCC OBJECT...      registers, widths of stores and loads,
                                       and instructions per 16 bytes stored or
                                       four logits, against tests/ptx/sizes.txt
    check.py update NVCC OBJECT...     writes those into the table
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
import collections
import os
import pathlib
import re
import subprocess
import sys

import ptx
import sass

TABLE = pathlib.Path(__file__).with_name("sizes.txt")
# What nvcc may decide otherwise after a change elsewhere
MORE_REGISTERS, MORE_INSTRUCTIONS = 2, 1.02


# --- what the objects hold ----------------------------------------------------

def dump(*arguments):
    """What cuobjdump says, which takes seconds, is kept in the folder $DUMPS."""
    kept = os.environ.get("DUMPS")
    if not kept:
        return run_cuobjdump(*arguments)
    path = pathlib.Path(kept, re.sub(r"\W", "_", " ".join(arguments)))
    if not path.exists():
        path.write_text(run_cuobjdump(*arguments))
    return path.read_text()


def run_cuobjdump(*arguments):
    tool = os.environ.get("CUOBJDUMP", "cuobjdump")
    # it calls nvdisasm, which lies beside it
    path = os.pathsep.join([str(pathlib.Path(tool).parent),
                            os.environ.get("PATH", "")])
    return subprocess.run([tool, *arguments], check=True, text=True,
                          stdout=subprocess.PIPE,
                          env={**os.environ, "PATH": path}).stdout


def resources(path):
    """{(architecture, function): (registers, bytes of local memory)}"""
    arch, name, found = None, None, {}
    for line in dump("--dump-resource-usage", path).splitlines():
        if match := re.search(r"\barch = (sm_\w+)", line):
            arch = match[1]
        elif match := re.match(r"\s*Function (\S+):", line):
            name = match[1]
        elif match := re.match(r"\s*REG:(\d+) STACK:(\d+).*LOCAL:(\d+)", line):
            found[arch, name] = (int(match[1]), int(match[2]) + int(match[3]))
    return found


def functions(path):
    return list(sass.functions(dump("-sass", path).splitlines()))


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
        for (arch, name), (_, memory) in resources(path).items():
            if memory:
                faults.append(f"{arch} {name}: {memory} bytes of local memory")
        for function in functions(path):
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


# --- sizes --------------------------------------------------------------------

def loads_four(instruction):
    """Four logits at once: 16 bytes of f32, 8 of the others."""
    return re.match(r"LDG\.(?:\w+\.)*(?:64|128)\b", instruction.op)


def multiplies(instruction):
    """A word of the noise: the greater multiplier of Philox."""
    return (re.match(r"IMAD\.WIDE\.U32", instruction.op) and
            "-0x2daee0ad" in instruction.operands)


def counts(function):
    """What the loops of a kernel issue where they are measured, or nothing."""
    if function.name.startswith("philox_fill_"):
        return [16 * loop.issued / loop.stored
                for loop in sass.main_loops(function)]
    if function.name.startswith("philox_kernel_sample_"):
        # with noise, of columns that cannot win, and not the last
        loop = sass.loop_through(function, [loads_four, multiplies])
        return [loop.issued] if loop else []
    return []


# Of a kernel: registers, "stores/loads" by widths in bytes, as "16x4,2x8/16x1",
# and the instructions of its loops
Size = collections.namedtuple("Size", "registers widths issued")


def widths(function, moved):
    """How many instructions move how many bytes: "16x4,2x8", or "-"."""
    found = collections.Counter(moved(i) for i in function.code)
    return ",".join(f"{width}x{found[width]}"
                    for width in sorted(found, reverse=True) if width) or "-"


def measure(version, paths):
    """{(version, architecture, kernel): Size}"""
    found = {}
    for path in paths:
        registers = resources(path)
        for function in functions(path):
            name = re.sub("^philox_(?:fill_)?", "", function.name)
            found[version, function.arch, name] = Size(
                registers[function.arch, function.name][0],
                widths(function, sass.stored) + "/" +
                widths(function, sass.loaded), counts(function))
    return found


def read_table():
    table = {}
    for line in TABLE.read_text().splitlines() if TABLE.exists() else []:
        if line and line[0] != "#":
            version, arch, name, registers, widths, *counts = line.split()
            table[version, arch, name] = Size(int(registers), widths,
                                              [float(n) for n in counts])
    return table


HEADER = """\
# What kernels take of a GPU: version of nvcc, architecture, kernel, registers
# of a thread, its stores and loads of global memory (bytes x how many in the
# code), and of fills the instructions issued for every 16 bytes stored by the
# loop that does most of the work (two loops where one is for plain parameters).
# kernel_sample_*: for every four logits, with noise, none of which can win.
# Written by tests/scripts/devices/ptx.sh --update, which says more.
"""


def arch_number(arch):
    return int(re.search(r"\d+", arch)[0])


def update(version, paths):
    table = {**read_table(), **measure(version, paths)}
    with open(TABLE, "w") as file:
        file.write(HEADER)
        for key in sorted(table, key=lambda k: (k[0], arch_number(k[1]), k[2])):
            size = table[key]
            file.write(" ".join([*key, str(size.registers), size.widths] +
                                [f"{count:.2f}" for count in size.issued]) +
                       "\n")
    return []


def is_worse(now, before):
    return (now.registers > before.registers + MORE_REGISTERS or
            now.widths != before.widths or
            len(now.issued) != len(before.issued) or
            any(a > b * MORE_INSTRUCTIONS
                for a, b in zip(now.issued, before.issued)))


def check_sizes(version, paths):
    table, found, faults = read_table(), measure(version, paths), []
    for key, now in found.items():
        before = table.get(key)
        name = " ".join(key[1:])
        if not before:
            faults.append(f"{name}: not in the table")
        elif is_worse(now, before):
            faults.append(f"{name}: {now}, and {before} in the table")
        elif is_worse(before, now):
            print(f"{name} has become better: {now}, not {before}; "
                  "tests/scripts/devices/ptx.sh --update notes it")
    archs = {key[1] for key in found}
    for key in sorted(table):
        if key[0] == version and key[1] in archs and key not in found:
            faults.append(f"{' '.join(key[1:])}: in the table only")
    print(f"{len(found)} kernels")
    return faults if found else ["no fills"]


# --- command line -------------------------------------------------------------

def archs(paths):
    print(*sorted({arch for path in paths for arch, _ in resources(path)},
                  key=arch_number))
    return []


def main(command, *arguments):
    if command in ("sizes", "update"):
        version, *paths = arguments
        run = check_sizes if command == "sizes" else update
        faults = run(version, paths)
    else:
        run = {"ptx": check_ptx, "code": check_code, "archs": archs}[command]
        faults = run(arguments)
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("ptx", "code", "sizes",
                                                "update", "archs"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
