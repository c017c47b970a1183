#!/usr/bin/env python3
"""Makes kat_axes.txt: numbers of regions that differ along axes.

usage: tests/numbers/known/kat_axes.py >tests/numbers/known/kat_axes.txt

Philox4x32-10, FNV-1a and the derivation of philox/mesh.h are written out here
in whole numbers; nothing comes from the library.
"""

MASK32 = 2**32 - 1
MASK64 = 2**64 - 1
REGION, OP, AXIS = (2**63 + plane for plane in (1, 2, 7))


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


def fnv1a(name):
    value = 0xcbf29ce484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001b3 & MASK64
    return value


assert fnv1a("foobar") == 0x85944171f73967e8  # draft-eastlake-fnv


def key(seed, region, places, op, call):
    seed = fold(seed, REGION, fnv1a(region))
    for axis in sorted(places, key=str.encode):
        if places[axis]:
            seed = fold(seed, AXIS | places[axis] << 8, fnv1a(axis))
    return fold(seed, OP, call << 32 | op)


def words(state_seed, offset, n):
    return [philox(state_seed, offset // 4, e // 4)[e % 4] for e in range(n)]


PLACES = [
    {},
    {"data": 0},
    {"data": 1},
    {"data": 2},
    {"tensor": 1},
    {"data": 1, "tensor": 1},
    {"data": 3, "tensor": 0},
    {"data": 0, "tensor": 7, "pipeline": 15},
    {"data": 127, "tensor": 7, "pipeline": 15},
    {"data": 255},
    {"data": 256},
    {"data": 2**31},
    {"data": 2**32 - 2},
    {"b": 1, "a": 2, "B": 3, "~": 4, "\u00fc": 5},
    {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1},
]
SITES = [(0, 0), (1, 0), (1, 1), (2, 0)]


def main():
    print("# Made by tests/numbers/known/kat_axes.py: numbers of regions that differ")
    print("#")
    print("# seed region offset op call places: key, and elements 0 to 7")
    for i, places in enumerate(PLACES):
        seed = [0, 42, 0x0123456789abcdef, MASK64][i % 4]
        region = ["layer", "noise", "block.0"][i % 3]
        offset = 4 * (i % 4)
        text = ",".join(f"{axis}={at}" for axis, at in places.items()) or "-"
        for op, call in SITES:
            state = key(seed, region, places, op, call)
            print(f"{seed:016x} {region} {offset} {op} {call} {text}: "
                  f"{state:016x}",
                  *(f"{word:08x}" for word in words(state, offset, 8)))


main()
