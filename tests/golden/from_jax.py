"""Golden values of JAX's philox4x32 numbers.

python3 tests/golden/from_jax.py >tests/golden/jax.txt

Needs the package jax (0.10 or later has philox4x32), but no GPU.
"""

import os

os.environ["JAX_ENABLE_X64"] = "1"

import jax
import jax.numpy as jnp
import numpy

SEEDS = [0, 42, 2**32 - 1, 2**32, 0x0123456789ABCDEF]
N = 70000
ELEMENTS = [*range(8), 255, 256, 4095, 4096, 65534, 65535, 65536, 65537, N - 1]
WIDTHS = {"u32": 32, "u64": 64, "f32": 32, "f64": 64, "bf16": 16, "f16": 16}
TYPES = {
    "f32": jnp.float32,
    "f64": jnp.float64,
    "bf16": jnp.bfloat16,
    "f16": jnp.float16
}


def key(seed):
    return jax.random.key(seed, impl="philox4x32")


def seed_of(key):
    """The Philox key, as a seed in cuRAND's sense: low word first."""
    low, high = (int(word) for word in jax.random.key_data(key))
    return high << 32 | low


def table(dist, dtype, key, values, extra=""):
    print(f"case layout=jax dist={dist} dtype={dtype} seed={seed_of(key)} "
          f"elements={N}{extra}")
    width = WIDTHS[dtype]
    bits = numpy.asarray(values).view(f"uint{width}")
    for element in ELEMENTS:
        print(f"{element} {bits[element]:0{width // 4}x}")


print(f"# JAX {jax.__version__}, impl philox4x32, by tests/golden/from_jax.py.\n"
      "# seed: of jax.random.key(), its words as a Philox key; fold, split: of\n"
      "# that, with 7, the third of five\n"
      "# case: what was drawn; then: element, bits of its value")
for s in SEEDS:
    print(f"seed {s} key={seed_of(key(s))} "
          f"fold={seed_of(jax.random.fold_in(key(s), 7))} "
          f"split={seed_of(jax.random.split(key(s), 5)[2])}")
for s in SEEDS:
    k = key(s)
    table("bits", "u32", k, jax.random.bits(k, (N, ), jnp.uint32))
    table("bits", "u64", k, jax.random.bits(k, (N, ), jnp.uint64))
for dtype, type in TYPES.items():
    k = key(42)
    table("uniform", dtype, k, jax.random.uniform(k, (N, ), type))
    table("uniform", dtype, k,
          jax.random.uniform(k, (N, ), type, minval=-1, maxval=1),
          " low=-1 high=1")
    table("uniform", dtype, k,
          jax.random.uniform(k, (N, ), type, minval=0, maxval=3),
          " low=0 high=3")
for p in [0.0, 0.1, 0.5, 1.0]:
    k = key(43)
    values = jax.random.bernoulli(k, numpy.float32(p), (N, ))
    table("bernoulli", "f32", k, values.astype(jnp.float32), f" p={p}")
