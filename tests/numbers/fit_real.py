"""Finds the polynomials of philox/real.h and philox/truncated.h.

    pip install mpmath && python3 tests/numbers/fit_real.py [NAME...]

prints, for each function and type (or for those named, like LN_F64), the list
of coefficients in C, highest power first, and the relative error (for sine and
cosine, the absolute one) that they cause in exact arithmetic. The method is
Remez's exchange on the weighted error. The coefficients of f32 are rounded one
at a time, from the lowest power up, and the rest is fitted again after each, so
that rounding costs little; those of f64 are all rounded at once, which costs a
tenth of a last place. What the functions reach in the arithmetic of their type
is checked by tests/numbers/normal.c and tests/numbers/real.c.
"""
import functools
import struct
import sys

from mpmath import (cos, erfc, exp, linspace, log, lu_solve, matrix, mp, mpf, pi,
                    polyval, sqrt)

mp.dps = 50


def round_f32(value):
    return mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def round_f64(value):
    return mpf(float(value))


ROUND = {"F32": round_f32, "F64": round_f64}
SHOW = {"F32": "%.9gf", "F64": "%.17g"}


def remez(function, weight, low, high, powers):
    """Fits sum(c[p] * x**p) with the least weighted maximum error."""
    n = len(powers)
    points = [(low + high) / 2 - (high - low) / 2 * cos(pi * i / n)
              for i in range(n + 1)]
    for _ in range(12):
        rows = matrix(n + 1, n + 1)
        right = matrix(n + 1, 1)
        for i, x in enumerate(points):
            for j, power in enumerate(powers):
                rows[i, j] = x ** power
            rows[i, n] = (-1) ** i / weight(x)
            right[i] = function(x)
        solution = lu_solve(rows, right)
        coefficients = [solution[j] for j in range(n)]
        highest_first = coefficients[::-1]

        def error(x):
            value = polyval(highest_first, x) * x ** powers[0]
            return (value - function(x)) * weight(x)

        points = extremes(error, low, high, n + 1)
    return coefficients


def extremes(error, low, high, count):
    """The largest |error| of each stretch of one sign."""
    grid = linspace(low, high, 1501)
    found = []
    for x in grid:
        value = error(x)
        if found and (found[-1][1] > 0) == (value > 0):
            if abs(value) > abs(found[-1][1]):
                found[-1] = (x, value)
        else:
            found.append((x, value))
    while len(found) > count:
        drop_last = abs(found[0][1]) > abs(found[-1][1])
        found.pop(-1 if drop_last else 0)
    assert len(found) == count, "no alternation"
    return [x for x, _ in found]


def fit(function, weight, low, high, degree, to_type, fixed=()):
    """Fits degree + 1 coefficients and rounds them."""
    done = [mpf(c) for c in fixed]
    while len(done) <= degree:
        known = done[::-1]

        @functools.lru_cache(maxsize=None)
        def rest(x):
            return function(x) - (polyval(known, x) if known else 0)

        powers = range(len(done), degree + 1)
        best = remez(rest, weight, low, high, powers)
        if to_type is round_f64:
            return done + [to_type(c) for c in best]
        done.append(to_type(best[0]))
    return done


def show(name, ones, coefficients, function, weight, low, high):
    worst = max(abs((polyval(coefficients[::-1], x) - function(x)) * weight(x))
                for x in linspace(low, high, 2000))
    form = SHOW[name[-3:]]
    texts = [form % float(c) for c in coefficients[::-1]] + ones
    print("/* error %.3g */" % float(worst))
    print("#define PHILOX_%s_FIRST %s" % (name, texts[0]))
    print("#define PHILOX_%s_TERMS(X)" % name)
    for text in texts[1:]:
        print("\tX(%s)" % text)


def series(term):
    """A sum of terms that soon become 0."""
    @functools.lru_cache(maxsize=None)
    def function(x):
        return sum(term(x, k) for k in range(30))
    return function


@functools.lru_cache(maxsize=None)
def log_tail(x):
    """(log(1 + x) - x) / x^2, by its series near 0."""
    if abs(x) < mpf("0.01"):
        return sum((-1) ** (k + 1) * x ** k / (k + 2) for k in range(30))
    return (log(1 + x) - x) / x ** 2


def log_weight(x):
    """Turns the tail's error into the logarithm's relative error."""
    return abs(x) + mpf("1e-9")


def log_weight_f64(x):
    """The same; with so many coefficients it must be smooth."""
    return sqrt(x * x + mpf("1e-3"))


# (exp(x) - 1 - x) / x^2
exp_tail = series(lambda x, k: x ** k / mp.factorial(k + 2))
# (sin(t) / t - 1) / y and (cos(t) - 1) / y where y = t^2
sin_tail = series(lambda y, k: (-1) ** (k + 1) * y ** k /
                  mp.factorial(2 * k + 3))
cos_tail = series(lambda y, k: (-1) ** (k + 1) * y ** k /
                  mp.factorial(2 * k + 2))


def exp_weight(x):
    return (x * x + mpf("1e-3")) / exp(x)


def sin_weight(y):
    return (y + mpf("1e-9")) * sqrt(y + mpf("1e-9"))


def cos_weight(y):
    return y + mpf("1e-9")


@functools.lru_cache(maxsize=None)
def mills(s):
    """(x + 3/4) Q(x) / phi(x) where s = (x - 4) / (x + 4), x >= 0."""
    if s > 1 - mpf("1e-9"):
        return 1 + mpf(3) / 4 * (1 - s) / 8
    x = 4 * (1 + s) / (1 - s)
    return (x + mpf(3) / 4) * sqrt(pi / 2) * exp(x * x / 2) * \
        erfc(x / sqrt(2))


def mills_weight(s):
    return 1 / mills(s)


def main():
    third = mpf(1) / 3 + mpf("1e-6")
    square = (pi / 4) ** 2 * (1 + mpf("1e-6"))
    half_ln_2 = log(2) / 2 + mpf("1e-5")
    tiny = mpf("1e-12")
    ln = log_tail, log_weight, -third, third
    ln_f64 = log_tail, log_weight_f64, -third, third
    sine = sin_tail, sin_weight, tiny, square
    cosine = cos_tail, cos_weight, tiny, square
    exponential = exp_tail, exp_weight, -half_ln_2, half_ln_2
    ratio = mills, mills_weight, mpf(-1), mpf(1)

    for name, problem, degree, fixed, ones in (
            ("LN_F32", ln, 8, [-0.5], []),
            ("SIN_F32", sine, 2, [], []),
            ("COS_F32", cosine, 3, [-0.5], ["1.0f"]),
            ("EXP_F32", exponential, 4, [0.5], ["1.0f", "1.0f"]),
            ("LN_F64", ln_f64, 19, [], []),
            ("SIN_F64", sine, 5, [], []),
            ("COS_F64", cosine, 6, [-0.5], ["1.0"]),
            ("EXP_F64", exponential, 9, [0.5], ["1.0", "1.0"]),
            ("MILLS_F64", ratio, 22, [], [])):
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        coefficients = fit(*problem, degree, ROUND[name[-3:]], fixed)
        show(name, ones, coefficients, *problem)
    print("ln 2           %.9gf %.17g" % (round_f32(log(2)), log(2)))
    print("2 pi/2^33      %.9gf" % round_f32(2 * pi / 2 ** 33))
    print("2 pi/2^54      %.17g" % (2 * pi / 2 ** 54))
    print("1 / ln 2       %.9gf %.17g" % (round_f32(1 / log(2)), 1 / log(2)))
    for bits, to_type, form in (15, round_f32, "%.9gf"), (33, float, "%.17g"):
        high = mp.floor(log(2) * 2 ** bits) / 2 ** bits
        print("ln 2 in parts  " + form % high + " " +
              form % to_type(log(2) - high))


main()
