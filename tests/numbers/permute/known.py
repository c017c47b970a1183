#!/usr/bin/env python3
"""Makes known.txt: items of orders.

usage: tests/numbers/permute/known.py >tests/numbers/permute/known.txt

Philox4x32-10 and the comment of philox/permute.h are written out here in whole
numbers; nothing comes from the library.
"""

import math

MASK32 = 2**32 - 1
MASK64 = 2**64 - 1
RETRY, ORDER = 2**63 + 4, 2**63 + 10


def philox(key, low, high):
    """Salmon, Moraes, Dror, Shaw: Parallel random numbers, SC11."""
    k0, k1 = key & MASK32, key >> 32
    c0, c1 = low & MASK32, low >> 32
    c2, c3 = high & MASK32, high >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32 ^ c1 ^ k0, p1 & MASK32,
                          p0 >> 32 ^ c3 ^ k1, p0 & MASK32)
        k0, k1 = (k0 + 0x9E3779B9) & MASK32, (k1 + 0xBB67AE85) & MASK32
    return c0, c1, c2, c3


assert philox(0, 0, 0) == (0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8)


def fold(seed, plane, index):
    block = philox(seed, index, plane)
    return block[1] << 32 | block[0]


def tries(key, n):
    """The draws of 64 bits of element 0: the first one, then retries."""
    block = philox(key, n, 0)
    yield block[1] << 32 | block[0]
    again = fold(key, RETRY, n)
    for t in range(100):
        block = philox(again, t, 0)
        yield block[1] << 32 | block[0]


def rank(key, n):
    """Uniform in [0, n!), and how many draws were rejected (Lemire)."""
    orders = math.factorial(n)
    for rejected, w64 in enumerate(tries(key, n)):
        if w64 * orders % 2**64 >= 2**64 % orders:
            return w64 * orders >> 64, rejected


def small(key, n):
    order = list(range(n))
    r = rank(key, n)[0]
    for i in range(n - 1, 0, -1):
        r, k = divmod(r, i + 1)
        order[i], order[k] = order[k], order[i]
    return order


def folded(m, y):
    return m * y >> 32 ^ m * y & MASK32


class Grid:
    """An order of more than 16 items."""

    def __init__(self, key, n):
        self.n = n
        self.words = philox(key, n, 0)
        bits = len(bin(n - 1)) - 2
        self.shift = 32 if bits == 63 else bits // 2
        self.rows = -(-n // 2**self.shift)

    def f(self, x, key):
        return folded(0xCD9E8D57,
                      folded(0xD2511F53, x ^ key) ^ self.words[2])

    def turn(self, cell):
        row, col = divmod(cell, 2**self.shift)
        for j in range(12 if self.n <= 1024 else 6):
            moved = self.f(col, (self.words[0] + j * 0x9E3779B9) & MASK32)
            row = (row + moved * self.rows // 2**32) % self.rows
            moved = self.f(row, (self.words[1] + j * 0xBB67AE85) & MASK32)
            col = (col + moved) % 2**self.shift
        return row * 2**self.shift + col

    def item(self, place):
        if self.words[3] % 2 and place < 2:
            place = 1 - place
        cell = self.turn(place)
        while cell >= self.n:
            cell = self.turn(cell)
        return cell


def items(seed, offset, n, places):
    key = fold(seed, ORDER, offset // 4)
    if n <= 16:
        order = small(key, n)
        return [order[place] for place in places]
    grid = Grid(key, n)
    return [grid.item(place) for place in places]


STATES = ((0, 0), (0x123456789abcdef, 4096), (MASK64, 2**34 + 8),
          (0xdeadbeefcafef00d, 2**64 - 4))
WHOLE = (1, 2, 3, 5, 6, 7, 13, 15, 16, 17, 18, 20, 21, 31, 32, 33, 63, 64, 65)
SOME = (100, 129, 1000, 1023, 1024, 1025, 4097, 65536, 10**6 + 3, 2**20,
        2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**40 - 87, 2**61 + 5,
        2**62 - 57, 2**62, 2**62 + 1, 3 * 2**61, 2**63 - 25, 2**63)
# seeds at offset 4096 whose first draw is rejected, found by trying them all
REJECTED = ((16, 1617920), (16, 3033709), (15, 25412368))


def main():
    print("""\
# Made by tests/numbers/permute/known.py: items of orders. seed offset n: place
# item, place item ...""")
    rows = [(*state, n, range(n)) for n in WHOLE for state in STATES]
    for n in SOME:
        for k, state in enumerate(STATES):
            places = {0, 1, 2, n - 1, n // 2, k}
            places |= {philox(n, k, i)[1] * n >> 32 for i in range(12)}
            rows.append((*state, n, sorted(places)))
    for n, seed in REJECTED:
        assert rank(fold(seed, ORDER, 1024), n)[1] == 1
        rows.append((seed, 4096, n, range(n)))
    for seed, offset, n, places in rows:
        order = items(seed, offset, n, places)
        print(hex(seed), offset, str(n) + ":",
              ", ".join("%d %d" % pair for pair in zip(places, order)))


if __name__ == "__main__":
    main()
