"""The table of bounds in BENCHMARKS.md, by the newest counts of sizes.txt.

rewrite() makes it anew where a table has that head; what was measured, in the
last column, stays, and is divided by the new bound.
"""
import pathlib
import re

import pipes
import show
import sizes

FILE = pathlib.Path(__file__).resolve().parents[2] / "BENCHMARKS.md"
BEGIN = "| kernel, nvcc "
ARCH, GPU = "sm_90", "NVIDIA H200"
COUNTS = "issue alu fma imad wide f64 xu lsu".split()


def head(version):
    names = [f"kernel, nvcc {version}, {ARCH}", "registers", *COUNTS,
             f"{pipes.find_gpu(GPU).name}, GB/s at most", "measured"]
    return [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]


def with_fraction(measured, rate):
    """Of "2,000 (0.50)", by the rate's bound."""
    if not measured:
        return ""
    value = measured.split(" (")[0]
    return f"{value} ({float(value.replace(',', '')) / rate:.2f})"


def rows_of(name, size, measured):
    gpu = pipes.find_gpu(GPU)
    bounds = sizes.bounds(size, ARCH, name, gpu)
    for i, (counts, (rate, limit)) in enumerate(zip(size.counts, bounds)):
        label = name if i == 0 else f"{name}, other parameters"
        cells = [label, str(size.registers),
                 *(sizes.number(getattr(counts, part)) for part in COUNTS),
                 f"{show.with_commas(rate)} {limit}",
                 with_fraction(measured.get(label), rate)]
        yield f"| {' | '.join(cells)} |".replace("|  |", "| |")


def measured_in(lines):
    """{first cell: last cell} of a table's rows."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in lines]
    return {row[0]: row[-1] for row in rows}


def made(table, measured):
    version = max({key[0] for key in table}, key=sizes.version_number)
    return head(version) + [
        row for key in sorted(table, key=sizes.order)
        if key[:2] == (version, ARCH) and table[key].loop != "-"
        for row in rows_of(key[2], table[key], measured)]


def rewrite(text, table):
    """The text with the table made anew; ValueError if it has none."""
    lines = text.split("\n")
    begin = next((i for i, line in enumerate(lines) if line.startswith(BEGIN)),
                 None)
    if begin is None:
        raise ValueError(f"{FILE.name} has no table that begins with {BEGIN}")
    end = next(i for i in range(begin, len(lines))
               if not re.match(r"\|", lines[i]))
    measured = measured_in(lines[begin + 2:end])
    return "\n".join(lines[:begin] + made(table, measured) + lines[end:])


def update():
    FILE.write_text(rewrite(FILE.read_text(), sizes.read()))


def check():
    """Faults: the table is not that of the counts."""
    text = FILE.read_text()
    if rewrite(text, sizes.read()) == text:
        return []
    return [f"{FILE.name} has other bounds than tests/ptx/sizes.txt: "
            "tests/scripts/devices/ptx.sh --update"]
