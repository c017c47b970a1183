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


def test_reserving_in_a_capture_is_refused_by_name():
    graph = torch.cuda.CUDAGraph()
    x = torch.ones(8, device="cuda")
    ph.dropout(x, 0.5, site="captured")
    try:
        with torch.cuda.graph(graph):
            ph.dropout(x, 0.5, site="captured")
    except ph.Error as error:
        assert error.status == "PHILOX_ERROR_CAPTURE_UNSUPPORTED"
    else:
        raise AssertionError("a capture has reserved")
    torch.cuda.synchronize()
    assert ph.dropout(x, 0.5, site="captured").shape == (8,)


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
