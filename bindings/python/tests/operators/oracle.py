"""philox's numbers, written out in numpy from what the headers promise.

Nothing here comes from the library. Philox4x32-10 is that of Salmon, Moraes,
Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC11). A state is a
pair (seed, offset), and elements are an array of indices.
"""

import math
import pathlib
from fractions import Fraction

import numpy as np
import torch

ROOT = pathlib.Path(__file__).parents[4]
KNOWN = ROOT / "tests/numbers/known"

MASK32 = np.uint64(2**32 - 1)
RETRY_PLANE = 0x8000000000000004
REALS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
#: Significant bits, and the exponent of the smallest normal number
FORMATS = {torch.float32: (24, -126), torch.float64: (53, -1022),
           torch.bfloat16: (8, -126), torch.float16: (11, -14)}

# --- words --------------------------------------------------------------------


def block(seed, low, high):
    """Return the four words [..., 4] of a key at counters of 128 bits."""
    low, high = np.broadcast_arrays(np.asarray(low, np.uint64),
                                    np.asarray(high, np.uint64))
    shift = np.uint64(32)
    c = [low & MASK32, low >> shift, high & MASK32, high >> shift]
    k0, k1 = seed & 0xffffffff, seed >> 32
    for _ in range(10):
        a = np.uint64(0xD2511F53) * c[0]
        b = np.uint64(0xCD9E8D57) * c[2]
        c = [b >> shift ^ c[1] ^ np.uint64(k0), b & MASK32,
             a >> shift ^ c[3] ^ np.uint64(k1), a & MASK32]
        k0 = (k0 + 0x9E3779B9) & 0xffffffff
        k1 = (k1 + 0xBB67AE85) & 0xffffffff
    return np.stack(c, -1)


def words(state, elements):
    """Return the 32-bit word of each element, as uint64."""
    seed, offset = (int(x) % 2**64 for x in state)
    e = np.asarray(elements, np.uint64)
    four = block(seed, offset // 4, e // np.uint64(4))
    return np.take_along_axis(
        four, (e % np.uint64(4)).astype(np.int64)[..., None], -1)[..., 0]


def wide_words(state, elements):
    """Return the 64-bit draw of each element."""
    seed, offset = (int(x) % 2**64 for x in state)
    e = np.asarray(elements, np.uint64)
    four = block(seed, offset // 4, e // np.uint64(2))
    at = (2 * (e % np.uint64(2))).astype(np.int64)[..., None]
    low = np.take_along_axis(four, at, -1)[..., 0]
    high = np.take_along_axis(four, at + 1, -1)[..., 0]
    return high << np.uint64(32) | low


def retry_state(state, t):
    seed, offset = (int(x) % 2**64 for x in state)
    folded = block(seed, offset // 4, RETRY_PLANE)
    return int(folded[1]) << 32 | int(folded[0]), 4 * t


def elements_of(n, first=0, cols=0, stride=0):
    """Return which elements a tensor of n elements has."""
    i = np.arange(n, dtype=np.uint64)
    if cols:
        i = i // np.uint64(cols) * np.uint64(stride) + i % np.uint64(cols)
    return i + np.uint64(first)


# --- rounding -----------------------------------------------------------------


def rounded(x, dtype):
    """Return a rational number rounded to the nearest of a dtype, ties even."""
    bits, least = FORMATS[dtype]
    if not x:
        return 0.0
    size = abs(x)
    exponent = least
    if size >= Fraction(2)**least:
        exponent = math.floor(math.log2(size))
        exponent += (size >= Fraction(2)**(exponent + 1))
        exponent -= (size < Fraction(2)**exponent)
    step = Fraction(2)**(exponent - bits + 1)
    return float(round(x / step) * step)


def narrowed(x, dtype):
    """Return float32 numbers as numbers of a dtype, rounded once."""
    return torch.from_numpy(np.ascontiguousarray(x)).to(dtype)


# --- elements -----------------------------------------------------------------


def threshold(p):
    return int(Fraction(p) * 2**32 + Fraction(1, 2))


def keep(state, elements, p):
    """Return whether dropout keeps each element."""
    return words(state, elements) >= np.uint64(threshold(p))


def bernoulli(state, elements, p):
    """Return 1 where the word is below the threshold of p, else 0."""
    return ~keep(state, elements, p)


def uniform(state, elements, low, high, dtype):
    wide = dtype == torch.float64
    bits = FORMATS[dtype][0]
    w = wide_words(state, elements) if wide else words(state, elements)
    u = w >> np.uint64((64 if wide else 32) - bits)
    work = torch.float64 if wide else torch.float32
    low, high = rounded(Fraction(low), work), rounded(Fraction(high), work)
    width = Fraction(rounded(Fraction(high) - Fraction(low), work))
    exact = [rounded(Fraction(int(n), 2**bits) * width + Fraction(low), work)
             for n in u.ravel()]
    x = torch.tensor(exact, dtype=torch.float64).to(work).to(dtype)
    # What rounds to `high` or above becomes the number before it
    end = torch.tensor(high, dtype=torch.float64).to(dtype)
    if float(end) >= high:
        end = torch.nextafter(end, torch.tensor(-math.inf, dtype=dtype))
    return x.minimum(end)


def open_unit(state, elements, wide):
    if wide:
        w = wide_words(state, elements) >> np.uint64(11)
        return (w.astype(np.longdouble) + np.longdouble(0.5)) / 2**53
    return (words(state, elements).astype(np.longdouble)
            + np.longdouble(0.5)) / 2**32


def normal(state, elements, wide):
    """Return standard normal numbers by Box and Muller, the sine first."""
    e = np.asarray(elements, np.uint64)
    first = e - e % np.uint64(2)
    u = open_unit(state, first, wide)
    turn = open_unit(state, first + np.uint64(1), wide)
    angle = 2 * np.arccos(np.longdouble(-1)) * turn
    wave = np.where(e % np.uint64(2), np.cos(angle), np.sin(angle))
    return np.sqrt(-2 * np.log(u)) * wave


def exponential(state, elements, wide):
    """Return standard exponential numbers; no small word is refined."""
    v = open_unit(state, elements, wide)
    assert wide or np.all(words(state, elements) >= 256)
    return -np.log1p(-v)


def integers(state, elements, low, high, wide):
    """Return integers of [low, high) by Lemire's method, and the retries."""
    bits, n = (64, high - low) if wide else (32, high - low)
    draw = wide_words if wide else words
    tried = 0
    made = []
    for e, w in zip(elements, draw(state, elements), strict=True):
        product, t = int(w) * n, 0
        while product % 2**bits < 2**bits % n:
            again = draw(retry_state(state, t), np.array([e], np.uint64))
            product, t = int(again[0]) * n, t + 1
        tried += t
        made.append(low + (product >> bits))
    return made, tried


def stochastic_round(state, elements, x, dtype):
    """Return float32 numbers, each rounded to a neighbour in a dtype."""
    bits, least = FORMATS[dtype]
    made = []
    for w, value in zip(words(state, elements), x, strict=True):
        size = abs(Fraction(float(value)))
        exponent = least
        while size >= Fraction(2)**(exponent + 1):
            exponent += 1
        step = Fraction(2)**(exponent - bits + 1)
        down = size // step * step
        up = int(w) < (size - down) / step * 2**32 // 1
        made.append(math.copysign(float(down + step if up else down), value))
    return torch.tensor(made, dtype=torch.float64).to(dtype)
