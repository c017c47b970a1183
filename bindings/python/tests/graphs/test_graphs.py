"""What captured graphs draw, with a graph and a device of the test's own.

`Graph` has the hooks of torch.cuda.CUDAGraph, and runs its body again at each
replay, as a GPU does with what a capture recorded. The slots are on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import philox.torch as ph
from philox.torch import _graphs, _states

CPU = torch.device("cpu")


class Graph:
    """Runs body(states), where states are copies of its slots."""

    def __init__(self) -> None:
        self.starts, self.ends, self.callbacks = [], [], []
        self.draws: list[Tensor] = []
        self.body: Callable[[list[Tensor]], Tensor] | None = None

    def register_replay_start_hook(self, hook: Callable) -> None:
        self.starts.append(hook)

    def register_replay_end_hook(self, hook: Callable) -> None:
        self.ends.append(hook)

    def register_destroy_callback(self, callback: Callable, *,
                                  synchronize_before_release: bool) -> None:
        assert synchronize_before_release
        self.callbacks.append(callback)

    def capture(self, sites: list[tuple[str, int]], body: Callable) -> None:
        _graphs._begun(self)
        try:
            for site, n in sites:
                self.draws.append(_graphs.reserve(
                    CPU, (site,), (n,), lambda: _states._settings.context(CPU)))
        finally:
            _graphs._ended(self)
        self.body = body

    def launch(self) -> Tensor:
        """Copy the slots, as the graph's nodes do, and run the body."""
        drawn = getattr(self, _graphs._DRAWN)[CPU]
        rows = torch.cat([drawn.slots.memory[a:b] for a, b in drawn.runs])
        for copy, new in zip(self.draws, rows.split(drawn.counts), strict=True):
            copy.copy_(new)
        return self.body(self.draws)

    def replay(self) -> Tensor:
        for hook in self.starts:
            hook(self)
        try:
            return self.launch()
        finally:
            for hook in self.ends:
                hook(self)

    def destroy(self) -> None:
        for callback in self.callbacks:
            callback()


@pytest.fixture(autouse=True)
def slots():
    _states.reset()
    _graphs._slots.clear()
    _graphs.prepare(CPU)
    ph.seed(9)
    yield _graphs._slots[CPU]
    _states.reset()
    _graphs._slots.clear()


def uniform(states: Tensor, op: int = 0) -> Tensor:
    return ph.uniform((64,), states=states, op=op)


def test_each_replay_draws_what_eager_calls_would():
    graph = Graph()
    graph.capture([("a", 1), ("b", 2), ("a", 1)], lambda s: torch.stack(
        [uniform(s[0]), uniform(s[1]), uniform(s[1], 1), uniform(s[2])]))
    replays = [graph.replay() for _ in range(3)]
    ph.seed(9)
    for replay in replays:
        eager = [ph.reserve("a"), ph.reserve("b", 2), ph.reserve("a")]
        expected = torch.stack([uniform(eager[0]), uniform(eager[1]),
                                uniform(eager[1], 1), uniform(eager[2])])
        assert torch.equal(replay, expected)


def test_eager_calls_between_replays_share_the_order():
    graph = Graph()
    graph.capture([("a", 1)], lambda s: uniform(s[0]))
    mixed = [graph.replay(), uniform(ph.reserve("a")), graph.replay()]
    ph.seed(9)
    for got in mixed:
        assert torch.equal(got, uniform(ph.reserve("a")))


def test_a_capture_reserves_nothing():
    before = ph.digest()
    Graph().capture([("never", 1)], lambda s: uniform(s[0]))
    assert ph.digest() == before


def test_a_launch_without_the_hooks_draws_nan():
    graph = Graph()
    graph.capture([("a", 1)], lambda s: uniform(s[0]))
    assert graph.launch().isnan().all()
    assert not graph.replay().isnan().any()
    assert graph.launch().isnan().all()


def test_a_launch_that_fails_leaves_the_slots_poisoned(slots):
    graph = Graph()

    def body(_):
        raise RuntimeError("no")

    graph.capture([("a", 1)], body)
    with pytest.raises(RuntimeError, match="no"):
        graph.replay()
    assert (slots.memory[:, 1] % 2 == 1).all()


def test_an_eager_backward_repeats_the_last_replay():
    graph = Graph()
    graph.capture([("a", 1)], lambda s: ph.dropout(torch.ones(64), 0.5,
                                                   states=s[0]))
    y = graph.replay()
    x = torch.ones(64, requires_grad=True)
    ph.dropout(x, 0.5, states=graph.draws[0]).sum().backward()
    assert torch.equal(x.grad, y)


def test_graphs_in_any_order_never_share_numbers():
    graphs = [Graph() for _ in range(3)]
    for graph in graphs:
        graph.capture([("a", 1)], lambda s: s[0].clone())
    rows = torch.cat([graphs[i].replay() for i in (0, 2, 1, 1, 0, 2, 0)])
    assert len({tuple(row) for row in rows.tolist()}) == 7


def test_a_load_between_replays_is_followed():
    graph = Graph()
    graph.capture([("a", 1)], lambda s: uniform(s[0]))
    graph.replay()
    saved = ph.state_dict()
    expected = graph.replay()
    ph.load_state_dict(saved)
    assert torch.equal(graph.replay(), expected)


def test_slots_come_back_when_a_graph_is_destroyed(slots):
    first, second, third = Graph(), Graph(), Graph()
    for graph, n in ((first, 3), (second, 5), (third, 2)):
        graph.capture([("a", n)], lambda s: s[0])
    assert slots.free == [(10, _graphs.SLOTS)]
    second.destroy()
    assert slots.free == [(3, 8), (10, _graphs.SLOTS)]
    fourth = Graph()
    fourth.capture([("a", 4), ("b", 2)], lambda s: s[0])
    assert slots.free == [(7, 8), (12, _graphs.SLOTS)]
    replayed = fourth.replay()
    assert not (replayed[:, 1] % 2).any()
    for graph in (first, third, fourth):
        graph.destroy()
    assert slots.free == [(0, _graphs.SLOTS)]
    for hook in (*second.starts, *second.ends):
        hook(second)  # it has no slots any more, and writes none
    assert (slots.memory[:, 1] % 2 == 1).all()


def test_more_draws_than_slots_are_refused_by_name(slots):
    with pytest.raises(RuntimeError, match="draw more than 65536 times"):
        Graph().capture([("a", _graphs.SLOTS + 1)], lambda s: s[0])
    assert slots.free == [(0, _graphs.SLOTS)]


def test_a_capture_that_pytorch_does_not_tell_of_is_refused_by_name():
    with pytest.raises(RuntimeError, match="'a' draws in a capture that is no"):
        _graphs.reserve(CPU, ("a",), (1,), lambda: None)


def test_a_capture_before_anything_has_drawn_is_refused_by_name():
    _graphs._slots.clear()
    with pytest.raises(RuntimeError, match="'a' draws in a capture before"):
        Graph().capture([("a", 1)], lambda s: s[0])


def test_pytorch_tells_of_captures():
    graphs = torch.cuda.graphs
    if not hasattr(graphs, "register_graph_capture_start_hook"):
        pytest.skip("this PyTorch has no hooks of captures")
    assert _graphs._begun in graphs._global_capture_start_hooks.values()
    assert _graphs._ended in graphs._global_capture_end_hooks.values()


def test_slots_made_under_inference_mode_can_be_written_in_training():
    _graphs._slots.clear()
    with torch.inference_mode():
        _graphs.prepare(CPU)
    graph = Graph()
    graph.capture([("a", 1)], lambda s: uniform(s[0]))
    assert not graph.replay().isnan().any()
    assert graph.launch().isnan().all()


def refuse():
    raise RuntimeError("refused")


def test_a_replay_that_cannot_reserve_runs_nothing(slots, monkeypatch):
    graph, ran = Graph(), []
    graph.capture([("a", 1)], lambda s: ran.append(1))
    graph.replay()
    before = ph.digest()
    drawn = getattr(graph, _graphs._DRAWN)[CPU]
    with monkeypatch.context() as patch:
        patch.setattr(drawn, "context_of", refuse)
        with pytest.raises(RuntimeError, match="refused"):
            graph.replay()
    assert len(ran) == 1 and ph.digest() == before
    assert (slots.memory[:, 1] % 2 == 1).all()
    graph.replay()
    assert len(ran) == 2
