"""Which elements of a whole tensor the shard of a DTensor has.

A shard is cut from the tensor along some dimensions. In row-major order its
elements are blocks of rows, all alike, and each block is one call of an operator
with the tensor's own numbers there: so any mesh and any placement draws what one
process would.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor, Replicate, Shard

from philox.torch import _operators, _states


def pieces(shape: Sequence[int], offset: Sequence[int],
           local: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int, int, int]]:
    """Yield the blocks of a shard, which are rows of a matrix each.

    Args:
        shape: of the whole tensor.
        offset: of the shard's first element in it, by dimension.
        local: the shard's shape.

    Yields:
        The leading indices of the block in the shard, and its first element,
        columns and row stride in the whole tensor.
    """
    strides = [math.prod(shape[d + 1:]) for d in range(len(shape))]
    # Dimensions that are whole, and the one before them, are one row
    inner = len(shape) - 1
    while inner > 0 and local[inner] == shape[inner]:
        inner -= 1
    rows = max(inner - 1, 0)
    cols = math.prod(local[inner:])
    first = sum(o * s for o, s in zip(offset, strides, strict=True))
    for flat in range(math.prod(local[:rows])):
        index, at = [], first
        for d in reversed(range(rows)):
            flat, i = divmod(flat, local[d])
            index.append(i)
            at += i * strides[d]
        yield (tuple(reversed(index)), at, cols,
               strides[rows] if inner > rows else cols)


def place_of(x: DTensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the offset of this rank's shard in the tensor, and its shape."""
    from torch.distributed.tensor._utils import (
        compute_local_shape_and_global_offset)

    for placement in x.placements:
        if type(placement) not in (Shard, Replicate):
            raise ValueError("philox: dropout of a DTensor whose placement is "
                             f"{placement}: redistribute it to Shard and "
                             "Replicate first")
    local, offset = compute_local_shape_and_global_offset(
        x.shape, x.device_mesh, x.placements)
    return tuple(offset), tuple(local)


def dropout(x: DTensor, p: float, site: str, states: Tensor | None,
            op: int) -> DTensor:
    """Return dropout of a DTensor, with the same placements."""
    offset, local = place_of(x)
    part = x.to_local()
    if tuple(part.shape) != local:
        raise ValueError(f"philox: a shard of shape {tuple(part.shape)}, where "
                         f"its placements say {local}")
    if states is None:
        _states.require_shared(site)
    states = _operators._states_for(site, states, part.device)
    if part.numel():
        part = _draw_pieces(part, tuple(x.shape), offset, states, p, op)
    return DTensor.from_local(part, x.device_mesh, x.placements,
                              run_check=False, shape=x.shape,
                              stride=x.stride() if x.is_contiguous()
                              else _row_major(x.shape))


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(max(math.prod(shape[d + 1:]), 1) for d in range(len(shape)))


def _draw_pieces(part: Tensor, shape: Sequence[int], offset: Sequence[int],
                 states: Tensor, p: float, op: int) -> Tensor:
    if not shape:
        return _operators._dropout(part, states, p, op, 0, 0, 0)
    blocks = [_operators._dropout(part[index], states, p, op, first, cols, stride)
              for index, first, cols, stride in pieces(shape, offset, part.shape)]
    if len(blocks) == 1:
        return blocks[0].reshape(part.shape)
    return torch.stack(blocks).reshape(part.shape)
