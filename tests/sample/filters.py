"""The law of filters, in integers and fractions, and known answers of it.

python3 tests/sample/filters.py >tests/sample/filters.txt

With --small it prints only the cases of at most 3000 columns.

Top-k, top-p and min-p are computed here as they are defined: by sorting, with
sets and exact sums, and with f32 operations that are rounded once. Nothing is
shared with the library but the formulas of its exponential function and
logarithm.
"""

import dataclasses
import math
import random
import struct
import sys
from fractions import Fraction

HEADER = """\
# Known answers of top-k, top-p and min-p, made by tests/sample/filters.py.
# kind dtype seed vocab first mask T order filters k p m kept last [logits]
#   kind     how the logits are made from the seed; 7: listed, as f32 bits
#   first    the vocabulary index of column 0
#   mask     how the mask is made after the logits; 0: there is none
#   order    0: joint; 1: top-k, top-p, min-p; 2: min-p, top-k, top-p
#   filters  those in use: 1 top-k + 2 top-p + 4 min-p
#   T, p, m  f32 bits in hex
#   kept     how many tokens are kept; 0 for bad parameters or a NaN too
#   last     the vocabulary index of the last one kept, in the order, or -1"""

SMALL = 3000
INF = math.inf
NAN = math.nan
TOP_K, TOP_P, MIN_P = 1, 2, 4
JOINT = 0
ORDERS = {1: (TOP_K, TOP_P, MIN_P), 2: (MIN_P, TOP_K, TOP_P)}

FLOAT, WORD = struct.Struct("<f"), struct.Struct("<I")
DOUBLE, QUAD = struct.Struct("<d"), struct.Struct("<Q")

# --- f32 numbers, held as Python's floats ------------------------------------


def f32(x):
    """The f32 nearest to a double, ties to even."""
    try:
        return FLOAT.unpack(FLOAT.pack(x))[0]
    except OverflowError:
        return math.copysign(INF, x)


def bits_of(x):
    return WORD.unpack(FLOAT.pack(f32(x)))[0]


def from_bits(bits):
    return FLOAT.unpack(WORD.pack(bits))[0]


def nearest_f32(q):
    """The f32 nearest to a fraction, ties to even. Slow, but plainly right."""
    if q == 0:
        return 0.0
    a = abs(q)
    e = a.numerator.bit_length() - a.denominator.bit_length()
    e -= a < Fraction(2)**e
    unit = Fraction(2)**(max(e, -126) - 23)
    a = round(a / unit) * unit
    a = INF if a >= 2**128 else float(a)
    return -a if q < 0 else a


def multiply(a, b):
    """The product of two f32 is exact in f64, so it is rounded once."""
    return f32(a * b)


def subtract(a, b):
    """f64 has over 2 * 24 + 2 digits: rounding twice is rounding once."""
    return f32(a - b)


def multiply_add(a, b, c):
    """a b + c of finite f32, rounded once.

    The product is exact in f64. The sum is rounded to odd: if it is not exact,
    and its last digit is even, the neighbour on the other side of the exact sum
    is taken. Rounding that to f32 gives what rounding the exact sum gives.
    """
    product = a * b
    total = product + c
    part = total - product
    error = (product - (total - part)) + (c - part)
    if error and not QUAD.unpack(DOUBLE.pack(total))[0] & 1:
        total = math.nextafter(total, INF if error > 0 else -INF)
    return f32(total)


EXP = [
    f32(c) for c in (0.00140337355, 0.00837209728, 0.0416655615, 0.166664898,
                     0.5, 1.0, 1.0)
]
LN = [
    f32(c) for c in (-0.122539788, 0.141343907, -0.123200983, 0.139725998,
                     -0.166714787, 0.200124875, -0.249999702, 0.333331794, -0.5)
]
BY_LN_2, MAGIC = f32(1.44269502), 12582912.0
LN_2 = f32(0.693147182)
LN_2_HIGH, LN_2_LOW = f32(0.693145752), f32(1.42860677e-06)


def polynomial(coefficients, x):
    p = coefficients[0]
    for c in coefficients[1:]:
        p = multiply_add(p, x, c)
    return p


def exp_f32(value):
    y = max(-104.0, min(89.0, value))
    n = int(multiply_add(y, BY_LN_2, MAGIC) - MAGIC)
    x = multiply_add(-n, LN_2_LOW, multiply_add(-n, LN_2_HIGH, y))
    half = n // 2
    p = multiply(polynomial(EXP, x), 2.0**half)
    return multiply(p, 2.0**(n - half))


def ln_f32(x):
    """For normal x: x = m 2^k with m in [2/3, 4/3), where 2/3 is an f32."""
    m, k = math.frexp(x)
    if m >= from_bits(0x3f2aaaab):
        y = subtract(m, 1.0)
    else:
        y, k = subtract(2 * m, 1.0), k - 1
    p = multiply_add(multiply(y, y), polynomial(LN, y), y)
    return multiply_add(k, LN_2, p)


# --- the law -----------------------------------------------------------------


def inverse_of(temperature):
    """1 / T; 1 where T is 0 or almost."""
    if temperature < 2.0**-100:
        return 1.0
    return nearest_f32(1 / Fraction(temperature))


def tempered(x, greatest, inverse):
    if x == greatest:
        return 0.0
    return multiply(subtract(x, greatest), inverse)


class Entry:
    """The tokens of an entry that may be drawn, in the order, and masses."""

    def __init__(self, x, temperature):
        inverse = inverse_of(temperature)
        self.tokens = [c for c in range(len(x)) if x[c] != -INF]
        self.tokens.sort(key=lambda c: (-x[c], c))
        if self.tokens:
            greatest = x[self.tokens[0]]
            self.t = {c: tempered(x[c], greatest, inverse) for c in self.tokens}
        self.known = {}

    def mass(self, c):
        """floor(exp(t) 2^56)"""
        t = self.t[c]
        if t not in self.known:
            self.known[t] = math.floor(Fraction(exp_f32(t)) * 2**56)
        return self.known[t]


def top_k(base, k):
    return set(base if k == 0 else base[:k])


def top_p(entry, base, p):
    if p == 1:
        return set(base)
    share, total = Fraction(p), sum(entry.mass(c) for c in base)
    limit = share.numerator * total
    kept, before = set(base[:1]), 0
    for c in base:
        if before * share.denominator < limit:
            kept.add(c)
        before += entry.mass(c)
    return kept


def min_p(entry, base, m):
    if m < 2.0**-126:
        return set(base)
    least = ln_f32(m)
    return {c for c in base if entry.t[c] >= least}


def apply(case, entry, which, base):
    """What one filter keeps of `base`, tokens in the order."""
    if which == TOP_K:
        return top_k(base, case.k)
    if which == TOP_P:
        return top_p(entry, base, from_bits(case.p))
    return min_p(entry, base, from_bits(case.m))


def base_of(case, entry, stop=None):
    """What the filters in use before `stop`, or all, keep one by one."""
    base = entry.tokens
    for which in ORDERS[case.order]:
        if which == stop:
            break
        if case.filters & which:
            kept = apply(case, entry, which, base)
            base = [c for c in base if c in kept]
    return base


def legal(case, x):
    t, p, m = (from_bits(bits) for bits in (case.t, case.p, case.m))
    return (not any(math.isnan(a) for a in x) and 0 <= t < INF and
            (not case.filters & TOP_P or 0 <= p <= 1) and
            (not case.filters & MIN_P or 0 <= m <= 1))


def answer(case):
    """Return (kept, last) of a case."""
    x = visible_logits(case)
    if not legal(case, x):
        return 0, -1
    entry = Entry(x, from_bits(case.t))
    kept = set(entry.tokens)
    if case.order == JOINT:
        for which in (TOP_K, TOP_P, MIN_P):
            if case.filters & which:
                kept &= apply(case, entry, which, entry.tokens)
    else:
        kept = set(base_of(case, entry))
    n = len(kept)
    assert kept == set(entry.tokens[:n]) and (n > 0) == bool(entry.tokens)
    return n, case.first + entry.tokens[n - 1] if n else -1


# --- logits and masks --------------------------------------------------------


class Draws:
    """Numbers for logits and masks, the same in the test."""

    def __init__(self, seed):
        self.x = seed

    def next(self):
        self.x = (self.x * 1664525 + 1013904223) % 2**32
        return self.x >> 8

    def below(self, n):
        return self.next() * n >> 24


def truncated(x, dtype):
    """For bf16, the upper half of x; any other x is exact already."""
    return from_bits(bits_of(x) & 0xffff0000) if dtype == "bf16" else x


def bell(draws, dtype):
    """A sum of four uniform numbers, in [-4, 4)."""
    s = sum(draws.next() for _ in range(4))
    if dtype == "f16":
        return ((s >> 15) - 2**10) * 2.0**-8
    return ((s >> 4) - 2**21) * 2.0**-19


def ties(draws):
    return draws.below(192) / 16 - 6


def logit(kind, dtype, draws):
    if kind == 0:
        return 3.0
    if kind == 1:
        return ties(draws)
    if kind == 2:
        return truncated(bell(draws, dtype), dtype)
    if kind == 3:
        x = bell(draws, dtype)
        return truncated(x - 16 if draws.below(64) else x + 16, dtype)
    if kind == 4:
        return -INF if draws.below(100) else draws.below(8) / 4
    if kind == 5:
        return truncated(bell(draws, dtype) * 64, dtype)
    u = draws.below(40)
    return (INF, -INF)[u] if u < 2 else ties(draws)


def mask_bit(mask, v, draws):
    if mask == 1:
        return draws.below(2)
    if mask == 2:
        return draws.below(20) == 0
    return mask != 3 and v % 32 == 31


def visible_logits(case):
    """The logits of a case; those that the mask hides are -inf."""
    draws = Draws(case.seed)
    if case.kind == 7:
        x = [from_bits(bits) for bits in case.logits]
    else:
        x = [logit(case.kind, case.dtype, draws) for _ in range(case.vocab)]
    if case.mask:
        for c in range(case.vocab):
            if not mask_bit(case.mask, case.first + c, draws):
                x[c] = -INF
    return x


# --- cases -------------------------------------------------------------------


@dataclasses.dataclass
class Edge:
    """A p or m that is `step` units beside the one at which a token is lost.

    place  which token, from 0 for the first to 1 for the last
    """
    place: float
    step: int


@dataclasses.dataclass
class Case:
    kind: int
    dtype: str = "f32"
    seed: int = 0
    vocab: int = 0
    first: int = 0
    mask: int = 0
    t: int = bits_of(1)
    order: int = 0
    filters: int = 7
    k: int = 0
    p: "int | Edge" = bits_of(1)
    m: "int | Edge" = 0
    logits: tuple = ()


def settle(case):
    """Replace an Edge by the number that it means."""
    for name, which in (("m", MIN_P), ("p", TOP_P)):
        edge = getattr(case, name)
        if not isinstance(edge, Edge):
            continue
        entry = Entry(visible_logits(case), from_bits(case.t))
        base = entry.tokens
        if case.order != JOINT:
            base = base_of(case, entry, which)
        setattr(case, name, edge_bits(entry, base, edge, which))


def edge_bits(entry, base, edge, which):
    if len(base) < 2:
        return bits_of(0.5)
    n = 1 + int(edge.place * (len(base) - 2))
    if which == MIN_P:
        bits = bits_of(exp_f32(entry.t[base[n]]))
    else:
        masses = [entry.mass(c) for c in base]
        exact = Fraction(sum(masses[:n]), sum(masses))
        bits = bits_of(nearest_f32(exact))
        bits -= Fraction(from_bits(bits)) > exact
    return max(0, min(bits_of(1), bits + edge.step))


def line(case):
    kept, last = answer(case)
    words = [
        case.kind, case.dtype, case.seed, case.vocab, case.first, case.mask,
        f"{case.t:08x}", case.order, case.filters, case.k, f"{case.p:08x}",
        f"{case.m:08x}", kept, last
    ]
    words += [f"{bits:08x}" for bits in case.logits]
    return " ".join(str(word) for word in words)


FIRSTS = [0, 1, 2, 3, 37, 1000003, 2147000000]
VOCABS = [1, 2, 3, 5, 31, 32, 33, 100, 100, 1000, 1000, 1000, 3000, 3000]
MASKS = [0] * 6 + [1] * 4 + [2, 2, 3, 4, 4]
TEMPERATURES = [1, 1, 1, 0.7, 0.7, 0, -0.0, 0.05, 0.05, 30, 1e20, 2.0**-101]
LEAST = 2.0**-149
PS = [
    0, -0.0, 1, 0.5, 0.5, 0.9, 0.9, 0.95, 0.95, 0.999, 0.999, 0.82, 2.0**-30,
    1 - 2.0**-24, 1e-40, LEAST
]
MS = [
    0, -0.0, 1, 0.1, 0.05, 0.05, 0.5, 0.5, 1e-5, 1e-5, 1e-30, 2.0**-126, 1e-40
]
BAD_TEMPERATURES = [-1, INF, NAN, -INF, -LEAST]
BAD = [1.5, -0.1, NAN, INF, -LEAST, 1 + 2.0**-23]
DTYPES = ["f32", "bf16", "f16"]


class Chooser:
    """Choices that are the same at every run."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def below(self, n):
        return int(self.random.random() * n)

    def one(self, some):
        return some[self.below(len(some))]

    def number(self, good, bad):
        return bits_of(self.one(good if self.below(40) else bad))

    def case(self, kind, dtype, vocab, order, filters):
        """A case of which the rest is chosen."""
        ks = [0, 1, 2, 3, 4, 50, 50, 50, vocab // 2, vocab // 4]
        ks += [vocab - 1, vocab, vocab + 1, 2**32 - 1]
        case = Case(kind=kind, dtype=dtype, seed=self.below(2**32), vocab=vocab,
                    first=self.one(FIRSTS), mask=self.one(MASKS),
                    t=self.number(TEMPERATURES, BAD_TEMPERATURES), order=order,
                    filters=filters, k=self.one(ks), p=self.number(PS, BAD),
                    m=self.number(MS, BAD))
        if case.first > 2**24:  # a mask has all words from token 0 on
            case.mask = 0
        return case


def crossed_cases():
    """All kinds, dtypes, orders and sets of filters."""
    chooser = Chooser(1)
    for kind in range(7):
        # kind 3 does not fit in an f16
        for dtype in DTYPES if kind != 3 else DTYPES[:2]:
            for order in range(3):
                # of those without filters, one order is enough
                for filters in range(order != kind % 3, 8):
                    yield chooser.case(kind, dtype, chooser.one(VOCABS), order,
                                       filters)


def edge_cases():
    """p and m just beside the number at which a token is lost."""
    chooser = Chooser(2)
    for i in range(36):
        case = chooser.case(i % 4, DTYPES[i % 2], [33, 100, 1000, 3000][i // 9],
                            i // 4 % 3, [2, 3, 6, 7][i % 4])
        case.t = bits_of([1, 0.7, 30][i % 3])
        case.mask, case.k = [0, 1][i % 2], case.vocab // 4
        case.m = bits_of(1e-5)
        case.p = Edge(chooser.random.random(), chooser.below(3))
        yield case
    for i in range(15):
        case = chooser.case([1, 2, 5][i // 5], DTYPES[i % 3], 100, i % 3, 4)
        case.t, case.mask = bits_of([1, 0.7][i % 2]), 0
        case.m = Edge(chooser.random.random() / 4, i % 5 - 2)
        yield case


def listed(logits, **rest):
    rest.setdefault("first", 3)
    return Case(kind=7, vocab=len(logits),
                logits=tuple(bits_of(x) for x in logits), **rest)


def f32_ln(probability):
    return f32(math.log(probability)) if probability else -INF


def peers_cases():
    """Rows in which other libraries' orders and ties are seen."""
    few = [f32_ln(p) for p in (0.4, 0.3, 0.3, 0)]
    many = [0.35, 0.25, 0.2, 0.05, 0.03] + [0.01] * 12
    many = [f32_ln(p) for p in many]
    for order in range(3):
        yield listed(few, order=order, filters=1, k=2, p=bits_of(0.1))
        yield listed(few, order=order, filters=3, k=2, p=bits_of(0.5))
        yield listed(many, order=order, filters=3, k=4, p=bits_of(0.82))
        yield listed(many, order=order, k=4, p=bits_of(0.82), m=bits_of(0.1))
        yield listed(many, order=order, k=7, p=bits_of(0.9), m=bits_of(0.05))


def hiding_seed(mask, column, vocab):
    """A seed whose mask hides this column, but not all."""
    seed = 0
    while True:
        draws = Draws(seed)
        bits = [mask_bit(mask, c, draws) for c in range(vocab)]
        if not bits[column] and any(bits):
            return seed
        seed += 1


def special_cases():
    """NaNs, zeros and infinities."""
    nan, zeros = [1, 2, NAN, 0.5, 1], [-1, -0.0, 0, -0.0, 0, -2]
    infinite = [1, INF, -2, INF, -INF, INF]
    half = bits_of(0.5)
    for i, dtype in enumerate(DTYPES):
        more = {"dtype": dtype, "order": i}
        yield listed(nan, filters=7, k=2, p=half, **more)
        yield listed(nan, filters=0, **more)
        yield listed(nan, seed=hiding_seed(1, 2, 5), mask=1, filters=1, k=2,
                     **more)
        yield listed(nan, seed=hiding_seed(1, 2, 5), mask=1, p=half, **more)
        yield listed(nan, mask=3, **more)
        for k in (1, 2, 3, 5):
            yield listed(zeros, filters=1, k=k, **more)
        yield listed(zeros, p=bits_of(0.3), m=half, **more)
        yield listed(infinite, filters=1, k=2, **more)
        yield listed(infinite, filters=2, p=half, t=bits_of(0.7), **more)
        yield listed(infinite, filters=2, p=bits_of(1 - 2.0**-24), **more)
        yield listed(infinite, filters=4, m=bits_of(1e-30), **more)
        yield listed(infinite, filters=5, k=4, m=bits_of(1e-40), **more)
        yield listed([-INF], k=1, **more)
        yield listed([-INF] * 5, filters=0, **more)


def extreme_cases():
    """Differences and temperatures that overflow and underflow."""
    wide, tiny = [-3e38, 3e38, 0, 2.9e38], [0, LEAST, -LEAST, 2.0**-126]
    below_1, greatest = 1 - 2.0**-24, from_bits(0x7f7fffff)
    rest = [(1, 0, 1), (1, 2.0**-126, 1), (1, 0, below_1), (0.05, 1e-40, 1),
            (1e20, 0.05, 1), (3e38, 0.05, 1), (3e38, 0, 0.999),
            (greatest, 0.3, 0.8), (2.0**-100, 0, 1), (LEAST, 0.5, 0.9)]
    for i, row in enumerate(rest):
        t, m, p = (bits_of(x) for x in row)
        yield listed(wide, t=t, m=m, p=p, order=i % 3)
    for i, t in enumerate([1, 0.7, 0.05, 1e20, 2.0**-100, 2.0**-101, 30]):
        more = {"t": bits_of(t), "p": bits_of(0.75)}
        yield listed(tiny, filters=4, m=bits_of(1), **more)
        yield listed(tiny, m=bits_of(below_1), order=i % 3, **more)


def boundary_cases():
    """p exactly on a boundary, and one step below and above."""
    halves = [0.0] + [-f32_ln(2)] * 2 + [-2 * f32_ln(2)] * 4
    for i, p in enumerate([0.25, 0.5, 0.75]):
        for step in (-1, 0, 1):
            bits = bits_of(p) + step
            yield listed([0.25] * 4, filters=2, p=bits, order=i)
            yield listed(halves[:3], filters=2, p=bits, order=step + 1)
            yield Case(0, DTYPES[i], vocab=[32, 100, 1000][i], p=bits,
                       order=step + 1, t=bits_of(0.05))
    # the least mass decides, and is not lost in the sum
    for i, t in enumerate([-38.8, -38.81, -38.82, -38.9]):
        yield listed([0, 0, t], filters=2, p=bits_of(0.5), order=i % 3)
        yield listed([0] * 4 + [t], k=5, p=bits_of(0.75), order=i % 3)
    for k in (3, 4, 7):
        yield listed(halves, k=k, p=bits_of(1 / 3), m=bits_of(0.25),
                     order=k % 3)


def rounding_cases():
    """Where a more exact exponential function or logarithm would show."""
    chooser, rows, thresholds = Chooser(5), [], []
    while len(rows) < 8:
        t = f32(-2 * chooser.random.random())
        if exp_f32(t) != f32(math.exp(t)):
            rows.append([0.0] + [t] * 8)
    while len(thresholds) < 8:
        m = f32(math.exp(-len(thresholds) - chooser.random.random()))
        if ln_f32(m) != f32(math.log(m)):
            thresholds.append(m)
    for i, row in enumerate(rows):
        for step in range(2):
            yield listed(row, filters=2, p=Edge(0, step), order=i % 3)
    for i, m in enumerate(thresholds):
        bits = bits_of(ln_f32(m))
        row = [0.0] + [from_bits(bits + step) for step in (2, 1, 0, -1)]
        yield listed(row, filters=4, m=bits_of(m), order=i % 3)


def order_cases():
    """The same rows in every order, with all filters at work."""
    chooser = Chooser(6)
    for i in range(12):
        vocab = [100, 1000][i % 2]
        seed, k = chooser.below(2**32), vocab // 10 + chooser.below(vocab // 3)
        p = bits_of(0.5 + 0.45 * chooser.random.random())
        m = bits_of(0.02 + 0.2 * chooser.random.random())
        for order in range(3):
            yield Case([1, 2][i // 2 % 2], DTYPES[i % 3], seed, vocab, i,
                       mask=i // 4 % 2, t=bits_of([1, 1.5, 3][i // 4]),
                       order=order, k=k, p=p, m=m)


def medium_cases():
    chooser = Chooser(3)
    for i in range(30):
        kind = i % 7
        dtype = DTYPES[i % (2 if kind == 3 else 3)]
        vocab = 5000 + chooser.below(15001)
        case = chooser.case(kind, dtype, vocab, i % 3, [7, 2, 3, 6, 5][i % 5])
        case.t = bits_of([1, 0.7, 0.05][i % 3])
        yield case


def large_cases():
    """Vocabularies of 50,000 to 300,000."""
    seventh, tail = bits_of(0.7), bits_of(1e-5)
    yield Case(0, "bf16", 11, 300000, 1, p=bits_of(0.9), filters=2)
    yield Case(0, "f32", 12, 131072, 2, order=1, k=100000, p=bits_of(0.5),
               filters=3)
    yield Case(1, "f32", 13, 262144, 0, t=seventh, p=bits_of(0.95), m=tail,
               order=2)
    yield Case(1, "bf16", 14, 151936, 3, mask=1, k=50, p=bits_of(0.9), order=1)
    yield Case(2, "f32", 15, 200000, 37, p=Edge(0.3, 1), filters=2)
    yield Case(2, "bf16", 16, 128256, 1000003, t=seventh, k=40000,
               p=bits_of(0.999), m=bits_of(0.05), order=2)
    yield Case(3, "f32", 17, 152064, 2147000000, k=5000,
               p=bits_of(1 - 2.0**-24), m=bits_of(1e-30), order=1)
    yield Case(5, "bf16", 18, 50257, 0, mask=4, p=bits_of(0.999), m=tail)


def cases():
    yield from peers_cases()
    yield from special_cases()
    yield from extreme_cases()
    yield from boundary_cases()
    yield from rounding_cases()
    yield from order_cases()
    yield from edge_cases()
    yield from crossed_cases()
    yield from medium_cases()
    yield from large_cases()


# --- checks of the above -----------------------------------------------------


def any_f32(chooser):
    """Some finite f32, not too large, often with few digits or denormal."""
    bits = chooser.below(2**32) & chooser.one([~0, ~0xfff, 0x80ffffff])
    return from_bits(bits & 0xbfffffff)


def check_arithmetic():
    chooser = Chooser(4)
    for _ in range(2000):
        a, b, c = (any_f32(chooser) for _ in range(3))
        # what nearly cancels, and sums at and near a tie
        ab = a * b
        d = f32(chooser.one([c, -ab, ab * 2.0**24, a * 2.0**25]))
        exact_a, exact_b, exact_d = Fraction(a), Fraction(b), Fraction(d)
        assert multiply_add(a, b, d) == nearest_f32(exact_a * exact_b + exact_d)
        assert multiply(a, b) == nearest_f32(exact_a * exact_b)
        assert subtract(a, d) == nearest_f32(exact_a - exact_d)


def check_functions():
    assert exp_f32(0.0) == 1 and exp_f32(-0.0) == 1 and exp_f32(-INF) == 0
    assert ln_f32(1.0) == 0
    for i in range(1, 800):
        x = f32(-i / 9.7)
        assert abs(exp_f32(x) / math.exp(x) - 1) < 1.2e-7
        x = f32(2.0**(-i / 6.4))
        assert abs(ln_f32(x) / math.log(x) - 1) < 1.2e-7
    for i in range(88, 104):
        assert abs(exp_f32(-i) - math.exp(-i)) <= 2.0**-149


def main():
    check_arithmetic()
    check_functions()
    print(HEADER)
    for case in cases():
        if case.vocab <= SMALL or "--small" not in sys.argv[1:]:
            settle(case)
            print(line(case))


if __name__ == "__main__":
    main()
