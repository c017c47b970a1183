"""What doc/law.md says of truncated normal numbers, with numpy.

What all elements share, of an interval, is made of Python's floats, with fma
by fractions; the elements are made in arrays.
"""

from fractions import Fraction

import numpy as np

from arith import F32, F64, I64, U64, bits, f32_of, f64_of, fma_64, horner
from law import LONG, bf16, exp, f16, ln, poison, reals, wide, words

MILLS64 = reals(
    "-0x1.02ae58a975a3dp-28 0x1.3a532b4dc53e3p-28 0x1.765b9725bd068p-25 "
    "-0x1.c556c707943abp-26 -0x1.2ea843d362889p-22 -0x1.e64efd10f59b1p-28 "
    "0x1.824ba5865982dp-20 0x1.efd53fdbe0deap-21 -0x1.d324173c40cap-18 "
    "-0x1.0ffc153f1327ep-17 0x1.35247c3a2b7bdp-15 0x1.a68cf983ba166p-15 "
    "-0x1.f3792704d1996p-13 -0x1.b4890cdd3a0b9p-13 0x1.e75d600145cbdp-10 "
    "-0x1.249f779f22f57p-10 -0x1.a54dc468c016p-7 0x1.9be665dc962c3p-5 "
    "-0x1.99cdab646d4ecp-4 0x1.ddb3ae3aecc85p-4 -0x1.5f099aab9e799p-5 "
    "-0x1.15bf4654356a5p-3 0x1.1fc4f0b06333cp+0")
ROOT_2_PI = tuple(float(f64_of(n)) for n in (
    0x3FD9884533D43651, 0xBC7CBC0D30EBFD15))
LN2_PARTS = [float(f64_of(n)) for n in (
    0x3FE62E42FEFA3900, 0x3D1DE6AF278ECE00, 0x3A3803F2F6AF40F3)]
MOST = float(f64_of(0x7FEFFFFFFFFFFFFF))
BEGIN0 = [1 / 7, 1 / 6, 1 / 5, 1 / 4, 1 / 3, 1 / 2, 1.0]
BEGIN1 = [71 / 140, 163 / 360, 23 / 60, 7 / 24, 1 / 6]
BEGIN2 = [29 / 84, 127 / 720, 7 / 120]


def fma(a, b, c):
    """Of arrays, or of Python's floats."""
    if any(isinstance(x, np.ndarray) for x in (a, b, c)):
        return fma_64(a, b, c)
    q = Fraction(a) * Fraction(b) + Fraction(c)
    return float(q) if q else a * b + c


def one(function, *args):
    """A function of arrays, for floats."""
    return float(function(*(np.full(1, x, F64) for x in args))[0])


# Pairs, which stand for their sums

def pair(a, b):
    s = a + b
    c = s - a
    return s, (a - (s - c)) + (b - c)


def pair_sum(x, y):
    s, t = pair(x[0], y[0]), pair(x[1], y[1])
    s = pair(s[0], s[1] + t[0])
    return pair(s[0], s[1] + t[1])


def pair_product(x, y):
    high = x[0] * y[0]
    low = fma(x[0], y[1], fma(x[0], y[0], -high))
    return pair(high, fma(x[1], y[0], low))


def pair_step(x, y, d):
    """1 + x y / d"""
    p = pair_product(x, y)
    high = p[0] / d
    part = pair(high, (fma(-high, d, p[0]) + p[1]) / d)
    return pair_sum((1.0, 0.0), part)


def pair_exp(x):
    """exp(-x)"""
    magic = 3 * 2.0**51
    n = fma(x[0], float(LONG.LOG2E), magic) - magic
    r = pair(n * LN2_PARTS[0], n * LN2_PARTS[1])
    r = pair_sum(r, (-x[0], -x[1]))
    r = pair_sum(r, (n * LN2_PARTS[2], 0.0))
    y = 1.0, 0.0
    for k in range(26, 0, -1):
        y = pair_step(r, y, float(k))
    return y[0] * 2.0**-n, y[1] * 2.0**-n


def central(x):
    """The mass between 0 and x > 0."""
    if x >= 12:
        return 0.5, 0.0
    square = pair_product((x, 0.0), (x, 0.0))
    total = 1.0, 0.0
    for k in range(40 + int(square[0] * 1.5), 0, -1):
        total = pair_step(square, total, float(2 * k + 1))
    half = square[0] * 0.5, square[1] * 0.5
    total = pair_product(pair_product(total, pair_exp(half)), ROOT_2_PI)
    return pair_product((x, 0.0), total)


# One tail. base and ratio are floats, the rest arrays

def mills(x):
    return horner(MILLS64, (x - 4) / (x + 4)) / (x + 0.75)


def tail_log(base, ratio, t, at):
    return t * fma_64(t, 0.5, base) - ln(at / ratio)


def tail_solve(base, ratio, tail):
    hazard = 1 / ratio
    root = np.sqrt(fma_64(tail, 2.0, hazard * hazard))
    t = 2 * tail / (hazard + root)
    for _ in range(2):
        x = base + t
        r = mills(x)
        r1 = fma_64(x, r, -1.0)
        r2 = fma_64(x, r1, r)
        c = fma_64(r, r2, r1 * r1) * (1 / 6)
        rest = tail - tail_log(base, ratio, t, r)
        c = fma_64(rest, c, r1 * 0.5)
        t = fma_64(r * rest, fma_64(rest, c, 1.0), t)
    return t


def tail_begin(base, ratio, mass):
    y = mass * ratio
    a, b = base * y, y * y
    p2 = fma_64(b, 127 / 5040, horner(BEGIN2, a))
    p1 = fma_64(p2, b, horner(BEGIN1, a))
    return y * fma_64(p1, b, horner(BEGIN0, a))


def step(x):
    """The middle of the step of 2^15 last places that x is in."""
    return f64_of(bits(x) & U64(2**63 - 2**15) | U64(2**14))


def tail_quantile(base, ratio, mass, rest):
    lower = mass < 0.5
    mass = step(mass)
    begins = lower & (mass < 2.0**-6)
    rest = step(np.where(rest < 0.5, rest, f64_of(0x3FDFFFFFFFFFFFFF)))
    rest = np.where(lower, 1 - mass, rest)
    t = np.empty(len(mass), F64)
    t[begins] = tail_begin(base, ratio, mass[begins])
    t[~begins] = tail_solve(base, ratio, -ln(rest[~begins]))
    return base + t


# An interval, of floats

def tail_mass(base, ratio, t):
    a, b = base * t, t * t
    last, term, by, total = 0.0, 1.0, 1.0, 0.0
    for n in range(8):
        total = fma(term, by, total)
        last, term = term, fma(a, term, n * b * -last)
        by = -by / (n + 2)
    return t / ratio * total


def one_side(base, end):
    t = end - base
    if base >= 2.0**30:
        return base, 1.0, 0.0, 1.0
    ratio = one(mills, base)
    if not t > ratio * 2.0**-6:
        mass = tail_mass(base, ratio, t)
        return base, ratio, mass, 1 - mass
    rest = 0.0
    if t < 40:
        at = np.full(1, t, F64)
        log = tail_log(base, ratio, at, np.full(1, one(mills, base + t), F64))
        rest = float(exp(-log)[0])
    return base, ratio, 1 - rest, rest


def standard_end(end, mean, std):
    x = float(F64(end - mean) / F64(std))
    return min(max(x, -MOST), MOST)


def interval(mean, std, low, high):
    """The side, what one_side() says of it, and the masses on both sides."""
    alpha, beta = (standard_end(end, mean, std) for end in (low, high))
    if alpha >= 0:
        return 1, one_side(alpha, beta), None, None
    if not beta > 0:
        return -1, one_side(-beta, -alpha), None, None
    return 0, one_side(0.0, beta), central(-alpha), central(beta)


# Numbers

def open_pair(a):
    return pair((a >> U64(11)).astype(F64) * 2.0**-53,
                ((a & U64(2047)) * U64(2) + U64(1)).astype(F64) * 2.0**-65)


def standardised(of, a):
    side, (base, ratio, mass, rest), below, above = of
    if side:
        w, v = (a, ~a) if side > 0 else (~a, a)
        z = tail_quantile(base, ratio, open_pair(w)[0] * mass,
                          fma_64(open_pair(v)[0], mass, rest))
        return z if side > 0 else -z
    p = pair_product(open_pair(~a), below)
    p = pair_sum(pair_product(open_pair(a), above), (-p[0], -p[1]))
    is_below = p[0] < 0
    high, low = (2 * np.where(is_below, -x, x) for x in p)
    z = tail_quantile(base, ratio, high, (1 - high) - low)
    return np.where(is_below, -z, z)


def truncated(a, mean, std, low, high):
    """f64 of draws of 64 bits."""
    x = fma_64(std, standardised(interval(mean, std, low, high), a), mean)
    return np.where(x < low, low, np.where(x > high, high, x))


def odd_f32(x):
    """The f32 next to 0 from x, or x; else the one that is odd."""
    with np.errstate(all="ignore"):
        n = bits(x.astype(F32)).astype(I64)
    n -= np.abs(f32_of(n).astype(F64)) > np.abs(x)
    return f32_of(n | (f32_of(n).astype(F64) != x))


def nearest(x, dtype):
    """The bits of f64 as a dtype, rounded once."""
    if dtype == "f32":
        return bits(x.astype(F32)).astype(I64)
    return (bf16 if dtype == "bf16" else f16)(odd_f32(x)).astype(I64)


def widened(n, dtype):
    """The numbers with these bits, as f64."""
    if dtype == "f16":
        return n.astype(np.uint16).view(np.float16).astype(F64)
    return f32_of(n << 16 if dtype == "bf16" else n).astype(F64)


def within(n, dtype, low, high):
    """Bits of a dtype, moved by one number into [low, high]."""
    sign, x = 2**31 if dtype == "f32" else 2**15, widened(n, dtype)
    place = np.where(n & sign, -(n & sign - 1), n)
    moved = place + (x < low) - (x > high)
    return np.where(moved == 0, n & sign, np.where(moved < 0, sign - moved,
                                                   moved))


def numbers(state, e, dtype, mean, std, low, high):
    """The bits of elements e of a state."""
    if state[1] % 2:
        return poison("truncated-normal", dtype, len(e))
    w = wide(words(state, e >> U64(1)))
    a = w[np.arange(len(e)), (e & U64(1)).astype(I64)]
    n = nearest(truncated(a, mean, std, low, high), dtype)
    return within(n, dtype, low, high).astype(
        np.uint32 if dtype == "f32" else np.uint16)
