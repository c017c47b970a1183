"""What captured graphs draw: states that are written before each replay.

A capture cannot reserve: it runs once, and the graph many times. So a draw in a
capture gets *slots*, rows of device memory that stay where they are, and the
graph copies them to tensors of its own where it draws. Before each replay the
draws of the graph are reserved, in the order of the capture, and their states
are written into the slots, in the order of the stream. After the replay the
slots are poisoned: one that philox is not told of draws NaN and all-ones, never
old numbers. The copies stay, so that an eager backward repeats what the last
replay drew.

PyTorch tells of replays by hooks of torch.cuda.CUDAGraph, from 2.15 on.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

#: How many draws the graphs of a device may have, all together.
SLOTS = 1 << 16

#: A state that no pass gives: its offset is odd.
POISON = (0, 1)


class Slots:
    """Rows of a device's memory, in runs that are given out and taken back."""

    def __init__(self, device: torch.device) -> None:
        # Neither an inference tensor nor one of another mode: it is written to
        # whatever mode the caller of a replay is in
        with torch.inference_mode(False), _disable_current_modes():
            self.memory = torch.tensor([POISON], dtype=torch.int64,
                                       device=device).repeat(SLOTS, 1)
        if device.type == "cuda":
            torch.cuda.synchronize(device)  # any stream may use it from now on
        self.lock = threading.Lock()
        self.free = [(0, SLOTS)]  # begin and end of each run, in order

    def take(self, n: int) -> int:
        """Return the first of n rows, which follow one another."""
        with self.lock:
            for i, (begin, end) in enumerate(self.free):
                if end - begin >= n:
                    self.free[i] = (begin + n, end)
                    return begin
        raise RuntimeError(f"philox: the graphs of {self.memory.device} draw "
                           f"more than {SLOTS} times")

    def give_back(self, runs: Sequence[tuple[int, int]]) -> None:
        """Take runs back that take() has given out."""
        with self.lock:
            joined: list[tuple[int, int]] = []
            for begin, end in sorted([*self.free, *runs]):
                if joined and joined[-1][1] == begin:
                    joined[-1] = (joined[-1][0], end)
                else:
                    joined.append((begin, end))
            self.free = joined


class Drawn:
    """The draws of one graph, and the hooks that write their states."""

    def __init__(self, slots: Slots, context_of: Any) -> None:
        self.slots = slots
        self.context_of = context_of  # the device's context, at each replay
        self.sites: list[str] = []
        self.counts: list[int] = []
        self.runs: list[tuple[int, int]] = []

    def reserve(self, sites: Sequence[str], counts: Sequence[int]) -> torch.Tensor:
        """Return the graph's own copy of the states of more draws."""
        n = sum(counts)
        begin = self.slots.take(n)
        self.sites += sites
        self.counts += counts
        if self.runs and self.runs[-1][1] == begin:
            self.runs[-1] = (self.runs[-1][0], begin + n)
        else:
            self.runs.append((begin, begin + n))
        return self.slots.memory[begin:begin + n].clone()

    def before(self, _: Any) -> None:
        """Write new states for the replay that comes next."""
        if not self.runs:
            return
        context = self.context_of()
        states = context.host_states(self.sites, self.counts)
        sizes = [end - begin for begin, end in self.runs]
        for (begin, end), part in zip(self.runs, states.split(sizes),
                                      strict=True):
            context.write(part, self.slots.memory[begin:end])

    def after(self, _: Any) -> None:
        """Poison the slots, after the replay in its stream."""
        for begin, end in self.runs:
            self.slots.memory[begin:end, 1].fill_(POISON[1])

    def end(self) -> None:
        """Give the slots back: the graph and its replays have ended."""
        self.slots.give_back(self.runs)
        self.sites, self.counts, self.runs = [], [], []


class _Thread(threading.local):
    def __init__(self) -> None:
        # That this thread captures. Weak: a capture that fails is not told
        self.graph: Any = None


_thread = _Thread()
_lock = threading.Lock()
_slots: dict[torch.device, Slots] = {}
_DRAWN = "_philox_drawn"


def _begun(graph: Any) -> None:
    _thread.graph = weakref.ref(graph)
    setattr(graph, _DRAWN, {})


def _ended(_: Any) -> None:
    _thread.graph = None


def watch() -> None:
    """Have PyTorch tell of captures, where it can."""
    graphs = torch.cuda.graphs
    if hasattr(graphs, "register_graph_capture_start_hook"):
        graphs.register_graph_capture_start_hook(_begun)
        graphs.register_graph_capture_end_hook(_ended)


def prepare(device: torch.device) -> None:
    """Make the slots of a device: in a capture it would be too late."""
    with _lock:
        if device not in _slots:
            _slots[device] = Slots(device)


def reserve(device: torch.device, sites: Sequence[str], counts: Sequence[int],
            context_of: Any) -> torch.Tensor:
    """Return the states of draws in the graph that this thread captures."""
    graph = _thread.graph and _thread.graph()
    if graph is None:
        raise RuntimeError(
            f"philox: {sites[0]!r} draws in a capture that is no "
            "torch.cuda.CUDAGraph, or PyTorch is older than 2.15: reserve before "
            "it, pass states=, and write new ones there before each replay")
    if device not in _slots:
        raise RuntimeError(f"philox: {sites[0]!r} draws in a capture before "
                           f"anything has drawn on {device}: warm up first")
    drawn = getattr(graph, _DRAWN)
    if device not in drawn:
        drawn[device] = Drawn(_slots[device], context_of)
        graph.register_replay_start_hook(drawn[device].before)
        graph.register_replay_end_hook(drawn[device].after)
        graph.register_destroy_callback(drawn[device].end,
                                        synchronize_before_release=True)
    return drawn[device].reserve(sites, counts)
