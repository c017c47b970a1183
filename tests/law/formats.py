"""What doc/law.md says of rounding to 8 and 4 bits, and of signs, with numpy.

x holds f32; fields, words and codes are u64 or i64.
"""

import numpy as np

from arith import F32, F64, I64, U64, bits, f32_of, u64
from law import HALF, more_words, word_of, words

FORMATS = {            # digits, least power, largest, sign
    "bf16": (7, -126, 0x7F7F, 0x8000), "f16": (10, -14, 0x7BFF, 0x8000),
    "e4m3": (3, -6, 0x7E, 0x80), "e5m2": (2, -14, 0x7B, 0x80),
    "e2m1": (1, 0, 7, 8)}


# Random signs

def signs(state, e):
    return np.where(word_of(state, e) < U64(2**31), F32(-1), F32(1))


def sign_bits(state, e):
    """Those of elements 32 e to 32 e + 31."""
    q = e[:, None] * U64(8) + np.arange(8, dtype=U64)
    below = words(state, q).reshape(len(e), 32) < U64(2**31)
    return (below.astype(U64) << np.arange(32, dtype=U64)).sum(-1).astype(
        np.uint32)
