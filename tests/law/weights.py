"""What doc/law.md says of draws by weight, with numpy.

Weights of categories are f64, their sums u64. x and logits of subsets are f32.
"""

from fractions import Fraction

import numpy as np

from arith import F32, U64, bits
from law import fill, ln
from tokens import ERROR, gumbels, keys_of


# Categories

def weight_sums(weights):
    """The sums of integers that are made of real weights."""
    exact = [Fraction(float(w)) for w in weights]
    unit = 2**1074                          # f64 are multiples of 1 / unit
    total = int(sum(exact) * unit)
    scale = Fraction(2)**(1074 + 62 - total.bit_length())
    made = [int(w * scale + Fraction(1, 2)) or int(w > 0) for w in exact]
    return np.cumsum(made, dtype=U64)


def categories(state, e, sums):
    """Those of elements. What is not below the last sum has none."""
    x = fill("integers", "u64", state, e, 0, max(int(sums[-1]), 1) - 1)
    found = np.searchsorted(sums, x, side="right").astype(U64)
    return np.where(x < sums[-1], found, U64(2**64 - 1))


# Subsets

def weight_ln(x):
    tiny = np.abs(x) < 2.0**-126
    y = ln(np.where(tiny, bits(x).astype(F32), x), np.where(tiny, -149, 0))
    y = np.where(x < np.inf, y, x)          # infinity and NaN are their own
    y = np.where(x < 0, F32(np.nan), y)
    return np.where(x == 0, F32(-np.inf), y)


def subset(state, logits, wanted):
    """Indices and keys of the items, or None."""
    i = np.arange(len(logits), dtype=U64)
    keys = keys_of(logits + gumbels(state, i), i)
    if state[1] % 2 or (keys == U64(ERROR)).any():
        return None
    cut = np.sort(keys)[-wanted]
    chosen = np.flatnonzero((keys >= cut) & (keys > 0))
    return chosen, keys[chosen]
