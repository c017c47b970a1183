"""Rounding to 8 and 4 bits, and scales of blocks, by the headers' functions
and, of a few, by the page's."""

from ctypes import byref, c_uint32, c_void_p

import numpy as np

import formats
import law
import page
from arith import F32, U64, bits, f32_of
from library import Quantize, Rounding, State, at
from states import any_state, any_u64, pick

FORMS = list(formats.FORMATS)
COUNT = 4000


def any_numbers(rng, form, state, e, n):
    """Of all bits; of the sizes of the format; next to its numbers; at fields,
    with few digits more: where the next words decide."""
    digits, least = formats.FORMATS[form][:2]
    most = formats.FORMATS[form][2]
    x = rng.integers(0, 2**32, len(e), dtype=np.uint32)
    power = (least - 2 - digits + 127, least + (most >> digits) + 129)
    usual = rng.integers(max(power[0], 0), min(power[1], 255), len(e))
    x = np.where(rng.integers(0, 8, len(e)) == 0, x,
                 x & 0x807FFFFF | usual.astype(np.uint32) << 23)
    near = x & (2**32 - 2**(23 - digits)) | rng.integers(0, 3, len(e))
    x = np.where(rng.integers(0, 4, len(e)) == 0, near, x).astype(np.uint32)
    cut = 23 - digits                       # of normal numbers of the format
    field = formats.field(state, e, n)
    rest = field << U64(cut - n) if n < cut else field >> U64(n - cut)
    rest ^= rng.integers(0, 3, len(e)).astype(U64)
    tied = x & (2**32 - 2**cut) | (rest & U64(2**cut - 1)).astype(np.uint32)
    return np.where(rng.integers(0, 4, len(e)) == 0, tied, x).astype(np.uint32)


def long_ties(rng, state):
    """Elements whose field of 8 bits, and the next 32, are those of an x for
    e4m3, which has more: about four of 2^21."""
    e = int(rng.integers(2**60)) * 4 + np.arange(2**21, dtype=U64)
    e = e[formats.field(state, e, 8) == 0]
    w = law.more_words(state, 0, e >> U64(2))
    w = w[np.arange(len(e)), e & U64(3)]
    e, w = e[w < 2**21], w[w < 2**21]
    more = rng.integers(1, 8, len(e)).astype(np.float64)
    return e, np.ldexp(w + more / 8, -40 - 9).astype(F32)


def ties(built, of_page, rng):
    """What is decided by the words after the next."""
    state, n = any_state(rng), 0
    while n == 0:
        e, x = long_ties(rng, state)
        n = len(e)
    return compared(built, of_page, state, e, x, ("e4m3", 8, 1, 1), range(n))


def rounded(built, of_page, rng):
    form, n = pick(rng, FORMS), pick(rng, (8, 16, 32))
    is_exact, saturate = (int(rng.integers(2)) for _ in range(2))
    state = any_state(rng)
    first = min(any_u64(rng), 2**64 - COUNT)
    e = first + np.arange(COUNT, dtype=U64)
    x = f32_of(any_numbers(rng, form, state, e, n))
    return compared(built, of_page, state, e, x, (form, n, is_exact, saturate),
                    rng.integers(0, COUNT, 4))


def compared(built, of_page, state, e, x, options, some):
    """All with the headers, and some with the page."""
    form, n, is_exact, saturate = options
    theirs = np.empty(len(e), np.uint32)
    how = Rounding(format=FORMS.index(form), rule=is_exact, bits=n,
                   saturate=saturate)
    built.calls_round(State(*state), how, c_uint32(len(e)), *pointers(
        e, x, theirs))
    ours = formats.rounded_to(form, state, e, x, n, is_exact, saturate)
    wrong = list(np.flatnonzero(ours != theirs)[:1])
    for i in wrong or some:
        slow = of_page.rounded_to(form, state, int(e[i]),
                                  of_page.f32_of(int(bits(x)[i])), n, is_exact,
                                  saturate)
        if wrong or slow != ours[i]:
            return (f"{form} by {n} bits, exact {is_exact}, saturating "
                    f"{saturate}, of {bits(x)[i]:#x}, element {e[i]} of state "
                    f"{state}: the law has {ours[i]:#x}, by the page's "
                    f"functions {slow:#x}, philox {theirs[i]:#x}")
    return None


def pointers(*arrays):
    return [c_void_p(at(x)) for x in arrays]


def any_magnitudes(rng, n):
    """Any, some of them 0, infinite or the least."""
    b = rng.integers(0, 0x7F800001, n, dtype=np.uint32)
    ends = np.array((0, 1, 0x7F800000, 0x7F7FFFFF, 0x800000, 0x3F800000),
                    np.uint32)
    return f32_of(np.where(rng.integers(0, 20, n) == 0,
                           rng.choice(ends, n), b))


def differ(what, names, ours, theirs, inputs):
    """A line of the first that differ; NaNs are equal."""
    for name, a, b in zip(names, ours, theirs):
        a, b = (bits(np.where(np.isnan(y), F32(np.nan), y))
                if y.dtype == F32 else y for y in (a, b))
        wrong = np.flatnonzero(a != b)
        if len(wrong):
            i = wrong[0]
            return (f"{what}: {name} of {[float(y[i]).hex() for y in inputs]}: "
                    f"the law has {a[i]:#x}, philox {b[i]:#x}")
    return None


def nvfp4(built, of_page, rng):
    """The largest of a tensor is no less than that of a block, mostly."""
    amax, x = any_magnitudes(rng, COUNT), any_magnitudes(rng, COUNT)
    near = f32_of(np.minimum(bits(amax) + rng.integers(
        0, 2**28, COUNT).astype(np.uint32), np.uint32(0x7F800000)))
    largest = np.where(rng.integers(0, 3, COUNT) > 0, near,
                       any_magnitudes(rng, COUNT))
    x = np.where(rng.integers(0, 2, COUNT) > 0, x, np.minimum(x, amax))
    x = np.where(rng.integers(0, 2, COUNT) > 0, x, -x)
    t, s = largest.copy(), np.empty(COUNT, np.uint32)
    scale, over = np.empty(COUNT, F32), np.empty(COUNT, F32)
    built.calls_nvfp4(c_uint32(COUNT), *pointers(amax, x, t, s, scale, over))
    our_t = formats.tensor_scale(largest)
    our_s = formats.nvfp4(amax, our_t)
    our_scale = formats.nvfp4_scale(our_s, our_t)
    wrong = differ("NVFP4", ("t", "s", "the scale", "what is rounded"), (
        our_t, our_s, our_scale, formats.over(x, our_scale)), (
            t, s, scale, over), (largest, amax, x))
    finite = (our_t > 0) & np.isfinite(our_t) & np.isfinite(amax)
    for i in rng.choice(np.flatnonzero(finite), 4):
        slow = of_page.nvfp4(*(of_page.f32(float(y[i])) for y in (amax, our_t)))
        if slow != our_s[i] and not wrong:
            wrong = f"NVFP4: {slow} by the page, {our_s[i]}: {amax[i]}"
    return wrong


def mx(built, of_page, rng):
    form, up = pick(rng, list(formats.MX)), int(rng.integers(2))
    amax, x = any_magnitudes(rng, COUNT), any_magnitudes(rng, COUNT)
    c = np.empty(COUNT, np.uint32)
    scale, over = np.empty(COUNT, F32), np.empty(COUNT, F32)
    built.calls_mx(c_uint32(FORMS.index(form)), c_uint32(up), c_uint32(COUNT),
                   *pointers(amax, x, c, scale, over))
    our_c = formats.mx(form, amax, up)
    our_scale = formats.mx_scale(our_c)
    wrong = differ(f"MX {form}, up {up}", ("c", "the scale", "what is rounded"),
                   (our_c, our_scale, formats.over(x, our_scale)),
                   (c, scale, over), (amax, x))
    for i in rng.integers(0, COUNT, 4):
        slow = of_page.mx(form, of_page.f32(float(amax[i])), up)
        if slow != our_c[i] and not wrong:
            wrong = f"MX: {slow} by the page, {our_c[i]}: {amax[i]}"
    return wrong


def any_row(rng, blocks, size):
    """Of blocks of sizes of their own, some with a NaN or 0, or all so."""
    x = rng.standard_normal((blocks, size))
    x = x * 10.0**rng.uniform(-9, 9, (blocks, 1))
    for value in np.nan, 0.0, -0.0, np.inf:
        x[rng.integers(0, 60, x.shape) == 0] = value
        x[rng.integers(0, 60, blocks) == 0] = value
    return x.astype(F32)


def scaled_row(form, x, t, up):
    """The codes of the scales, and what is rounded."""
    amax = np.where(np.isnan(x), F32(0), np.abs(x)).max(-1)
    if t is not None:
        c = formats.nvfp4(amax, t)
        return c, formats.over(x, formats.nvfp4_scale(c, t)[:, None])
    c = formats.mx(form, amax, up)
    return c, formats.over(x, formats.mx_scale(c)[:, None])


def row(library, rng):
    """A row of a tensor, in blocks with scales."""
    scaling, form = pick(rng, ((1, "e2m1"), (2, "e2m1"), (2, "e4m3"),
                               (2, "e5m2"), (3, "e2m1"), (3, "e4m3"),
                               (3, "e5m2")))
    n, is_exact = pick(rng, (8, 16, 32)), int(rng.integers(2))
    size, blocks = 16 if scaling == 1 else 32, int(rng.integers(1, 60))
    state, x = any_state(rng), any_row(rng, blocks, size)
    t = None
    if scaling == 1:
        t = formats.tensor_scale(np.nanmax(np.abs(x[np.isfinite(x)]),
                                           initial=0, keepdims=True))
    out = np.zeros(x.size // (2 if form == "e2m1" else 1), np.uint8)
    scales = np.zeros(blocks, np.uint8)
    desc = Quantize(count=x.size, rows=1, row_stride=x.size, in_dtype=2,
                    format=FORMS.index(form), rule=is_exact, bits=n,
                    scaling=scaling, in_=at(x), out=at(out), scales=at(scales),
                    tensor_scale=at(t))
    library("state_quantize", State(*state), byref(desc))
    c, over = scaled_row(form, x, t, scaling == 3)
    ours = formats.rounded_to(form, state, law.elements(0, x.size),
                              over.ravel(), n, is_exact, True)
    if form == "e2m1":
        ours = ours[::2] | ours[1::2] << 4
    for name, a, b in (("scale", c, scales), ("code", ours, out)):
        wrong = np.flatnonzero(a != b)
        if len(wrong):
            i = wrong[0]
            return (f"{name} {i} of a row of scaling {scaling}, {form} by {n} "
                    f"bits, exact {is_exact}, state {state}, t {t}: the law "
                    f"has {a[i]:#x}, philox {b[i]:#x}")
    return None


def check(built, library, rng, n):
    of_page = page.load()
    wrong = ties(built, of_page, rng)
    for _ in range(n):
        wrong = wrong or row(library, rng)
    for what in rounded, nvfp4, mx:
        for _ in range(n):
            wrong = wrong or what(built, of_page, rng)
        if wrong:
            return wrong
        print(f"{what.__name__}: {n} times {COUNT}")
    print(f"rows with scales: {n}")
    return None
