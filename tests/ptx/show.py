"""`make sass`: what kernels take of a GPU, and the bounds that this sets."""
import fnmatch
import os

import pipes
import sizes

EXPLAINED = """\
Instructions by pipe are those for every 16 bytes that the main loop stores
(compare and kernel_sample_*: loads); of a kernel without such a loop, those of
all its code, once. wide: of imad those that take two turns. Stores/loads are
bytes x how many. A bound is the GB/s that no run can pass, by the pipe that is
busiest or by the memory; one of a pipe says nothing of waiting. Where the
pipes' and the GPUs' figures are from: tests/ptx/pipes.py, tests/ptx/gpus.txt.
"""


def is_chosen(name):
    patterns = os.environ.get("KERNELS", "").split()
    return not patterns or any(fnmatch.fnmatchcase(name, p) for p in patterns)


def with_commas(rate):
    return f"{rate:,.0f}"


def bound_cells(size, arch, name, gpus):
    """For each loop, its bounds on the GPUs; "-" where there is none."""
    columns = [sizes.bounds(size, arch, name, gpu) or [None] for gpu in gpus]
    return [[f"{with_commas(bound[0])} {bound[1]}" if bound else "-"
             for bound in row] for row in zip(*columns)]


def rows_of(name, size, arch, gpus):
    cells = bound_cells(size, arch, name, gpus) if gpus else [[]] * len(
        size.counts)
    for i, (counts, bounds) in enumerate(zip(size.counts, cells)):
        first = ([name, str(size.registers), size.code, size.loop] if i == 0
                 else ["  other parameters", "", "", ""])
        yield first + [sizes.number(n) for n in counts] + bounds


def print_aligned(head, rows):
    lengths = [max(len(row[i]) for row in [head, *rows])
               for i in range(len(head))]
    for row in [head, *rows]:
        cells = [cell.ljust(n) if i in (0, 2, 3) else cell.rjust(n)
                 for i, (cell, n) in enumerate(zip(row, lengths))]
        print("  ".join(cells).rstrip())
    print()


def show(version, paths):
    found = {key: size for key, size in sizes.measure(version, paths).items()
             if is_chosen(key[2])}
    if not found:
        return [f"no kernel fits KERNELS={os.environ.get('KERNELS', '')}"]
    print(EXPLAINED)
    for arch in sorted({key[1] for key in found}, key=sizes.arch_number):
        gpus = [gpu for gpu in pipes.gpus() if gpu.arch == arch]
        print(f"{arch}, nvcc {version}")
        head = ["kernel", "registers", "stores/loads", "in the main loop",
                *pipes.Counts._fields,
                *(f"{gpu.name}, GB/s" for gpu in gpus)]
        print_aligned(head, [row for key in sorted(found) if key[1] == arch
                             for row in rows_of(key[2], found[key], arch, gpus)])
    return []
