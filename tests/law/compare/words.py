"""Functions of one word of 32 bits, for all 2^32 of them.

words.c has those of the public headers, and FUNCTIONS the law's by the same
names. They are compared in chunks, by SHA-256; the digests make a chain, which
a file of the build keeps, so that a run can go on where it was ended.
"""

import ctypes
import hashlib
import os
import subprocess

import numpy as np

import law
import weights
from arith import F32, U64, bits, f32_of
from page import TREE

STATE = 42, 8                           # where small words are refined
CHUNK = 2**20
PIECE = 2**15                           # arrays that caches hold


def exponential(w):
    return law.exponential_of(w[:, None], STATE, zeros(w))[:, 0]


def gumbel(w):
    return law.gumbel_of(w[:, None], STATE, zeros(w))[:, 0]


def zeros(w):
    return np.zeros(len(w), U64)


def constant(x, w):
    return np.full(len(w), x, F32)


def exp(w):
    x = f32_of(w)
    return law.exp(np.where(np.isnan(x), F32(1), x))


def weight_ln(w):
    x = weights.weight_ln(f32_of(w))
    return np.where(np.isnan(x), f32_of(0x7FC00000), x)


def ln(w):
    normal = (w >= 0x800000) & (w < 0x7F800000)
    return law.ln(f32_of(np.where(normal, w, U64(0x3F800000))))


FUNCTIONS = {
    "uniform_f32": lambda w: law.uniform(w, "f32"),
    "uniform_bf16": lambda w: law.bf16(law.uniform(w, "bf16")),
    "uniform_f16": lambda w: law.f16(law.uniform(w, "f16")),
    "radius": lambda w: law.radius(w) + F32(0),
    "sine": lambda w: law.sin_cos(w)[0],
    "cosine": lambda w: law.sin_cos(w)[1],
    "exponential": exponential,
    "gumbel": gumbel,
    "refined": lambda w: law.refined(U64(50), w),
    "bernoulli": lambda w: (w < U64(law.threshold(0.3))).astype(F32),
    "dropout": lambda w: law.dropout(constant(0.7, w), w, 0.1),
    "round_bf16": lambda w: law.round_bf16(constant(0.3, w), w),
    "round_f16": lambda w: law.round_f16(constant(-1e-6, w), w),
    "to_bf16": lambda w: law.bf16(f32_of(w)),
    "to_f16": lambda w: law.f16(f32_of(w)),
    "exp": exp,
    "ln": ln,
    "weight_ln": weight_ln,
}


def built(folder, name="words"):
    """The library of words.c, or another file of C, made by $CC."""
    path = os.path.join(folder, name + ".so")
    flags = os.environ.get("WORDS_CFLAGS", "-O2 -march=native").split()
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", *flags, "-shared",
                    "-fPIC", "-I", os.path.join(TREE, "include"), "-o", path,
                    os.path.join(TREE, "tests/law/compare", name + ".c"),
                    "-lm"],
                   check=True)
    return ctypes.CDLL(path)


def of_law(name, first, n):
    """The bits of the values of words first .. first + n - 1."""
    parts = []
    for begin in range(first, first + n, PIECE):
        end = min(begin + PIECE, first + n)
        x = FUNCTIONS[name](np.arange(begin, end, dtype=U64))
        parts.append(bits(x) if x.dtype == F32 else x.astype(np.uint16))
    return np.concatenate(parts)


def of_headers(library, name, first, n, like):
    out = np.empty(n, like)
    getattr(library, "words_" + name)(
        ctypes.c_uint32(first), ctypes.c_uint32(n),
        ctypes.c_void_p(out.ctypes.data))
    return out


def chunk(library, name, first, n):
    """The digest of both, or a line that says where they differ."""
    ours = of_law(name, first, n)
    theirs = of_headers(library, name, first, n, ours.dtype)
    digest = hashlib.sha256(ours.tobytes()).digest()
    if hashlib.sha256(theirs.tobytes()).digest() == digest:
        return digest, None
    i = int(np.flatnonzero(ours != theirs)[0])
    return None, (f"{name} of word {first + i:#010x}: the law has "
                  f"{ours[i]:#x}, philox {theirs[i]:#x}")


def sampled(library, name, rng, n):
    """Chunks of 2^16 words: the ends, those around where formulas change, and
    n others."""
    firsts = {0, 2**32 - 2**16, 0x55550000, 0x80000000, 0x3F800000,
              0x7F800000, 0x38800000, 0x47800000}
    firsts |= {int(x) << 16 for x in rng.integers(0, 2**16, n)}
    for first in sorted(firsts):
        wrong = chunk(library, name, first, 2**16)[1]
        if wrong:
            return wrong
    return None


def all_words(library, name, folder, ends=2**32 // CHUNK):
    """Compare all words; what is done is in a file, and not done again."""
    path = os.path.join(folder, name)
    done, chain = 0, bytes(32)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            done, chain = file.read().split()
            done, chain = int(done), bytes.fromhex(chain)
    for i in range(done, ends):
        digest, wrong = chunk(library, name, i * CHUNK, CHUNK)
        if wrong:
            return wrong
        chain = hashlib.sha256(chain + digest).digest()
        if (i + 1) % 64 == 0:
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{i + 1} {chain.hex()}\n")
    print(f"{name}: {ends * CHUNK} words, chain of digests "
          f"{chain.hex()[:16]}", flush=True)
    return None


def check(library, rng, n):
    for name in FUNCTIONS:
        wrong = sampled(library, name, rng, n)
        if wrong:
            return wrong
    print(f"{len(FUNCTIONS)} functions of one word: {n + 8} chunks of 2^16")
    return None
