"""Random cases for check.py: tensors that are accepted, and refused ones."""
import struct
from fractions import Fraction

import model as m
from formats import INF, SHAPES, largest_number, numbers, decode32

# What may be wrong with a case besides its numbers: check.py does it.
POINTERS = ("size", "reserved", "in NULL", "out NULL", "scales NULL",
            "tensor_scale NULL", "in misaligned", "out misaligned",
            "saturated misaligned", "tensor_scale misaligned", "out is in",
            "offset")


def f32_bits(v):
    """The f32 nearest to a fraction that may have a sign."""
    try:
        return struct.unpack("<I", struct.pack("<f", v))[0]
    except OverflowError:
        return 0x7F800000 if v > 0 else 0xFF800000


def narrow(dtype, bits):
    """An f32 cut to a tensor's dtype."""
    if dtype == m.IN_F32:
        return bits
    if dtype == m.IN_BF16:
        return bits >> 16
    x = decode32(bits)
    sign = 2**15 if x.negative else 0
    if x.mag is None:
        return sign | 0x7C01 + (bits & 0x1FF)
    if x.mag >= 65520:
        return sign | 0x7C00
    return sign | struct.unpack("<H", struct.pack("<e", x.mag))[0]


def magnitude(rng, d, state, element):
    """A magnitude of interest to the format."""
    fmt, bits = d.format, d.bits or 32
    table, largest = numbers(fmt), SHAPES[fmt][3]
    kind = rng.randrange(8)
    top = largest_number(fmt)
    if kind == 0:
        return top * (1 + Fraction(rng.randrange(-64, 300), 1024))
    if kind == 1:
        # Below the least number; many digits follow zeros.
        return table[1] * Fraction(2)**-rng.randrange(60) * Fraction(
            rng.randrange(2**23, 2**24), 2**24)
    code = rng.choice((rng.randrange(largest + 1), rng.randrange(4)))
    a, b = table[code], table[code + 1]
    if kind == 2:
        f = Fraction(0)
    elif kind == 3:
        f = Fraction(1, 2) + Fraction(rng.randrange(-1, 2), 2**18)
    elif kind == 4:
        f = Fraction(rng.randrange(2**24), 2**24)
    else:
        # Where the field decides, and further words do.
        f = Fraction(m.field_of(state, element, bits), 2**bits)
        word = m.field_of(m.retry_state(state, 0), element, 32)
        word += rng.choice((-2**26, 2**26, -2**20, 2**20, 2**30, -2**30))
        f += Fraction(word % 2**32, 2**(32 + bits)) * rng.choice((0, 1, 1, 1))
        f += Fraction(rng.choice((-1, 0, 0, 0, 0, 1)), 2**bits)
        f = max(Fraction(0), f)
    return a + (b - a) * f


def one_value(rng, d, state, element, factor):
    kind = rng.randrange(40)
    if kind < 3:
        return rng.getrandbits(16 if d.in_dtype != m.IN_F32 else 32)
    sign = rng.getrandbits(1) << 31
    if kind == 3:
        bits = 0
    elif kind == 4 and rng.random() < 0.3:
        bits = 0x7F800000 | rng.choice((1, 0x400000, rng.getrandbits(23)))
    elif kind == 5 and rng.random() < 0.2:
        bits = 0x7F800000
    elif kind == 6:
        bits = rng.getrandbits(23) >> rng.randrange(23)
    else:
        bits = f32_bits(magnitude(rng, d, state, element) * factor)
    return narrow(d.in_dtype, sign | bits)


def values(rng, d, state):
    rows = d.rows or 1
    factor, tame = Fraction(1), False
    if d.scaling:
        factor = d.tensor_scale
        if not d.scaling == m.NVFP4:
            factor = Fraction(2)**rng.choice(
                (0, 0, rng.randrange(-140, 110), rng.randrange(-20, 20)))
        else:
            factor *= rng.choice(numbers(m.E4M3)[1:127])
        tame = rng.random() < 0.6
    result = []
    for r in range(rows):
        for c in range(d.count):
            e = d.first + r * d.row_stride + c
            v = one_value(rng, d, state, e, factor)
            # Else a few large numbers hide a block's others.
            if tame:
                x = m.decode(d.in_dtype, v)
                if x.mag is None or x.mag > largest_number(d.format) * factor:
                    if rng.random() < 0.9:
                        v = 0
            if 6 * d.tensor_scale >= 2**128 and m.decode(
                    d.in_dtype, v).mag == INF:
                v = 0                   # infinity over infinity is left open
            result.append(v)
    size = m.block_size(d.scaling) or 16
    for _ in range(rng.randrange(3)):
        # A block of zeros, or one of small numbers only.
        r0 = rng.randrange(rows) // size * size
        c0 = rng.randrange(d.count) // size * size
        small = rng.random() < 0.3
        for r in range(r0, min(rows, r0 + size)):
            for c in range(c0, min(d.count, c0 + size)):
                v = rng.getrandbits(3) if small else 0
                if d.in_dtype == m.IN_F32:
                    v |= rng.getrandbits(1) << 31
                else:
                    v |= rng.getrandbits(1) << 15
                result[r * d.count + c] = v
    if d.scaling == m.NVFP4 and d.tensor_scale == 0:
        top = 31 if d.in_dtype == m.IN_F32 else 15
        result = [v >> top << top for v in result]
    return result


def any_state(rng):
    seed = rng.choice((rng.getrandbits(64), rng.randrange(8)))
    offset = rng.choice((0, 4 * rng.randrange(100), rng.getrandbits(62) * 4,
                         2**34 - 4, 2**64 - 4))
    if rng.random() < 0.04:
        offset = rng.getrandbits(63) * 2 + 1
    return seed, offset


def any_tensor_scale(rng):
    kind = rng.randrange(12)
    if kind == 0:
        return Fraction(0)
    if kind == 1:
        return decode32(rng.randrange(0x7F800000)).mag
    if kind < 5:
        return Fraction(2)**rng.randrange(-100, 100)
    return decode32(rng.randrange(0x30000000, 0x48000000)).mag


def up_even(n, even):
    return n + n % 2 if even else n


def any_tensor(rng):
    """One that is accepted. A span of one row without a longer stride is of a
    flat tensor, and begins with it where its blocks would be cut."""
    d = any_span(rng)
    if d.scaling and d.rows <= 1 and d.row_stride <= d.count:
        d = d._replace(tensor_rows=0)
        if m.refused(d):
            d = d._replace(first=0)
    return d


def any_span(rng):
    """A tensor that is accepted."""
    scaling = rng.choice((m.NONE, m.NONE, m.NVFP4, m.NVFP4, m.MX, m.MX_UP))
    fmt = rng.randrange(5)
    if scaling == m.NVFP4:
        fmt = m.E2M1
    elif scaling:
        fmt = rng.choice((m.E4M3, m.E5M2, m.E2M1))
    even = fmt == m.E2M1
    flags = rng.randrange(4) | (rng.randrange(2) * 4 if scaling else 0)
    turned = flags & m.TRANSPOSED
    common = dict(in_dtype=rng.choice((2, 2, 3, 4)), format=fmt,
                  rule=rng.randrange(2), bits=rng.choice((0, 32, 16, 8, 8)),
                  scaling=scaling, flags=flags,
                  tensor_scale=any_tensor_scale(rng)
                  if scaling == m.NVFP4 else Fraction(1))
    rows, cols = rng.randint(1, 40), rng.randint(1, 70)
    shape = rng.random()
    if shape < 0.06:
        rows, cols = rng.randint(100, 300), rng.randint(1, 6)
    elif shape < 0.12:
        rows, cols = rng.randint(1, 6), rng.randint(100, 300)
    elif shape < 0.15 and scaling:
        # Several tiles of scales, in both directions.
        rows, cols = rng.randint(129, 140), rng.randint(33, 150)
        rows, cols = (cols, rows) if turned else (rows, cols)
        common["flags"] = flags | m.SWIZZLED
    if rng.random() < 0.1:
        rows = 1
    cols = up_even(cols, even)
    if even and turned:
        rows += rows % 2
    row0 = rng.choice((0, 0, rng.randrange(1000), rng.getrandbits(45)))
    if not scaling:
        first = up_even(rng.choice((0, rng.randrange(1000), 2**32 - 50,
                                    rng.getrandbits(60))), even)
        stride = cols + rng.choice((0, 0, up_even(rng.randrange(90), even)))
        if rows == 1 and rng.random() < 0.5:
            stride, rows = 0, rng.randrange(2)
            if even and turned:
                rows = 2
                stride = cols
        return m.Tensor(first, cols, rows, stride, **common)
    size = m.block_size(scaling)
    if turned:
        length = cols + rng.choice((0, up_even(rng.randrange(90), even)))
        column = rng.randint(0, length - cols)
        column -= column % 2 if even else 0
        row = row0 // size * size
        total = 0
        if rng.random() < 0.5:
            total = row + rows
            if rows % size == 0 or rng.random() < 0.4:
                rows = -(-rows // size) * size
                total = row + rows + rng.randrange(200)
        return m.Tensor(row * length + column, cols, rows, length,
                        tensor_rows=total, **common)
    if rows == 1 and rng.random() < 0.3:
        # Flat, and no multiple of count: blocks are counted from element 0.
        count = size * rng.randint(2, 5)
        first = count * row0 + size * rng.randint(1, count // size - 1)
        return m.Tensor(first, count, rng.randrange(2),
                        up_even(rng.randrange(count), even), **common)
    column = size * rng.choice((0, 0, rng.randrange(5)))
    length = column + cols
    if rng.random() < 0.4:
        cols = -(-cols // size) * size
        length = column + cols + up_even(rng.randrange(90), even)
    first = row0 * length + column
    if rows == 1 and rng.random() < 0.3:
        rows = 0
        if column == 0 and length == cols:
            length = up_even(rng.randrange(cols), even)
    return m.Tensor(first, cols, rows, length, **common)


def spoil(rng, d):
    """A tensor, what is wrong with it, and whether
    philox_quantize_scales_size() must see it."""
    e2m1, scaled = d.format == m.E2M1, d.scaling != m.NONE
    rows, r = d.rows or 1, d._replace
    turned = d.flags & m.TRANSPOSED
    ways = [
        (r(in_dtype=rng.choice((0, 1, 5, 6, 2**31))), "in_dtype", False),
        (r(format=rng.choice((5, 6, 2**31))), "format", True),
        (r(rule=rng.choice((2, 2**31))), "rule", False),
        (r(bits=rng.choice((1, 4, 24, 64))), "bits", False),
        (r(scaling=rng.choice((4, 5, 2**31))), "scaling", True),
        (r(flags=d.flags | rng.choice((8, 2**31))), "flags", True),
        (r(scaling=m.NVFP4, format=rng.randrange(4)), "NVFP4", True),
        (r(scaling=rng.choice((m.MX, m.MX_UP)), format=rng.randrange(2)),
         "MX", True),
        (r(first=2**64 - 32, count=64, rows=1, row_stride=64,
           scaling=m.NONE), "overflow", True),
    ]
    if rows > 1 and d.count > 2:
        ways.append((r(row_stride=d.count - 2), "rows overlap", True))
    if e2m1:
        ways += [(r(first=d.first + 1), "odd first", True),
                 (r(count=d.count + 1, row_stride=d.row_stride + 2),
                  "odd count", True)]
        if rows > 1:
            ways.append((r(row_stride=d.row_stride + 1), "odd stride", True))
            if turned:
                ways.append((r(rows=rows + 1), "odd rows", True))
    if scaled and rows > 1:
        size = m.block_size(d.scaling)
        row, column = divmod(d.first, d.row_stride)
        if turned:
            ways += [(r(first=d.first + 2 * d.row_stride,
                        tensor_rows=row + 1000), "block begin", True)]
            if rows % size:
                ways.append((r(tensor_rows=row + rows + 8), "end", False))
            ways.append((r(tensor_rows=max(1, row + rows - 2)),
                         "tensor_rows", False))
        else:
            ways += [(r(first=(row + 1) * (d.row_stride + 96) + column + 2,
                        row_stride=d.row_stride + 96), "begin", True)]
            if d.count % size:
                length = d.row_stride + 32
                ways.append((r(first=row * length + column,
                               row_stride=length), "end", True))
    for way in POINTERS:
        if "scales" in way and not scaled:
            continue
        if "tensor_scale" in way and d.scaling != m.NVFP4:
            continue
        if way == "in misaligned" and d.in_dtype not in (2, 3, 4):
            continue
        if way == "out misaligned" and d.format > m.F16:
            continue
        ways.append((d, way, False))
    return rng.choice(ways)
