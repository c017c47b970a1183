#!/usr/bin/env python3
"""Makes known.txt: integer weights of real ones.

usage: tests/numbers/weights/known.py >tests/numbers/weights/known.txt

Each line has a list of weights, as hex floats, and after a colon the running
sums of their integer weights, made in fractions from the definition in
philox/weights.h. Nothing comes from the library.
"""

import random
import sys
from fractions import Fraction

LEAST, MOST = 5e-324, sys.float_info.max


def sums(weights):
    weights = [Fraction(w) for w in weights]
    total = sum(weights)
    s = 62 - (total.numerator.bit_length() - total.denominator.bit_length())
    while total * Fraction(2)**s >= 2**62:
        s -= 1
    assert 2**61 <= total * Fraction(2)**s < 2**62
    made, out = 0, []
    for w in weights:
        whole = (w * Fraction(2)**s + Fraction(1, 2)).__floor__()
        made += max(whole, 1) if w else 0
        out.append(made)
    assert made < 2**63
    return out


def lists():
    yield from ([1.0], [LEAST], [MOST], [0.0, 3.0], [-0.0, 3.0], [1.0, 1.0],
                [1.0, 0.0, 3.5, 2.0], [0.0, LEAST, 0.0], [1.0, LEAST],
                [LEAST, MOST, LEAST, 0.0], [MOST] * 9, [LEAST] * 9,
                [1.0, 2**-62, 2**-63, 2**-64, 2**-65, 2**-1000],
                [2.0**61, 2.0**61], [2.0**62, 1.0], [2.0**62, 0.5, 0.75],
                [2.0**61, 0.5, 1.5, 2.5, 0.75, 0.25], [2.0**53, 1.0, 2.0],
                [2.0**-1022, 2.0**-1023, 2.0**-1022 - LEAST, LEAST],
                [0.1] * 10, [1 / 3, 2 / 3], [float(i) for i in range(30)],
                [2.0**62 - 2.0**9, 256.0, 256.0])
    # every place of a limb of 64 bits, and carries through many of them
    for i in range(0, 2046, 31):
        yield [2.0**(i - 1022), 2.0**(i - 1022) * (2 - 2**-52)]
    for top in (-900, 0, 900):
        yield [2.0**(top - i) for i in range(1, 150)] + [2.0**(top - 149)]
    chance = random.Random(1)
    for i in range(200):
        spread = chance.choice((1, 10, 60, 300))
        yield [0.0 if chance.random() < 0.2 else
               chance.random() * 2.0**chance.uniform(-spread, spread)
               for _ in range(chance.choice((1, 2, 3, 10, 40)))] + [1.0]


for weights in lists():
    print(*(float(w).hex() for w in weights), ":", *sums(weights))
