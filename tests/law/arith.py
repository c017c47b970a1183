"""Numbers of f32 and f64 in arrays of numpy, with fma emulated exactly."""

import numpy as np

from page import exact

np.seterr(all="ignore")
U64, I64, F64, F32 = np.uint64, np.int64, np.float64, np.float32


def u64(x):
    return np.asarray(x, U64)


def two_sum(a, b):
    """The sum and its error, exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def odd_sum(a, b):
    """The sum, rounded to odd: no later rounding goes wrong by it."""
    s, error = two_sum(a, b)
    s = np.asarray(s)
    n = s.view(I64)
    step = np.where((error > 0) == (s > 0), 1, -1)
    fix = (error != 0) & (n & 1 == 0) & np.isfinite(s)
    return np.where(fix, n + step, n).view(F64)


def fma(a, b, c):
    """a b + c of f32, rounded once.

    The product is exact in f64. The sum's rounding to f64 does harm only
    where it ends half-way between two f32, or near the denormals.
    """
    p = np.multiply(a, b, dtype=F64)
    s = np.asarray(np.add(p, c, dtype=F64))
    doubt = s.view(I64) & 0x1FFFFFFF == 0x10000000
    doubt |= np.abs(s) < 2.0**-125
    if doubt.any():
        c = np.broadcast_to(np.asarray(c, F64), s.shape)[doubt]
        p = np.broadcast_to(p, s.shape)[doubt]
        s[doubt] = odd_sum(p, c)
    return s.astype(F32)


def two_product(a, b):
    """The product and its error, by Dekker's halves of 26 bits."""
    def halves(x):
        t = x * 134217729.0
        high = t - (t - x)
        return high, x - high

    p = a * b
    (ah, al), (bh, bl) = halves(a), halves(b)
    return p, al * bl - (((p - ah * bh) - al * bh) - ah * bl)


def fma_64(a, b, c):
    """The same of f64: of Boldo and Melquiond; by fractions where the
    product's error may not be a number of f64."""
    a, b, c = np.broadcast_arrays(*(np.asarray(x, F64) for x in (a, b, c)))
    p, error = two_product(a, b)
    high, low = two_sum(c, error)
    top, rest = two_sum(p, high)
    r = np.asarray(top + odd_sum(rest, low))
    zero = (a == 0) | (b == 0)
    r = np.where(zero, p + c, r)
    safe = (np.abs(p) > 2.0**-900) & (np.abs(p) < 2.0**1000)
    for x in (a, b, c):
        safe &= np.abs(x) < 2.0**990
    for i in map(tuple, np.argwhere(~safe & ~zero)):
        r[i] = exact.fma(*(exact.f64(float(x[i])) for x in (a, b, c))).x
    return r


def horner(coefficients, x):
    of = fma_64 if x.dtype == F64 else fma
    p = x.dtype.type(coefficients[0])
    for c in coefficients[1:]:
        p = of(p, x, c)
    return p


def bits(x):
    x = np.asarray(x)
    return x.view({2: np.uint16, 4: np.uint32, 8: U64}[x.itemsize])


def f32_of(n):
    return np.asarray(n).astype(np.uint32).view(F32)


def f64_of(n):
    return np.asarray(n).astype(U64).view(F64)


def product_64(a, b):
    """High and low 64 bits of a product of 64 bits by 64."""
    half = U64(0xFFFFFFFF)
    ah, al, bh, bl = a >> U64(32), a & half, b >> U64(32), b & half
    low, mid = al * bl, ah * bl
    mid += low >> U64(32)
    cross = al * bh + (mid & half)
    high = ah * bh + (mid >> U64(32)) + (cross >> U64(32))
    return high, a * b
