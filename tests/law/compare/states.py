"""States and spans of any kind."""

from arith import U64

LARGEST_STATE = 2**64 - 4


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def any_u64(rng):
    """All bits, or few, or near an end."""
    x = int(rng.integers(0, 2**64, dtype=U64))
    shape = int(rng.integers(4))
    if shape == 0:
        return x >> int(rng.integers(64))
    return 2**64 - 1 - (x >> 50) if shape == 1 else x


def any_state(rng):
    return any_u64(rng), any_u64(rng) & LARGEST_STATE


def any_span(rng, n):
    """Of up to n elements: a row, or rows that may be longer apart."""
    rows = 1 if rng.integers(2) else int(rng.integers(1, min(40, n + 1)))
    count = int(rng.integers(1, n // rows + 1))
    stride = count + int(rng.integers(0, 9)) * int(rng.integers(0, 1000))
    room = 2**64 - (rows - 1) * stride - count
    first = min(any_u64(rng), room)
    if rng.integers(3) == 0:
        first = int(rng.integers(0, 100))
    return first, count, rows, stride
