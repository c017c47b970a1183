"""What doc/law.md says of rounding to 8 and 4 bits, and of signs, with numpy.

x holds f32; fields, words and codes are u64 or i64.
"""

import numpy as np

from arith import F32, F64, I64, U64, bits
from law import more_words, word_of, words

FORMATS = {            # digits, least power, largest, sign
    "bf16": (7, -126, 0x7F7F, 0x8000), "f16": (10, -14, 0x7BFF, 0x8000),
    "e4m3": (3, -6, 0x7E, 0x80), "e5m2": (2, -14, 0x7B, 0x80),
    "e2m1": (1, 0, 7, 8)}


# Random signs

def signs(state, e):
    return np.where(word_of(state, e) < U64(2**31), F32(-1), F32(1))


def sign_bits(state, e):
    """Those of elements 32 e to 32 e + 31."""
    q = e[:, None] * U64(8) + np.arange(8, dtype=U64)
    below = words(state, q).reshape(len(e), 32) < U64(2**31)
    return (below.astype(U64) << np.arange(32, dtype=U64)).sum(-1).astype(
        np.uint32)


# Rounding. A fraction is a pair (m, s): m 2^-s, with m below 2^24

def place(form, x):
    """The code of the neighbour towards 0, and the fraction beyond it."""
    digits, least = FORMATS[form][:2]
    b = (bits(x) & np.uint32(2**31 - 1)).astype(I64)
    m = np.where(b >> 23 > 0, b & 2**23 - 1 | 2**23, b)
    power = np.maximum(b >> 23, 1) - 127
    p = np.maximum(power, least)
    s = 23 - digits + p - power             # |x| is m 2^-s last places
    whole, rest = cut(m, s)
    return ((p - least) << digits) + whole, (rest, s)


def cut(m, s):
    """The whole part of m 2^-s, and what is left of m."""
    s = np.clip(s, 0, 63)
    whole = m >> s
    return whole, m - (whole << s)


def scaled(fraction, n):
    """floor(f 2^n), and the fraction that is left."""
    m, s = fraction
    whole, rest = cut(m, s - n)
    return np.where(s < n, m << np.clip(n - s, 0, 63), whole), (rest, s - n)


def field(state, e, n):
    each = U64(32 // n)
    w = word_of(state, e // each)
    return w >> e % each * U64(n) & U64(2**n - 1)


def beyond(form, c, saturate):
    largest = FORMATS[form][2]
    top = largest if saturate or form == "e2m1" else largest + 1
    return np.where(c <= largest, c, top)


def nan_of(form, b):
    if form == "bf16":
        return b >> 16 | 0x40
    if form == "f16":
        return b >> 31 << 15 | 0x7E00 | b >> 13 & 0x3FF
    return np.full_like(b, 7 if form == "e2m1" else 0x7F)


def rounded_to(form, state, e, x, n, is_exact, saturate):
    b = bits(x).astype(I64)
    c, f = place(form, x)
    goal, f = scaled(f, n)
    drawn = field(state, e, n).astype(I64)
    t = 0
    while is_exact:
        left = np.flatnonzero((drawn == goal) & (f[0] > 0))
        if len(left) == 0:
            break
        more, rest = scaled((f[0][left], f[1][left]), 32)
        w = more_words(state, t, e[left] >> U64(2))
        drawn[left] = w[np.arange(len(left)), e[left] & U64(3)]
        goal[left], t = more, t + 1
        f[0][left], f[1][left] = rest
    c = beyond(form, c + (drawn < goal), saturate)
    nan = b & 2**31 - 1 > 0x7F800000
    return np.where(nan, nan_of(form, b), c | (b >> 31) * FORMATS[form][3])


# Scales, of largest magnitudes that are f32

MX = {"e4m3": (8, 0x600000), "e5m2": (15, 0x600000), "e2m1": (2, 0x400000)}


def tensor_scale(amax):
    t = amax / F32(2688)
    return np.where(amax == 0, F32(0), np.maximum(t, F32(2.0**-126)))


def nvfp4(amax, t):
    """The bits of the scales of blocks, for e2m1."""
    quotient = amax / (F32(6) * t)
    c, (m, s) = place("e4m3", quotient)
    half = np.left_shift(1, np.clip(s - 1, 0, 62))
    c = c + ((m > half) | ((m == half) & (c & 1 == 1)))
    c = np.maximum(beyond("e4m3", c, True), 1)
    c = np.where(np.isnan(quotient), 0x7E, c)
    return np.where(amax == 0, 0, c)


def number_of(form, c):
    """f32 of codes without a sign."""
    digits, least = FORMATS[form][:2]
    power, rest = c >> digits, c & 2**digits - 1
    m = np.where(power > 0, rest | 1 << digits, rest)
    return np.ldexp(m.astype(F64), least - digits + np.maximum(
        power - 1, 0)).astype(F32)


def nvfp4_scale(c, t):
    return number_of("e4m3", c) * t


def mx(form, amax, up):
    power, most = MX[form]
    b = bits(amax).astype(I64)
    return np.maximum((b >> 23) + (up & (b & 2**23 - 1 > most)) - power, 0)


def mx_scale(c):
    return np.ldexp(F64(1), c - 127).astype(F32)


def over(x, scale):
    """What is rounded of a block with a scale."""
    return np.where(x == 0, x, x / scale)
