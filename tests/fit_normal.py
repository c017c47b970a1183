"""Finds the polynomials of philox_normal_pair() in include/philox/real.h.

    pip install mpmath && python3 tests/fit_normal.py

prints the coefficients in C and the error that each polynomial
has in exact arithmetic. The method is Remez's exchange on the weighted error;
the coefficients are rounded to float one at a time, from the lowest power up,
and the rest is fitted again after each, so that rounding costs little.
What the formulas reach in float arithmetic is checked by tests/test_normal.c.
"""
import struct

from mpmath import cos, linspace, log, lu_solve, matrix, mp, mpf, pi, sin, sqrt

mp.dps = 40


def to_float(value):
    """Rounds to the nearest float."""
    return struct.unpack("f", struct.pack("f", float(value)))[0]


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

        def error(x):
            value = sum(c * x ** p for c, p in zip(coefficients, powers))
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


def fit(function, weight, low, high, degree, fixed=()):
    """Fits degree + 1 coefficients, each rounded to float in its turn."""
    done = [mpf(to_float(c)) for c in fixed]
    while len(done) <= degree:
        def rest(x):
            return function(x) - sum(c * x ** p for p, c in enumerate(done))
        powers = range(len(done), degree + 1)
        best = remez(rest, weight, low, high, powers)
        done.append(mpf(to_float(best[0])))
    return done


def show(name, coefficients, function, weight, low, high):
    worst = max(abs((sum(c * x ** p for p, c in enumerate(coefficients))
                     - function(x)) * weight(x))
                for x in linspace(low, high, 2000))
    print("%s: error %.3g" % (name, float(worst)))
    for power, c in enumerate(coefficients):
        print("  x^%d  %.9gf" % (power, float(c)))


def log_tail(x):
    """(log(1 + x) - x) / x^2, by its series near 0."""
    if abs(x) < mpf("0.01"):
        return sum((-1) ** (k + 1) * x ** k / (k + 2) for k in range(24))
    return (log(1 + x) - x) / x ** 2


def log_weight(x):
    """Turns the tail's error into the logarithm's relative error."""
    return abs(x) + mpf("1e-9")


def sin_tail(y):
    """(sin(t) / t - 1) / y where y = t^2, by its series."""
    return sum((-1) ** (k + 1) * y ** k / mp.factorial(2 * k + 3)
               for k in range(14))


def cos_tail(y):
    """(cos(t) - 1) / y where y = t^2, by its series."""
    return sum((-1) ** (k + 1) * y ** k / mp.factorial(2 * k + 2)
               for k in range(14))


def main():
    third = mpf(1) / 3
    low, high = -third - mpf("1e-6"), third + mpf("1e-6")
    square = (pi / 4) ** 2 * (1 + mpf("1e-6"))
    tiny = mpf("1e-12")

    def sin_weight(y):
        return (y + mpf("1e-9")) * sqrt(y + mpf("1e-9"))

    def cos_weight(y):
        return y + mpf("1e-9")

    show("log", fit(log_tail, log_weight, low, high, 8, [-0.5]),
         log_tail, log_weight, low, high)
    show("sin", fit(sin_tail, sin_weight, tiny, square, 2),
         sin_tail, sin_weight, tiny, square)
    show("cos", fit(cos_tail, cos_weight, tiny, square, 3, [-0.5]),
         cos_tail, cos_weight, tiny, square)
    print("ln 2       %.9gf" % to_float(log(2)))
    print("2 pi/2^33  %.9gf" % to_float(2 * pi / 2 ** 33))


main()
