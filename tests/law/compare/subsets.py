"""Subsets by weight: of weights and logits of all dtypes, and of a few items
also by the page's functions."""

from ctypes import addressof, byref, c_uint64

import numpy as np

import law
import page
import weights
from arith import F32, U64, f32_of
from library import DTYPES, Rng, State, Subset, at
from states import any_state, pick
from values import widened

LOST = 2**64 - 1, 2**32 - 1             # a key and a count of no subset
BEFORE = -7, 7, 7                       # what arrays have, behind their ends


def any_items(rng):
    """Up to 20,000, some about a multiple of 4,096."""
    shape = int(rng.integers(8))
    if shape == 0:
        return 4096 * int(rng.integers(1, 5)) + int(rng.integers(-1, 2))
    return 1 + int(rng.integers(20000 if shape == 1 else
                                (12, 300, 3000)[shape % 3]))


def any_wanted(rng, items):
    """From one to all."""
    return pick(rng, (1, items, max(items - 1, 1), 1 + items // 10,
                      1 + int(rng.integers(items)),
                      1 + int(rng.integers(min(items, 50)))))


def one_in(rng, often, n):
    return rng.integers(0, often, n) == 0


def any_weights(rng, n):
    kind = int(rng.integers(8))
    if kind == 0:                           # all that are finite
        return f32_of(rng.integers(0, 0x7F800000, n))
    if kind == 1:                           # denormal, but for the largest
        most = 2**int(rng.integers(2, 25))
        return f32_of(rng.integers(0, most, n))
    if kind == 2:                           # equal
        return np.full(n, any_weights(rng, 1)[0], F32)
    if kind == 3:
        return (np.arange(n) * 7 % 16).astype(F32)
    if kind == 4:                           # mostly, or all, 0
        return np.where(one_in(rng, pick(rng, (10, 300)), n), 1.5, 0)
    if kind == 5:
        return 10.0**rng.uniform(-46, 38, n)
    return rng.exponential(pick(rng, (1, 1e-6, 1e4)), n)


def any_logits(rng, n):
    kind = int(rng.integers(5))
    if kind == 0:                           # keys are tied
        return np.round(rng.standard_normal(n)) * 1e7 + pick(rng, (0, 3e8))
    if kind == 1:
        return np.full(n, rng.standard_normal() * pick(rng, (1, 1e30)))
    if kind == 2:
        return f32_of(rng.integers(0, 2**32, n) & ~np.int64(1 << 30))
    return rng.standard_normal(n) * pick(rng, (0.1, 1, 5, 60, 3e4))


def any_numbers(rng, n, is_log):
    x = np.asarray((any_logits if is_log else any_weights)(rng, n), F32)
    least = -np.inf if is_log else 0
    for value in least, -0.0, np.inf:
        if rng.integers(4) == 0:
            x[one_in(rng, pick(rng, (3, 20, 1000)), n)] = value
    if rng.integers(10) == 0:
        x[int(rng.integers(n))] = pick(rng, (
            np.nan, -np.nan, -1, -1e-40, -np.inf, -3e38))
    if rng.integers(30) == 0:
        x[:] = least
    return x


class Case:
    """A subset: what the library gets, and writes."""

    def __init__(self, library, rng):
        self.items, self.is_log = any_items(rng), int(rng.integers(2))
        self.wanted = any_wanted(rng, self.items)
        self.dtype = pick(rng, ("f32", "bf16", "f16"))
        self.given = law.packed(any_numbers(rng, self.items, self.is_log),
                                self.dtype)
        self.x = widened(self.given, self.dtype)
        self.state = any_state(rng)
        self.is_cell = int(rng.integers(2))
        if rng.integers(20) == 0:
            self.state, self.is_cell = (self.state[0], 2**64 - 1), 1
        self.arrays = [np.full(n + 1, before, dtype) for n, before, dtype in (
            zip((self.wanted, self.wanted, 1), BEFORE,
                (np.int32, U64, np.uint32)))]
        self.asked = [True] + [bool(rng.integers(4)) for _ in range(2)]
        self.draw(library)

    def draw(self, library):
        chosen, keys, count = (at(array) if asked else None for array, asked in
                               zip(self.arrays, self.asked))
        desc = Subset(weights=at(self.given), dtype=DTYPES[self.dtype],
                      is_log=self.is_log, items=self.items, wanted=self.wanted,
                      chosen=chosen, keys=keys, count=count)
        size, cell = c_uint64(), State(*self.state)
        library("subset_scratch_size", byref(desc), byref(size))
        scratch = np.full(size.value // 8 + 1, 0xA5A5A5A5A5A5A5A5, U64)
        desc.scratch = at(scratch)
        rng = Rng(*self.state)
        if self.is_cell:
            rng = Rng(0, 0, addressof(cell))
        library("rng_subset", library.device, library.stream, rng, byref(desc))
        library.finish()

    def expected(self, made):
        """What is written for indices and keys, or None."""
        if made is None:
            return [-1] * self.wanted, [LOST[0]] * self.wanted, [LOST[1]]
        rest = self.wanted - len(made[0])
        return ([int(i) for i in made[0]] + [-1] * rest,
                [int(key) for key in made[1]] + [0] * rest, [len(made[0])])

    def compared(self, made, by):
        """What is wrong first; arrays that were not asked for stay."""
        for name, ours, array, asked, before in zip(
                ("item", "key", "count"), self.expected(made), self.arrays,
                self.asked, BEFORE):
            ours = (ours if asked else [before] * len(ours)) + [before]
            wrong = [i for i, (a, b) in enumerate(zip(ours, array.tolist()))
                     if a != b]
            if wrong:
                i = wrong[0]
                return (f"{name} {i} of a subset of {self.wanted} of "
                        f"{self.items}, {self.dtype}, is_log {self.is_log}, "
                        f"state {self.state}, {self.given[:40]}: {by} has "
                        f"{ours[i]:#x}, philox {int(array[i]):#x}")
        return None

    def by_law(self):
        logits = self.x if self.is_log else weights.weight_ln(self.x)
        return weights.subset(self.state, logits, self.wanted)

    def by_page(self, p):
        x = [p.f32(float(y)) for y in self.x]
        logits = x if self.is_log else [p.weight_ln(y) for y in x]
        made = p.subset(self.state, logits, self.wanted)
        return made if made is None else ([i for i, _ in made],
                                          [key for _, key in made])


def check(library, rng, n):
    p, items = page.load(), 0
    for _ in range(n):
        case = Case(library, rng)
        wrong = case.compared(case.by_law(), "the law")
        if case.items <= 16 and case.state[1] % 2 == 0:
            wrong = wrong or case.compared(case.by_page(p), "the page")
        if wrong:
            return wrong
        items += case.items
    print(f"subsets: {n} of {items} items")
    return None
