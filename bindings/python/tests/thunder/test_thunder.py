"""philox.thunder, the executor and the transform for Lightning Thunder.

The first part has the facts of Thunder 0.2.6's tests/test_randomness.py, which
are about CUDA's generator and nvFuser. What is changed there:

- Every test runs on a CPU too; on CUDA where there is one.
- ``manual_seed`` of a CUDA generator is ``philox.torch.seed``; ``fork_rng`` is
  the fixture that forgets all sites before each test.
- ``cuda_generator.get_state()``, compared, is ``philox.torch.digest``.
- ``cuda_generator.get_offset()`` is the offset of the next state of the site.
  A draw moves it by 4 words, so 12 draws move it by 12 * 4 as there.
- ``cuda_generator.set_offset(8)`` is two draws before: each state is 4 words.
- The offset of a state is in words. nvFuser's is a fourth of it, so what is
  8 // 4 and 12 // 4 there is 8 and 12 here.
- The seed of a state is the site's, not the number given to ``manual_seed``;
  it is compared with what ``philox.torch.reserve`` gives.
- ``prims.get_and_update_rng_state`` refuses a CPU, so it is
  ``philox.thunder.get_and_update_rng_state``.
- ``replace_uniform``, exchanged for a function that does nothing, is Thunder
  with philox's executor and without its transform.
- The name ``get_and_update_rng_state_impl`` in the last trace is
  ``philox_get_and_update_rng_state``.
- Seeds and offsets are fixed numbers, not random ones, and the layers of the
  module are smaller.
"""

import math

import numpy as np
import pytest
import thunder
import thunder.core.prims as prims
import thunder.torch as ltorch
import torch
from thunder.core import devices, dtypes
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import philox.thunder as pht
import philox.torch as ph
from philox.torch import _states

DEVICES = ["cpu", *(["cuda:0"] if torch.cuda.is_available() else [])]
TAKE = "philox_get_and_update_rng_state"
DRAW = "philox_uniform_philox"

on_devices = pytest.mark.parametrize("device", DEVICES)
floats = pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64], ids=str)
halves = pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16], ids=str)
all_floats = pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16],
    ids=str)


@pytest.fixture(autouse=True)
def forgotten():
    _states.reset()
    yield
    _states.reset()


def by_hand(shape, state, low=0.0, high=1.0, dtype=torch.float32):
    like = torch.empty(shape, dtype=dtype, device=state.device)
    return torch.ops.philox.uniform(like, state, low, high)


def next_offset(device):
    return ph.reserve("thunder", 1, device)[0, 1].item()


def names(trace):
    return [bsym.sym.name for bsym in trace.bound_symbols]


def without_transform(function):
    return thunder.jit(function, executors=[pht.executor])


# --- facts of Thunder's tests -------------------------------------------------


@on_devices
@all_floats
@pytest.mark.parametrize("seed, offset", [(0, 0), (2, 8), (123902389, 4 * 77),
                                          (-5, 2**40)])
def test_a_given_state_gives_the_same_numbers_each_time(device, dtype, seed,
                                                        offset):
    def func(shape, dtype, device, seed, offset):
        return ltorch.uniform_philox(shape, device=device, dtype=dtype,
                                     seed=seed, offset=offset)

    jitted = pht.jit(func)
    outs = [jitted((10, 30), dtypes.to_dtype(dtype), device, seed, offset)
            for _ in range(3)]
    state = torch.tensor([[seed, offset]], device=device)
    for out in outs:
        assert torch.equal(out, by_hand((10, 30), state, dtype=dtype))
    other = jitted((10, 30), dtypes.to_dtype(dtype), device, seed, offset + 4)
    assert not torch.equal(other, outs[0])


@on_devices
def test_states_are_those_of_the_ledger_one_after_another(device):
    def func(device):
        s0, o0 = pht.get_and_update_rng_state(None, None, device)
        s1, o1 = pht.get_and_update_rng_state(s0, o0, device)
        return s0, o0, s1, o1

    jitted = pht.jit(func)
    ph.seed(2)
    rows = ph.reserve("thunder", 4, device)
    ph.seed(2)
    ph.reserve("thunder", 2, device)
    s0, o0, s1, o1 = jitted(devices.to_device(device))
    assert [[s0, o0], [s1, o1]] == rows[2:].tolist()
    assert (o0, o1) == (8, 12)


def test_the_own_primitive_of_thunder_still_refuses_a_cpu():
    def func(device):
        return prims.get_and_update_rng_state(None, None, device)

    with pytest.raises(NotImplementedError, match="CUDA"):
        pht.jit(func)(devices.to_device("cpu"))


@on_devices
@all_floats
def test_a_uniform_is_a_draw_from_the_next_state(device, dtype):
    def by_state(shape, dtype, device):
        s0, o0 = pht.get_and_update_rng_state(None, None, device)
        out0 = ltorch.uniform_philox(shape, device=device, dtype=dtype, seed=s0,
                                     offset=o0)
        s1, o1 = pht.get_and_update_rng_state(s0, o0, device)
        out1 = ltorch.uniform_philox(shape, device=device, dtype=dtype, seed=s1,
                                     offset=o1)
        return out0, out1

    def uniform(shape, dtype, device):
        return (ltorch.uniform(shape, device=device, dtype=dtype),
                ltorch.uniform(shape, device=device, dtype=dtype))

    arguments = (2, 3, 4, 5), dtypes.to_dtype(dtype), devices.to_device(device)
    results = []
    for function in (by_state, uniform):
        ph.seed(2)
        results.append((*pht.jit(function)(*arguments), ph.digest(device)))
    (a0, a1, a_digest), (b0, b1, b_digest) = results
    assert a_digest == b_digest
    assert torch.equal(a0, b0) and torch.equal(a1, b1)
    assert not torch.equal(a0, a1)


@on_devices
@all_floats
def test_the_same_seed_repeats_draws_and_gradients(device, dtype):
    def func(a):
        b = ltorch.uniform_like(a, device=a.device, dtype=a.dtype)
        d = F.dropout(a, p=0.5)
        c = ltorch.uniform_like(a, device=a.device, dtype=a.dtype)
        return c * b * a * d

    jitted = pht.jit(func)
    a = torch.linspace(-1, 2, 64, device=device, dtype=dtype).reshape(8, 8)
    runs = []
    for _ in range(2):
        ph.seed(20)
        x = a.clone().requires_grad_()
        run = []
        for _ in range(4):
            out = jitted(x)
            out.sum().backward()
            run += [out.detach(), x.grad.clone()]
        runs.append(run)
    for first, second in zip(*runs, strict=True):
        assert torch.equal(first, second)
    assert not torch.equal(runs[0][0], runs[0][2])


@on_devices
@floats
def test_the_transform_changes_no_number(device, dtype):
    def func(a):
        b = ltorch.uniform_like(a, device=a.device, dtype=a.dtype)
        e = a * b
        c = ltorch.uniform_like(a, device=a.device, dtype=a.dtype)
        f = e + c
        d = ltorch.uniform_like(a, device=a.device, dtype=a.dtype)
        return f + d

    a = torch.linspace(-1, 2, 4, device=device, dtype=dtype).reshape(2, 2)
    runs = []
    for jitted in (pht.jit(func), without_transform(func)):
        ph.seed(20)
        x = a.clone().requires_grad_()
        run = []
        for _ in range(4):
            out = jitted(x)
            out.sum().backward()
            run += [out.detach(), x.grad.clone()]
        assert names(thunder.last_traces(jitted)[-1]).count(TAKE) == 3
        assert next_offset(device) == 12 * 4
        runs.append(run)
    for first, second in zip(*runs, strict=True):
        torch.testing.assert_close(first, second)


class Adapter(nn.Module):
    """A layer norm, an activation and a dropout, which is first or last."""

    def __init__(self, features, first):
        super().__init__()
        self.first = first
        self.dropout = nn.Dropout(0.5)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        if self.first:
            x = self.dropout(x)
        x = self.norm(torch.relu(x))
        return x if self.first else self.dropout(x)


@on_devices
@floats
@pytest.mark.parametrize("first", [True, False])
def test_the_transform_changes_no_number_of_a_module(device, dtype, first):
    module = Adapter(48, first).train().to(device=device, dtype=dtype)
    a = torch.linspace(-1, 2, 96, device=device, dtype=dtype).reshape(2, 48)
    runs = []
    for jitted in (pht.jit(module), without_transform(module)):
        ph.seed(20)
        x = a.clone().requires_grad_()
        run = []
        for _ in range(4):
            out = jitted(x)
            out.sin().sum().backward()
            run += [out.detach(), x.grad.clone()]
        assert names(thunder.last_traces(jitted)[-1]).count(TAKE) == 1
        runs.append(run)
    for got, expected in zip(*runs, strict=True):
        torch.testing.assert_close(got, expected)
    assert not torch.equal(runs[0][0], runs[0][2])


# --- what is stored -----------------------------------------------------------


def saved_bytes(jitted, *arguments):
    """Return what a call keeps for its backward, by storage, and its result."""
    tensors = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        tensors[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = jitted(*arguments)
    _, (_, numbers) = thunder.last_traces(jitted)[-1].bound_symbols[-1].args
    return sum(tensors.values()) + 8 * len(numbers), y


def drop(x):
    return F.dropout(x, 0.25)


def drop_sine(x):
    return F.dropout(torch.sin(x), 0.25)


@on_devices
@all_floats
def test_a_dropout_keeps_at_most_32_bytes(device, dtype):
    x = torch.ones(64, 1024, device=device, dtype=dtype, requires_grad=True)
    kept, _ = saved_bytes(pht.jit(drop), x)
    assert 0 < kept <= 32


@on_devices
def test_a_dropout_keeps_at_most_32_bytes_beyond_what_others_need(device):
    x = torch.ones(64, 1024, device=device, requires_grad=True)
    kept, _ = saved_bytes(pht.jit(drop_sine), x)
    own = x.numel() * x.element_size()
    assert own < kept <= own + 32


def test_without_the_transform_the_same_count_finds_a_mask():
    x = torch.ones(64, 1024, requires_grad=True)
    kept, _ = saved_bytes(without_transform(drop), x)
    assert kept >= x.numel()


# --- masks --------------------------------------------------------------------


@on_devices
@all_floats
def test_forward_and_backward_have_the_same_mask(device, dtype):
    x = torch.ones(32, 129, device=device, dtype=dtype, requires_grad=True)
    y = pht.jit(drop)(x)
    y.sum().backward()
    assert torch.equal(x.grad != 0, y != 0)
    assert 0 < (y != 0).sum() < y.numel()


@on_devices
def test_retain_graph_repeats_the_mask_after_other_draws(device):
    jitted = pht.jit(drop)
    x = torch.ones(32, 128, device=device, requires_grad=True)
    y = jitted(x)
    masks = []
    for _ in range(3):
        x.grad = None
        y.sum().backward(retain_graph=True)
        masks.append(x.grad != 0)
        jitted(x)
    for mask in masks:
        assert torch.equal(mask, y != 0)


@on_devices
def test_backwards_in_any_order_have_the_masks_of_their_forwards(device):
    jitted = pht.jit(drop)
    x = torch.ones(32, 128, device=device, requires_grad=True)
    ys = [jitted(x) for _ in range(3)]
    for y in (ys[1], ys[2], ys[0]):
        x.grad = None
        y.sum().backward()
        assert torch.equal(x.grad != 0, y != 0)


@on_devices
def test_two_calls_differ_and_the_same_seed_repeats(device):
    jitted = pht.jit(drop)
    x = torch.ones(32, 128, device=device)
    ph.seed(5)
    first, second = jitted(x), jitted(x)
    ph.seed(5)
    assert torch.equal(jitted(x), first)
    assert torch.equal(jitted(x), second)
    assert not torch.equal(first, second)
    ph.seed(6)
    assert not torch.equal(jitted(x), first)


@on_devices
def test_dropouts_of_one_function_have_masks_of_their_own(device):
    def func(x):
        return F.dropout(x, 0.5), F.dropout(x, 0.5), F.dropout(x, 0.5)

    x = torch.ones(64, 64, device=device, requires_grad=True)
    ys = pht.jit(func)(x)
    sum(10**i * y.sum() for i, y in enumerate(ys)).backward()
    kept = [(y != 0).cpu().numpy() for y in ys]
    assert np.array_equal(x.grad.cpu().numpy(),
                          2.0 * kept[0] + 20.0 * kept[1] + 200.0 * kept[2])
    n = x.numel()
    for i, j in ((0, 1), (0, 2), (1, 2)):
        # Independent masks of p = 1/2 agree in n/2 places, sigma sqrt(n)/2
        agree = (kept[i] == kept[j]).sum()
        assert abs(agree - n / 2) < 5 * math.sqrt(n) / 2


@on_devices
def test_a_checkpoint_repeats_its_mask_and_keeps_only_its_input(device):
    def func(x):
        return 3 * checkpoint(drop_sine, x, use_reentrant=False)

    x = torch.ones(64, 64, device=device, requires_grad=True)
    kept, y = saved_bytes(pht.jit(func), x)
    y.sum().backward()
    assert torch.equal(x.grad != 0, y != 0)
    assert kept <= x.numel() * x.element_size() + 32
    assert next_offset(device) == 4


def go_on(x):
    return torch.exp(F.dropout(x, 0.25))


def go_on_in_checkpoint(x):
    return 3 * checkpoint(go_on, x, use_reentrant=False)


@on_devices
def test_a_checkpoint_that_goes_on_after_a_dropout_repeats_its_mask(device):
    x = torch.full((64, 64), 0.5, device=device, requires_grad=True)
    y = pht.jit(go_on_in_checkpoint)(x)
    y.sum().backward()
    kept = y.detach() > 3.5  # 3 where dropped
    torch.testing.assert_close(x.grad, torch.where(kept, y.detach() / 0.75, 0))
    assert 0 < kept.sum() < kept.numel()


@on_devices
def test_a_checkpoint_of_two_dropouts_keeps_its_input_and_two_states(device):
    def inner(x):
        return 3 * go_on(go_on(x))

    def func(x):
        return checkpoint(inner, x, use_reentrant=False)

    x = torch.ones(64, 64, device=device, requires_grad=True)
    kept, _ = saved_bytes(pht.jit(func), x)
    assert kept <= x.numel() * x.element_size() + 2 * 16


@on_devices
def test_without_the_transform_a_recompute_that_draws_is_refused(device):
    x = torch.full((64, 64), 0.5, device=device, requires_grad=True)
    y = without_transform(go_on_in_checkpoint)(x)
    with pytest.raises(RuntimeError, match="inside a backward"):
        y.sum().backward()


# --- numbers ------------------------------------------------------------------


@on_devices
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@floats
def test_a_dropout_keeps_where_the_uniform_of_its_state_is_small(device, p,
                                                                 dtype):
    x = torch.linspace(1, 2, 4 * 99, device=device, dtype=dtype).reshape(4, 99)
    x.requires_grad_()
    ph.seed(9)
    state = ph.reserve("thunder", 1, device)
    ph.seed(9)
    y = pht.jit(lambda x: F.dropout(x, p))(x)
    y.sum().backward()
    r = by_hand(x.shape, state, dtype=dtype).cpu().numpy()
    scale = 1 / (1 - p)
    values = x.detach().cpu().numpy()
    kept = r < 1 - p
    np.testing.assert_allclose(y.detach().cpu().numpy(),
                               np.where(kept, values * scale, 0), rtol=1e-6)
    np.testing.assert_allclose(x.grad.cpu().numpy(),
                               np.where(kept, scale, 0), rtol=1e-6)


@on_devices
@halves
def test_a_dropout_of_a_short_dtype_has_the_mask_of_float32(device, dtype):
    # 0.9 is not on the grid of either dtype
    jitted = pht.jit(lambda x: F.dropout(x, 0.1))
    ph.seed(9)
    short = jitted(torch.ones(256, 99, device=device, dtype=dtype))
    ph.seed(9)
    full = jitted(torch.ones(256, 99, device=device))
    assert short.dtype == dtype
    assert torch.equal(short != 0, full != 0)


@on_devices
def test_rand_and_uniform_are_the_numbers_of_their_states(device):
    def func(x):
        return (torch.rand(3, 4, device=x.device),
                ltorch.uniform_like(x, -1.0, 3.0))

    ph.seed(4)
    states = ph.reserve("thunder", 2, device)
    ph.seed(4)
    a, b = pht.jit(func)(torch.ones(5, 7, device=device))
    assert torch.equal(a, by_hand((3, 4), states[:1]))
    assert torch.equal(b, by_hand((5, 7), states[1:], -1.0, 3.0))


@on_devices
def test_attention_has_the_mask_of_its_state_in_both_directions(device):
    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.25)

    def written_out(q, k, v, r):
        a = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), -1)
        return torch.where(r < 0.75, a / 0.75, 0) @ v

    torch.manual_seed(0)
    qkv = [torch.randn(2, 3, 16, 8, device=device, requires_grad=True)
           for _ in range(3)]
    ph.seed(4)
    state = ph.reserve("thunder", 1, device)
    ph.seed(4)
    jitted = pht.jit(attention)
    y = jitted(*qkv)
    expected = written_out(*qkv, by_hand((2, 3, 16, 16), state))
    torch.testing.assert_close(y, expected)
    g = torch.randn_like(expected)
    for got, want in zip(torch.autograd.grad(y, qkv, g),
                         torch.autograd.grad(expected, qkv, g), strict=True):
        torch.testing.assert_close(got, want)
    assert names(thunder.last_backward_traces(jitted)[-1]).count(DRAW) == 1


# --- traces -------------------------------------------------------------------


def test_printed_traces_show_where_states_are_taken_and_drawn_from():
    def func(x):
        return F.dropout(F.dropout(x, 0.5), 0.5)

    jitted = pht.jit(func)
    jitted(torch.ones(4, 4, requires_grad=True))
    forward = str(thunder.last_traces(jitted)[-1])
    backward = str(thunder.last_backward_traces(jitted)[-1])
    assert forward.count(f"{TAKE}(") == 2
    assert forward.count(f"{DRAW}(") == 2
    assert backward.count(f"{TAKE}(") == 0
    assert backward.count(f"{DRAW}(") == 2
    early = "\n".join(map(str, thunder.last_traces(jitted)))
    assert "prims.uniform_philox(" in early
    assert "Transform for philox" in early


def test_an_evaluated_module_takes_no_state():
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).eval()
    jitted = pht.jit(module)
    jitted(torch.ones(2, 4))
    assert TAKE not in names(thunder.last_traces(jitted)[-1])
    assert next_offset("cpu") == 0


def test_a_symbol_of_an_executor_in_front_is_left_to_it():
    first = thunder.extend.OperatorExecutor("first_of_a_test")

    def halve(a, p=0.5, training=True, inplace=False):
        return a / 2

    op = first.register_operator("halve", like=ltorch.dropout, fn=halve)
    first.register_implementation("torch.nn.functional.dropout", op)
    jitted = pht.jit(drop, executors=[first, pht.executor])
    assert torch.equal(jitted(torch.ones(4)), torch.full((4,), 0.5))
    behind = pht.jit(drop, executors=[pht.executor, first])
    assert not torch.equal(behind(torch.ones(4)), torch.full((4,), 0.5))


def test_a_dtype_without_numbers_is_refused():
    def func(x):
        return ltorch.uniform(x.shape, device=x.device, dtype=dtypes.complex64)

    with pytest.raises(NotImplementedError, match="complex64"):
        pht.jit(func)(torch.ones(3))
