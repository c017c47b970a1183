"""The law of logprobs, in integers and fractions, and known answers of it.

python3 tests/sample/logprobs.py >tests/sample/logprobs.txt

The cases are those of filters.py, in the same order, one line for each; with
--small they are those of at most 3000 columns, as there.

What is kept comes from filters.py, which sorts and adds exactly. The logarithm
is that of philox_ln_f64(), each step rounded once from a fraction, and it is
compared with one of 50 digits. For cases of few columns every number that is
printed is compared with the exact logarithm of the softmax. Nothing is shared
with the library but the formulas of its exponential function and logarithms.
"""

import dataclasses
import decimal
import math
import sys
from decimal import Decimal
from fractions import Fraction

import filters

HEADER = """\
# Known answers of logprobs, made by tests/sample/logprobs.py.
# One line for each case of tests/sample/filters.txt, in the same order.
# p0 p1 p2 p3 t0 v0 t1 v1 t2 v2 t3 v3 t4 v4, processed; the same 14 words, raw
#   p0 .. p3  logprobs of four ids: first, first + vocab / 2, first + vocab - 1,
#             and the case's `last`, or first where that is -1
#   t0 .. t4  the vocabulary indices of the top 5, or -1
#   v0 .. v4  the logprobs of these
# Logprobs are f32 bits in hex: ff800000 is -inf, and all NaNs are 7fc00000."""

TOP = 5
EXACT = 300  # so many columns, or fewer, are compared with the exact softmax
DIGITS = 50
INF = math.inf
NAN_WORD = "7fc00000"

# --- the logarithm -----------------------------------------------------------

LN_2 = 0.69314718055994529
LN = [
    0.087255966889394951, -0.086630984335445402, 0.040511788967379676,
    -0.045523612598820928, 0.060807381225337451, -0.063958698611674844,
    0.066469267177964239, -0.0713014768931481, 0.076935551413288492,
    -0.083340224888905703, 0.090908588974583343, -0.0999997687751248,
    0.11111112357814504, -0.12500000459050215, 0.14285714267950028,
    -0.16666666661784674, 0.20000000000124907, -0.25000000000022499,
    0.33333333333333032, -0.49999999999999972
]


def nearest_f64(q):
    """The f64 nearest to a fraction in the range of normal ones, or to 0."""
    if q == 0:
        return 0.0
    a = abs(q)
    e = a.numerator.bit_length() - a.denominator.bit_length()
    e -= a < Fraction(2)**e
    assert -1022 <= e < 1023
    unit = Fraction(2)**(e - 52)
    a = float(round(a / unit) * unit)
    return -a if q < 0 else a


def multiply_add(a, b, c):
    return nearest_f64(Fraction(a) * Fraction(b) + Fraction(c))


def ln_f64(x):
    """For normal x: x = m 2^k with m in [2/3, 4/3), where 2/3 is an f64."""
    m, k = math.frexp(x)
    if m < 2 / 3:
        m, k = 2 * m, k - 1
    y = m - 1
    p = LN[0]
    for c in LN[1:]:
        p = multiply_add(p, y, c)
    p = multiply_add(multiply_add(y, y, 0), p, y)
    return multiply_add(k, LN_2, p)


def toward_0(total):
    """total 2^-56 of an integer, with its first 53 binary digits."""
    rest = max(0, total.bit_length() - 53)
    return float(Fraction(total >> rest << rest, 2**56))


# --- the law -----------------------------------------------------------------


class Logprobs:
    """Logprobs of a row, of which the first n tokens in the order are kept.

    Without any, all are NaN.
    """

    def __init__(self, x, temperature, n):
        self.x, self.kept = x, []
        if n == 0:
            return
        self.entry = filters.Entry(x, temperature)
        self.kept = self.entry.tokens[:n]
        self.members = set(self.kept)
        self.ln = ln_f64(toward_0(sum(map(self.entry.mass, self.kept))))

    def of(self, c):
        """That of a column."""
        if not self.kept:
            return math.nan
        if c not in self.members:
            return -INF
        return filters.f32(self.entry.t[c] - self.ln)

    def asked(self, columns):
        """Pairs of a column, or None, and its logprob, as they are printed."""
        top = [(c, self.of(c)) for c in self.kept[:TOP]]
        fill = -INF if self.kept else math.nan
        top += [(None, fill)] * (TOP - len(top))
        return [(c, self.of(c)) for c in columns] + top


def processed(case, n):
    return Logprobs(filters.visible_logits(case), filters.from_bits(case.t), n)


def raw(case):
    """Of all columns, whatever the mask, and with temperature 1."""
    x = filters.visible_logits(dataclasses.replace(case, mask=0))
    nan = any(math.isnan(a) for a in x)
    return Logprobs(x, 1.0, 0 if nan else sum(a != -INF for a in x))


def columns_of(case, last):
    """Columns of the ids that are asked for."""
    of_last = 0 if last == -1 else last - case.first
    return [0, case.vocab // 2, case.vocab - 1, of_last]


# --- lines -------------------------------------------------------------------


def word(value):
    return NAN_WORD if math.isnan(value) else f"{filters.bits_of(value):08x}"


def words(case, pairs):
    """Those of one kind: processed, or raw."""
    ids = len(pairs) - TOP
    result = [word(value) for _, value in pairs[:ids]]
    for c, value in pairs[ids:]:
        result += [str(-1 if c is None else case.first + c), word(value)]
    return result


def line(case):
    n, last = filters.answer(case)
    columns = columns_of(case, last)
    result = []
    both = [(processed(case, n), filters.from_bits(case.t)), (raw(case), 1.0)]
    for logprobs, temperature in both:
        pairs = logprobs.asked(columns)
        if case.vocab <= EXACT:
            check_exactly(case, logprobs, temperature, pairs)
        result += words(case, pairs)
    return " ".join(result)


# --- checks of the above -----------------------------------------------------


class Softmax:
    """The exact logarithms of a softmax, but for the last of many digits."""

    def __init__(self, x, kept, temperature):
        self.x, self.greatest = x, x[kept[0]]
        # a greedy one has no other t than that of temperature 1
        greedy = temperature < 2.0**-100
        self.temperature = Decimal(1 if greedy else temperature)
        self.ln = sum(self.scaled(c).exp() for c in kept).ln()

    def scaled(self, c):
        if self.x[c] == self.greatest:
            return Decimal(0)
        return (Decimal(self.x[c]) - Decimal(self.greatest)) / self.temperature

    def of(self, c):
        return self.scaled(c) - self.ln


def check_exactly(case, logprobs, temperature, pairs):
    """Finite logprobs are within 2^-22 (1 + |logprob| + ln(vocab))."""
    if not logprobs.kept:
        return
    exact = Softmax(logprobs.x, logprobs.kept, temperature)
    for c, value in pairs:
        if not math.isfinite(value):
            continue
        error = abs(Decimal(value) - exact.of(c))
        size = 1 + abs(Decimal(value)) + Decimal(case.vocab).ln()
        assert error <= size / 2**22, (case, c, value, exact.of(c))


def check_ln():
    """philox_ln_f64() of what totals are, within 2.1e-16."""
    assert ln_f64(1.0) == 0
    chooser = filters.Chooser(7)
    for i in range(3000):
        u = chooser.random.random()
        x = [1 + u, 1 + u * 2.0**-(i % 50), 2.0**(u * 32), 1 + u / 3][i % 4]
        if x > 1:
            ln = Decimal(x).ln()
            assert abs(Decimal(ln_f64(x)) / ln - 1) <= Decimal("2.1e-16")


def check_rounding():
    """Division of Python's integers, and totals, are rounded once too."""
    chooser = filters.Chooser(8)
    for i in range(3000):
        a, b = 1 + chooser.below(2**52) * 2**23, 1 + chooser.below(2**(i % 50))
        half = 2**53 + 2 * chooser.below(2**51) + 1  # a tie
        assert nearest_f64(Fraction(a, b)) == a / b
        assert nearest_f64(Fraction(-half, 8)) == -half / 8
        x, total = toward_0(a + 2**56), Fraction(a + 2**56, 2**56)
        assert Fraction(x) <= total < Fraction(math.nextafter(x, INF))


def main():
    decimal.getcontext().prec = DIGITS
    filters.check_arithmetic()
    filters.check_functions()
    check_rounding()
    check_ln()
    print(HEADER)
    for case in filters.cases():
        small = case.vocab <= filters.SMALL
        if small or "--small" not in sys.argv[1:]:
            filters.settle(case)
            print(line(case))


if __name__ == "__main__":
    main()
