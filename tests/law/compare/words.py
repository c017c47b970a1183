"""Functions of one word of 32 bits, for all 2^32 of them.

words.c has those of the public headers, and FUNCTIONS the law's by the same
names. They are compared in chunks, by SHA-256; the digests make a chain, which
a file of the build keeps, so that a run can go on where it was ended. known()
has the sums with which `philox selftest` compares devices.
"""

import ctypes
import hashlib
import os
import re
import subprocess

import numpy as np

import law
import weights
from arith import F32, U64, bits, f32_of
from page import TREE

MULTIPLIERS = 0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35
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


def normals(w):
    """A sum of the bits of two pairs of normals."""
    w = w[:, None] * np.array([1, *MULTIPLIERS], U64) & U64(2**32 - 1)
    x = bits(law.normal(w, law.SHORT)).astype(U64)
    total = zeros(w[:, 0])
    for i in range(4):
        total = total * U64(MULTIPLIERS[0]) + x[:, i]
    return total.astype(np.uint32)


FUNCTIONS = {
    "uniform_f32": lambda w: law.uniform(w, "f32"),
    "uniform_bf16": lambda w: law.bf16(law.uniform(w, "bf16")),
    "uniform_f16": lambda w: law.f16(law.uniform(w, "f16")),
    "radius": lambda w: law.radius(w) + F32(0),
    "sine": lambda w: law.sin_cos(w)[0],
    "cosine": lambda w: law.sin_cos(w)[1],
    "normals": normals,
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
                    "-fPIC", "-I", os.path.join(TREE, "include"), "-I", TREE,
                    "-o", path,
                    os.path.join(TREE, "tests/law/compare", name + ".c"),
                    "-lm"],
                   check=True)
    return ctypes.CDLL(path)


def of_law(name, first, n):
    """The bits of the values of words first .. first + n - 1."""
    parts = []
    for begin in range(first, first + n, PIECE):
        end = min(begin + PIECE, first + n)
        parts.append(values(name, np.arange(begin, end, dtype=U64)))
    return np.concatenate(parts)


def values(name, w):
    x = FUNCTIONS[name](w)
    if x.dtype == F32:
        return bits(x)
    return x if x.dtype == np.uint32 else x.astype(np.uint16)


# --- the sums of a selftest ---------------------------------------------------

def known():
    """For each function the sums of some words and of all."""
    with open(os.path.join(TREE, "tools/contract/words/words.c"),
              encoding="utf-8") as file:
        rows = re.findall(r"WORD_KNOWN\((\w+), (0x\w+),\s+(0x\w+)\)",
                          file.read())
    return {name: (int(some, 16), int(every, 16))
            for name, some, every in rows}


def sum_of(w, x):
    """The last function of SplitMix64 of each word and its value's bits."""
    z = w << U64(32) | x.astype(U64)
    z = (z ^ z >> U64(30)) * U64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> U64(27)) * U64(0x94D049BB133111EB)
    return int((z ^ z >> U64(31)).sum(dtype=U64))


def sum_of_some(name):
    """Of the words that a selftest takes: the smallest, and others."""
    w = np.concatenate((np.arange(1024, dtype=U64),
                        np.arange(2**18, dtype=U64) * U64(MULTIPLIERS[0]) &
                        U64(2**32 - 1)))
    parts = np.array_split(w, len(w) // PIECE)
    return sum(sum_of(w, values(name, w)) for w in parts) % 2**64


def check_known():
    for name, (some, _) in known().items():
        if sum_of_some(name) != some:
            return (f"{name} of some words: the law's sum is "
                    f"{sum_of_some(name):#018x}, the known one {some:#018x}")
    return None if list(known()) == list(FUNCTIONS) else "other functions"


# --- comparing ----------------------------------------------------------------


def of_headers(library, name, first, n, like):
    out = np.empty(n, like)
    getattr(library, "words_" + name)(
        ctypes.c_uint32(first), ctypes.c_uint32(n),
        ctypes.c_void_p(out.ctypes.data))
    return out


def chunk(library, name, first, n):
    """The digest and the sum of both, or a line that says where they differ."""
    ours = of_law(name, first, n)
    theirs = of_headers(library, name, first, n, ours.dtype)
    digest = hashlib.sha256(ours.tobytes()).digest()
    if hashlib.sha256(theirs.tobytes()).digest() == digest:
        w = np.arange(first, first + n, dtype=U64)
        return (digest, sum_of(w, ours)), None
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


def all_words(library, name, folder):
    """Compare all words; what is done is in a file, and not done again."""
    path = os.path.join(folder, name)
    done, chain, total = 0, bytes(32), 0
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            done, chain, total = file.read().split()
            done, chain, total = int(done), bytes.fromhex(chain), int(total)
    for i in range(done, 2**32 // CHUNK):
        made, wrong = chunk(library, name, i * CHUNK, CHUNK)
        if wrong:
            return wrong
        chain = hashlib.sha256(chain + made[0]).digest()
        total = (total + made[1]) % 2**64
        if (i + 1) % 64 == 0:
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{i + 1} {chain.hex()} {total}\n")
    print(f"{name}: {2**32} words, chain of digests "
          f"{chain.hex()[:16]}, sum {total:#018x}", flush=True)
    if total != known()[name][1]:
        return f"{name}: the known sum is {known()[name][1]:#018x}"
    return None


def check(library, rng, n):
    wrong = check_known()
    if wrong:
        return wrong
    for name in FUNCTIONS:
        wrong = sampled(library, name, rng, n)
        if wrong:
            return wrong
    print(f"{len(FUNCTIONS)} functions of one word: {n + 8} chunks of 2^16")
    return None
