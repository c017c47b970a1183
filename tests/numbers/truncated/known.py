#!/usr/bin/env python3
"""Makes known.txt: quantiles of truncated normal distributions.

usage: tests/numbers/truncated/known.py >tests/numbers/truncated/known.txt

Each is evaluated with mpmath to 80 digits from the definition: the z of which
Q(z) = Q(alpha) - u (Q(alpha) - Q(beta)), with u = (w64 + 1/2) 2^-64 and Q the
upper tail of the standard normal distribution. alpha = (low - mean) / std and
beta = (high - mean) / std are Python's, each operation rounded to f64. Nothing
comes from the library.
"""

import random

from mpmath import erf, erfc, exp, floor, log, mp, mpf, nstr, pi, sqrt

mp.dps = 80
WORDS = 2**64


def tail(x):
    return erfc(x / sqrt(mpf(2))) / 2


def central(x):
    return erf(x / sqrt(mpf(2))) / 2


def tail_inverse(q, start):
    """Newton's method on ln(Q), which is concave, from z >= start >= 0."""
    goal = log(q)
    z = sqrt(start * start - 2 * (goal - log(tail(start))))
    for _ in range(80):
        at = tail(z)
        step = (log(at) - goal) * at / (exp(-z * z / 2) / sqrt(2 * pi))
        z += step
        if abs(step) <= mpf(10)**-50 * abs(z):
            return z
    raise ArithmeticError("no convergence")


def central_inverse(p):
    """Of |p| up to 1/2; by the series of z in p where that is small."""
    if abs(p) < mpf("1e-15"):
        y = p * sqrt(2 * pi)
        return y + y**3 / 6 + 7 * y**5 / 120
    z = tail_inverse(mpf(1) / 2 - abs(p), mpf(0))
    return z if p > 0 else -z


def quantile(alpha, beta, w):
    u = (2 * mpf(w) + 1) / (2 * WORDS)
    if beta <= 0:
        return -quantile(-beta, -alpha, WORDS - 1 - w)
    alpha, beta = mpf(alpha), mpf(beta)
    if alpha < 0:
        return central_inverse(u * central(beta) - (1 - u) * central(-alpha))
    if alpha > mpf(10)**20:   # z - alpha is below 46 / alpha
        return alpha
    first = tail(alpha)
    # where Q(beta) / Q(alpha) is below e^-1000 it is as good as 0
    last = tail(beta) if beta - alpha < 45 else mpf(0)
    return tail_inverse(first - u * (first - last), alpha)


# --- what is asked -------------------------------------------------------------

INF = 1e300
STANDARD = [
    # 0 inside: even, uneven, one end near 0, both near 0, wide
    (-2.0, 2.0), (-1.0, 1.0), (-INF, INF), (-1.0, INF), (-INF, 0.5),
    (-5.0, 0.001), (-0.001, 5.0), (-1e-20, 1.0), (-1e-5, 1e-6), (-0.7, 0.6),
    (-12.5, 13.0), (-8.0, 9.0), (-20.0, -0.0 + 1e-3), (-1e-9, 1e-9),
    (-11.999, 0.3), (-6.5, 6.5), (-0.015625, 0.015625), (-3.0, 1e-30),
    # 0 at an end, and near one
    (0.0, 1.0), (0.0, INF), (-1.0, 0.0), (-INF, 0.0), (0.0, 1e-10),
    (5e-324, 3.0), (1e-3, 2e-3), (1e-3, 5.0), (1e-30, 2e-30),
    # on one side: near, far and very far
    (0.5, 0.515), (1.0, 2.0), (2.0, INF), (-3.0, -2.0), (3.0, 3.01),
    (7.0, 8.0), (7.0, INF), (-9.0, -8.0), (20.0, 21.0), (25.0, 25.001),
    (38.0, 50.0), (38.0, INF), (-INF, -38.0), (38.5, 38.6), (1e3, 1e4),
    (1e3, INF), (1e3, 1e3 + 1e-3), (-1e4, -1e3), (1e10, INF),
    (-INF, -1e10), (1e10, 1e10 + 1e-6), (1e30, INF), (3e38, INF),
    # tiny
    (1.0, 1 + 2.0**-40), (1.0, 1 + 2.0**-52), (-1 - 2.0**-40, -1.0),
    (4.0, 4 + 2.0**-30), (0.1, 0.1 + 2.0**-20)]
SCALED = [  # mean, std, low, high
    (0.0, 0.02, -0.04, 0.04), (0.5, 2.0, -1.0, 3.0), (-3.0, 0.1, -2.0, 0.0),
    (10.0, 3.0, -INF, 9.0), (1e-3, 1e-6, 0.0, 1.0), (5.0, 1e20, 0.0, 1.0),
    (0.0, 1e-20, 1e-19, 1.0), (-0.3, 0.7, -0.3, 0.9)]


def random_interval(rng):
    kind = rng.randrange(4)
    if kind == 0:
        low, high = -rng.expovariate(0.4), rng.expovariate(0.4)
    elif kind == 1:
        low = rng.expovariate(0.1)
        high = low + rng.expovariate(1)
    elif kind == 2:
        low = 10 ** rng.uniform(-8, 9)
        high = low + 10 ** rng.uniform(-6, 2) / max(low, 1)
    else:
        low, high = -10 ** rng.uniform(-12, 1), 10 ** rng.uniform(-12, 1)
    if rng.random() < 0.5:
        low, high = -high, -low
    return (low, high) if low < high else (low, low + 1)


def crossing(alpha, beta):
    """The words around the one that gives the z nearest to 0."""
    below, above = central(-mpf(alpha)), central(mpf(beta))
    at = int(floor(below / (below + above) * WORDS))
    return [at + d for d in (-2**40, -1000, -2, -1, 0, 1, 2, 1000, 2**40)]


def words(rng, alpha, beta):
    some = [0, 1, WORDS - 1, WORDS - 2, WORDS // 2, WORDS // 2 - 1, 2**32]
    some += [rng.getrandbits(64) for _ in range(8)]
    some += [rng.getrandbits(64) >> rng.randrange(64) for _ in range(6)]
    some += [WORDS - 1 - (rng.getrandbits(64) >> rng.randrange(64))
             for _ in range(6)]
    if alpha < 0 < beta:
        some += crossing(alpha, beta)
    return sorted({w for w in some if 0 <= w < WORDS})


def line(rng, mean, std, low, high):
    alpha, beta = (low - mean) / std, (high - mean) / std
    texts = []
    for w in words(rng, alpha, beta):
        z = quantile(alpha, beta, w)
        texts.append("%x %s" % (w, nstr(z, 21)))
    print("%s %s %s %s: %s" % (mean.hex(), std.hex(), low.hex(), high.hex(),
                               ", ".join(texts)))


def main():
    rng = random.Random(1)

    print("# Made by tests/numbers/truncated/known.py. mean std low high: w64 "
          "z, w64 z, ...")
    for low, high in STANDARD:
        line(rng, 0.0, 1.0, low, high)
    for _ in range(60):
        line(rng, 0.0, 1.0, *random_interval(rng))
    for row in SCALED:
        line(rng, *row)


main()
