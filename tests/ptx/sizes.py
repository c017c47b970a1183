"""What kernels take of a GPU, and the table of it, tests/ptx/sizes.txt.

measure() finds it in machine code, check() compares it with the table, update()
writes the table. bounds() are the rates that it allows on a GPU of gpus.txt.
"""
import collections
import fractions
import pathlib
import re

import objects
import pipes
import sass

TABLE = pathlib.Path(__file__).with_name("sizes.txt")
# What nvcc may decide otherwise after a change elsewhere
MORE_REGISTERS, MORE_INSTRUCTIONS = 2, fractions.Fraction("1.02")

# Of a kernel: registers; stores and loads by widths in bytes, in all of its
# code and in its main loop, each as "16x4,2x8/16x1"; and its loops, the shortest
# first: pipes.Counts for every 16 bytes that one moves. A kernel without a main
# loop ("-") has one: the counts of its code, of which no bound follows.
Size = collections.namedtuple("Size", "registers code loop counts")


class NoMainLoop(Exception):
    pass


# --- main loops ---------------------------------------------------------------

def loads_four(instruction):
    """Four logits at once: 16 bytes of f32, 8 of the others."""
    return re.match(r"LDG\.(?:\w+\.)*(?:64|128)\b", instruction.op)


def multiplies(instruction):
    """A word of the noise: the greater multiplier of Philox."""
    return (re.match(r"IMAD\.WIDE\.U32", instruction.op) and
            "-0x2daee0ad" in instruction.operands)


def sampling(function):
    """With noise, over columns that cannot win, and not the last."""
    loop = sass.loop_through(function, [loads_four, multiplies])
    return [loop] if loop else []


def comparing(function):
    return sass.main_loops(function, sass.loaded)


# Kernels that have one loop for nearly all they do, how it is found, and what
# its counts are for 16 bytes of
MAIN_LOOPS = [
    (r"fill_(?!truncated|categorical)\w+|copies|kernel_rows_\w+_[uf]\d+",
     sass.main_loops, "stored"),
    (r"compare", comparing, "loaded"),
    (r"kernel_sample_b?f\d+", sampling, "loaded"),
]


def main_loops(function):
    """(loops, "stored" or "loaded"), no loops if the kernel has none such."""
    name = function.name.removeprefix("philox_")
    for pattern, find, moved in MAIN_LOOPS:
        if re.fullmatch(pattern, name):
            return find(function), moved
    return [], None


def is_expected(function):
    name = function.name.removeprefix("philox_")
    return any(re.fullmatch(pattern, name) for pattern, _, _ in MAIN_LOOPS)


# --- what machine code takes --------------------------------------------------

def widths(code, moved):
    """How many instructions move how many bytes: "16x4,2x8", or "-"."""
    found = collections.Counter(map(moved, code))
    return ",".join(f"{width}x{found[width]}"
                    for width in sorted(found, reverse=True) if width) or "-"


def both_widths(code):
    return f"{widths(code, sass.stored)}/{widths(code, sass.loaded)}"


def rounded(value):
    """As it stands in the table."""
    return fractions.Fraction(round(value * 100), 100)


def for_16(loop, moved):
    per = fractions.Fraction(16, getattr(loop, moved))
    return pipes.Counts(*(rounded(per * n) for n in pipes.count(loop.code)))


def size_of(function, registers):
    loops, moved = main_loops(function)
    if is_expected(function) and not loops:
        raise NoMainLoop(f"{function.arch} {function.name}: no main loop")
    if not loops:
        # without what fills up its end
        code = [i for i in function.code if i.op != "NOP"]
        return Size(registers, both_widths(code), "-",
                    [pipes.Counts(*map(rounded, pipes.count(code)))])
    return Size(registers, both_widths(function.code),
                both_widths(loops[0].code),
                [for_16(loop, moved) for loop in loops])


def measure(version, paths):
    found = {}
    for path in paths:
        registers = objects.resources(path)
        for function in objects.functions(path):
            name = re.sub("^philox_(?:fill_)?", "", function.name)
            found[version, function.arch, name] = size_of(
                function, registers[function.arch, function.name][0])
    return found


# --- the table ----------------------------------------------------------------

HEADER = """\
# What kernels take of a GPU: version of nvcc, architecture, kernel, registers
# of a thread, its stores/loads of global memory (bytes x how many) in the code
# and in the loop that does most of the work, and the instructions of that loop
# for every 16 bytes that it stores, by pipe, in this order:
#     %s
# (wide: of imad those that take two turns; see tests/ptx/pipes.py). Fills with
# a loop for plain parameters have that first, then the other. kernel_sample_*
# and compare: for every 16 bytes loaded; of samples with noise, over columns
# that cannot win. A kernel without such a loop (-): of all its code, once.
# Written by tests/scripts/devices/ptx.sh --update, which says more.
""" % " ".join(pipes.Counts._fields)


def number(value):
    return f"{float(value):.2f}".removesuffix("00").removesuffix(".")


def read(path=TABLE):
    table = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line and line[0] != "#":
            version, arch, name, registers, code, loop, *counts = line.split()
            table[version, arch, name] = Size(
                int(registers), code, loop,
                [pipes.Counts(*map(fractions.Fraction, each.split(",")))
                 for each in counts])
    return table


def arch_number(arch):
    return int(re.search(r"\d+", arch)[0])


def version_number(version):
    return [int(part) for part in version.split(".")]


def order(key):
    return version_number(key[0]), arch_number(key[1]), key[2]


def write(table, path=TABLE):
    lines = [" ".join([*key, str(size.registers), size.code, size.loop] +
                      [",".join(map(number, each)) for each in size.counts])
             for key, size in sorted(table.items(), key=lambda of: order(of[0]))]
    path.write_text(HEADER + "\n".join(lines) + "\n")


def update(version, paths):
    """What this version made of these architectures before is replaced."""
    found = measure(version, paths)
    archs = {key[1] for key in found}
    kept = {key: size for key, size in read().items()
            if key[0] != version or key[1] not in archs}
    write({**kept, **found})
    return [] if found else ["no kernels"]


# --- comparison ---------------------------------------------------------------

def mean_width(text):
    """Of "16x4,2x8"; None of "-"."""
    pairs = [tuple(map(int, part.split("x"))) for part in text.split(",")
             if text != "-"]
    count = sum(n for _, n in pairs)
    return (fractions.Fraction(sum(width * n for width, n in pairs), count)
            if count else None)


def is_narrower(now, before):
    """Of "STORES/LOADS": whether either moves fewer bytes at a time."""
    if now == "-" or before == "-":
        return now != before
    means = [(mean_width(a), mean_width(b))
             for a, b in zip(now.split("/"), before.split("/"))]
    return any(a is not None and b is not None and a < b for a, b in means)


def grown(now, before):
    """The counts that have become worse; uniform ones cost little."""
    for name, a, b in zip(pipes.Counts._fields, now, before):
        if name != "uniform" and a > b * MORE_INSTRUCTIONS:
            yield f"{name} {number(a)}, was {number(b)}"


def worse(now, before):
    """What has become worse than the table has it, in words."""
    if now.registers > before.registers + MORE_REGISTERS:
        yield f"{now.registers} registers, were {before.registers}"
    for what in ("code", "loop"):
        a, b = getattr(now, what), getattr(before, what)
        if is_narrower(a, b):
            yield f"stores/loads of the {what} {a}, were {b}"
    if len(now.counts) != len(before.counts):
        yield f"{len(now.counts)} main loops, were {len(before.counts)}"
    for a, b in zip(now.counts, before.counts):
        yield from grown(a, b)


def compare(table, found, version):
    """The faults of what was found; what has become better is printed."""
    for key, now in sorted(found.items(), key=lambda of: order(of[0])):
        name, before = " ".join(key[1:]), table.get(key)
        if not before:
            yield f"{name}: not in the table"
            continue
        faults = list(worse(now, before))
        yield from (f"{name}: {fault}" for fault in faults)
        if not faults and any(worse(before, now)):
            print(f"{name} has become better: "
                  "tests/scripts/devices/ptx.sh --update notes it")
    archs = {key[1] for key in found}
    for key in sorted(table, key=order):
        if key[0] == version and key[1] in archs and key not in found:
            yield f"{' '.join(key[1:])}: in the table only"


def check(version, paths):
    found = measure(version, paths)
    faults = list(compare(read(), found, version))
    print(f"{len(found)} kernels")
    return faults if found else ["no kernels"]


# --- bounds -------------------------------------------------------------------

def moved_for_16(size, name):
    """Bytes that go through memory for 16 that are counted."""
    totals = [sum(int(width) * int(n) for width, n in
                  (part.split("x") for part in text.split(",") if text != "-"))
              for text in size.loop.split("/")]
    stored, loaded = totals
    reads = re.fullmatch(MAIN_LOOPS[1][0] + "|" + MAIN_LOOPS[2][0], name)
    return fractions.Fraction(16 * (stored + loaded),
                              loaded if reads else stored)


def bounds(size, arch, name, gpu, in_caches=False):
    """(GB/s, what limits it) of each main loop; none without one.

    Arrays that may lie in caches are not limited by the memory.
    """
    if size.loop == "-":
        return []
    moved = 0 if in_caches else moved_for_16(size, name)
    return [pipes.bound(counts, moved, arch, gpu) for counts in size.counts]
