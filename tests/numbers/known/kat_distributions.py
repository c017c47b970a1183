#!/usr/bin/env python3
"""Makes kat_distributions.txt: exact values of every distribution.

usage: tests/numbers/known/kat_distributions.py >tests/numbers/known/kat_distributions.txt

Philox4x32-10 is written out here in whole numbers, and formulas are evaluated
with mpmath to 40 digits; nothing comes from the library. w is the element's
32-bit word, w64 its 64-bit draw, a = floor(w64 / 2^11).
"""

import math
from fractions import Fraction

import mpmath
from mpmath import mpf

mpmath.mp.dps = 40
MASK32 = 2**32 - 1
MASK64 = 2**64 - 1
RETRY_PLANE = 0x8000000000000004

# --- words ---------------------------------------------------------------------


def philox(key, low, high):
    """Salmon, Moraes, Dror, Shaw: Parallel random numbers, SC11."""
    k0, k1 = key & MASK32, key >> 32
    c0, c1 = low & MASK32, low >> 32
    c2, c3 = high & MASK32, high >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32 ^ c1 ^ k0, p1 & MASK32,
                          p0 >> 32 ^ c3 ^ k1, p0 & MASK32)
        k0, k1 = (k0 + 0x9E3779B9) & MASK32, (k1 + 0xBB67AE85) & MASK32
    return c0, c1, c2, c3


assert philox(0, 0, 0) == (0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8)


def fold(seed, plane, index):
    block = philox(seed, index, plane)
    return block[1] << 32 | block[0]


class Draw:
    """The words of one element of a state."""

    def __init__(self, seed, offset, element):
        self.seed, self.offset, self.element = seed, offset, element

    def word(self, element=None):
        e = self.element if element is None else element
        return philox(self.seed, self.offset // 4, e // 4)[e % 4]

    def word64(self, element=None):
        e = self.element if element is None else element
        block = philox(self.seed, self.offset // 4, e // 2)
        return block[2 * (e % 2) + 1] << 32 | block[2 * (e % 2)]

    def bits(self, wide):
        return self.word64() if wide else self.word()

    def retry(self, wide, t):
        e = self.element
        key = fold(self.seed, RETRY_PLANE, self.offset // 4)
        block = philox(key, t, e // 2 if wide else e // 4)
        if wide:
            return block[2 * (e % 2) + 1] << 32 | block[2 * (e % 2)]
        return block[e % 4]


# --- types ---------------------------------------------------------------------

# significant bits, exponent of the smallest normal number
TYPES = {"f32": (24, -126), "bf16": (8, -126), "f16": (11, -14),
         "f64": (53, -1022)}
UNIFORM_BITS = {"f32": 24, "bf16": 8, "f16": 11, "f64": 53}


def half_unit(dtype, x):
    """Half a unit in the last place of x, to which a result is rounded."""
    bits, least = TYPES[dtype]
    exponent = least
    if x:
        exponent = max(least, int(mpmath.floor(mpmath.log(abs(x), 2))))
    return mpf(2)**(exponent - bits)


def work_unit(dtype):
    """Relative rounding error of the arithmetic: f32 for the short types."""
    return mpf(2)**-53 if dtype == "f64" else mpf(2)**-24


def rounded(dtype, value, tolerance):
    """Short types are rounded from an f32."""
    if dtype in ("bf16", "f16"):
        tolerance += half_unit(dtype, abs(value) + tolerance)
    return value, tolerance


# --- formulas: each gives (exact value, tolerance) --------------------------------


def unit(draw, dtype):
    """Uniform in [0, 1), exact."""
    if dtype == "f64":
        return mpf(draw.word64() >> 11) / 2**53
    bits = UNIFORM_BITS[dtype]
    return mpf(draw.word() >> (32 - bits)) / 2**bits


def uniform(draw, dtype, low, high):
    u = unit(draw, dtype)
    value = low + u * (mpf(high) - low)
    if (low, high) == (0, 1):
        return value, mpf(0)
    value, tolerance = rounded(
        dtype, value, 2 * work_unit(dtype) * max(abs(low), abs(high)))
    # what would be rounded to `high` is the number before it
    last = high - 2 * half_unit(dtype, mpf(high) * (1 - mpf(2)**-60))
    return value, max(tolerance, value - last)


def open_unit(word, bits):
    """(word + 1/2) 2^-bits."""
    return (mpf(word) + mpf(1) / 2) / mpf(2)**bits


def spread(function, u, dtype):
    """What rounding u, twice, can change of a function of it."""
    off = 2 * work_unit(dtype) * u
    exact = function(u)
    return max(abs(function(min(u + off, mpf(1))) - exact),
               abs(function(u - off) - exact))


def radius(u):
    return mpmath.sqrt(-2 * mpmath.log(u))


def standard_normal(draw, dtype):
    first = draw.element & ~1
    if dtype == "f64":
        u = open_unit(draw.word64(first) >> 11, 53)
        turn = open_unit(draw.word64(first + 1) >> 11, 53)
        base = mpf(2)**-50
    else:
        u = open_unit(draw.word(first), 32)
        turn = open_unit(draw.word(first + 1), 32)
        base = mpf("7e-7") if radius(u) < 4 else mpf("1.2e-6")
    wave = mpmath.cos if draw.element % 2 else mpmath.sin
    return (radius(u) * wave(2 * mpmath.pi * turn),
            base + spread(radius, u, dtype))


def normal_f(draw, dtype, mean, std):
    z, tolerance = standard_normal(draw, dtype)
    value = mean + std * z
    tolerance = std * tolerance
    if (mean, std) != (0, 1):
        tolerance += 2 * work_unit(dtype) * (abs(mean) + abs(std * z))
    return value, tolerance


def normal(draw, dtype, mean, std):
    return rounded(dtype, *normal_f(draw, dtype, mean, std))


def log_normal(draw, dtype, mean, std):
    z, tolerance = normal_f(draw, dtype, mean, std)
    value = mpmath.exp(z)
    tolerance = value * (mpmath.expm1(tolerance) + 4 * work_unit(dtype))
    return rounded(dtype, value, tolerance)


def refined_unit(draw):
    """(word + 1/2) 2^-32, with 32 bits more in the place of 1/2 if it is small."""
    word = draw.word()
    if word >= 256:
        return open_unit(word, 32)
    return open_unit(word << 32 | draw.retry(False, 0), 64)


def standard_exponential(draw, dtype):
    v = (open_unit(draw.word64() >> 11, 53) if dtype == "f64"
         else refined_unit(draw))
    minus_ln = lambda u: -mpmath.log(u)
    value = minus_ln(1 - v)
    if v < mpf(2)**-24:
        return value, 2 * work_unit(dtype) * value
    return value, (spread(minus_ln, 1 - v, dtype) +
                   4 * work_unit(dtype) * value)


def exponential(draw, dtype, rate, _):
    value, tolerance = standard_exponential(draw, dtype)
    value /= rate
    return rounded(dtype, value,
                   tolerance / rate + 2 * work_unit(dtype) * value)


def gumbel(draw, dtype, *_):
    e, tolerance = standard_exponential(draw, dtype)
    value = -mpmath.log(e)
    assert tolerance < e
    tolerance = (mpmath.log(e) - mpmath.log(e - tolerance) +
                 4 * work_unit(dtype) * max(1, abs(value)))
    return rounded(dtype, value, tolerance)


def bernoulli(draw, dtype, p, _):
    exact = Fraction(p) * 2**32
    threshold = math.floor(exact + Fraction(1, 2))
    return mpf(int(draw.word() < threshold)), mpf(0)


def integers(draw, dtype, least, most):
    """Lemire: Fast random integer generation in an interval, TOMACS 2019."""
    wide = dtype in ("u64", "i64")
    bits = 64 if wide else 32
    n = most - least + 1
    m = draw.bits(wide) * n
    t = 0
    while m % 2**bits < 2**bits % n:
        m = draw.retry(wide, t) * n
        t += 1
    integers.tries = t
    return least + (m >> bits), 0


def stochastic(draw, dtype, x, _):
    """Up with the probability of x's place between its two neighbours."""
    bits, least = TYPES[dtype]
    size = abs(Fraction(x))
    exponent = least
    while size >= Fraction(2)**(exponent + 1):
        exponent += 1
    step = Fraction(2)**(exponent - bits + 1)
    low = size // step * step
    share = (size - low) / step
    up = draw.word() < share * 2**32 // 1
    value = low + step if up else low
    return mpf(value.numerator) / value.denominator * (-1 if x < 0 else 1), mpf(0)


# --- the table -------------------------------------------------------------------

REALS = ("f32", "bf16", "f16", "f64")
STATES = ((0, 0), (0x0123456789abcdef, 4096), (MASK64, 2**34 + 8),
          (0xdeadbeefcafef00d, MASK64 - 3))
ELEMENTS = (0, 1, 2, 3, 4, 5, 6, 7, 1001, 2**32 - 1, 2**32, 2**33 + 2,
            2**34 + 3, 2**63 + 1, MASK64 - 1, MASK64)


def extremes(seed, offset, wide):
    """Among the first elements, those of the least and the largest draws."""
    draws = [(Draw(seed, offset, e).bits(wide), e) for e in range(20000)]
    return min(draws)[1], max(draws)[1]


def text(x):
    if isinstance(x, int):
        return str(x)
    return mpmath.nstr(x, 25) if isinstance(x, mpf) else float(x).hex()


def row(name, formula, dtype, state, element, a=0, b=0):
    draw = Draw(*state, element)
    value, tolerance = formula(draw, dtype, a, b)
    # four digits, and not below the exact tolerance
    tolerance = mpmath.nstr(mpf(tolerance) * 1.001, 4) if tolerance else "0"
    print(name, dtype, hex(state[0]), state[1], element, text(a), text(b),
          text(value), tolerance)


def rows(name, formula, dtypes, parameters, elements=ELEMENTS):
    for dtype in dtypes:
        for a, b in parameters:
            for i, state in enumerate(STATES):
                for element in elements[i::4] + ends[dtype == "f64"][i]:
                    row(name, formula, dtype, state, element, a, b)


print("""\
# Made by tests/numbers/known/kat_distributions.py: exact values, and how far
# off one may be. distribution dtype seed offset element a b value tolerance a,
# b: uniform low, high; normal, log_normal mean, std; exponential rate;
# bernoulli p; integers from, to (both included); stochastic_rounding the
# input""")
ends = {wide: [extremes(*state, wide) for state in STATES]
        for wide in (False, True)}
rows("uniform", uniform, REALS, ((0, 1), (-1.5, 2.25), (3, 10)))
rows("normal", normal, REALS, ((0, 1), (-3, 0.5)))
rows("log_normal", log_normal, REALS, ((0, 1), (0.5, 0.25)))
rows("exponential", exponential, REALS, ((1, 0), (2.5, 0)))
rows("gumbel", gumbel, REALS, ((0, 0),))
# elements whose words are small, found by trying 2^26 of each state
SMALL = ((0, 37494257), (0, 59770873), (1, 39894912), (1, 41030319),
         (1, 51519799), (1, 55109696), (1, 56916972), (1, 60886077),
         (1, 62051666), (1, 63832103), (2, 7814694), (2, 11786058),
         (2, 20222537), (2, 26496013), (3, 40275734), (3, 48895663),
         (3, 54221628))
for number, small in SMALL:
    assert Draw(*STATES[number], small).word() < 256
    for kind in REALS:
        row("exponential", exponential, kind, STATES[number], small, 1)
        row("exponential", exponential, kind, STATES[number], small, 2.5)
        row("gumbel", gumbel, kind, STATES[number], small)
rows("bernoulli", bernoulli, REALS,
     ((0.0, 0), (0.1, 0), (0.5, 0), (0.999, 0), (1.0, 0)), ELEMENTS[:8])
rows("integers", integers, ("u32",),
     ((0, 0), (1, 6), (0, 999), (7, 7 + 2**31), (5, 3 * 2**30 + 5),
      (0, 2**32 - 1), (2**32 - 2, 2**32 - 1)))
rows("integers", integers, ("u64",),
     ((0, 0), (1, 6), (0, 10**18 - 1), (7, 7 + 2**63), (5, 3 * 2**62 + 5),
      (0, 2**64 - 1), (2**64 - 2, 2**64 - 1)))
rows("integers", integers, ("i32",),
     ((-1, 1), (-2**31, 2**31 - 1), (-2**30, 2**30), (-2**31, -2**31 + 2)))
rows("integers", integers, ("i64",),
     ((-1, 1), (-2**63, 2**63 - 1), (-2**62, 2**62), (-2**63, -2**63 + 2)))
for x in (1.0, 1 + 2**-9, -1 - 3 * 2**-9, 3.14159274101257324,
          -2.0**-24 * 0.75, 2.0**-14 * 0.999, 65503.9, 1.99999988079071045,
          -0.1, 2.0**-25, 0.0, 1 + 2**-20, 300.7):
    x = float(mpmath.mpf(x)) if x == 0 else math.ldexp(
        round(math.ldexp(math.frexp(x)[0], 24)), math.frexp(x)[1] - 24)
    rows("stochastic_rounding", stochastic, ("bf16", "f16"), ((x, 0),),
         ELEMENTS[:8])
