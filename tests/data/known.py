#!/usr/bin/env python3
"""Makes known.txt: quotas, hashes and samples of mixtures.

usage: tests/data/known.py >tests/data/known.txt

The comments of philox/mixture.h and philox/data.h are written out here in whole
numbers and fractions, on tests/numbers/permute/known.py; nothing comes from the
library.
"""

import os
import sys
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "numbers", "permute"))

from known import MASK64, fold, items, philox  # noqa: E402

DATA = 2**63 + 11


def fnv1a(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & MASK64
    return h


def quotas(weights, block):
    total = sum(weights)
    shares = [Fraction(w * block, total) for w in weights]
    made = [int(share) for share in shares]
    rest = sorted((made[i] - share, i) for i, share in enumerate(shares))
    for _, i in rest[:block - sum(made)]:
        made[i] += 1
    return made


class Mixture:
    def __init__(self, seed, offset, sources, block):
        self.key = fold(seed, DATA, offset // 4)
        self.sources = [(n, w if 0 < w < n else n) for n, _, w in sources]
        self.block = block if len(sources) > 1 else 1
        self.quotas = quotas([w for _, w, _ in sources], self.block)

    def order(self):
        words = [self.block, len(self.sources)]
        for (samples, window), quota in zip(self.sources, self.quotas):
            words += [samples, quota, window]
        return fnv1a(b"".join(w.to_bytes(8, "little") for w in words))

    def at(self, position):
        b, slot = divmod(position, self.block)
        place = slot
        if self.block > 1:
            place, = items(self.key, 4 * b, self.block, [slot])
        source = 0
        while place >= self.quotas[source]:
            place -= self.quotas[source]
            source += 1
        samples, window = self.sources[source]
        draw = b * self.quotas[source] + place
        epoch, place = divmod(draw, samples)
        w, inside = divmod(place, window)
        if window > 1:
            seed = fold(fold(self.key, DATA, source), DATA, epoch)
            inside, = items(seed, 4 * w, min(window, samples - w * window),
                            [inside])
        return source, epoch, w * window + inside


# samples, weight, window
CASES = (
    ([(10, 1, 0)], 5),
    ([(10, 1, 4)], 1),
    ([(2**63, 2**64 - 1, 0)], 1),
    ([(2**63, 1, 2**40 + 1)], 1),
    ([(1, 1, 0)], 1),
    ([(2, 1, 1), (3, 1, 0)], 2),
    ([(100, 3, 0), (1000, 7, 64), (5, 10, 1)], 20),
    ([(7, 1, 3), (11, 1, 0), (13, 1, 20)], 100),
    ([(60000, 3, 0), (10**6, 7, 8192)], 65536),
    ([(2**40, 2**64 - 1, 0), (2**63, 2**62 + 5, 2**32), (1, 99, 0)], 2**62),
    ([(1000 + i, i % 17 + 1, i % 5 * 100) for i in range(40)], 4096),
)


def main():
    print("""\
# Made by tests/data/known.py: mixtures. "mixture" seed offset block sources;
# for each source samples weight window quota; "order" its hash; then lines
# position source epoch sample.""")
    for k, (sources, block) in enumerate(CASES):
        for seed, offset in ((42 + k, 0), (MASK64 - k, 2**40 + 4 * k)):
            m = Mixture(seed, offset, sources, block)
            print("mixture", hex(seed), offset, block, len(sources))
            for source, quota in zip(sources, m.quotas):
                print(*source, quota)
            print("order", hex(m.order()))
            at = set(range(12)) | {2**63 - 1, m.block - 1, m.block}
            at |= {philox(seed, k, i)[1] << i + 2 for i in range(29)}
            for position in sorted(at):
                print(position, *m.at(position))


if __name__ == "__main__":
    main()
