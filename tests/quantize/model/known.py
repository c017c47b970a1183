"""Write known.txt: numbers rounded by the model, as data for other tests.

A line is

    format rule bits saturate seed offset element input -> code

with enums' numbers (format: 0 bf16, 1 f16, 2 e4m3, 3 e5m2, 4 e2m1; rule: 0
FIXED, 1 EXACT), seed, offset and element in decimal, the input an f32 and the
code in hexadecimal. Lines that begin with # say what follows.

Where a second retry word decides, all of the field's and the first word's
bits must be f's, and an f32 has 24 digits: so they are small numbers, for
which elements were searched for. `known.py search` does it again (16 bits:
many minutes; it was done by the same loop in C). A third word, or a second
with a field of 32 bits, needs a whole word of zeros besides (2^-32 at a
time): they are left out.
"""
import math
import sys
from fractions import Fraction

import model as m
from cases import f32_bits
from formats import NAMES, SHAPES, decode32, numbers, power

PI = 0x3141592653589793
lines = []

# bits, (state), element: its field is 0 (of 32 bits: small), and the first
# retry word (of 32 bits: the field) is less than 2^22. The last one of each
# is a result of search(): the next word begins with the bits 01 or 10 too.
SMALL_PLACES = [
    (32, (PI + 32, 128), 109),
    (8, (PI + 8, 32), 12145),
    (8, (PI + 8, 32), 50206),
    (16, (PI + 16, 64), 27231855),
    (16, (PI + 16, 64), 404296369),
]


def say(text):
    lines.append("# " + text)


def add(fmt, rule, bits, sat, state, element, x):
    """x: an f32's bits, or a fraction that is one."""
    if not isinstance(x, int):
        q = x
        x = f32_bits(q)
        v = decode32(x)
        assert (-v.mag if v.negative else v.mag) == q, (fmt, q)
    code = m.round_number(fmt, rule, bits, sat, state, element, decode32(x))
    lines.append("%d %d %d %d %d %d %d %08x -> %0*x" % (
        fmt, rule, bits, sat, state[0], state[1], element, x,
        SHAPES[fmt][4] // 4, code))
    return code


def cut(v, step):
    return math.floor(v / step) * step


def f32_step(v):
    """How far f32's numbers are apart at v and below 2 v."""
    e = 0
    while power(e) > v:
        e -= 1
    while power(e + 1) <= v:
        e += 1
    return power(max(e, -126) - 23)


def fields():
    say("the field itself and one more, with f of as many bits")
    for fmt in range(5):
        for bits in (8, 16):
            for code in (1, 5, SHAPES[fmt][3] - 1):
                a, b = numbers(fmt)[code:code + 2]
                element = 7 * code + bits
                state = (PI, 4 * code)
                k = m.field_of(state, element, bits)
                if bits == 16 and fmt == m.F16 and code > 5:
                    continue            # f has 13 bits
                for more in (0, 1):
                    for rule in (m.FIXED, m.EXACT)[:2 - more]:
                        x = a + (b - a) * Fraction(k + more, 2**bits)
                        got = add(fmt, rule, bits, 0, state, element,
                                  -x if code == 5 else x)
                        assert got % 2**(SHAPES[fmt][4] - 1) == code + more
    say("32 bits: the numbers above and below the field's fraction")
    for fmt in range(5):
        for code in (0, 6):
            a, b = numbers(fmt)[code:code + 2]
            for element in (3, 2**32 + 6):
                state = (PI + 1, 40)
                k = m.field_of(state, element, 32)
                x = a + (b - a) * Fraction(k, 2**32)
                step = f32_step(x)
                add(fmt, m.FIXED, 32, 0, state, element, cut(x, step))
                add(fmt, m.EXACT, 32, 0, state, element, cut(x, step) + step)


def retries():
    say("EXACT: the first retry word decides; FIXED is the lower one")
    for fmt in range(5):
        for bits in (8, 16):
            if bits == 16 and fmt in (m.BF16, m.F16):
                continue                # f has few bits more, if any
            code = 5
            a, b = numbers(fmt)[code:code + 2]
            for element in (2, 1000003):
                state = (PI + 2, 8)
                word = m.field_of(m.retry_state(state, 0), element, 32)
                k = m.field_of(state, element, bits)
                x = a + (b - a) * (k + Fraction(word, 2**32)) / 2**bits
                step = f32_step(x)
                low = cut(x, step)
                add(fmt, m.EXACT, bits, 0, state, element, low)
                high = low + step
                add(fmt, m.EXACT, bits, 0, state, element, high)
                add(fmt, m.FIXED, bits, 0, state, element, high)
    say("32 bits: the field is f's first 32, and the retry word decides")
    for bits, state, element in SMALL_PLACES:
        if bits == 32:
            k = m.field_of(state, element, 32)
            word = m.field_of(m.retry_state(state, 0), element, 32)
            two_ways(bits, 2**32 * k, word, 2**64, state, element)
    say("two retry words: the first is f's; the second decides")
    for bits, state, element in SMALL_PLACES:
        if bits < 32:
            assert m.field_of(state, element, bits) == 0
            first, word = (m.field_of(m.retry_state(state, t), element, 32)
                           for t in (0, 1))
            two_ways(bits, 2**32 * first, word, 2**(64 + bits), state,
                     element)
    say("the first retry word is the rest of f: the lower one; then 2^-24 "
        "and more")
    state, element = ended()
    k = m.field_of(state, element, 8)
    word = m.field_of(m.retry_state(state, 0), element, 32)
    for fmt in (m.F16, m.E4M3, m.E5M2, m.E2M1):
        least = numbers(fmt)[1]
        x = least * Fraction(k * 2**32 + word, 2**40)
        for rule in (m.FIXED, m.EXACT):
            assert add(fmt, rule, 8, 0, state, element, x) == 0
        assert add(fmt, m.EXACT, 8, 0, state, element,
                   x + f32_step(x)) == 1


    say("32 bits: the field is all of f: the lower one; then more")
    element = next(e for e in range(10**6)
                   if m.field_of(state, e, 32) % 256 == 0)
    k = m.field_of(state, element, 32)
    for fmt in range(1, 5):
        x = numbers(fmt)[1] * Fraction(k, 2**32)
        for rule in (m.FIXED, m.EXACT):
            assert add(fmt, rule, 32, 0, state, element, -x) % 2 == 0
            assert add(fmt, rule, 32, 0, state, element,
                       -x - f32_step(x)) % 2 == 1


def two_ways(bits, whole, word, scale, state, element):
    """f's next two bits are the word's or one more: 0 and 1 are results."""
    for fmt in (m.F16, m.E4M3, m.E5M2, m.E2M1):
        least = numbers(fmt)[1]
        for more in (0, 1):
            rest = word // 2**30 + more
            if rest in (0, 4):
                continue                # f has no more, or another word
            x = least * Fraction(whole + rest * 2**30, scale)
            got = add(fmt, m.EXACT, bits, 0, state, element, x)
            assert got == more
            if more:
                assert add(fmt, m.FIXED, bits, 0, state, element, x) == 0


def ended():
    """An element of 8 bits, whose first retry word ends with 16 zeros."""
    state = (PI + 3, 16)
    again = m.retry_state(state, 0)
    for s in range(10**6):
        for i, word in enumerate(m.block(again[0], again[1] // 4, s)):
            if word % 2**16 == 0:
                return state, 4 * s + i
    raise SystemExit("none")


def ends():
    say("beyond the largest number, without saturation and with it")
    for fmt in range(5):
        top, beyond = numbers(fmt)[-2:]
        step = f32_step(top)
        middle = (top + beyond) / 2
        for sat in (0, 1):
            for x in (top, -top, top + step, middle, -middle, beyond - step,
                      beyond, -beyond):
                if abs(x) >= power(128):
                    continue
                for element in (0, 1) if x == middle else (0,):
                    add(fmt, m.EXACT if x > 0 else m.FIXED, 32, sat, (0, 0),
                        element, x)
            for x in (0x7F7FFFFF, 0x7F800000, 0xFF800000):
                add(fmt, m.FIXED, 8, sat, (0, 0), 0, x)


def special():
    say("zeros, NaN of both signs, quiet and not")
    for fmt in range(5):
        for x in (0, 0x80000000, 0x7FC00000, 0xFFC00000, 0x7F800001,
                  0xFF812345, 0xFFFFFFFF):
            add(fmt, m.EXACT, 16, x & 1, (9, 4), 5, x)
    say("numbers below the least: f32's least, its subnormal ones, others")
    for fmt in range(5):
        for x in (1, 0x80000001, 0x007FFFFF, 0x80012345):
            add(fmt, m.FIXED, 32, 0, (9, 4), 5, x)
        least = numbers(fmt)[1]
        for x in (least / 2, -least / 2, least * 255 / 256, least * 3 / 2):
            add(fmt, m.EXACT, 8, 0, (9, 4), 5, x)
    say("numbers of the format are themselves")
    for code in range(8):
        add(m.E2M1, m.FIXED, 8, 0, (9, 4), code, numbers(m.E2M1)[code])
    for fmt in range(4):
        table, one = numbers(fmt), 2**SHAPES[fmt][1]
        for code in (1, one - 1, one, 3 * one + 1, len(table) - 2):
            got = add(fmt, m.EXACT, 32, 0, (9, 4), code, table[code])
            assert got == code


def search():
    """Print places for SMALL_PLACES."""
    raw = m.block.__wrapped__
    for bits in (32, 8, 16):
        state, found, per = (PI + bits, 4 * bits), 0, 128 // bits
        again = m.retry_state(state, 0)
        for s in range(2**26):
            words = raw(state[0], state[1] // 4, s)
            whole = sum(w << (32 * i) for i, w in enumerate(words))
            for i in range(per):
                field = whole >> (bits * i) & (2**bits - 1)
                if bits == 32 and not 0 < field < 2**22 or (
                        bits < 32 and field):
                    continue
                e = per * s + i
                first, second = (raw(again[0], t, e // 4)[e % 4]
                                 for t in (0, 1))
                if bits < 32 and not 0 < first < 2**22:
                    continue
                # So that f's next two bits may be above or below it.
                if not 1 <= (first if bits == 32 else second) >> 30 <= 2:
                    continue
                print("    (%d, (PI + %d, %d), %d)," % (bits, bits,
                                                        4 * bits, e),
                      flush=True)
                found = 1
                break
            if found:
                break


def main():
    if sys.argv[1:] == ["search"]:
        return search()
    for part in (fields, retries, ends, special):
        part()
    with open("known.txt", "w") as f:
        f.write("\n".join(lines) + "\n")
    print("%d lines of %s" % (sum(x[0] != "#" for x in lines),
                              ", ".join(NAMES)))


if __name__ == "__main__":
    main()
