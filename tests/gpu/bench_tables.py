#!/usr/bin/env python3
"""Tables for BENCHMARKS.md of the JSON lines of `philox bench --json`.

    bench_tables.py FILE [NVCC [SIZES]]

Lines that are no JSON objects are passed over, except that a run without any
figure is an error: its output is shown as it is. Fills have a row for each kind
and a column for each size; a peer's column is its figure and, in brackets, ours
divided by it, at the size that its heading names. All others have a row for
each figure. On a GPU that is known they have a column of bounds (bounds.py): by
the counts of that version of nvcc, which SIZES has (tests/ptx/sizes.txt).
"""
import json
import sys

import bounds
from bounds import bytes_of


def read(path):
    rows = []
    for line in open(path, encoding="utf-8", errors="replace"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and "name" in row:
            rows.append(row)
    return rows


def short(value):
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def time(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def figure(value, unit):
    if value is None:
        return "missing"
    return time(value) if unit == "ns" else f"{short(value)} {unit or ''}".strip()


def print_table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(cell.replace("|", ",") for cell in row) + " |")
    print()


def in_order(items):
    return list(dict.fromkeys(items))


def fill_cell(rows, kind, size, peer):
    for row in rows:
        if (row["kind"], row["size"], row["peer"]) == (kind, size, peer):
            if row["peer_value"] is not None:
                return f"{short(row['peer_value'])} ({short(row['ratio'])})"
    return ""


def bound_cells(rows, kinds, size, limits):
    """The column of bounds, at one size: nothing if there is no bound."""
    found = {row["kind"]: limits.find(row) for row in rows if row["size"] == size}
    if not any(found.values()):
        return [], [[] for _ in kinds]
    return [f"bound, {size}"], [[bounds.cell(found.get(kind))] for kind in kinds]


def print_fills(rows, limits):
    """Each row's name is fill/KIND/DTYPE/SIZE."""
    for row in rows:
        _, kind, dtype, row["size"] = row["name"].split("/")
        row["kind"] = f"{kind} {dtype}"
    kinds = in_order(row["kind"] for row in rows)
    sizes = sorted(in_order(row["size"] for row in rows), key=bytes_of)
    columns = [
        (peer, size)
        for peer in in_order(row["peer"] for row in rows)
        for size in sizes
        if any(fill_cell(rows, kind, size, peer) for kind in kinds)
    ]
    ours = {(row["kind"], row["size"]): row["value"] for row in rows}
    head, cells = bound_cells(rows, kinds, sizes[-1], limits)
    print_table(
        ["GB/s"] + sizes + head + [f"{peer}, {size}" for peer, size in columns],
        [
            [kind]
            + [short(ours.get((kind, size))) for size in sizes]
            + cell
            + [fill_cell(rows, kind, size, peer) for peer, size in columns]
            for kind, cell in zip(kinds, cells)
        ],
    )


def print_others(rows, limits):
    found = [limits.find(row) for row in rows]
    bounded = any(found)
    print_table(
        ["what", "philox", "compared with", "ratio"] + ["bound"] * bounded,
        [
            [
                row["name"],
                figure(row["value"], row["unit"]),
                f"{row['peer']}: {figure(row['peer_value'], row['unit'])}"
                if row["peer"]
                else "",
                short(row["ratio"]),
            ]
            + [bounds.cell(bound, " GB/s")] * bounded
            for row, bound in zip(rows, found)
        ],
    )


def print_notes(rows):
    """Versions of peers, and why one is missing: each once."""
    notes = in_order(
        (row["peer"], row["note"]) for row in rows if row.get("note") and row["peer"]
    )
    for peer, note in notes:
        print(f"- {peer}: {note}")


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    rows = read(sys.argv[1])
    machine = next((row for row in rows if row["name"] == "machine"), {})
    rows = [row for row in rows if row["name"] != "machine"]
    if not rows:
        sys.exit("no figures")
    limits = bounds.Bounds(machine, *sys.argv[2:])
    fills = [row for row in rows if row["name"].startswith("fill/")]
    others = [row for row in rows if not row["name"].startswith("fill/")]
    if fills:
        print_fills(fills, limits)
    if others:
        print_others(others, limits)
    for line in limits.summary():
        print(f"- {line}")
    print_notes(rows)


main()
