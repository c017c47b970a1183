"""The numbers of the formats, and f32 operations that are rounded once.

A part of the model; model.py says what it is.
"""
import bisect
import functools
import math
from collections import namedtuple
from fractions import Fraction

BF16, F16, E4M3, E5M2, E2M1 = range(5)
IN_F32, IN_BF16, IN_F16 = 2, 3, 4
NAMES = ("bf16", "f16", "e4m3", "e5m2", "e2m1")
INF = math.inf

# Exponent bits, digits, bias, code of the largest number, bits of a number.
SHAPES = ((8, 7, 127, 0x7F7F, 16), (5, 10, 15, 0x7BFF, 16),
          (4, 3, 7, 0x7E, 8), (5, 2, 15, 0x7B, 8), (2, 1, 1, 0x7, 4))

# A number: negative or not; its magnitude, a Fraction, INF or None for NaN;
# and a NaN's 23 digits as an f32.
Number = namedtuple("Number", "negative mag digits", defaults=(0,))


def power(n):
    return Fraction(2)**n


@functools.lru_cache(None)
def numbers(fmt):
    """All numbers that are not negative, by code, and the one beyond."""
    _, digits, bias, largest, _ = SHAPES[fmt]
    table = []
    for code in range(largest + 2):
        e, m = divmod(code, 2**digits)
        if e == 0:
            table.append(power(1 - bias) * Fraction(m, 2**digits))
        else:
            table.append(power(e - bias) * (1 + Fraction(m, 2**digits)))
    assert all(a < b for a, b in zip(table, table[1:]))
    return table


def largest_number(fmt):
    return numbers(fmt)[SHAPES[fmt][3]]


def decode32(bits):
    sign, rest = divmod(bits, 2**31)
    e, m = divmod(rest, 2**23)
    if e == 255:
        return Number(sign == 1, None if m else INF, m)
    if e == 0:
        return Number(sign == 1, m * power(-149))
    return Number(sign == 1, (2**23 + m) * power(e - 150))


def decode(dtype, bits):
    """The number of an element of a tensor that is f32, bf16 or f16."""
    if dtype == IN_F32:
        return decode32(bits)
    fmt = BF16 if dtype == IN_BF16 else F16
    digits, beyond = SHAPES[fmt][1], SHAPES[fmt][3] + 1
    sign, rest = divmod(bits, 2**15)
    if rest > beyond:
        return Number(sign == 1, None, (rest - beyond) * 2**(23 - digits))
    return Number(sign == 1, INF if rest == beyond else numbers(fmt)[rest])


def log2_floor(q):
    """The largest n for which 2^n <= q."""
    n = q.numerator.bit_length() - q.denominator.bit_length()
    while power(n) > q:
        n -= 1
    while power(n + 1) <= q:
        n += 1
    return n


def round32(q):
    """A fraction, not negative, to the nearest f32, of two the even one."""
    if q == 0:
        return Fraction(0)
    step = power(max(log2_floor(q), -126) - 23)
    v = round(q / step) * step          # round() takes the even one of two
    return v if v < power(128) else INF


def mul32(a, b):
    if INF in (a, b):
        return None if 0 in (a, b) else INF
    return round32(a * b)


def div32(a, b):
    """a / b of magnitudes in f32; None where it is NaN."""
    if a == INF:
        return None if b == INF else INF
    if b == 0:
        return INF if a else None
    return Fraction(0) if b == INF else round32(a / b)


def nearest(fmt, q):
    """The code of the nearest number, of two the even code, at most the
    largest."""
    table, largest = numbers(fmt), SHAPES[fmt][3]
    if q >= table[largest]:
        return largest
    code = bisect.bisect_right(table, q) - 1
    below, above = q - table[code], table[code + 1] - q
    if below == above:
        return code + code % 2
    return code if below < above else code + 1
