"""Compare a libphilox with the model: check.py LIBRARY.so [N [SEED]]

Random small tensors are rounded by both, and all bytes are compared. With
`model` for the library the model is compared with itself, which tests this
program.
"""
import ctypes
import random
import struct
import sys

import cases
import model as m
from formats import INF

GUARD = 64


class Span(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64)
                for n in ("first", "count", "rows", "row_stride")]


class State(ctypes.Structure):
    _fields_ = [("seed", ctypes.c_uint64), ("offset", ctypes.c_uint64)]


class Desc(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("op", ctypes.c_uint32),
                ("call", ctypes.c_uint32), ("span", Span),
                ("in_dtype", ctypes.c_uint32), ("format", ctypes.c_uint32),
                ("rule", ctypes.c_uint32), ("bits", ctypes.c_uint32),
                ("scaling", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("in_", ctypes.c_void_p), ("out", ctypes.c_void_p),
                ("scales", ctypes.c_void_p),
                ("tensor_scale", ctypes.c_void_p),
                ("saturated", ctypes.c_void_p),
                ("tensor_rows", ctypes.c_uint64),
                ("reserved", ctypes.c_uint64)]


class Memory:
    """Bytes at an aligned address, between two guards of 0xA5."""

    def __init__(self, content):
        self.length = len(content)
        self.buffer = ctypes.create_string_buffer(
            self.length + 2 * GUARD + 64)
        base = ctypes.addressof(self.buffer)
        self.start = -(-(base + GUARD) // 64) * 64
        ctypes.memset(base, 0xA5, len(self.buffer))
        ctypes.memmove(self.start, bytes(content), self.length)

    def content(self):
        return ctypes.string_at(self.start, self.length)

    def guarded(self):
        around = (ctypes.string_at(self.start - GUARD, GUARD)
                  + ctypes.string_at(self.start + self.length, GUARD))
        return around == b"\xA5" * (2 * GUARD)


class Itself:
    """The model in place of a library."""

    @staticmethod
    def tensor(p):
        c = p._obj
        t = INF
        if c.scaling == m.NVFP4 and c.tensor_scale:
            t = m.decode(2, int.from_bytes(
                ctypes.string_at(c.tensor_scale, 4), "little")).mag
        s = c.span
        return c, m.Tensor(s.first, s.count, s.rows, s.row_stride,
                           c.in_dtype, c.format, c.rule, c.bits, c.scaling,
                           c.flags, t, c.tensor_rows)

    def philox_quantize_scales_size(self, p, size):
        c, d = self.tensor(p)
        if m.refused(d):
            return 1
        size._obj.value = m.scales_size(d) if d.scaling else 0
        return 0

    def philox_state_quantize(self, state, p):
        c, d = self.tensor(p)
        pairs = ((c.in_, 2 if d.in_dtype > 2 else 4), (c.saturated, 8),
                 (c.tensor_scale, 4), (c.out, 2 if d.format < 2 else 1))
        if (m.refused(d) or c.size != ctypes.sizeof(Desc) or c.reserved
                or not c.in_ or not c.out or state.offset % 4 == 2
                or d.scaling and not c.scales
                or d.scaling == m.NVFP4 and not c.tensor_scale
                or any((a or 0) % n for a, n in pairs) or c.in_ == c.out):
            return 1
        n = (d.rows or 1) * d.count
        data = ctypes.string_at(c.in_, n * (4 if d.in_dtype == 2 else 2))
        out, scales, count = m.quantize(
            (state.seed, state.offset), d,
            struct.unpack("<%d%s" % (n, "I" if d.in_dtype == 2 else "H"),
                          data))
        ctypes.memmove(c.out, out, len(out))
        if scales:
            ctypes.memmove(c.scales, scales, len(scales))
        if c.saturated:
            ctypes.c_uint64.from_address(c.saturated).value += count
        return 0


def load(path):
    if path == "model":
        return Itself()
    lib = ctypes.CDLL(path)
    lib.philox_state_quantize.argtypes = [State, ctypes.POINTER(Desc)]
    lib.philox_quantize_scales_size.argtypes = [
        ctypes.POINTER(Desc), ctypes.POINTER(ctypes.c_uint64)]
    return lib


def code_at(fmt, data, i):
    if fmt in (m.BF16, m.F16):
        return data[2 * i] | data[2 * i + 1] << 8
    if fmt == m.E2M1:
        return data[i // 2] >> 4 * (i % 2) & 15
    return data[i]


def different_code(state, d, inputs, got, want):
    """The first difference of `out` in words, or None."""
    rows = d.rows or 1
    for r in range(rows):
        for c in range(d.count):
            place = r * d.count + c
            if d.flags & m.TRANSPOSED:
                place = c * rows + r
            a, b = (code_at(d.format, x, place) for x in (got, want))
            if a == b:
                continue
            e = d.first + r * d.row_stride + c
            return ("element %d (row %d, column %d), input %#x: the library "
                    "has %#x, the model %#x; field %#x"
                    % (e, r, c, inputs[r * d.count + c], a, b,
                       m.field_of(state, e, d.bits or 32)))
    return None


def different_scale(d, got, want):
    for i, (a, b) in enumerate(zip(got, want)):
        if a != b:
            where = "byte %d, of no block" % i
            g = m.geometry(d)
            for line in range(g.lines):
                for j in range(g.blocks):
                    if m.scale_place(d, line, j) == i:
                        where = "byte %d, line %d, block %d" % (i, line, j)
            return "scale %s: the library has %#x, the model %#x" % (
                where, a, b)
    return None


def t_bits(d):
    return 0x7F800000 if d.tensor_scale == INF else cases.f32_bits(
        d.tensor_scale)


def one_case(lib, rng):
    """None where all agrees, or what does not, and the case in words."""
    d, wrong, sized = cases.any_tensor(rng), None, False
    state = cases.any_state(rng)
    inputs = cases.values(rng, d, state)
    if rng.random() < 0.2:
        d, wrong, sized = cases.spoil(rng, d)
        inputs = inputs + [0] * ((d.rows or 1) * d.count - len(inputs))
    if wrong == "offset":
        state = (state[0], state[1] // 4 * 4 + 2)
    words = "%s, state %r, t %#x, wrong: %s" % (d, state, t_bits(d), wrong)
    if wrong not in cases.POINTERS and bool(m.refused(d)) != bool(wrong):
        return "the model itself says: refused %s" % m.refused(d), words

    n = (d.rows or 1) * d.count
    data = struct.pack("<%d%s" % (len(inputs),
                                  "I" if d.in_dtype == m.IN_F32 else "H"),
                       *[v & (0xFFFFFFFF if d.in_dtype == m.IN_F32
                              else 0xFFFF) for v in inputs])
    want = (b"", b"", 0)
    if not wrong:
        want = m.quantize(state, d, inputs)
    memory = {"in": Memory(data + b"\0" * 64),
              "out": Memory(b"\xC3" * (len(want[0]) or 4 * n + 64)),
              "scales": Memory(b"\xC3" * (len(want[1]) or 64)),
              "tensor_scale": Memory(struct.pack("<I", t_bits(d))),
              "saturated": Memory(struct.pack("<Q", 7))}
    before = {k: v.content() for k, v in memory.items()}
    c = Desc(size=ctypes.sizeof(Desc), op=rng.randrange(9),
             call=rng.randrange(9), in_dtype=d.in_dtype, format=d.format,
             rule=d.rule, bits=d.bits, scaling=d.scaling, flags=d.flags,
             tensor_rows=d.tensor_rows)
    c.span = Span(d.first, d.count, d.rows, d.row_stride)
    c.in_, c.out = memory["in"].start, memory["out"].start
    if d.scaling:
        c.scales = memory["scales"].start
    if d.scaling == m.NVFP4:
        c.tensor_scale = memory["tensor_scale"].start
    counted = rng.random() < 0.8
    if counted or wrong == "saturated misaligned":
        c.saturated = memory["saturated"].start

    if wrong == "size":
        c.size = 0
    elif wrong == "reserved":
        c.reserved = 1
    elif wrong == "out is in":
        c.out = c.in_
    elif wrong in cases.POINTERS and wrong != "offset":
        name, how = wrong.split()
        name = "in_" if name == "in" else name
        setattr(c, name, None if how == "NULL" else getattr(c, name) + 1)

    size = ctypes.c_uint64(99)
    if wrong in (None, "offset") or sized:
        status = lib.philox_quantize_scales_size(ctypes.byref(c),
                                                 ctypes.byref(size))
        if sized and (status == 0 or size.value != 99):
            return "philox_quantize_scales_size() accepted it", words
        expected = m.scales_size(d) if d.scaling and not sized else 0
        if not sized and (status, size.value) != (0, expected):
            return ("philox_quantize_scales_size(): status %d, size %d; the "
                    "model %d" % (status, size.value, expected)), words

    status = lib.philox_state_quantize(State(*state), ctypes.byref(c))
    if wrong and status == 0:
        return "accepted, though wrong", words
    if not wrong and status != 0:
        return "refused with status %d" % status, words
    for name, mem in memory.items():
        if not mem.guarded():
            return "written outside %s" % name, words
        used = name in ("out", "scales") or name == "saturated" and counted
        if (wrong or not used or name == "scales" and not d.scaling) and (
                mem.content() != before[name]):
            return "%s has changed" % name, words
    if wrong:
        return None, words
    found = different_code(state, d, inputs, memory["out"].content(),
                           want[0])
    if d.scaling and not found:
        found = different_scale(d, memory["scales"].content(), want[1])
    if counted and not found:
        got = struct.unpack("<Q", memory["saturated"].content())[0] - 7
        if got != want[2]:
            found = "saturated: the library adds %d, the model %d" % (
                got, want[2])
    return found, words


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    lib = load(sys.argv[1])
    total = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    failed = 0
    for i in range(total):
        found, words = one_case(lib, random.Random("%d %d" % (seed, i)))
        if found:
            failed += 1
            # All of the first few, then only how many.
            if failed <= 5:
                print("case %d: %s\n  %s" % (i, found, words))
    print("%d passed, %d failed" % (total - failed, failed))
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
