"""Sums of weights of categories: those of real weights by the library, and
any others, which fills.py draws from."""

from ctypes import c_size_t, c_uint32, c_uint64, c_void_p

import numpy as np

import law
import page
import weights
from arith import F64, U64
from library import State, at
from states import any_span, any_state, pick

ALL = 2**64 - 1


def any_count(rng):
    return 1 + int(rng.integers(pick(rng, (1, 3, 20, 500, 5000))))


# --- real weights ------------------------------------------------------------


def sized(rng, n):
    """Of all sizes, or of those between two powers of 10."""
    low, high = np.sort(rng.uniform(-323, 307, 2))
    if rng.integers(2):
        low = high - 3
    return rng.uniform(1, 9, n) * 10.0**rng.uniform(low, high, n)


def of_bits(rng, n):
    """All of f64 that are finite and not below 0."""
    return rng.integers(0, 0x7FF0000000000000, n, dtype=U64).view(F64)


def denormal(rng, n):
    most = 1 << int(rng.integers(1, 52))
    return rng.integers(0, most, n, dtype=U64).view(F64)


def halves(rng, n):
    """By whose scale of a power of 2 some are in the middle of two."""
    x = rng.integers(0, 2**pick(rng, (1, 3, 40)), n) + 0.5
    x[int(rng.integers(n))] = 2.0**61
    return np.ldexp(x, pick(rng, (0, -900, 900, -1073)))


def about_a_power(rng, n):
    """The sum is a power of 2, or is next to one."""
    x = np.zeros(n)
    x[:2] = pick(rng, ((0.5, 0.5), (1, 2.0**-60), (1, 2.0**-1074),
                       (1 - 2.0**-53, 2.0**-54), (1 - 2.0**-53, 2.0**-53),
                       (2.0**1023, 2.0**1022 * 1.9999999999)))[:n]
    return rng.permutation(x)


KINDS = (
    sized, of_bits, denormal, halves, about_a_power,
    lambda rng, n: rng.random(n), lambda rng, n: rng.exponential(1, n),
    lambda rng, n: rng.integers(0, 9, n).astype(F64),
    lambda rng, n: np.full(n, sized(rng, 1)[0]),
    lambda rng, n: np.full(n, 1.7976931348623157e308),
    lambda rng, n: np.where(rng.integers(n) == np.arange(n), sized(rng, 1), 0))


def any_weights(rng):
    x = pick(rng, KINDS)(rng, any_count(rng))
    if rng.integers(3) == 0:
        x = np.where(rng.integers(0, 3, len(x)) == 0, pick(rng, (0.0, -0.0)), x)
    if rng.integers(8) == 0:
        x[int(rng.integers(len(x)))] = pick(rng, (5e-324, 1.7e308))
    if not (x > 0).any():
        x[int(rng.integers(len(x)))] = sized(rng, 1)[0]
    return x


def told(what, x, ours, theirs):
    i = next(i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b)
    return (f"{what} {i} of weights {[float(w).hex() for w in x[:40]]}, "
            f"{len(x)} in all: the law has {ours[i]}, philox {theirs[i]}")


def sums(library, of_page, rng):
    x = any_weights(rng)
    made = np.full(len(x) + 1, 7, U64)
    library("weight_sums", c_void_p(at(x)), c_size_t(len(x)),
            c_void_p(at(made)))
    if made[-1] != 7:
        return f"the sums of {len(x)} weights have one more: {made[-1]}"
    ours = weights.weight_sums(x)
    if not np.array_equal(ours, made[:-1]):
        return told("sum", x, ours, made)
    if len(x) > 60:
        return None
    slow = of_page.weight_sums([of_page.f64(float(w)) for w in x])
    return None if slow == ours.tolist() else told(
        "by the page's functions", x, slow, made)


def refused(library, rng):
    """Weights that have no sums."""
    x = any_weights(rng)
    x[int(rng.integers(len(x)))] = pick(rng, (np.nan, np.inf, -1, -5e-324))
    if rng.integers(4) == 0:
        x[:] = 0
    made = np.full(len(x), 7, U64)
    try:
        library("weight_sums", c_void_p(at(x)), c_size_t(len(x)),
                c_void_p(at(made)))
    except RuntimeError:
        return None if (made == 7).all() else "sums that are refused, written"
    return f"weights {x} have sums"


# --- any sums ----------------------------------------------------------------


def cuts(rng, n, total):
    """Of parts of a total, at places of which some are the same."""
    at_most = rng.integers(0, total, n, dtype=U64, endpoint=True)
    made = np.sort(np.where(rng.integers(0, 4, n) == 0,
                            rng.choice(at_most, n), at_most))
    made[-1] = total
    if rng.integers(3) == 0:                # the last weights are 0
        made[int(rng.integers(n)):] = total
    return made


def any_sums(rng):
    """Of one to many categories. Those of 2^63 + 1 are often drawn again."""
    shape, n = int(rng.integers(9)), any_count(rng)
    if rng.integers(30) == 0:
        n = int(rng.integers(2**17, 2**18))
    if shape == 0:
        return cuts(rng, n, 1)
    if shape == 1:
        return cuts(rng, n, ALL)
    if shape < 4:
        return cuts(rng, n, 2**63 + int(rng.integers(1, 2**pick(rng, (
            1, 20, 62)), endpoint=True)))
    if shape == 4:
        return cuts(rng, n, 1 + (ALL - 1 >> int(rng.integers(64))))
    if shape == 5:
        return cuts(rng, n, int(rng.integers(1, 200)))
    if shape == 6 and rng.integers(4) == 0:
        return np.zeros(n, U64)
    if shape == 7:                          # one weight each
        return np.arange(1, n + 1, dtype=U64)
    return weights.weight_sums(any_weights(rng))


def at_elements(built, rng):
    """By the headers: elements of a state with any offset, or poison."""
    state, made = any_state(rng), any_sums(rng)
    if rng.integers(10) == 0:
        state = state[0], ALL
    e = law.elements(*any_span(rng, 60))
    theirs = np.empty_like(e)
    built.calls_categories(State(*state), c_uint64(len(made)),
                           c_void_p(at(made)), c_uint32(len(e)),
                           *(c_void_p(at(x)) for x in (e, theirs)))
    ours = weights.categories(state, e, made)
    wrong = np.flatnonzero(ours != theirs)
    if len(wrong) == 0:
        return None
    i = wrong[0]
    return (f"the category of element {e[i]} of state {state}, of sums "
            f"{made}: the law has {ours[i]}, philox {theirs[i]}")


def check(built, library, rng, n):
    of_page = page.load()
    for _ in range(n):
        wrong = (sums(library, of_page, rng) or refused(library, rng) or
                 at_elements(built, rng))
        if wrong:
            return wrong
    print(f"sums of weights, categories: {n}")
    return None
