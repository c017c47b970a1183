"""What doc/law.md says of blocks, keys, elements and values, with numpy.

This, and the files next to it, were written from that page alone, without a
look at the library. A function takes arrays: `w` holds words, as u64 below
2^32, and `a` draws of 64 bits; results are f32, f64 or bits.
"""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from arith import (F32, F64, I64, U64, bits, f32_of, f64_of, fma, fma_64,
                   horner, product_64, u64)

REGION, OP, RANK, RETRY, TABLE, ROW, AXIS, ACCEPT, REST = range(1, 10)
HALF = U64(0xFFFFFFFF)


def reals(text):
    return [float.fromhex(c) for c in text.split()]


# What the functions of f32 and those of f64 differ in

NAMES = "LN2 LOG2E LN2_HIGH LN2_LOW ANGLE".split()
SHORT = SimpleNamespace(
    real=F32, fma=fma, number=f32_of, size=32, places=23, bias=127,
    begin=0x3F2AAAAB, third=0x55555480, ends=(F32(-104), F32(89)),
    LN=reals("-0x1.f5ec48p-4 0x1.2178eap-3 -0x1.f8a198p-4 0x1.1e28aap-3 "
             "-0x1.556e9p-3 0x1.99db12p-3 -0x1.ffffd8p-3 0x1.5554eep-2 "
             "-0x1p-1"),
    EXP=reals("0x1.6fe2cep-10 0x1.12563ep-7 0x1.555304p-5 0x1.555468p-3 "
              "0x1p-1 0x1p+0 0x1p+0"),
    SIN=reals("-0x1.98dd16p-13 0x1.1105bep-7 -0x1.55554p-3"),
    COS=reals("0x1.99e0eep-16 -0x1.6c0c1ap-10 0x1.55554ap-5 -0x1p-1 0x1p+0"),
    **dict(zip(NAMES, map(F32, reals(
        "0x1.62e43p-1 0x1.715476p+0 0x1.62e4p-1 0x1.7f7d1cp-20 "
        "0x1.921fb6p-31")))))               # twice ANGLE, of half of t
LONG = SimpleNamespace(
    real=F64, fma=fma_64, number=f64_of, size=53, places=52, bias=1023,
    begin=0x3FE5555555555555, third=0xAAAAAAAAAAAAB,
    ends=(F64(-746), F64(710)),
    LN=reals(
        "0x1.65668342bba37p-4 -0x1.62d72bc8a80b3p-4 0x1.4bdf6116f4869p-5 "
        "-0x1.74edef69d8c18p-5 0x1.f2225236fbbaep-5 -0x1.05f98e6d4f50bp-4 "
        "0x1.1042140b7ebdbp-4 -0x1.240d047699e3dp-4 0x1.3b20c5d3844dbp-4 "
        "-0x1.555c8f456d191p-4 0x1.745c908924372p-4 -0x1.99995b87f293dp-4 "
        "0x1.c71c751fd6d32p-4 -0x1.0000009dba7bep-3 0x1.2492491e77b9ap-3 "
        "-0x1.55555553a7e8ap-3 0x1.99999999a4964p-3 -0x1.0000000000fd5p-2 "
        "0x1.555555555551fp-2 -0x1.ffffffffffffbp-2"),
    EXP=reals(
        "0x1.8abbd0ccf243dp-26 0x1.2896dec5e1e94p-22 0x1.71f49fd04517dp-19 "
        "0x1.a019b4282da66p-16 0x1.a019f7d7fa4f1p-13 0x1.6c16c179d1237p-10 "
        "0x1.11111112cccaep-7 0x1.5555555553ba2p-5 0x1.5555555554edbp-3 "
        "0x1p-1 0x1p+0 0x1p+0"),
    SIN=reals(
        "0x1.5d64c92307b58p-33 -0x1.ae5db47839702p-26 0x1.71de3475642bcp-19 "
        "-0x1.a01a019ab4ad5p-13 0x1.111111110eb1fp-7 -0x1.555555555553dp-3"),
    COS=reals(
        "-0x1.8faecf3c4877dp-37 0x1.1ee9ec47cae32p-29 -0x1.27e4f80a767bep-22 "
        "0x1.a01a019cb26f2p-16 -0x1.6c16c16c15184p-10 0x1.555555555554cp-5 "
        "-0x1p-1 0x1p+0"),
    **dict(zip(NAMES, map(F64, reals(
        "0x1.62e42fefa39efp-1 0x1.71547652b82fep+0 0x1.62e42fefp-1 "
        "0x1.473de6af278edp-34 0x1.921fb54442d18p-52")))))


def form_of(x):
    return LONG if x.dtype == F64 else SHORT


# Blocks, keys, offsets

def block(seed, low, high):
    """The four words of each block, along a last axis."""
    seed, low, high = u64(seed), u64(low), u64(high)
    a, b = seed & HALF, seed >> U64(32)
    c0, c1, c2, c3 = low & HALF, low >> U64(32), high & HALF, high >> U64(32)
    for _ in range(10):
        m, n = c0 * U64(0xD2511F53), c2 * U64(0xCD9E8D57)
        c0, c1 = (n >> U64(32)) ^ c1 ^ a, n & HALF
        c2, c3 = (m >> U64(32)) ^ c3 ^ b, m & HALF
        a = (a + U64(0x9E3779B9)) & HALF
        b = (b + U64(0xBB67AE85)) & HALF
    return np.stack(np.broadcast_arrays(c0, c1, c2, c3), -1)


def fold(seed, plane, index):
    w = block(seed, index, 2**63 + plane)
    return w[..., 1] << U64(32) | w[..., 0]


def hash_of(name):
    h = 0xCBF29CE484222325
    for byte in name:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


def region_seed(seed, name, axes=()):
    seed = fold(seed, REGION, hash_of(name))
    for axis, coordinate in sorted(axes):
        if coordinate:
            seed = fold(seed, AXIS + (coordinate << 8), hash_of(axis))
    return seed


def op_seed(seed, op, call):
    return fold(seed, OP, (call << 32) + op)


def row_seed(seed, name, row):
    return fold(fold(seed, TABLE, hash_of(name)), ROW, row)


# Elements. Values are made of whole blocks: q numbers the blocks, and the
# last axis of what is made holds a block's elements, 4 or 2 of 64 bits.

def words(state, q):
    seed, offset = state
    return block(seed, u64(offset) >> U64(2), q)


def wide(w):
    """The two draws of 64 bits of each block."""
    return w[..., 1::2] << U64(32) | w[..., ::2]


def more_words(state, t, q):
    """Of the state of number t for further words."""
    seed, offset = state
    return block(fold(seed, RETRY, u64(offset) >> U64(2)), t, q)


def elements(first, count, rows=1, stride=0):
    """Those of a span, in the order of the array."""
    r = u64(first) + np.arange(rows, dtype=U64)[:, None] * U64(stride)
    return (r + np.arange(count, dtype=U64)).ravel()


def indices(cut, n, p, c, b=1, bounds=None):
    """Those that part c of p holds along a dimension of n."""
    def run(c, p):
        first = c * (n // p) + min(c, n % p)
        return list(range(first, first + n // p + (c < n % p)))

    if cut == "WHOLE":
        return list(range(n))
    if cut == "BLOCK":
        return run(c, p)
    if cut == "CEIL":
        k = -(-n // p)
        return list(range(min(c * k, n), min((c + 1) * k, n)))
    if cut == "BOUNDS":
        return list(range(bounds[c], bounds[c + 1]))
    if cut == "STRIDED":
        return [i for i in range(n) if i // b % p == c]
    return run(c, 2 * p) + run(2 * p - 1 - c, 2 * p)


# Functions of f32 and f64. Draws have 32 bits, or the upper 53 of 64

def ln_core(r, k):
    of = form_of(r)
    p = of.fma(r * r, horner(of.LN, r), r)
    return of.fma(of.real(k), of.LN2, p)


def ln(x, more=0):
    """The logarithm of x 2^more."""
    of, n = form_of(x), bits(x).astype(I64)
    k = (n - of.begin) >> of.places
    r = of.number(n - (k << of.places)) - of.real(1)
    return ln_core(r, (k + more).astype(of.real))


def exp(x):
    of = form_of(x)
    x, last = np.clip(x, *of.ends), of.real(3 * 2**(of.places - 1))
    n = bits(of.fma(x, of.LOG2E, last)).astype(I64) - int(bits(last))
    m = -n.astype(of.real)
    p = horner(of.EXP, of.fma(m, of.LN2_LOW, of.fma(m, of.LN2_HIGH, x)))
    for half in n >> 1, n - (n >> 1):
        p = p * of.number((half + of.bias) << of.places)
    return p


def sin_cos(a, of=SHORT):
    a, quarter = a.astype(I64), of.size - 2
    q = (a + 2**(quarter - 1)) >> quarter
    t = (2 * (a - (q << quarter)) + 1).astype(of.real) * of.ANGLE
    y = t * t
    s = of.fma(t * y, horner(of.SIN, y), t)
    return turned((q & 3).astype(np.int8), s, horner(of.COS, y))


def turned(quarter, s, c):
    swap = quarter & 1 == 1
    sine, cosine = np.where(swap, c, s), np.where(swap, s, c)
    sine = np.where(quarter >= 2, -sine, sine)
    return sine, np.where((quarter == 1) | (quarter == 2), -cosine, cosine)


def unit(w, of):
    """(w + 1/2) 2^-32, or 2^-53"""
    return of.fma(w.astype(of.real), of.real(2.0**-of.size),
                  of.real(2.0**(-of.size - 1)))


def radius(w, of=SHORT):
    return np.sqrt(of.real(-2) * ln(unit(w, of)))


def normal(w, of):
    """Of draws of blocks: both numbers of each pair."""
    r = radius(w[..., ::2], of)
    both = (of.fma(r, x, of.real(0)) for x in sin_cos(w[..., 1::2], of))
    return np.stack(tuple(both), -1).reshape(w.shape)


def exponential(w, of):
    """Of draws that need no refinement."""
    x = np.empty(w.shape, of.real)
    small = w < of.third
    x[small] = -ln_core(-unit(w[small], of), of.real(0))
    x[~small] = -ln(unit(U64(2**of.size - 1) - w[~small], of))
    return x


def refined(w, more):
    n = (w << U64(33)) + (more << U64(1)) + U64(1)
    return n.astype(F32) * F32(2.0**-65)


def exponential_of(w, state, q):
    x = exponential(w, SHORT)
    at = np.nonzero(w < 256)
    if len(at[0]):
        more = more_words(state, 0, u64(q)[at[:-1]])
        x[at] = refined(w[at], more[np.arange(len(at[0])), at[-1]])
    return x


def gumbel_of(w, state, q):
    return F32(0) - ln(exponential_of(w, state, q))


# To bf16 and f16, as bits

def bf16(x):
    b = bits(x).astype(I64)
    nan = b & 0x7FFFFFFF > 0x7F800000
    return np.where(nan, b >> 16 | 0x40, (b + 0x7FFF + (b >> 16 & 1)) >> 16)


def f16(x):
    b = bits(x).astype(I64)
    sign, b = b >> 31 << 15, b & 0x7FFFFFFF
    tiny = bits(f32_of(b) + F32(0.5)).astype(I64) - 0x3F000000
    usual = (b + 0xFFF + (b >> 13 & 1) - 0x38000000) >> 13
    return sign | with_ends(b, tiny, usual)


def with_ends(b, tiny, usual):
    r = np.where(b < 0x38800000, tiny, usual)
    r = np.where(b >= 0x47800000, 0x7C00, r)
    return np.where(b > 0x7F800000, 0x7E00 | b >> 13 & 0x3FF, r)


def round_bf16(x, w):
    b, w = bits(x).astype(I64), w.astype(I64)
    nan = b & 0x7FFFFFFF > 0x7F800000
    away = w < (b << 16 & 2**32 - 1)
    return np.where(nan, b >> 16 | 0x40, (b >> 16) + away)


def round_f16(x, w):
    b, w = bits(x).astype(I64), w.astype(I64)
    sign, b = b >> 31 << 15, b & 0x7FFFFFFF
    z = f32_of(b).astype(F64) * 2.0**56
    z = np.where(b < 0x38800000, z, 0).astype(I64)
    tiny = (z >> 32) + (w < (z & 2**32 - 1))
    usual = ((b - 0x38000000) >> 13) + (w < (b << 19 & 2**32 - 1))
    return sign | with_ends(b, tiny, usual)


# Distributions: `numbers` gives the bits of whole blocks

DIGITS = {"f32": 24, "bf16": 8, "f16": 11, "f64": 53}
LARGEST = {"f32": 0x7F7FFFFF, "bf16": 0x7F7F, "f16": 0x7BFF,
       "f64": 0x7FEFFFFFFFFFFFFF}
SIZES = {"f32": 4, "bf16": 2, "f16": 2, "f64": 8, "u32": 4, "i32": 4,
     "u64": 8, "i64": 8}
NAN = {"f32": 0x7FC00000, "f64": 0x7FF8000000000000, "bf16": 0x7FC0,
       "f16": 0x7E00}


def number_of(n, dtype):
    """The number with the bits n of a dtype, as a Python float."""
    if dtype == "f64":
        return float(f64_of(n))
    if dtype == "f16":
        return float(np.uint16(n).view(np.float16))
    return float(f32_of(n << 16 if dtype == "bf16" else n))


def around(x, dtype):
    """The least number of a dtype that is >= x, the largest that is < x."""
    def at(i):                              # all numbers in their order
        return number_of(i, dtype) if i >= 0 else -number_of(-i, dtype)

    low, high = -LARGEST[dtype] - 1, LARGEST[dtype] + 1
    while high - low > 1:                   # at(low) < x <= at(high)
        mid = (low + high) // 2
        low, high = (mid, high) if at(mid) < x else (low, mid)
    return at(high), at(low)


def ranged(u, low, high, dtype, of):
    x = of.fma(u, of.real(F64(high) - F64(low)), of.real(low))
    bottom, top = around(low, dtype)[0], around(high, dtype)[1]
    x = np.where(x < top, x, of.real(top))
    return np.where(x > bottom, x, of.real(bottom))


def threshold(p):
    return int(Fraction(p) * 2**32 + Fraction(1, 2))


def packed(x, dtype):
    """The bits of a result of f32, or f64, in the dtype."""
    if dtype in ("bf16", "f16"):
        return (bf16 if dtype == "bf16" else f16)(x).astype(np.uint16)
    return bits(x)


def uniform(w, dtype):
    """w: words, or the upper 53 bits of draws of 64 for f64."""
    of, digits = LONG if dtype == "f64" else SHORT, DIGITS[dtype]
    return (w >> U64(of.size - digits)).astype(of.real) * of.real(
        2.0**-digits)


def standard(kind, state, q, w, of):
    if kind in ("normal", "log-normal"):
        return normal(w, of)
    x = exponential(w, of) if of is LONG else exponential_of(w, state, q)
    return x if kind == "exponential" else of.real(0) - ln(x)


def reals_of(kind, dtype, state, q, a, b):
    """f32 or f64 of blocks; a, b: low, high or mean, std or rate."""
    of, w = LONG if dtype == "f64" else SHORT, words(state, q)
    if kind == "bernoulli":
        return (w < U64(threshold(a))).astype(of.real)
    w = wide(w) >> U64(11) if of is LONG else w
    if kind == "uniform":
        return ranged(uniform(w, dtype), a, b, dtype, of)
    x = standard(kind, state, q, w, of)
    if kind == "exponential":
        return x * of.real(F64(1) / F64(a))
    if kind == "gumbel":
        return x
    x = of.fma(x, of.real(b), of.real(a))
    return x if kind == "normal" else exp(x)


def integers(state, q, dtype, first, last):
    size, n = 8 * SIZES[dtype], last - first + 1
    reject = 2**size % n
    w = words(state, q)
    high, low = scaled(wide(w) if size == 64 else w, n, size)
    t = 0
    while True:
        at = np.nonzero(low < U64(reject))
        if len(at[0]) == 0:
            break
        w = more_words(state, t, u64(q)[at[:-1]])
        w = wide(w) if size == 64 else w
        new = scaled(w[np.arange(len(at[0])), at[-1]], n, size)
        high[at], low[at] = new
        t += 1
    r = high + U64(first % 2**64)
    return r if size == 64 else (r & HALF).astype(np.uint32)


def scaled(w, n, size):
    """w n as its part above 2^size and that below."""
    if n == 2**size:
        return w, np.zeros_like(w)
    if size == 32:
        m = w * U64(n)
        return m >> U64(32), m & HALF
    return product_64(w, U64(n))


def numbers(kind, dtype, state, q, a=None, b=None):
    if kind == "bits":
        w = words(state, q)
        return wide(w) if dtype == "u64" else w.astype(np.uint32)
    if kind == "integers":
        return integers(state, q, dtype, a, b)
    return packed(reals_of(kind, dtype, state, q, a, b), dtype)


def per_block(kind, dtype):
    return 2 if SIZES[dtype] == 8 and kind != "bernoulli" else 4


def fill(kind, dtype, state, e, a=None, b=None):
    """The bits of elements e of a state."""
    if state[1] % 2:
        return poison(kind, dtype, len(e))
    per = U64(per_block(kind, dtype))
    block_of = e // per
    first, last = int(block_of[0]), int(block_of[-1])
    if last - first + 1 <= len(e):          # no gaps: blocks in a row
        q = U64(first) + np.arange(last - first + 1, dtype=U64)
        place = block_of - U64(first)
    else:
        q, place = np.unique(block_of, return_inverse=True)
        place = place.astype(U64)
    x = numbers(kind, dtype, state, q, a, b)
    return x.reshape(-1)[place * per + e % per]


def poison(kind, dtype, n):
    size = SIZES[dtype]
    one = NAN[dtype] if dtype in NAN else 2**(8 * size) - 1
    return np.full(n, one, "u%d" % size)


# Dropout and stochastic rounding, of values x

def word_of(state, e):
    w = words(state, e >> U64(2))
    return w[np.arange(len(e)), (e & U64(3)).astype(I64)]


def dropout(x, w, p):
    """x: f32, or f64."""
    real = x.dtype.type
    scale = real(0) if p == 1 else real(F64(1) / (F64(1) - F64(p)))
    y = x * scale
    y = np.where(np.isnan(y), real(np.nan), y)
    return np.where(w < U64(threshold(p)), real(0), y)
