"""Values of all kinds, dtypes and shapes, by the law and by the library.

`values` compares law.py with the library; `fractions` both with the page's own
functions, which are slow.
"""

import numpy as np

import arith
import law
import fills
import page
from arith import F32, F64
from states import any_span, any_state, any_u64, pick

REALS = "f32", "f64", "bf16", "f16"
KINDS = (
    [("bits", "u32"), ("bits", "u64"), ("round", "bf16"), ("round", "f16")] +
    [("integers", dtype) for dtype in ("u32", "u64", "i32", "i64")] +
    [(kind, dtype) for dtype in REALS for kind in (
        "uniform", "normal", "log-normal", "exponential", "gumbel",
        "bernoulli", "dropout")] + fills.KINDS)
# log-normals, exponentials and Gumbel numbers of f64 take a microsecond each
SHARES = {kind: 0.1 if kind[1] == "f64" else fills.SHARES.get(kind[0], 1)
          for kind in KINDS}


def span_and_parameters(rng, kind, dtype, n):
    if kind in fills.SHARES:
        span = any_span(rng, min(n, fills.MOST[kind]))
        return fills.span_and_parameters(rng, kind, dtype, span)
    return any_span(rng, n), *parameters(rng, kind, dtype)


def decimal(rng, low, high):
    return float(rng.uniform(low, high)) * 10.0**int(rng.integers(-9, 5))


def parameters(rng, kind, dtype):
    if kind == "uniform":
        if rng.integers(3) == 0:
            return pick(rng, ((0.0, 1.0), (-1.0, 3.0), (-0.0, 2.0**-14),
                              (0.0, 65504.0), (-1.0, -0.0), (1.0, 1.0625)))
        low, width = decimal(rng, -1, 1), decimal(rng, 0.5, 1)
        narrow = abs(low) * 2.0**(5 - law.DIGITS[dtype])
        high = low + max(narrow, width if rng.integers(2) else 0)
        within = law.around(low, dtype)[0] <= law.around(high, dtype)[1]
        return (low, high) if within else (0.0, 1.0)
    if kind == "log-normal":
        return float(rng.uniform(-90, 90)), float(rng.uniform(0.1, 30))
    if kind == "normal":
        return pick(rng, ((0.0, 1.0), (decimal(rng, -1, 1),
                                       decimal(rng, 0.1, 1)),
                          (1e-38, 1e-39 if dtype != "f64" else 1e-310)))
    if kind == "exponential":
        return pick(rng, (1.0, decimal(rng, 0.1, 1), 3e38, 3e-39)), None
    if kind == "integers":
        return interval(rng, dtype)
    if kind in ("bernoulli", "dropout"):
        return pick(rng, (0.0, 1.0, 0.5, float(rng.random()), 2.0**-33,
                          float(rng.random()) * 2.0**-31)), None
    return None, None


def interval(rng, dtype):
    size = 8 * law.SIZES[dtype]
    least = -2**(size - 1) if dtype[0] == "i" else 0
    if rng.integers(4) == 0:
        return least, least + 2**size - 1
    n = 1 + (any_u64(rng) >> 64 - size)
    first = least + any_u64(rng) % (2**size - n + 1)
    return first, first + n - 1


def any_values(rng, dtype, n):
    """Bits of inputs: all of them, with NaNs, and some of usual sizes."""
    size = law.SIZES[dtype]
    x = rng.integers(0, 2**(8 * size), n, dtype="u%d" % size, endpoint=False)
    if dtype in ("f32", "f64"):
        usual = rng.standard_normal(n).astype("f%d" % size)
        x = np.where(rng.integers(0, 2, n) == 0, x, usual.view(x.dtype))
    return x


def widened(bits, dtype):
    if dtype == "bf16":
        return (bits.astype(np.uint32) << 16).view(F32)
    if dtype == "f16":
        return bits.view(np.float16).astype(F32)
    return bits.view(F64 if dtype == "f64" else F32)


def of_law(kind, dtype, state, e, a, b, values):
    if kind in fills.SHARES:
        return fills.of_law(kind, dtype, state, e, a)
    if kind not in ("dropout", "round"):
        return law.fill(kind, dtype, state, e, a, b)
    if state[1] % 2:
        return law.poison(kind, dtype, len(e))
    w = law.word_of(state, e)
    if kind == "dropout":
        return law.packed(law.dropout(widened(values, dtype), w, a), dtype)
    rounded = law.round_bf16 if dtype == "bf16" else law.round_f16
    return rounded(values.view(F32), w).astype(np.uint16)


def told(kind, dtype, state, e, a, b, i, others):
    shown = ", ".join(f"{name} {int(x[i]):#x}" for name, x in others)
    return (f"{kind} {dtype} {a} {b} of state ({state[0]:#x}, {state[1]:#x}), "
            f"element {int(e[i])}: {shown}")


def case(library, rng, kind, dtype, n):
    """One fill. How many values, and what is wrong."""
    state = any_state(rng)
    if rng.integers(60) == 0:
        state = state[0], 2**64 - 1
    span, a, b = span_and_parameters(rng, kind, dtype, n)
    count, values = span[1] * span[2], None
    if kind in ("dropout", "round"):
        values = any_values(rng, "f32" if kind == "round" else dtype, count)
    theirs = library.fill(kind, dtype, state, span, a, b, values,
                          int(rng.integers(1, 4)), int(rng.integers(0, 9)))
    e = law.elements(*span)
    ours = of_law(kind, dtype, state, e, a, b, values)
    wrong = np.flatnonzero(ours != theirs)
    if len(wrong) == 0:
        return count, None
    return count, told(kind, dtype, state, e, a, b, wrong[0],
                       (("the law", ours), ("philox", theirs)))


def check(library, rng, n):
    """About n values of all kinds."""
    share = n / sum(SHARES.values())
    for kind in KINDS:
        done, wanted = 0, share * SHARES[kind]
        while done < wanted:
            most = int(min(2**15, max(64, wanted - done)))
            count, wrong = case(library, rng, *kind, most)
            if wrong:
                return wrong
            done += count
        print(f"{kind[0]} {kind[1]}: {done} values")
    return fills.all_digits(library, rng, max(n // 5000, 48))


# --- by fractions ------------------------------------------------------------


def of_page(p, kind, dtype, state, e, a, b, x):
    """One number, by the page's functions."""
    is64 = dtype == "f64"
    real = p.f64 if is64 else p.f32
    tail = "_64" if is64 else ""
    named = vars(p)
    if kind in fills.SHARES:
        return fills.of_page(p, kind, dtype, state, e, a)
    if kind == "bits":
        return (p.word64 if dtype == "u64" else p.word)(state, e)
    if kind == "integers":
        size = 8 * law.SIZES[dtype]
        return p.integer(state, e, a, b - a + 1, size) % 2**size
    if kind == "round":
        return named["round_" + dtype](p.f32_of(x), p.word(state, e))
    if kind == "bernoulli":
        y = real(1 if p.word(state, e) < p.threshold(a) else 0)
    elif kind == "dropout":
        scale = real(1 / (1 - p.f64(a)) if a < 1 else 0)
        y = p.dropout(wide_of_page(p, x, dtype), p.word(state, e),
                      p.threshold(a), scale)
        if y.x != y.x:
            return law.NAN[dtype]
    elif kind == "uniform":
        shift = (64 if is64 else 32) - law.DIGITS[dtype]
        w = (p.word64 if is64 else p.word)(state, e) >> shift
        width = real(p.f64(b) - p.f64(a))
        ends = law.around(a, dtype)[0], law.around(b, dtype)[1]
        y = p.ranged(real(w) * 2.0**-law.DIGITS[dtype], width, real(a),
                     *map(real, ends))
    elif kind in ("exponential", "gumbel"):
        y = named[kind + tail](state, e)
        y = y * real(1 / p.f64(a)) if kind == "exponential" else y
    else:
        y = p.fma(named["normal" + tail](state, e), real(b), real(a))
        y = named["exp" + tail](y) if kind == "log-normal" else y
    return named[dtype](y) if dtype in ("bf16", "f16") else p.bits(y)


def wide_of_page(p, x, dtype):
    if dtype == "f64":
        return p.f64_of(x)
    if dtype == "f16":
        return p.f32(float(np.uint16(x).view(np.float16)))
    return p.f32_of(x << 16 if dtype == "bf16" else x)


def multiply_adds(rng, n):
    """Of f32 and f64: sums next to the middle of two numbers, where a second
    rounding does harm. A product is 1 - i^2 u^2 of half a last place."""
    for fma, slow, real, digits, least, most in (
            (arith.fma, page.exact.f32, F32, 24, -126, 100),
            (arith.fma_64, page.exact.f64, F64, 53, -800, 900)):
        u, i = 2.0**(1 - digits), rng.integers(0, 256, n)
        power = rng.integers(least, most, n)
        c = np.ldexp(1 + rng.integers(0, 2**(digits - 1), n) * u, power)
        b = np.ldexp(1 - i * u, power - digits)
        operands = [x.astype(real) for x in (
            (1 + i * u) * rng.choice((-1, 1), n), b, c)]
        made = fma(*operands)
        for j in range(n):
            x = page.exact.fma(*(slow(float(y[j])) for y in operands)).x
            if x != made[j]:
                return (f"fma of {[float(y[j]).hex() for y in operands]}: "
                        f"{x.hex()}, not {float(made[j]).hex()}")
    return None


def fractions(library, rng, n):
    """n values by law.py, by the library and by the page's own functions."""
    wrong = multiply_adds(rng, 1000)
    if wrong:
        return wrong
    p, done = page.load(), 0
    while done < n:
        kind, dtype = pick(rng, KINDS)
        state, x = any_state(rng), None
        span, a, b = span_and_parameters(rng, kind, dtype, 8)
        count = span[1] * span[2]
        if kind in ("dropout", "round"):
            x = any_values(rng, "f32" if kind == "round" else dtype, count)
        theirs = library.fill(kind, dtype, state, span, a, b, x)
        e = law.elements(*span)
        ours = of_law(kind, dtype, state, e, a, b, x)
        for i in range(count):
            slow = of_page(p, kind, dtype, state, int(e[i]), a, b,
                           None if x is None else int(x[i]))
            if not slow == int(ours[i]) == int(theirs[i]):
                return told(kind, dtype, state, e, a, b, i, (
                    ("by fractions", {i: slow}), ("the law", ours),
                    ("philox", theirs)))
        done += count
    print(f"by fractions: {done} values")
    return None
