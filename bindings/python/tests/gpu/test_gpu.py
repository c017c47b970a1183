"""What only a GPU can tell of philox.torch: the numbers are the CPU's.

A file of pytest's, whose tests are skipped without a GPU, and a program, which
fails without one: `PYTHONPATH=build/python python test_gpu.py`.
"""

from __future__ import annotations

import sys
import traceback

import torch

import philox.torch as ph

if __name__ != "__main__":
    import pytest

    pytestmark = pytest.mark.skipif(not torch.cuda.is_available(),
                                    reason="there is no GPU")

STATE = [[0x1234567890ABCDEF, 4096], [-7, 8]]
FLOATING = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def states(device: str) -> torch.Tensor:
    return torch.tensor(STATE, dtype=torch.int64, device=device)


def same(make, *, op: int = 1) -> None:
    """Assert that make(device, states, op) gives the same bits on both."""
    there = make("cuda", states("cuda"), op).cpu()
    here = make("cpu", states("cpu"), op)
    assert there.dtype == here.dtype and there.shape == here.shape
    assert torch.equal(there.view(torch.uint8), here.view(torch.uint8))


def tensor(dtype: torch.dtype, device: str) -> torch.Tensor:
    x = torch.linspace(-3, 3, 7 * 33 * 5, dtype=torch.float64)
    return x.to(dtype).reshape(7, 33, 5).to(device)


def test_masks_are_those_of_a_cpu():
    for dtype in FLOATING:
        same(lambda d, s, op, t=dtype: ph.dropout(tensor(t, d), 0.3, states=s,
                                                  op=op))
        same(lambda d, s, op, t=dtype: ph.dropout1d(tensor(t, d), 0.3, states=s,
                                                    op=op))
        same(lambda d, s, op, t=dtype: ph.alpha_dropout(tensor(t, d), 0.3,
                                                        states=s, op=op))
        same(lambda d, s, op, t=dtype: ph.bernoulli(
            tensor(t, d).abs().clamp(max=1), states=s, op=op))


def test_numbers_are_those_of_a_cpu():
    size = (3, 1001)
    for dtype in FLOATING:
        for make in (ph.uniform, ph.normal, ph.log_normal, ph.exponential,
                     ph.gumbel):
            same(lambda d, s, op, f=make, t=dtype: f(size, dtype=t, states=s,
                                                     op=op))
    for dtype in (torch.int32, torch.int64):
        same(lambda d, s, op, t=dtype: ph.integers(size, -5, 1000, dtype=t,
                                                   states=s, op=op))
    for dtype in (torch.bfloat16, torch.float16):
        same(lambda d, s, op, t=dtype: ph.stochastic_round(
            tensor(torch.float32, d), t, states=s, op=op))


def test_tokens_are_those_of_a_cpu():
    logits = torch.linspace(-4, 4, 2 * 5000).reshape(2, 5000)
    for filters in ({}, {"top_k": 40}, {"top_p": 0.9}, {"min_p": 0.05}):
        same(lambda d, s, op, f=filters: ph.sample(logits.to(d), 0.8, states=s,
                                                   op=op, **f), op=0)


def test_a_site_gives_the_same_states_on_both():
    ph.seed(11)
    here = [ph.reserve("a", 2), ph.reserve("a", 1)]
    there = [ph.reserve("a", 2, "cuda"), ph.reserve("a", 1, "cuda")]
    for a, b in zip(here, there, strict=True):
        assert torch.equal(a, b.cpu())


def test_states_are_written_in_the_order_of_the_stream():
    ph.seed(3)
    expected = [ph.reserve("order", 1) for _ in range(100)]
    got = torch.empty(100, 1, 2, dtype=torch.int64, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        for i in range(100):
            got[i] = ph.reserve("order", 1, "cuda")
        torch.cuda.current_stream().synchronize()
    assert torch.equal(got.cpu(), torch.stack(expected))


def test_a_backward_repeats_its_forward():
    x = torch.ones(1 << 16, device="cuda", requires_grad=True)
    y = ph.dropout(x, 0.5)
    ph.dropout(x, 0.5)
    y.sum().backward(retain_graph=True)
    first = x.grad.clone()
    y.sum().backward()
    assert torch.equal(first, y) and torch.equal(x.grad, 2 * y)


def test_a_captured_graph_draws_from_the_states_that_it_is_given():
    x = torch.ones(4096, device="cuda")
    given = ph.reserve("graph", 1, "cuda")
    ph.dropout(x, 0.5, states=given)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = ph.dropout(x, 0.5, states=given)
    for _ in range(3):
        new = ph.reserve("graph", 1, "cuda")
        given.copy_(new)
        graph.replay()
        assert torch.equal(y.cpu(), ph.dropout(x.cpu(), 0.5, states=new.cpu()))


def capture(model: torch.nn.Module, x: torch.Tensor):
    """Return a graph of the model's forward and backward, and its tensors."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        model(x).sum().backward()
    side.synchronize()
    x.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        y = model(x)
        y.sum().backward()
    return graph, y


def test_each_replay_draws_what_an_eager_call_would():
    drop = ph.Dropout(0.5, site="captured")
    x = torch.ones(4096, device="cuda", requires_grad=True)
    graph, y = capture(drop, x)
    ph.seed(21)
    replays = []
    for _ in range(3):
        x.grad.zero_()
        graph.replay()
        assert torch.equal(x.grad, y)
        replays.append(y.detach().clone())
    ph.seed(21)
    for replay in replays:
        assert torch.equal(replay, drop(x.detach()))


def test_a_replay_that_philox_is_not_told_of_draws_nan():
    x = torch.ones(64, device="cuda", requires_grad=True)
    graph, y = capture(ph.Dropout(0.5, site="untold"), x)
    super(torch.cuda.CUDAGraph, graph).replay()
    assert y.isnan().all()
    graph.replay()
    assert not y.isnan().any()


def test_a_replay_that_cannot_reserve_launches_nothing():
    from philox.torch import _graphs

    x = torch.ones(64, device="cuda", requires_grad=True)
    graph, y = capture(ph.Dropout(0.5, site="refused"), x)
    graph.replay()
    last = y.detach().clone()
    drawn, = getattr(graph, _graphs._DRAWN).values()
    context_of, drawn.context_of = drawn.context_of, None
    try:
        graph.replay()
    except TypeError:
        pass
    else:
        raise AssertionError("a replay has reserved")
    torch.cuda.synchronize()
    assert torch.equal(y, last)
    drawn.context_of = context_of
    graph.replay()
    assert not y.isnan().any() and not torch.equal(y, last)


def test_a_graph_that_is_instantiated_again_goes_on():
    x = torch.ones(64, device="cuda")
    drop = ph.Dropout(0.5, site="again")
    drop(x)
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        y = drop(x)
    ph.seed(4)
    graph.instantiate()
    graph.replay()
    first = y.clone()
    graph.instantiate()
    graph.replay()
    second = y.clone()
    ph.seed(4)
    assert torch.equal(first, drop(x)) and torch.equal(second, drop(x))


def test_graphed_callables_draw_new_masks_that_their_backwards_repeat():
    model = torch.nn.Sequential(torch.nn.Linear(64, 64),
                                ph.Dropout(0.5, site="graphed")).cuda()
    x = torch.randn(8, 64, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(model, (x,))
    masks = []
    for _ in range(3):
        y = graphed(x)
        g, = torch.autograd.grad(y.sum(), model[0].bias)
        assert torch.equal(g, ((y != 0) * 2.0).sum(0))
        masks.append((y != 0).clone())
    assert not torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[1], masks[2])


def test_reduce_overhead_is_the_model():
    torch.manual_seed(0)
    model = ph.exchange(torch.nn.Sequential(
        torch.nn.Linear(64, 64), torch.nn.Dropout(0.5)).cuda())
    compiled = ph.compile(model, mode="reduce-overhead", fullgraph=True)
    x = torch.randn(32, 64, device="cuda")
    runs = []
    for run in (model, compiled):
        ph.seed(5)
        runs.append([(run(x) != 0).clone() for _ in range(5)])
    for a, b in zip(*runs, strict=True):
        assert torch.equal(a, b)


def test_a_capture_before_anything_has_drawn_is_refused_by_name():
    from philox.torch import _graphs
    kept, _graphs._slots = _graphs._slots, {}
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            ph.reserve("early", 1, "cuda")
    except RuntimeError as error:
        assert "warm up first" in str(error)
    else:
        raise AssertionError("a capture has reserved")
    finally:
        _graphs._slots = kept
        torch.cuda.synchronize()


def test_a_poisoned_state_gives_nan():
    bad = torch.tensor([[1, 1]], dtype=torch.int64, device="cuda")
    x = torch.ones(100, device="cuda")
    assert ph.dropout(x, 0.5, states=bad).isnan().all()
    assert ph.alpha_dropout(x, 0.5, states=bad).isnan().all()
    assert ph.bernoulli(x * 0.5, states=bad).isnan().all()
    assert (ph.integers((9,), 0, 5, states=bad) == -1).all()


def test_a_compiled_model_is_the_model():
    torch.manual_seed(0)
    model = ph.exchange(torch.nn.Sequential(
        torch.nn.Linear(64, 64), torch.nn.Dropout(0.5), torch.nn.ReLU(),
        torch.nn.Dropout(0.5)).cuda())
    compiled = ph.compile(model, fullgraph=True)
    x = torch.randn(32, 64, device="cuda")
    runs = []
    for run in (model, compiled):
        ph.seed(5)
        runs.append([run(x) != 0 for _ in range(3)])
    for a, b in zip(*runs, strict=True):
        assert torch.equal(a, b)


def main() -> int:
    tests = {name: test for name, test in sorted(globals().items())
             if name.startswith("test_")}
    failed = 0
    for name, test in tests.items():
        try:
            test()
            print(f"ok      {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED  {name}", flush=True)
            traceback.print_exc()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
