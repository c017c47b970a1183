"""Cases computed by hand, and Random123's known answers, for the model."""
import struct
from fractions import Fraction as F

import model as m
import formats as fm

count = 0


def equal(got, want, what):
    global count
    count += 1
    if got != want:
        raise SystemExit("%s: %r, not %r" % (what, got, want))


def bits32(v):
    return struct.unpack("<I", struct.pack("<f", v))[0]


def rnd(fmt, v, state=(0, 0), e=0, bits=32, rule=m.FIXED, sat=False):
    b = v if isinstance(v, int) else bits32(v)
    return m.round_number(fmt, rule, bits, sat, state, e, fm.decode32(b))


def main():
    # Random123's kat_vectors for philox4x32-10.
    equal(m.block(0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
          "zeros")
    ones = 2**64 - 1
    equal(m.block(ones, ones, ones),
          (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD), "ones")
    equal(m.block(0x299F31D0A4093822, 0x85A308D3243F6A88,
                  0x0370734413198A2E),
          (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1), "pi")
    # Fields of elements of seed 0, offset 0.
    equal(m.field_of((0, 0), 1, 32), 0xE169C58D, "word 1")
    equal(m.field_of((0, 0), 2, 16), 0xC58D, "half 2")
    equal(m.field_of((0, 0), 3, 16), 0xE169, "half 3")
    equal(m.field_of((0, 0), 5, 8), 0xC5, "byte 5")
    equal(m.field_of((0, 4), 5, 32), m.block(0, 1, 1)[1], "subsequence 1")
    # Formats.
    for fmt, top, last, least in (
            (m.F16, 65504, 65536, F(1, 2**24)), (m.E4M3, 448, 480, F(1, 512)),
            (m.E5M2, 57344, 65536, F(1, 65536)), (m.E2M1, 6, 8, F(1, 2)),
            (m.BF16, 2**128 - 2**120, 2**128, F(1, 2**133))):
        t = fm.numbers(fmt)
        equal((t[-2], t[-1], t[1], t[0]), (top, last, least, 0), "ends")
    equal(fm.numbers(m.E2M1)[:8], [0, F(1, 2), 1, F(3, 2), 2, 3, 4, 6], "e2")
    for i in range(0, 2**16, 37):
        v = struct.unpack("<e", struct.pack("<H", i))[0]
        got = fm.decode(m.IN_F16, i)
        if v == v and abs(v) != fm.INF:
            equal(got, (i >= 2**15, F(abs(v)), 0), "f16 %x" % i)
        if i & 0x7F80 != 0x7F80:
            equal(fm.decode(m.IN_BF16, i), fm.decode32(i << 16), "bf16")
    equal(fm.decode(m.IN_BF16, 0xFF81), fm.decode32(0xFF810000), "bf16 NaN")
    equal(fm.decode(m.IN_F16, 0xFC01), (True, None, 1 << 13), "f16 NaN")
    for v in (0.1, 3e-45, 1e-41, 3.4028235677973366e38, 3.4028236e38, 1 / 3):
        try:
            want = F(struct.unpack("<f", struct.pack("<f", v))[0])
        except OverflowError:
            want = fm.INF
        equal(fm.round32(F(v)), want, "round32 %r" % v)
    equal([fm.nearest(m.E4M3, F(n, 1024)) for n in (0, 1, 2, 3, 4, 5)],
          [0, 0, 1, 2, 2, 2], "nearest")
    equal(fm.nearest(m.E4M3, F(460)), 0x7E, "at most 448")
    # Rounding: word 0 of seed 0 is 0x6627e8d5, about 0.399 2^32; word 1 of
    # it about 0.881 2^32, byte 0 is 0xd5 = 213, byte 1 is 0xe8.
    equal(rnd(m.E2M1, 2.39), 4, "0.39 down")
    equal(rnd(m.E2M1, 2.41), 5, "0.41 up")
    equal(rnd(m.E2M1, -2.41), 13, "negative")
    equal(rnd(m.E2M1, 2.41, e=1), 4, "element 1")
    equal(rnd(m.E2M1, 2 + 213 / 256, bits=8), 4, "equal")
    equal(rnd(m.E2M1, 2 + 214 / 256, bits=8), 5, "equal + 1")
    equal(rnd(m.E2M1, 2 + 213 / 256, bits=8, rule=m.EXACT), 4, "no more")
    w = m.field_of(m.retry_state((0, 0), 0), 0, 32) / 2**32
    for d, want in ((-0.05, 4), (0.05, 5)):
        v = 2 + (213 + w + d) / 256
        equal(rnd(m.E2M1, v, bits=8, rule=m.EXACT), want, "retry")
        equal(rnd(m.E2M1, v, bits=8), 4, "no retry")
    equal(m.retry_state((5, 8), 3)[1], 12, "retry offset")
    for fmt, inf, top in ((m.BF16, 0x7F80, 0x7F7F), (m.F16, 0x7C00, 0x7BFF),
                          (m.E4M3, 0x7F, 0x7E), (m.E5M2, 0x7C, 0x7B),
                          (m.E2M1, 7, 7)):
        sign = 2**(fm.SHAPES[fmt][4] - 1)
        equal(rnd(fmt, 0x7F800000), inf, "infinity")
        equal(rnd(fmt, 0xFF800000), sign | inf, "-infinity")
        equal(rnd(fmt, 0xFF800000, sat=True), sign | top, "saturating")
        equal((rnd(fmt, 0), rnd(fmt, 2**31)), (0, sign), "zeros")
        equal(rnd(fmt, 0x80000001, state=(0, 4)), sign, "rounded to 0")
    equal(rnd(m.E4M3, 464.0), 0x7F, "0.5 beyond 448")
    equal(rnd(m.E4M3, 464.0, e=1), 0x7E, "and down")
    equal(rnd(m.BF16, 0xFF812345), 0xFFC1, "NaN")
    equal(rnd(m.F16, 0xFF812345), 0xFE09, "NaN")
    equal([rnd(f, 0xFFC00000) for f in (m.E4M3, m.E5M2, m.E2M1)],
          [0x7F, 0x7F, 7], "NaN")
    # Scales.
    equal(m.mx_scale(m.E4M3, F(450), False), (127, 1), "mx")
    equal(m.mx_scale(m.E4M3, F(450), True), (128, 2), "mx up")
    equal(m.mx_scale(m.E4M3, F(448), True), (127, 1), "mx up, equal")
    equal(m.mx_scale(m.E2M1, F(7), False), (127, 1), "mx e2m1")
    equal(m.mx_scale(m.E2M1, F(7), True), (128, 2), "mx e2m1 up")
    equal(m.mx_scale(m.E5M2, F(0), True)[0], 0, "mx zeros")
    equal(m.mx_scale(m.E5M2, F(1, 2**140), True)[0], 0, "mx small")
    equal(m.nvfp4_scale(F(12), F(1)), (0x40, 2), "nvfp4 2")
    equal(m.nvfp4_scale(F(1, 2**30), F(1)), (1, F(1, 512)), "nvfp4 least")
    equal(m.nvfp4_scale(F(10**6), F(1)), (0x7E, 448), "nvfp4 most")
    equal(m.tensor_scale([fm.Number(True, F(2688)), fm.Number(False, None)]),
          1, "tensor scale")
    equal(m.tensor_scale([]), 0, "tensor scale of none")
    # Places of scales, and a tensor of exact numbers with its transpose.
    d = m.Tensor(0, 320, 200, 320, m.IN_F32, m.E4M3, 0, 32, m.MX, 4)
    equal(m.scales_size(d), 2 * 3 * 512, "size")
    equal(m.scale_place(d, 33, 2), 16 + 4 + 2, "place in a tile")
    equal(m.scale_place(d, 130, 9), (3 + 2) * 512 + 32 + 1, "place of tile")
    d = m.Tensor(0, 2, 4, 2, m.IN_F32, m.E2M1, 0, 32, m.NVFP4, 0)
    v = [bits32(x) for x in (6., -6., 4., 3., 0., 1., 2., -0.)]
    d = d._replace(scaling=m.NONE)
    equal(m.quantize((1, 0), d, v), (bytes([0xF7, 0x56, 0x20, 0x84]), b"", 0),
          "untransposed")
    d = d._replace(scaling=m.NVFP4)
    d = d._replace(flags=m.TRANSPOSED)
    equal(m.quantize((1, 0), d, v), (bytes([0x67, 0x40, 0x5F, 0x82]),
                                     bytes([0x38, 0x38]), 0), "transposed")
    equal(m.quantize((1, 1), d, v), (bytes([0x77] * 4), bytes([0x7F] * 2), 0),
          "poisoned")
    # Refusals.
    r = m.Tensor(64 * 100 + 32, 32, 4, 100, 2, m.E4M3, 0, 0, m.MX, 0)
    equal(m.refused(r), None, "blocks 1 .. 1 of 3")
    equal(m.refused(r._replace(count=36)), "a block is cut", "end")
    equal(m.refused(r._replace(count=68)), None, "end of the row")
    equal(m.refused(r._replace(first=6410)), "a block is cut", "begin")
    equal(m.refused(r._replace(flags=2)), None, "row 64, and the last")
    equal(m.refused(r._replace(flags=2, tensor_rows=68)), None, "rows")
    equal(m.refused(r._replace(flags=2, tensor_rows=69)), "a block is cut",
          "rows")
    print("%d cases, all right" % count)


if __name__ == "__main__":
    main()
