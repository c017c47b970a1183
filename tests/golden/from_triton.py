"""Golden values of Triton's random numbers, from its own interpreter.

python3 tests/golden/from_triton.py >tests/golden/triton.txt

Needs the packages triton and numpy, but no GPU.
"""

import os

os.environ["TRITON_INTERPRET"] = "1"

import numpy
import triton
import triton.language as tl


class Array:
    """As much of a torch tensor as Triton's interpreter asks for."""

    def __init__(self, array):
        self.array = array
        self.dtype = str(array.dtype)

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, *args, **kwargs):
        return Array(self.array)

    def set_(self, *args):
        pass

    def copy_(self, other):
        pass

    def storage_offset(self):
        return 0

    size = stride = storage_offset


@triton.jit
def randint(out, seed, at, p, scale, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(out + i, tl.randint(seed, tl.load(at + i)))


@triton.jit
def rand(out, seed, at, p, scale, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(out + i, tl.rand(seed, tl.load(at + i)))


@triton.jit
def randn(out, seed, at, p, scale, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(out + i, tl.randn(seed, tl.load(at + i)))


# Dropout as torch.compile writes it: its input is (element % 251) - 125 here
@triton.jit
def dropout(out, seed, at, p, scale, n: tl.constexpr):
    i = tl.arange(0, n)
    element = tl.load(at + i)
    x = (element % 251 - 125).to(tl.float32)
    keep = tl.rand(seed, element) > p
    tl.store(out + i, keep.to(tl.float32) * x * scale)


ELEMENTS = [
    *range(8), 65534, 65535, 65536, 65537, 2**31 - 1, 2**31, 2**31 + 1,
    2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**62,
    # of the last seed, a number below 1e-7
    4217597
]
SEEDS = [0, 42, 2**32 - 1, 2**32, 0x0123456789ABCDEF]


def run(kernel, dtype, seed, elements, p=0.0):
    n = triton.next_power_of_2(len(elements))
    at = numpy.zeros(n, numpy.int64)
    at[:len(elements)] = elements
    out = numpy.zeros(n, dtype)
    scale = float(numpy.float32(1 / (1 - p)))
    kernel[(1, )](Array(out), seed, Array(at), p, scale, n)
    return out.view(numpy.uint32)[:len(elements)]


def table(dist, dtype, kernel, out_dtype, near="", p=None):
    for seed in SEEDS:
        print(f"case layout=triton dist={dist} dtype={dtype} seed={seed}" +
              (f" p={p}" if p is not None else "") + near)
        values = run(kernel, out_dtype, seed, ELEMENTS, p or 0.0)
        for element, value in zip(ELEMENTS, values):
            print(f"{element} {value:08x}")


print(f"# Triton {triton.__version__} in its interpreter, by "
      "tests/golden/from_triton.py.\n"
      "# case: what was drawn; then: element, bits of its value")
table("bits", "u32", randint, numpy.int32)
table("uniform", "f32", rand, numpy.float32)
table("dropout", "f32", dropout, numpy.float32, p=0.1)
table("dropout", "f32", dropout, numpy.float32, p=0.15)
table("normal", "f32", randn, numpy.float32, near=" near=6e-6")
