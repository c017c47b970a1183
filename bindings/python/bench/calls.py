#!/usr/bin/env python3
"""What a call of philox.torch costs beside PyTorch's own, on a CPU.

    PYTHONPATH=build/python python bindings/python/bench/calls.py [--threads N]

Each line runs both in turn, many times, and has the medians. The last table has
the bytes that a dropout keeps for its backward.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

import philox.torch as ph

ROUNDS = 21


def once(call: Callable[[], Any], n: int) -> float:
    """Return how many microseconds a call takes, of n in a row."""
    begun = time.perf_counter()
    for _ in range(n):
        call()
    return (time.perf_counter() - begun) / n * 1e6


def beside(ours: Callable[[], Any], theirs: Callable[[], Any],
           n: int) -> tuple[float, float]:
    """Return the medians of both, which ran in turn."""
    once(ours, n), once(theirs, n)
    times = [(once(ours, n), once(theirs, n)) for _ in range(ROUNDS)]
    return tuple(map(statistics.median, zip(*times, strict=True)))


def trained(drop: Callable[..., Tensor], x: Tensor, g: Tensor) -> Callable:
    return lambda: drop(x, 0.1).backward(g)


def cases() -> list[tuple[str, Callable, Callable, int]]:
    small, large = torch.randn(8, 8), torch.randn(1 << 22)
    small_grad = small.clone().requires_grad_()
    large_grad = large.clone().requires_grad_()
    image = torch.randn(32, 64, 32, 32)
    theirs = functional.dropout
    large_f32 = (1 << 22,)
    return [
        ("dropout, 8 x 8, no gradient", lambda: ph.dropout(small, 0.1),
         lambda: theirs(small, 0.1), 200),
        ("dropout and backward, 8 x 8", trained(ph.dropout, small_grad, small),
         trained(theirs, small_grad, small), 200),
        ("dropout, 4 Mi f32", lambda: ph.dropout(large, 0.1),
         lambda: theirs(large, 0.1), 3),
        ("dropout and backward, 4 Mi f32",
         trained(ph.dropout, large_grad, large),
         trained(theirs, large_grad, large), 3),
        ("dropout2d, 32 x 64 x 32 x 32", lambda: ph.dropout2d(image, 0.1),
         lambda: functional.dropout2d(image, 0.1), 10),
        ("alpha dropout, 2 Mi f32", lambda: ph.alpha_dropout(image, 0.1),
         lambda: functional.alpha_dropout(image, 0.1, training=True), 5),
        ("uniform, 4 Mi f32", lambda: ph.uniform(large_f32),
         lambda: torch.rand(large_f32), 5),
        ("normal, 4 Mi f32", lambda: ph.normal(large_f32),
         lambda: torch.randn(large_f32), 5),
        ("integers 0 .. 99, 4 Mi i64", lambda: ph.integers(large_f32, 0, 100),
         lambda: torch.randint(0, 100, large_f32), 5),
    ]


def kept(drop: Callable[..., Tensor]) -> int:
    """Return the bytes that a dropout of 16 MiB keeps for its backward."""
    x = torch.randn(1 << 22, requires_grad=True)
    seen = {}

    def pack(tensor: Tensor) -> Tensor:
        seen[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        drop(x, 0.1)
    return sum(seen.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    print(f"PyTorch {torch.__version__}, {platform.machine()}, "
          f"{torch.get_num_threads()} thread(s), medians of {ROUNDS} rounds\n")
    print("| | philox | PyTorch | PyTorch / philox |\n|---|---|---|---|")
    for name, ours, theirs, n in cases():
        a, b = beside(ours, theirs, n)
        print(f"| {name} | {a:.1f} us | {b:.1f} us | {b / a:.2f} |")
    print("\n| kept for the backward of dropout of 4 Mi f32 | bytes |\n|---|---|")
    print(f"| philox | {kept(ph.dropout)} |")
    print(f"| PyTorch | {kept(functional.dropout)} |")


main()
