"""A model of philox/round.h and philox/quantize.h.

It was written from the headers' comments alone, by somebody who has not seen
the code. It is slow and exact: numbers are fractions, and a format is the
sorted list of all its numbers, in which neighbours are searched for; those
and f32 operations are in formats.py.

Run it for a self-test against cases computed by hand: python3 model.py
"""
import bisect
import functools
import math
import struct
from collections import namedtuple
from fractions import Fraction

from formats import (BF16, F16, E4M3, E5M2, E2M1, IN_F32, IN_BF16, IN_F16,
                     INF, SHAPES, Number, decode, div32, largest_number,
                     log2_floor, mul32, nearest, numbers, power)

FIXED, EXACT = 0, 1
NONE, NVFP4, MX, MX_UP = range(4)
SATURATE, TRANSPOSED, SWIZZLED = 1, 2, 4
M32 = 2**32 - 1

# A tensor; fields are those of struct philox_quantize_desc. tensor_scale is
# the f32 t as a Fraction or INF.
FIELDS = ("first count rows row_stride in_dtype format rule bits scaling "
          "flags tensor_scale tensor_rows")
Tensor = namedtuple("Tensor", FIELDS, defaults=(Fraction(1), 0))
Geometry = namedtuple("Geometry", "rows block lines length blocks")


# ---- random bits -----------------------------------------------------------

@functools.lru_cache(1 << 16)
def block(seed, low, high):
    k0, k1 = seed & M32, seed >> 32
    c = (low & M32, low >> 32, high & M32, high >> 32)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = ((b >> 32) ^ c[1] ^ k0, b & M32, (a >> 32) ^ c[3] ^ k1, a & M32)
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return c


def field_of(state, element, bits):
    """The field: a digit, to base 2^bits, of the subsequence's 128 bits."""
    subsequence, place = divmod(element, 128 // bits)
    words = block(state[0], state[1] // 4, subsequence)
    whole = sum(w << (32 * i) for i, w in enumerate(words))
    return (whole >> (bits * place)) % 2**bits


def retry_state(state, t):
    w = block(state[0], state[1] // 4, 0x8000000000000004)
    return (w[1] << 32 | w[0], 4 * t)


def poisoned(state):
    return state[1] % 2 == 1


# ---- rounding --------------------------------------------------------------

def takes_larger(f, rule, bits, state, element):
    """Whether the neighbour that is larger in magnitude is the result."""
    rest = f * 2**bits
    floor = math.floor(rest)
    rest -= floor
    field = field_of(state, element, bits)
    if rule == FIXED or field != floor:
        return field < floor
    t = 0
    while rest != 0:
        rest *= 2**32
        floor = math.floor(rest)
        rest -= floor
        word = field_of(retry_state(state, t), element, 32)
        if word != floor:
            return word < floor
        t += 1
    return False


def round_number(fmt, rule, bits, saturate, state, element, x):
    """The code of x."""
    _, digits, _, largest, width = SHAPES[fmt]
    table = numbers(fmt)
    sign = 2**(width - 1) if x.negative else 0
    if x.mag is None:
        if fmt == E2M1:
            return 7                    # 6, without a sign
        if fmt in (E4M3, E5M2):
            return 0x7F
        # The digits' upper ones, and the first of them, which is "quiet".
        upper = x.digits >> (23 - digits)
        return sign | (largest + 1) | upper | 2**(digits - 1)
    if x.mag >= table[-1]:
        code = largest + 1
    else:
        code = bisect.bisect_right(table, x.mag) - 1
        f = (x.mag - table[code]) / (table[code + 1] - table[code])
        if takes_larger(f, rule, bits, state, element):
            code += 1
    if code > largest and (saturate or fmt == E2M1):
        code = largest
    return sign | code


def poison_code(fmt):
    """What a NaN becomes whose bits are 0x7fc00000."""
    return (0x7FC0, 0x7E00, 0x7F, 0x7F, 7)[fmt]


def nvfp4_scale(amax, t):
    """The code of s, and the f32 by which numbers are divided."""
    if amax == 0:
        code = 0
    else:
        q = div32(amax, mul32(Fraction(6), t))
        # infinity over infinity: the largest
        code = max(1, nearest(E4M3, INF if q is None else q))
    return code, mul32(numbers(E4M3)[code], t)


def mx_scale(fmt, amax, up):
    # Infinity counts as 2^128, which follows the largest
    # f32, so that its power is 128 minus that of the format's largest.
    if amax == INF:
        amax = power(128)
    if amax == 0:
        p = -127
    elif up:
        # The least power is near amax's own; begin well below it.
        p = max(-127, log2_floor(amax) - 20)
        while amax > largest_number(fmt) * power(p):
            p += 1
    else:
        p = max(-127, log2_floor(amax) - log2_floor(largest_number(fmt)))
    return p + 127, power(p)


def over_scale(x, scale):
    """x over the scale; 0 stays 0, with its sign."""
    if x.mag is None or x.mag == 0:
        return x
    return Number(x.negative, div32(x.mag, scale))


def tensor_scale(values):
    """values are Numbers; the result is a Fraction or INF."""
    amax = max([v.mag for v in values if v.mag is not None], default=0)
    t = div32(Fraction(amax) if amax != INF else INF, Fraction(6 * 448))
    return t if t == INF or not amax else max(t, power(-126))


# ---- tensors ---------------------------------------------------------------

def block_size(scaling):
    return {NONE: None, NVFP4: 16, MX: 32, MX_UP: 32}[scaling]


def geometry(d):
    rows = d.rows or 1
    size = block_size(d.scaling)
    lines, length = rows, d.count
    if d.flags & TRANSPOSED:
        lines, length = d.count, rows
    return Geometry(rows, size, lines, length,
                    -(-length // size) if size else 0)


def refused(d):
    """Why a tensor's values are refused, or None. Pointers aren't known."""
    if d.in_dtype not in (IN_F32, IN_BF16, IN_F16):
        return "in_dtype"
    if d.format > E2M1 or d.rule > EXACT or d.bits not in (0, 8, 16, 32):
        return "format, rule or bits"
    if d.scaling > MX_UP or d.flags > 7:
        return "scaling or flags"
    if d.scaling == NVFP4 and d.format != E2M1:
        return "NVFP4 is of E2M1"
    if d.scaling in (MX, MX_UP) and d.format in (BF16, F16):
        return "MX is of 8 and 4 bits"
    g = geometry(d)
    transposed = d.flags & TRANSPOSED
    if g.rows > 1 and d.row_stride < d.count:
        return "rows overlap"
    if d.first + (g.rows - 1) * d.row_stride + d.count > 2**64:
        return "the last element exceeds 2^64"
    if d.format == E2M1:
        if d.first % 2 or d.count % 2 or d.row_stride % 2:
            return "a byte is cut"
        if transposed and g.rows % 2:
            return "a byte is cut"
    if d.scaling == NONE:
        return None
    row, column, row_length = 0, d.first, 0
    if g.rows > 1 or d.row_stride > d.count:
        row_length = d.row_stride
        row, column = divmod(d.first, row_length)
        if column + d.count > row_length:
            return "a row crosses the end of the tensor's row"
    if transposed:
        begin, end, whole = row, row + g.rows, d.tensor_rows
    else:
        # A flat tensor's end is not known: the span has it.
        begin, end, whole = column, column + d.count, row_length
    whole = whole or end
    if end > whole:
        return "tensor_rows is less than the span's"
    if begin % g.block or (end % g.block and end != whole):
        return "a block is cut"
    return None


def scales_size(d):
    g = geometry(d)
    if d.flags & SWIZZLED:
        return -(-g.lines // 128) * -(-g.blocks // 4) * 512
    return g.lines * g.blocks


def scale_place(d, line, index):
    g = geometry(d)
    if not d.flags & SWIZZLED:
        return line * g.blocks + index
    tile = line // 128 * -(-g.blocks // 4) + index // 4
    i, j = line % 128, index % 4
    return 512 * tile + 16 * (i % 32) + 4 * (i // 32) + j


def quantize(state, d, inputs):
    """inputs: the elements' bits, row by row. Returns the bytes of out and of
    the scales, and how many elements are added to saturated."""
    g = geometry(d)
    codes = [0] * (g.rows * d.count)
    scales = bytearray(scales_size(d) if g.block else 0)
    saturated = 0
    saturate = d.flags & SATURATE or g.block is not None
    size = g.block or g.length
    for line in range(g.lines):
        for begin in range(0, g.length, size):
            cells = [(i, line) if d.flags & TRANSPOSED else (line, i)
                     for i in range(begin, min(begin + size, g.length))]
            xs = [decode(d.in_dtype, inputs[r * d.count + c])
                  for r, c in cells]
            scale, code = Fraction(1), 0
            amax = max([x.mag for x in xs if x.mag is not None], default=0)
            if d.scaling == NVFP4:
                code, scale = nvfp4_scale(amax, d.tensor_scale)
            elif g.block:
                code, scale = mx_scale(d.format, amax, d.scaling == MX_UP)
            if g.block:
                if poisoned(state):
                    code = 0x7F if d.scaling == NVFP4 else 0xFF
                scales[scale_place(d, line, begin // size)] = code
            for n, ((r, c), x) in enumerate(zip(cells, xs)):
                if g.block:
                    x = over_scale(x, scale)
                if poisoned(state):
                    code = poison_code(d.format)
                else:
                    code = round_number(
                        d.format, d.rule, d.bits or 32, saturate, state,
                        d.first + r * d.row_stride + c, x)
                    if x.mag is None:
                        saturated += d.format == E2M1
                    else:
                        saturated += x.mag > largest_number(d.format)
                # `out` has one row for each line.
                codes[line * g.length + begin + n] = code
    if d.format in (BF16, F16):
        out = struct.pack("<%dH" % len(codes), *codes)
    elif d.format == E2M1:
        out = bytes(a + 16 * b for a, b in zip(codes[::2], codes[1::2]))
    else:
        out = bytes(codes)
    return out, bytes(scales), saturated


if __name__ == "__main__":
    import selftest
    selftest.main()
