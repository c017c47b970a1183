"""Seeds and offsets of regions, operators and rows, and shards of tensors."""

import ctypes
from ctypes import byref, c_char_p, c_uint32, c_uint64, c_void_p

import numpy as np

import law
from arith import U64
from library import (DISTS, DTYPES, Mesh, Op, Region, RowFill, RowList, at)

INFERENCE, WARMUP = 1, 2
KEEP, SHARED = 1, 1


def bits_of(state, first, count):
    return law.fill("bits", "u32", state, law.elements(first, count))


# --- shards ------------------------------------------------------------------


def any_dim(rng):
    n, parts = int(rng.integers(0, 40)), int(rng.integers(1, 9))
    cut = ("WHOLE", "BLOCK", "CEIL", "BOUNDS", "STRIDED",
           "ZIGZAG")[int(rng.integers(6))]
    bounds = None
    if cut == "BOUNDS":
        inner = sorted(int(x) for x in rng.integers(0, n + 1, parts - 1))
        bounds = [0] + inner + [n]
    return (n, cut, parts, int(rng.integers(parts)), int(rng.integers(1, 6)),
            bounds)


def shard(library, rng):
    dims = [any_dim(rng) for _ in range(int(rng.integers(1, 4)))]
    e = np.zeros(1, U64)
    for n, cut, parts, part, block, bounds in dims:
        i = law.indices(cut, n, parts, part, block, bounds)
        e = (e[:, None] * U64(n) + np.array(i, U64)).ravel()
    theirs = [law.elements(*span) for span in library.spans(dims)]
    theirs = np.concatenate(theirs) if theirs else np.zeros(0, U64)
    if not np.array_equal(e, theirs):
        return f"shard {dims}: the law has {e}, philox {theirs}"
    return None


# --- regions -----------------------------------------------------------------


def any_name(rng):
    """Signs of ASCII, and at times a letter beyond."""
    n = int(rng.integers(1, 12))
    name = bytes(int(x) for x in rng.integers(0x21, 0x7F, n))
    return name + "\u00e9".encode() if rng.integers(3) == 0 else name


def any_ops(rng):
    return [(int(rng.integers(1, 4)), 4 * int(rng.integers(1, 9)))
            for _ in range(int(rng.integers(1, 5)))]


class Place:
    """A context with a mesh, a seed that may be folded, and a region."""

    def __init__(self, library, rng):
        self.library, self.context = library, c_void_p()
        library("context_create", library.device, byref(self.context))
        self.seed = int(rng.integers(0, 2**64, dtype=U64))
        self.axes = list({any_name(rng): int(rng.integers(6))
                          for _ in range(int(rng.integers(4)))}.items())
        self.ops, self.name = any_ops(rng), any_name(rng)
        self.shared = int(rng.integers(3)) == 0
        self.set_seed(rng)
        self.make_region()

    def set_seed(self, rng):
        c = self.library.c
        c.philox_context_generator.restype = c_void_p
        generator = c_void_p(c.philox_context_generator(self.context))
        self.library("generator_seed", generator, c_uint64(self.seed))
        if rng.integers(2):
            index = int(rng.integers(0, 2**64, dtype=U64))
            self.library("generator_fold", generator, c_uint64(index))
            self.seed = int(law.fold(self.seed, law.RANK, index))

    def make_region(self):
        mesh = Mesh(size=ctypes.sizeof(Mesh), n_axes=len(self.axes))
        for axis, (name, coordinate) in zip(mesh.axes, self.axes):
            axis.name, axis.n_ranks, axis.coordinate = name, 6, coordinate
        self.library("context_set_mesh", self.context, byref(mesh))
        ops = (Op * len(self.ops))(*(Op(calls=calls, advance=advance)
                                     for calls, advance in self.ops))
        differs = (c_char_p * 8)(*(name for name, _ in self.axes))
        n = 0 if self.shared else len(self.axes)
        desc = Region(name=self.name, ops=ctypes.addressof(ops),
                      n_ops=len(self.ops), op_size=ctypes.sizeof(Op),
                      flags=SHARED if self.shared else 0,
                      differs=ctypes.addressof(differs) if n else None,
                      n_differs=n)
        self.region = c_void_p()
        self.library("region_create", self.context, byref(desc),
                     byref(self.region))

    def state(self, offset, op, call):
        """By the law, of a forward at an offset."""
        if self.shared:
            before = sum(calls * advance for calls, advance in self.ops[:op])
            return self.seed, offset + before + call * self.ops[op][1]
        seed = law.region_seed(self.seed, self.name, self.axes)
        return int(law.op_seed(seed, op, call)), offset

    def advance(self):
        if self.shared:
            return sum(calls * advance for calls, advance in self.ops)
        return max(advance for _, advance in self.ops)

    def forward(self, rng, offset):
        """One; the next offset, or what is wrong."""
        library, made = self.library, ctypes.create_string_buffer(512)
        kind = int(rng.integers(4))
        flags = INFERENCE if kind else WARMUP
        library("forward_begin", self.region, library.stream, c_uint32(flags),
                made)
        for op, (calls, _) in enumerate(self.ops):
            for call in range(calls):
                out = np.empty(9, np.uint32)
                fill = library.fill_desc("bits", "u32", (5, 9, 1, 9), out,
                                         None, None, None)
                library("pass_fill", made, c_uint32(op), c_uint32(call),
                        byref(fill))
                library.finish()
                state = self.state(offset, op, call)
                if not np.array_equal(out, bits_of(state, 5, 9)):
                    return None, (f"call {call} of operator {op} of region "
                                  f"{self.name} with {self.axes} at offset "
                                  f"{offset} has not the state {state}")
        if kind == 1:
            library("pass_abort", made)
        else:
            library("pass_commit", made, c_uint32(0), None)
        return offset + (self.advance() if kind else 0), None


def region(library, rng):
    place, offset, wrong = Place(library, rng), 0, None
    for _ in range(6):
        if not wrong:
            offset, wrong = place.forward(rng, offset)
    library("context_destroy", place.context)
    return wrong


# --- rows --------------------------------------------------------------------

ROW_KINDS = (("bits", "u32"), ("bits", "u64"), ("uniform", "f32"),
             ("uniform", "f64"), ("normal", "f32"))


def row_states(library, rng, rows, name, n):
    """The states that the rows have, some of them set."""
    states = [(int(law.row_seed(0, name, row)), 0) for row in range(n)]
    if library.get_rows(rows, n) != states:
        return states, f"rows of the table {name} begin otherwise"
    for row in range(n // 2):
        ends = (0, 8, 2**64 - 8, 2**64 - 4, 2**64 - 1)
        states[row] = (int(rng.integers(0, 2**64, dtype=U64)),
                       ends[int(rng.integers(5))])
    good = [s if s[1] % 2 == 0 else (s[0], 4) for s in states]
    library.set_rows(rows, good)
    return good, None


def table(library, rng):
    """A draw of some entries, with steps or not, and what it advances."""
    name, n = any_name(rng), int(rng.integers(1, 12))
    rows = library.rows(name, n)
    states, wrong = row_states(library, rng, rows, name, n)
    kept = bool(rng.integers(2))
    entries, count = int(rng.integers(1, 30)), int(rng.integers(1, 20))
    indices = rng.integers(0, n + 1, entries).astype(np.uint32)
    mask = rng.integers(0, 3, entries).astype(np.uint8)
    steps = rng.integers(0, 3, entries).astype(np.uint32) if kept else None
    kind, dtype = ROW_KINDS[int(rng.integers(5))]
    first = int(rng.integers(0, 9))
    out = np.zeros((entries, count), "u%d" % law.SIZES[dtype])
    lines = RowList(indices=at(indices), mask=at(mask), count=entries,
                    steps=at(steps))
    fill = RowFill(dist=DISTS[kind], dtype=DTYPES[dtype], first=first,
                   count=count, pitch=count, out=at(out),
                   flags=KEEP if kept else 0)
    library("rows_fill", rows, library.stream, byref(lines), byref(fill))
    library.finish()
    ours, after = np.zeros_like(out), list(states)
    for i in range(entries):
        if not mask[i] or indices[i] >= n:
            continue
        seed, offset = states[indices[i]]
        offset += 4 * int(steps[i]) if kept else 0
        if offset > 2**64 - 4 or (offset == 2**64 - 4 and not kept):
            offset = 2**64 - 1
        elif not kept:
            after[indices[i]] = seed, offset + 4
        ours[i] = law.fill(kind, dtype, (seed, offset),
                           law.elements(first, count), 0.0, 1.0)
    if not wrong and not np.array_equal(ours, out):
        wrong = f"a draw of {kind} {dtype} for rows of states {states}"
    if not wrong and library.get_rows(rows, n) != after:
        wrong = f"rows of states {states} advance otherwise than to {after}"
    library("rows_destroy", rows)
    return wrong


def check(library, rng, n):
    for what in shard, region, table:
        for _ in range(n):
            wrong = what(library, rng)
            if wrong:
                return wrong
        print(f"{what.__name__}: {n}")
    return None
