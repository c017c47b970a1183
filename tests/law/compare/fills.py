"""Truncated normal numbers, orders, signs and categories: their fills, and what
the page's functions give. values.py compares them as all others."""

from math import inf, nextafter

import numpy as np

import categories
import formats
import law
import orders
import truncated
import weights
from arith import U64

NORMAL, ORDER, SIGNS = "truncated-normal", "permutation", "signs"
CATEGORY = "categorical"
KINDS = ([(NORMAL, dtype) for dtype in ("f32", "bf16", "f16")] +
         [(ORDER, dtype) for dtype in ("u32", "u64", "i32", "i64")] +
         [(SIGNS, dtype) for dtype in ("f32", "bf16", "f16", "u32")] +
         [(CATEGORY, dtype) for dtype in ("u32", "u64", "i32", "i64")])
SHARES = {NORMAL: 0.3, ORDER: 0.3, SIGNS: 1, CATEGORY: 0.3}
# Of a fill: there are many parameters
MOST = {NORMAL: 80, ORDER: 200, SIGNS: 2**15, CATEGORY: 300}
LARGEST = {"u32": 2**32, "i32": 2**31, "u64": 2**63, "i64": 2**63}


def any_power(rng, least, most):
    """A number above 0, of any size between powers of 10."""
    return 10.0**float(rng.uniform(least, most))


def standard_interval(rng):
    """Low and high of a standard normal number."""
    shape = int(rng.integers(7))
    if shape == 6:
        return where_formulas_change(rng)
    if shape == 0:                          # 0 inside
        return -any_power(rng, -3, 1), any_power(rng, -3, 1)
    if shape == 1:                          # 0 inside, or at an end, any sizes
        low, high = (any_power(rng, -300, 300) * int(rng.integers(2))
                     for _ in range(2))
        return -low, high
    low = float(rng.standard_normal()) * 3
    if shape == 2:                          # far out
        low = any_power(rng, 0, 20)
    if shape == 3:                          # close to 0, or very far
        low = any_power(rng, -300, 300)
    width = any_power(rng, -18, 3) * (abs(low) if rng.integers(2) else 1)
    low, high = low, low + width
    return (low, high) if rng.integers(2) else (-high, -low)


def where_formulas_change(rng):
    """At 12, at a base of 2^30, and at tails of mills() / 64 and of 40."""
    def about(x):
        return x * (1 + int(rng.integers(-2, 3)) * 2.0**-52)

    shape = int(rng.integers(3))
    if shape == 0:
        return -about(12.0), about(float(rng.choice((1e-9, 1.0, 12.0, 40.0))))
    low = about(2.0**30)
    if rng.integers(2):
        low = any_power(rng, -3, 9) * int(rng.integers(2))
    width = 40.0 if shape == 1 else truncated.one(truncated.mills, low) / 64
    high = low + about(width)
    return (low, high) if rng.integers(2) else (-high, -low)


def any_interval(rng):
    low, high = standard_interval(rng)
    mean, std = 0.0, 1.0
    if rng.integers(2):
        mean = float(rng.standard_normal()) * any_power(rng, -6, 4)
        std = any_power(rng, -6, 3)
    if rng.integers(4) == 0:                # results that have z's last bits
        mean = -std * low
    if rng.integers(12) == 0:
        std = any_power(rng, -307, 300)
    low, high = (min(max(mean + std * x, -1.7e308), 1.7e308)
                 for x in (low, high))
    if rng.integers(8) == 0:                # next to 0, of both signs
        low, high = (float(rng.integers(-9, 9)) * 2.0**-150 + x
                     for x in (-2.0**-150, 2.0**-151))
    if rng.integers(8) == 0:                # a few numbers of f64
        high = low
        for _ in range(int(rng.integers(1, 5))):
            high = nextafter(high, inf)
    return mean, std, low, high


def any_truncation(rng, dtype):
    while True:
        mean, std, low, high = any_interval(rng)
        if low < high and law.around(low, dtype)[0] <= high:
            return mean, std, low, high


def any_count(rng, most):
    """Of items of an order, up to `most`."""
    shape = int(rng.integers(4))
    if shape == 0:
        return int(rng.integers(1, 20))
    power = 2**int(rng.integers(most.bit_length()))
    if shape == 1:
        return min(max(power + int(rng.integers(-1, 2)), 1), most)
    return min(power + int(rng.integers(power, dtype=U64)), most)


def order_span(rng, span, n):
    """All of a short order; else a span, moved into it."""
    first, count, rows, stride = span
    last = (rows - 1) * stride + count
    if last > n:
        count = min(count, n)
        rows, last, stride = 1, count, count
    ends = 0, n - last, int(rng.integers(n - last + 1, dtype=U64))
    return ends[int(rng.integers(3))], count, rows, stride


def span_and_parameters(rng, kind, dtype, span):
    if kind == NORMAL:
        return span, any_truncation(rng, dtype), None
    if kind == CATEGORY:
        return span, categories.any_sums(rng), None
    first, count, rows, stride = span
    if kind == ORDER:
        items = any_count(rng, LARGEST[dtype])
        return order_span(rng, span, items), items, None
    if dtype == "u32":
        first = min(first, 2**59 - (rows - 1) * stride - count)
    return (first, count, rows, stride), None, None


def of_law(kind, dtype, state, e, a):
    if state[1] % 2:
        return law.poison(kind, dtype, len(e))
    if kind == NORMAL:
        return truncated.numbers(state, e, dtype, *a)
    size = "u%d" % law.SIZES[dtype]
    if kind == ORDER:
        return orders.items(*state, a, e).astype(size)
    if kind == CATEGORY:
        return weights.categories(state, e, a).astype(size)
    if dtype == "u32":
        return formats.sign_bits(state, e)
    return law.packed(formats.signs(state, e), dtype).astype(size)


def of_page(p, kind, dtype, state, e, a):
    """One number."""
    if kind == ORDER:
        return p.item(state, a, e)
    if kind == NORMAL:
        x = p.truncated(state, e, *map(p.f64, a))
        return narrowed(p, x, dtype, *a[2:])
    if kind == CATEGORY:
        made = p.category(state, e, a.tolist()) if a[-1] else -1
        return made % 2**(8 * law.SIZES[dtype])
    if dtype == "u32":
        return sum((p.word(state, 32 * e + i) < 2**31) << i for i in range(32))
    one = p.f32(-1 if p.word(state, e) < 2**31 else 1)
    return p.bits(one) if dtype == "f32" else vars(p)[dtype](one)


def narrowed(p, x, dtype, low, high):
    """The bits: of the magnitudes of the dtype next to that of x."""
    size, negative = abs(p.exact(x)), p.bits(x) >> 63
    n, above = 0, law.LARGEST[dtype] + 1
    while above - n > 1:
        mid = (n + above) // 2
        n, above = (mid, above) if edge(p, dtype, mid) <= size else (n, mid)
    rest = 2 * size - edge(p, dtype, n) - edge(p, dtype, above)
    n += rest > 0 or (rest == 0 and n % 2)
    least, most = (-high, -low) if negative else (low, high)
    if n > law.LARGEST[dtype] or edge(p, dtype, n) > most:
        n -= 1
    elif edge(p, dtype, n) < least:
        n += 1
    return n | negative << 8 * law.SIZES[dtype] - 1


def edge(p, dtype, n):
    """A number, or what would come after the largest."""
    if n <= law.LARGEST[dtype]:
        return p.exact(law.number_of(n, dtype))
    last, before = (edge(p, dtype, n - i) for i in (1, 2))
    return 2 * last - before


def one_truncation(library, state, e, options):
    ours = of_law(NORMAL, "f32", state, e, options)
    theirs = library.fill(NORMAL, "f32", state, (int(e[0]), 1, 1, 1), options)
    if ours[0] == theirs[0]:
        return None
    return (f"truncated-normal f32 {options} of state {state}, element {e[0]}: "
            f"the law has {ours[0]:#x}, philox {theirs[0]:#x}")


def last_bits(rng, a):
    """The mean takes off all but the last digits of z: those that an f32 does
    not hold otherwise."""
    most = int(rng.choice((500, 4000, 16000)))
    low, high = np.sort(rng.choice(most, 2, False)) / 1024
    low, high = ((low, high), (-high, -low), (-low - 1 / 1024, high),
                 (-high, low + 1 / 1024))[int(rng.integers(4))]
    low, high = float(low), float(high)
    z = truncated.standardised(truncated.interval(0.0, 1.0, low, high), a)
    mean = -float(np.round(z[0] * 2**27)) / 2**27
    return mean, 1.0, mean + low, mean + high


def next_to_0(rng, a):
    """The masses on both sides of 0 are such that z is almost 0: it is what
    the second numbers of pairs leave."""
    w, high = int(a[0]) / 2**64, float(rng.uniform(0.01, 3))
    high = min(high, 0.4 * (1 - w) / w)
    wanted = w / (1 - w) * truncated.central(high)[0]
    least, most = 0.0, 12.0
    for _ in range(60):
        mid = (least + most) / 2
        if truncated.central(mid)[0] < wanted:
            least = mid
        else:
            most = mid
    return 0.0, 1.0, -most, high


def all_digits(library, rng, n):
    for i in range(n):
        state = int(rng.integers(2**64, dtype=U64)), 0
        e = law.elements(int(rng.integers(2**40)), 1)
        a = law.wide(law.words(state, e >> U64(1)))[:, int(e[0]) % 2]
        make = next_to_0 if i % 8 == 0 else last_bits
        wrong = one_truncation(library, state, e, make(rng, a))
        if wrong:
            return wrong
    print(f"all digits of truncated normal numbers: {n}")
    return None
