"""What philox.jax promises.

    make PYTHON=python python-jax
    cd bindings/python/tests/jax
    PYTHONPATH=../../../../build/python python -m pytest --confcutdir=.

Python has jax, numpy and pytest, and needs no torch. expected.json has numbers
of philox.torch, and make_expected.py makes it.
"""

import ctypes
import json
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import philox.jax as ph
from philox import _library

# Before JAX makes its devices: as many CPUs
jax.config.update("jax_num_cpu_devices", 4)

EXPECTED = json.loads(
    pathlib.Path(__file__).with_name("expected.json").read_text())
DTYPES = ("float32", "bfloat16", "float16", "float64")
NARROW = DTYPES[:3]


@pytest.fixture(autouse=True)
def new_ledger(monkeypatch):
    """Begin each test as in a new process."""
    monkeypatch.setattr(ph, "_ledger", ph._Ledger())


def bits(x):
    x = np.asarray(x)
    return x.view(f"u{x.itemsize}").reshape(-1).tolist()


def wide(dtype):
    return jax.enable_x64(dtype == "float64")


# --- the oracle: the C library, called directly -------------------------------


class Fill(ctypes.Structure):
    """struct philox_fill_desc, with its span."""

    _fields_ = [
        ("size", ctypes.c_size_t), ("dist", ctypes.c_uint32),
        ("dtype", ctypes.c_uint32), ("first", ctypes.c_uint64),
        ("count", ctypes.c_uint64), ("rows", ctypes.c_uint64),
        ("row_stride", ctypes.c_uint64), ("out", ctypes.c_void_p),
        ("in_", ctypes.c_void_p), ("p", ctypes.c_double),
        ("low", ctypes.c_double), ("high", ctypes.c_double),
        ("mean", ctypes.c_double), ("std", ctypes.c_double),
        ("rate", ctypes.c_double), ("from_", ctypes.c_uint64),
        ("to", ctypes.c_uint64), ("layout", ctypes.c_void_p)]


DISTS = {"uniform": 1, "normal": 2, "dropout": 4}
CODES = {"float32": 2, "bfloat16": 3, "float16": 4, "float64": 5}


def filled(function, seed, offset, shape, dtype, x=None, **parameters):
    """What philox_state_fill() gives."""
    out = np.full(shape, 99, jnp.dtype(dtype))
    x = None if x is None else np.ascontiguousarray(x, out.dtype)
    fill = Fill(size=ctypes.sizeof(Fill), dist=DISTS[function],
                dtype=CODES[dtype], count=out.size, out=out.ctypes.data,
                in_=None if x is None else x.ctypes.data, **parameters)
    status = _library._library.philox_state_fill(
        _library.State(seed, offset), ctypes.byref(fill), ctypes.c_uint32(1))
    assert status == 0, _library._library.philox_error_message()
    return out


# --- numbers ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", DISTS)
@pytest.mark.parametrize("how", ["eager", "jit"])
def test_draws_have_the_bits_of_philox_torch(function, dtype, how):
    rows = [row for row in EXPECTED["draws"]
            if (row["function"], row["dtype"]) == (function, dtype)]
    assert len(rows) == 4
    calls = {
        "uniform": lambda s: ph.uniform(s, 19, dtype, -2, 3),
        "normal": lambda s: ph.normal(s, (19,), dtype, 1, 2.5),
        "dropout": lambda s: ph.dropout(jnp.arange(-8, 11).astype(dtype), s,
                                        0.3)}
    call = calls[function]
    with wide(dtype):
        call = jax.jit(call) if how == "jit" else call
        for row in rows:
            got = call(ph.state(row["seed"], row["offset"]))
            assert got.dtype == dtype
            assert bits(got) == row["bits"]


@pytest.mark.parametrize("row", EXPECTED["samples"], ids=lambda row:
                         f"{row['dtype']}-{row['parameters']}")
def test_samples_are_the_tokens_of_philox_torch(row):
    logits = ((np.arange(6 * 97) * 7919) % 61).reshape(6, 97) / 8
    states = ph.fold(ph.state(row["seed"]), jnp.arange(6))
    call = jax.jit(lambda logits, states: ph.sample(logits, states,
                                                    **row["parameters"]))
    tokens = call(jnp.asarray(logits, row["dtype"]), states)
    assert tokens.dtype == jnp.int32
    assert tokens.tolist() == row["tokens"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (3, 5, 7), (2, 300001)])
def test_draws_of_a_shape_are_those_of_the_library(shape, dtype):
    seed, offset = 2**64 - 3, 2**40 + 8
    x = np.random.default_rng(7).standard_normal(shape)
    with wide(dtype):
        state = ph.state(seed, offset)
        x = jnp.asarray(x, dtype)
        pairs = [
            (ph.uniform(state, shape, dtype, -1, 1),
             filled("uniform", seed, offset, shape, dtype, low=-1, high=1)),
            (ph.normal(state, shape, dtype),
             filled("normal", seed, offset, shape, dtype, mean=0, std=1)),
            (ph.dropout(x, state, 0.75),
             filled("dropout", seed, offset, shape, dtype, x, p=0.75))]
    for got, want in pairs:
        assert got.shape == shape
        assert bits(got) == bits(want)


@pytest.mark.parametrize("shape", [0, (0,), (3, 0, 2)])
def test_empty_shapes_are_fine(shape):
    state = ph.state(1)
    size = (shape,) if shape == 0 else shape
    for x in (ph.uniform(state, shape), ph.normal(state, shape, jnp.bfloat16),
              ph.dropout(jnp.zeros(size), state, 0.5)):
        assert x.shape == size
    g = jax.grad(lambda x: ph.dropout(x, state, 0.5).sum())(jnp.zeros(size))
    assert g.shape == size
    tokens = ph.sample(jnp.zeros((0, 5)), jnp.zeros((0, 4), jnp.uint32))
    assert tokens.shape == (0,) and tokens.dtype == jnp.int32


def test_default_dtype_and_range_are_float32_from_0_to_1():
    x = ph.uniform(ph.state(3), 10000)
    assert x.dtype == jnp.float32
    assert 0 <= x.min() < 0.01 and 0.99 < x.max() < 1


# --- dropout and its derivative -----------------------------------------------


def keep_of(state, shape, p):
    """The mask times 1 / (1 - p), from the library."""
    words = np.asarray(state).astype(object)
    seed, offset = words[0] + (words[1] << 32), words[2] + (words[3] << 32)
    return filled("dropout", seed, offset, shape, "float32", np.ones(shape),
                  p=p)


@pytest.mark.parametrize("transform", [
    lambda f: f, jax.jit, jax.checkpoint, lambda f: jax.jit(jax.checkpoint(f)),
    lambda f: jax.checkpoint(jax.jit(f))],
    ids=["eager", "jit", "checkpoint", "jit-checkpoint", "checkpoint-jit"])
def test_forward_and_backward_have_the_same_mask(transform):
    state, p = ph.state(5, 12), 0.4
    x = jnp.linspace(1, 2, 60).reshape(6, 10)
    f = transform(lambda x: ph.dropout(x * x, state, p))
    keep = keep_of(state, x.shape, p)
    y, back = jax.vjp(f, x)
    g = jnp.linspace(-3, 1, 60).reshape(6, 10)
    np.testing.assert_allclose(y, x * x * keep, rtol=1e-6)
    np.testing.assert_allclose(back(g)[0], 2 * x * keep * g, rtol=1e-6)
    np.testing.assert_allclose(back(g)[0], 2 * x * keep * g, rtol=1e-6)
    assert 0 < (keep == 0).sum() < 60


def test_second_derivatives_have_the_same_mask():
    state = ph.state(8)
    x = jnp.linspace(0.5, 2, 16)
    keep = keep_of(state, (16,), 0.5)
    second = jax.jacrev(jax.grad(lambda x: (ph.dropout(x, state) ** 3).sum()))
    np.testing.assert_allclose(second(x), np.diag(6 * x * keep**3), rtol=1e-5)


def test_only_the_state_is_kept_for_the_backward():
    x = jnp.ones(1000)
    _, back = jax.vjp(lambda x: ph.dropout(x, ph.state(9), 0.5), x)
    kept = [leaf for leaf in jax.tree.leaves(back) if np.size(leaf)]
    assert kept and sum(leaf.nbytes for leaf in kept) == 16
    assert bits(kept[0]) == [9, 0, 0, 0]


def test_gradients_have_the_dtype_of_x():
    for dtype in NARROW:
        g = jax.grad(lambda x: ph.dropout(x, ph.state(1)).sum())(
            jnp.ones(8, dtype))
        assert g.dtype == dtype


def test_p_of_0_returns_x_and_draws_nothing():
    x = jnp.array([1.0, jnp.nan, -jnp.inf, -0.0])
    assert bits(ph.dropout(x, ph.state(1), 0)) == bits(x)
    jaxpr = jax.make_jaxpr(lambda x, s: ph.dropout(x, s, 0.0))(x, ph.state(1))
    assert not jaxpr.eqns
    _, tangent = jax.jvp(lambda x: ph.dropout(x, ph.state(1), 0), (x,), (x,))
    assert bits(tangent) == bits(x)


def test_p_of_1_drops_all_even_nan_and_has_gradient_0():
    x = jnp.array([1.0, jnp.nan, -jnp.inf, -2.0])
    y, back = jax.vjp(lambda x: ph.dropout(x, ph.state(1), 1), x)
    assert bits(jnp.abs(y)) == [0] * 4
    assert np.all(np.asarray(back(jnp.ones(4))[0]) == 0)


def test_forward_mode_raises_a_type_error():
    x = jnp.ones(4)
    f = lambda x: ph.dropout(x, ph.state(1), 0.5)
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(f, (x,), (x,))
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jacfwd(f)(x)


@pytest.mark.parametrize("checkpointed", [False, True])
def test_each_step_of_a_scan_has_one_mask_forward_and_backward(checkpointed):
    first, steps, p = ph.state(77, 2**32 - 8), 5, 0.3
    x = jnp.linspace(1, 2, 12)

    def step(x, n):
        return ph.dropout(jnp.sin(x), ph.fold(first, n), p), None

    if checkpointed:
        step = jax.checkpoint(step)
    got = jax.jit(jax.value_and_grad(
        lambda x: jax.lax.scan(step, x, jnp.arange(steps))[0].sum()))(x)
    keeps = [filled("dropout", 77, 2**32 - 8 + 4 * n, 12, "float32",
                    np.ones(12), p=p) for n in range(steps)]

    def plain(x):
        for keep in keeps:
            x = jnp.sin(x) * keep
        return x.sum()

    want = jax.value_and_grad(plain)(x)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5, atol=1e-7)
    assert len({keep.tobytes() for keep in keeps}) == steps


def test_a_state_may_be_carried_by_a_scan_that_is_differentiated():
    def step(carry, _):
        x, state = carry
        return (ph.dropout(x, state, 0.3), ph.fold(state, 1)), None

    def run(x, state):
        return jax.lax.scan(step, (x, state), None, length=3)[0][0].sum()

    state = ph.state(4)
    keep = np.prod([keep_of(ph.state(4, 4 * n), (9,), 0.3) for n in range(3)],
                   axis=0)
    g = jax.grad(run)(jnp.ones(9), state)
    np.testing.assert_allclose(g, keep, rtol=1e-6)


# --- vmap ---------------------------------------------------------------------


def test_vmap_with_one_state_gives_each_element_the_same_mask():
    state, x = ph.state(6), jnp.ones((4, 33))
    f = jax.vmap(lambda x: ph.dropout(x, state, 0.5))
    keep = keep_of(state, (33,), 0.5)
    assert bits(f(x)) == bits(np.tile(keep, (4, 1)))
    g = jax.vmap(jax.grad(lambda x: ph.dropout(x, state, 0.5).sum()))(x)
    assert bits(g) == bits(np.tile(keep, (4, 1)))


def test_vmap_with_a_state_for_each_element_gives_each_its_own_numbers():
    states = ph.fold(ph.state(6), jnp.arange(4))
    x = jax.jit(jax.vmap(lambda s: ph.uniform(s, 5)))(states)
    y = jax.vmap(lambda x, s: ph.dropout(x, s, 0.5), (1, 0))(
        jnp.ones((33, 4)), states)
    for n in range(4):
        assert bits(x[n]) == bits(filled("uniform", 6, 4 * n, 5, "float32",
                                         low=0, high=1))
        assert bits(y[n]) == bits(keep_of(states[n], (33,), 0.5))


def test_vmap_of_sample_is_a_sample_of_each_element():
    logits = jnp.linspace(0, 3, 2 * 3 * 40).reshape(2, 3, 40)
    states = ph.fold(ph.state(2), jnp.arange(6))
    got = jax.vmap(ph.sample)(logits, states.reshape(2, 3, 4))
    want = ph.sample(logits.reshape(6, 40), states)
    assert got.reshape(-1).tolist() == want.tolist()


# --- several devices ----------------------------------------------------------


@pytest.fixture
def mesh():
    assert len(jax.devices()) == 4
    return jax.sharding.Mesh(np.array(jax.devices()), ("d",))


def test_sharded_arrays_have_the_mask_of_the_whole_array(mesh):
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    x = jax.device_put(jnp.ones((8, 16)), rows)
    state = ph.state(5)
    keep = keep_of(state, (8, 16), 0.5)
    y, back = jax.vjp(jax.jit(lambda x: ph.dropout(x, state, 0.5)), x)
    u = jax.jit(lambda s: ph.uniform(s, (8, 16)), out_shardings=rows)(state)
    assert bits(y) == bits(keep)
    assert bits(back(x)[0]) == bits(keep)
    assert u.sharding == rows
    assert bits(u) == bits(filled("uniform", 5, 0, (8, 16), "float32", low=0,
                                  high=1))


def test_shards_within_a_shard_map_draw_from_their_own_states(mesh):
    spec = jax.sharding.PartitionSpec("d")
    state = ph.state(5)

    def draw(x):
        mine = ph.fold(state, jax.lax.axis_index("d"))
        return ph.dropout(x, mine, 0.5)

    same = jax.shard_map(lambda x: ph.dropout(x, state, 0.5), mesh=mesh,
                         in_specs=spec, out_specs=spec)
    assert bits(same(jnp.ones((8, 16)))) == bits(np.tile(
        keep_of(state, (2, 16), 0.5), (4, 1)))
    f = jax.shard_map(draw, mesh=mesh, in_specs=spec, out_specs=spec)
    want = [keep_of(ph.state(5, 4 * n), (2, 16), 0.5) for n in range(4)]
    assert bits(f(jnp.ones((8, 16)))) == bits(np.concatenate(want))
    g = jax.grad(lambda x: f(x).sum())(jnp.ones((8, 16)))
    assert bits(g) == bits(np.concatenate(want))


# --- states -------------------------------------------------------------------


def words(seed, offset):
    return [seed % 2**32, seed >> 32, offset % 2**32, offset >> 32]


@pytest.mark.parametrize("offset", [0, 4, 2**32 - 4, 2**34, 2**64 - 4])
@pytest.mark.parametrize("n", [0, 1, 3, 2**30 - 1, 2**30, 2**31 - 1])
def test_fold_moves_the_offset_by_4_a_step(offset, n):
    want = words(99, (offset + 4 * n) % 2**64)
    state = ph.state(99, offset)
    assert ph.fold(state, n).tolist() == want
    for dtype in (jnp.int32, jnp.uint32):
        assert jax.jit(ph.fold)(state, jnp.asarray(n, dtype)).tolist() == want
    with jax.enable_x64(True):
        assert jax.jit(ph.fold)(state, jnp.int64(n)).tolist() == want


def test_fold_takes_steps_of_64_bits():
    assert ph.fold(ph.state(1), 2**40 + 1).tolist() == words(1, 2**42 + 4)
    with jax.enable_x64(True):
        got = ph.fold(ph.state(1), jnp.int64(2**40 + 1))
        assert got.tolist() == words(1, 2**42 + 4)


def test_fold_takes_numpy_integers_of_64_bits_without_x64():
    n = 2**40 + 1
    assert ph.fold(ph.state(1), np.int64(n)).tolist() == words(1, 4 * n)
    assert ph.fold(ph.state(1), np.array([n, 1])).tolist() == [
        words(1, 4 * n), words(1, 4)]


def test_fold_steps_back_by_negative_steps():
    want = words(1, 2**32 - 4)
    state = ph.state(1, 2**32 + 4)
    for n in (-2, np.int64(-2), np.array(-2), jnp.int32(-2), jnp.int8(-2)):
        assert ph.fold(state, n).tolist() == want
    assert ph.fold(ph.state(1), -1).tolist() == words(1, 2**64 - 4)


def test_fold_takes_small_integers():
    for dtype in (jnp.int8, jnp.uint8, jnp.int16, jnp.uint16):
        assert ph.fold(ph.state(1), dtype(100)).tolist() == words(1, 400)


def test_fold_broadcasts_states_and_steps():
    states = jnp.stack([ph.state(1), ph.state(2, 8)])
    got = ph.fold(states[:, None], jnp.arange(3))
    assert got.shape == (2, 3, 4)
    assert got[1].tolist() == [words(2, 8 + 4 * n) for n in range(3)]


@pytest.mark.parametrize("dtype", [np.uint64, np.int64])
def test_states_of_64_bits_are_the_same_states(dtype):
    pair = np.array([0xFEDCBA9876543210, 2**35 + 4], np.uint64).view(dtype)
    want = filled("uniform", 0xFEDCBA9876543210, 2**35 + 4, 6, "float32", low=0,
                  high=1)
    assert bits(ph.uniform(pair, 6)) == bits(want)
    with jax.enable_x64(True):
        state = jnp.asarray(pair)
        assert state.dtype == dtype
        assert bits(jax.jit(lambda s: ph.uniform(s, 6))(state)) == bits(want)
        folded = jax.jit(ph.fold)(state, 3)
        assert folded.dtype == dtype
        assert np.asarray(folded).view(np.uint64).tolist() == [
            0xFEDCBA9876543210, 2**35 + 16]


def test_state_takes_seeds_and_offsets_of_64_bits():
    assert ph.state(2**64 - 1, 2**64 - 4).tolist() == words(2**64 - 1,
                                                            2**64 - 4)
    assert ph.state(-1).tolist() == words(2**64 - 1, 0)


# --- the ledger ---------------------------------------------------------------


def reserved(rows):
    for row in rows:
        states = ph.reserve(row["site"], row["n"])
        assert states.dtype == jnp.uint32
        assert states.tolist() == [words(*pair) for pair in row["states"]]


def test_reserve_gives_the_states_of_philox_torch():
    ledger = EXPECTED["ledger"]
    ph.seed(ledger["seed"])
    reserved(ledger["reserved"])
    assert ph.state_dict() == ledger["saved"]
    reserved(ledger["then"])


def test_a_state_dict_of_philox_torch_is_continued():
    ph.reserve("b", 7)
    ph.load_state_dict(EXPECTED["ledger"]["saved"])
    reserved(EXPECTED["ledger"]["then"])


def test_a_damaged_state_dict_changes_nothing():
    ph.seed(42)
    ph.reserve("a")
    before = ph.state_dict()
    damaged = {**before, "contexts": {"cpu": before["contexts"]["cpu"][:-9]}}
    with pytest.raises(ph.Error):
        ph.load_state_dict(damaged)
    for wrong in ({**before, "version": 2}, {**before, "contexts": {}}):
        with pytest.raises(ValueError, match="state_dict"):
            ph.load_state_dict(wrong)
    assert ph.state_dict() == before


def test_seed_begins_all_sites_again():
    ph.seed(-1)
    first = ph.reserve("a", 2).tolist()
    second = ph.reserve("a", 2).tolist()
    assert not {*map(tuple, first)} & {*map(tuple, second)}
    ph.seed(2**64 - 1)
    assert ph.reserve("a", 2).tolist() == first


@pytest.mark.parametrize("transform", [
    jax.jit, jax.checkpoint, lambda f: lambda x: jax.lax.scan(
        lambda c, _: (f(c), None), x, None, length=2)[0]],
    ids=["jit", "checkpoint", "scan"])
def test_reserve_in_a_traced_function_is_refused(transform):
    f = transform(lambda x: ph.dropout(x, ph.reserve("here")[0]))
    with pytest.raises(RuntimeError, match="'here' is reserved in a function"):
        f(jnp.ones(3))


def test_reserve_in_a_function_that_is_differentiated_is_fresh_each_call():
    f = jax.grad(lambda x: ph.dropout(x, ph.reserve("g")[0]).sum())
    assert bits(f(jnp.ones(64))) != bits(f(jnp.ones(64)))


# --- errors -------------------------------------------------------------------


@pytest.mark.parametrize("error, match, call", [
    (ValueError, "dropout's p is in",
     lambda s: ph.dropout(jnp.ones(2), s, 1.5)),
    (ValueError, "dropout's p is finite",
     lambda s: ph.dropout(jnp.ones(2), s, float("nan"))),
    (TypeError, "dropout takes float32.*int32",
     lambda s: ph.dropout(jnp.arange(2), s)),
    (ValueError, "uniform's low 1.0 is not below", lambda s: ph.uniform(
        s, 2, low=1, high=1)),
    (ValueError, "uniform's high is finite", lambda s: ph.uniform(
        s, 2, high=float("inf"))),
    (ValueError, "normal's std is above 0", lambda s: ph.normal(s, 2, std=0)),
    (TypeError, "normal takes float32.*int32",
     lambda s: ph.normal(s, 2, jnp.int32)),
    (TypeError, "uniform of float64 needs jax_enable_x64",
     lambda s: ph.uniform(s, 2, jnp.float64)),
    (ValueError, "uniform has no shape", lambda s: ph.uniform(s, (2, -1))),
    (TypeError, "a state of uniform is.*uint32\\[3\\]",
     lambda s: ph.uniform(s[:3], 2)),
    (TypeError, "a state of uniform is.*int32\\[4\\]",
     lambda s: ph.uniform(s.astype(jnp.int32), 2)),
    (ValueError, "uniform takes one state", lambda s: ph.uniform(s[None], 2)),
    (TypeError, "uniform's low is a number", lambda s: jax.jit(
        lambda low: ph.uniform(s, 2, low=low))(0.5)),
    (TypeError, "fold takes integers", lambda s: ph.fold(s, 1.5)),
    (ValueError, "an offset is a multiple", lambda s: ph.state(1, 2)),
    (ValueError, "more than 64 bits", lambda s: ph.state(2**64)),
    (ValueError, "more than 64 bits", lambda s: ph.seed(-2**63 - 1)),
    (ValueError, "reserve gives 1 state", lambda s: ph.reserve("a", 0)),
    (ValueError, "sample takes logits",
     lambda s: ph.sample(jnp.ones((2, 3)), s)),
    (ValueError, "sample takes logits",
     lambda s: ph.sample(jnp.ones((2, 3)), s[None])),
    (TypeError, "sample takes float32",
     lambda s: ph.sample(jnp.ones((1, 3), jnp.int32), s[None])),
    (ValueError, "sample has no vocabulary",
     lambda s: ph.sample(jnp.ones((1, 0)), s[None])),
    (ValueError, "sample's temperature is at least 0",
     lambda s: ph.sample(jnp.ones((1, 3)), s[None], -1)),
    (ValueError, "sample's top_k",
     lambda s: ph.sample(jnp.ones((1, 3)), s[None], top_k=-1)),
    (ValueError, "sample's top_p is in",
     lambda s: ph.sample(jnp.ones((1, 3)), s[None], top_p=1.1)),
    (ValueError, "sample's min_p is in",
     lambda s: ph.sample(jnp.ones((1, 3)), s[None], min_p=-0.1))])
def test_errors_name_the_function_and_the_argument(error, match, call):
    with pytest.raises(error, match=f"philox: .*{match}|philox: {match}"):
        call(ph.state(1))


def test_what_only_the_library_refuses_has_its_sentence():
    with pytest.raises(jax.errors.JaxRuntimeError, match="high"):
        jax.block_until_ready(ph.uniform(ph.state(1), 3, jnp.float16, 0, 1e6))
    bad = jnp.array([1, 0, 2, 0], jnp.uint32)
    with pytest.raises(jax.errors.JaxRuntimeError, match="multiple of 4"):
        jax.block_until_ready(jax.jit(lambda s: ph.uniform(s, 3))(bad))


# --- the package --------------------------------------------------------------


def test_philox_imports_neither_jax_nor_torch_and_philox_jax_no_torch():
    for module, absent in (("philox", {"jax", "torch"}),
                           ("philox.jax", {"torch"})):
        program = (f"import sys, {module}\n"
                   f"print(*sorted({absent} & set(sys.modules)))")
        done = subprocess.run([sys.executable, "-c", program], text=True,
                              capture_output=True, check=True)
        assert done.stdout.split() == []
