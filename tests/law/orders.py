"""What doc/law.md says of orders and of the order of data, with numpy.

Positions, seeds, offsets and sizes are arrays of u64.
"""

from math import factorial

import numpy as np

from arith import U64, u64
from law import HALF, block, fold, hash_of, integers

ORDER, DATA = 10, 11


def small_order(seed, n):
    items = list(range(n))
    r = integers((seed, 4 * n), u64([0]), "u64", 0, factorial(n) - 1)
    r = int(r[0, 0])
    for i in range(n - 1, 0, -1):
        r, j = divmod(r, i + 1)
        items[i], items[j] = items[j], items[i]
    return items


def product(m, y):
    p = U64(m) * y
    return p >> U64(32) ^ p & HALF


def bit_length(x):
    return sum((x >> U64(k) > 0).astype(U64) for k in range(64))


def turned(cell, w, n, shift, rows):
    """A cell, once through all turns."""
    def moves(x, k):
        x = product(0xD2511F53, x ^ k & HALF)
        return product(0xCD9E8D57, x ^ w[..., 2])

    mask = (U64(1) << shift) - U64(1)
    row, col = cell >> shift, cell & mask
    for j in range(12):
        turns = (n <= 1024) | (j < 6)
        by = moves(col, w[..., 0] + U64(j * 0x9E3779B9)) * rows >> U64(32)
        next_row = (row + by) % rows
        by = moves(next_row, w[..., 1] + U64(j * 0xBB67AE85))
        row = np.where(turns, next_row, row)
        col = np.where(turns, col + by & mask, col)
    return row << shift | col


def large_items(seed, n, e):
    w = block(seed, n, 0)
    b = bit_length(n - U64(1))
    shift = np.where(b == 63, U64(32), b // U64(2))
    rows = (n - U64(1) >> shift) + U64(1)
    cell = np.where(e < 2, e ^ w[..., 3] & U64(1), e)
    left = np.arange(len(e))
    while len(left):
        cell[left] = turned(cell[left], w[left], n[left], shift[left],
                            rows[left])
        left = left[cell[left] >= n[left]]
    return cell


def items(seed, offset, n, e):
    """The items at places e, of orders of n of states."""
    seed, offset, n, e = (x.copy() for x in np.broadcast_arrays(
        *map(u64, (seed, offset, n, e))))
    key = fold(seed, ORDER, offset >> U64(2))
    made, orders = np.empty_like(e), {}
    for i in np.flatnonzero(n <= 16):
        which = int(key[i]), int(n[i])
        if which not in orders:
            orders[which] = small_order(*which)
        made[i] = orders[which][int(e[i])]
    large = n > 16
    made[large] = large_items(key[large], n[large], e[large])
    return made


# Data: sources are (samples, weight, window)

def quotas(weights, size):
    """Of positions of a block."""
    total = sum(weights)
    made = [w * size // total for w in weights]
    order = sorted(range(len(weights)), key=lambda s: (
        -(weights[s] * size % total), s))
    for s in order[:size - sum(made)]:
        made[s] += 1
    return made


def shares(sources, size):
    size = size if len(sources) > 1 else 1
    return size, quotas([weight for _, weight, _ in sources], size)


def window_of(samples, window):
    return window if 0 < window <= samples else samples


def samples_at(state, sources, size, positions):
    """Source, epoch and sample of positions."""
    if state[1] % 2:
        return [np.full(len(positions), x, U64)
                for x in (2**32 - 1, 2**64 - 1, 2**64 - 1)]
    key = fold(state[0], DATA, state[1] >> 2)
    size, quota = shares(sources, size)
    b, place = positions // U64(size), positions % U64(size)
    if size > 1:
        place = items(key, b * U64(4), size, place)
    ends = np.cumsum(quota)
    source = np.searchsorted(ends, place.astype(np.int64), side="right")
    begin = u64([end - q for end, q in zip(ends.tolist(), quota)])
    draw = b * u64(quota)[source] + (place - begin[source])
    n = u64([samples for samples, _, _ in sources])[source]
    window = u64([window_of(samples, w) for samples, _, w in sources])[source]
    epoch, place = draw // n, draw % n
    number, inside = place // window, place % window
    seed = fold(fold(key, DATA, u64(source)), DATA, epoch)
    long = np.minimum(window, n - number * window)
    ordered = items(seed, number * U64(4), long, inside)
    inside = np.where(window > 1, ordered, inside)
    return u64(source), epoch, number * window + inside


def data_seed(seed, name):
    return int(fold(seed, DATA, hash_of(name)))


def order_hash(sources, size):
    size, quota = shares(sources, size)
    numbers = [size, len(sources)]
    for (samples, _, window), q in zip(sources, quota):
        numbers += [samples, q, window_of(samples, window)]
    return hash_of(b"".join(x.to_bytes(8, "little") for x in numbers))
