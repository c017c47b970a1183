"""Errors are exceptions with a sentence, and never numbers."""

import math

import pytest
import torch
from torch.func import vmap
from torch.nn import functional as F

import philox
import philox.torch as ph

ops = torch.ops.philox

STATES = torch.tensor([[1, 0], [2, 4]])
X = torch.ones(3, 4)
ALL_MASKS = (ph.dropout, ph.dropout_, ph.alpha_dropout, ph.dropout1d,
             ph.feature_alpha_dropout)
NUMBERS = (lambda **k: ph.uniform((3,), **k), lambda **k: ph.normal((3,), **k),
           lambda **k: ph.log_normal((3,), **k),
           lambda **k: ph.exponential((3,), **k),
           lambda **k: ph.gumbel((3,), **k),
           lambda **k: ph.integers((3,), 0, 9, **k),
           lambda **k: ph.bernoulli(0.5, (3,), **k),
           lambda **k: ph.bernoulli(X, **k),
           lambda **k: ph.stochastic_round(X, **k),
           lambda **k: ph.normal_(X.clone(), **k),
           lambda **k: ph.integers_(X.long(), 0, 9, **k),
           lambda **k: ph.sample(X, **k),
           lambda **k: ph.sample(X[0], **k)) + tuple(
    lambda draw=draw, **k: draw(X.clone(), **k) for draw in ALL_MASKS)


@pytest.mark.parametrize("draw", ALL_MASKS)
@pytest.mark.parametrize("p", [-0.1, 1.5, math.nan, math.inf])
def test_a_probability_outside_of_0_to_1_is_refused(draw, p):
    with pytest.raises(ValueError, match=rf"{draw.__name__}.*\[0, 1\].*{p}"):
        draw(X.clone(), p)
    with pytest.raises(ValueError, match=r"bernoulli.*\[0, 1\]"):
        ph.bernoulli(p, (3,))
    with pytest.raises(ValueError, match=r"bernoulli_.*\[0, 1\]"):
        ph.bernoulli_(X.clone(), p)
    with pytest.raises(ValueError, match=r"Dropout.*\[0, 1\]"):
        ph.Dropout(p)


@pytest.mark.parametrize("draw", ALL_MASKS)
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_a_dtype_that_has_no_dropout_is_refused(draw, dtype):
    with pytest.raises(TypeError, match=f"{draw.__name__} .*{dtype}"):
        draw(X.to(dtype))


@pytest.mark.parametrize("call, sentence", [
    (lambda: ph.uniform((3,), dtype=torch.int64), "uniform.*int64"),
    (lambda: ph.integers((3,), 0, 5, dtype=torch.float32),
     "integers.*float32"),
    (lambda: ph.integers((3,), 0, 5, dtype=torch.uint8), "integers.*uint8"),
    (lambda: ph.normal_(torch.ones(3).int()), "normal_.*int32"),
    (lambda: ph.integers_(torch.ones(3), 0, 5), "integers_.*float32"),
    (lambda: ph.bernoulli(torch.ones(3).int()), "bernoulli.*int32"),
    (lambda: ph.bernoulli(0.5), "bernoulli.*size"),
    (lambda: ph.bernoulli(X, (3,)), "tensor p gives size"),
    (lambda: ph.stochastic_round(X.double()), "stochastic_round.*float64"),
    (lambda: ph.stochastic_round(X, torch.float32),
     "stochastic_round.*float32 to"),
    (lambda: ph.sample(X.double()), "sample.*float64")])
def test_type_errors(call, sentence):
    with pytest.raises(TypeError, match=f"philox: .*{sentence}"):
        call()


@pytest.mark.parametrize("call, sentence", [
    (lambda: ph.dropout1d(torch.ones(3)), "dropout1d.*2 or 3.*not 1"),
    (lambda: ph.dropout2d(X), "dropout2d.*3 or 4.*not 2"),
    (lambda: ph.dropout3d(X), "dropout3d.*4 or 5.*not 2"),
    (lambda: ph.feature_alpha_dropout(torch.ones(3)),
     "feature_alpha_dropout.*2 dimensions"),
    (lambda: ph.sample(torch.ones(())), "one or two dimensions, not 0"),
    (lambda: ph.sample(torch.ones(2, 2, 2)), "one or two dimensions, not 3"),
    (lambda: ph.seed(2**64), "seed 18446744073709551616"),
    (lambda: ph.seed(-2**63 - 1), "seed"),
    (lambda: ph.reserve_all((), ()), "no site")])
def test_value_errors(call, sentence):
    with pytest.raises(ValueError, match=f"philox: .*{sentence}"):
        call()


@pytest.mark.parametrize("call, sentence", [
    (lambda: ph.uniform((3,), 1.0, 1.0), "uniform is empty"),
    (lambda: ph.uniform((3,), math.nan, 1.0), "low of dist uniform"),
    (lambda: ph.uniform((3,), 0.0, math.inf), "high of dist uniform"),
    (lambda: ph.uniform((3,), 0.0, 1e6, dtype=torch.float16),
     "high of dist uniform.*f16"),
    (lambda: ph.normal((3,), 0.0, 0.0), "std of dist normal"),
    (lambda: ph.normal_(torch.ones(3), 0.0, -1.0), "std of dist normal"),
    (lambda: ph.normal((3,), math.nan), "mean of dist normal"),
    (lambda: ph.exponential((3,), 0.0), "rate of dist exponential"),
    (lambda: ph.integers((3,), 5, 5), "integers: low is not below high"),
    (lambda: ph.integers((3,), 0, 2**40, dtype=torch.int32),
     "integers does not fit dtype i32"),
    (lambda: ph.sample(X, -1.0), "sample: temperature is -1"),
    (lambda: ph.sample(X, math.nan), "sample: temperature is nan"),
    (lambda: ph.sample(X, math.inf), "sample: temperature is inf"),
    (lambda: ph.sample(X, top_k=-1), "sample: top_k"),
    (lambda: ph.sample(X, top_p=-0.1), "sample: top_p is -0.1"),
    (lambda: ph.sample(X, top_p=1.5), "sample: top_p is 1.5"),
    (lambda: ph.sample(X, top_p=math.nan), "sample: top_p is nan"),
    (lambda: ph.sample(X, min_p=1.5), "sample: min_p is 1.5"),
    (lambda: ph.sample(X, min_p=-0.5), "sample: min_p is -0.5"),
    (lambda: ph.sample(X, min_p=math.nan), "sample: min_p is nan"),
    (lambda: ph.sample(torch.ones(2, 0)), "sample: the vocabulary"),
    (lambda: ph.sample(torch.ones(0)), "sample: the vocabulary"),
    (lambda: ops.normal_(torch.ones(3, 4).t(), STATES, 0.0, 1.0),
     "normal_: the tensor is not contiguous"),
    (lambda: ops.dropout_(torch.ones(3, 4).t(), STATES, 0.5),
     "dropout_: the tensor is not contiguous"),
    (lambda: ops.dropout(X, STATES, 0.5, 0, -1), "dropout: first, cols"),
    (lambda: ops.dropout(X, STATES, 0.5, 0, 0, 5, 5),
     "dropout: the number of elements is no multiple of cols"),
    (lambda: ops.uniform(X, STATES, 0.0, 1.0, 0, 0, 4, 3),
     "row_stride 3 is below count 4"),
    (lambda: ops.masked(X, STATES, 0.5, 1.0, 0.0, 0.0, 0), "masked: inner"),
    (lambda: ops.masked(X, STATES, 1.5, 1.0, 0.0, 0.0, 1), "masked: p"),
    (lambda: ops.masked(X, STATES, 0.5, 1.0, 0.0, 0.0, 1, 0, 0, 2, 2),
     "masked: cols and stride"),
    (lambda: ops.masked(X.int(), STATES, 0.5, 1.0, 0.0, 0.0, 1),
     "masked: the dtype is not floating"),
    (lambda: ops.bernoulli_of(X, STATES, 0, -1), "bernoulli_of: first"),
    (lambda: ops.bernoulli_of(X.int(), STATES),
     "bernoulli_of: the dtype is not floating"),
    (lambda: ops.sample(X[0], STATES, 1.0), "sample: logits have not 2")])
def test_runtime_errors(call, sentence):
    with pytest.raises(RuntimeError, match=sentence):
        call()


# --- states -------------------------------------------------------------------


@pytest.mark.parametrize("draw", NUMBERS)
def test_states_of_a_wrong_dtype_shape_row_or_device_are_refused(draw):
    rows = torch.tensor([[1, 0], [2, 4], [3, 8]])
    for states, op, sentence in (
            (rows.float(), 0, "not of dtype int64"),
            (rows.int(), 0, "not of dtype int64"),
            (rows.reshape(2, 3), 0, "dimension is not 2|fewer states"),
            (torch.tensor(5), 0, "dimension is not 2|fewer states"),
            (rows[:0], 0, "no such row|fewer states"),
            (rows, 3, "no such row|fewer states"),
            (rows, -1, "no such row|fewer states"),
            (rows, 2**63 - 1, "no such row|fewer states")):
        with pytest.raises(RuntimeError, match=sentence):
            draw(states=states, op=op)
    with pytest.raises(RuntimeError, match="on meta"):
        draw(states=rows.to("meta"), **_device(draw))


def _device(draw):
    try:
        draw(device="cpu", states=torch.tensor([[1, 0]]))
    except TypeError:
        return {}
    return {"device": "cpu"}


@pytest.mark.parametrize("draw", NUMBERS[:11] + NUMBERS[13:])
def test_an_even_offset_that_is_no_multiple_of_4_is_refused(draw):
    with pytest.raises(RuntimeError, match="offset is not a multiple of 4"):
        draw(states=torch.tensor([[1, 2]]))


def test_an_error_reserves_nothing():
    ph.uniform((3,), site="a")
    before = ph.state_dict()
    for call in (lambda: ph.dropout(X, 2.0, site="a"),
                 lambda: ph.dropout(X.int(), site="a"),
                 lambda: ph.dropout2d(X, site="a"),
                 lambda: ph.uniform((3,), dtype=torch.int32, site="a"),
                 lambda: ph.sample(X.double(), site="a")):
        with pytest.raises((TypeError, ValueError)):
            call()
    assert ph.state_dict() == before


def test_an_error_of_the_library_is_philox_error_with_its_status():
    assert issubclass(philox.Error, RuntimeError) and ph.Error is philox.Error
    with pytest.raises(philox.Error, match="name is empty") as caught:
        ph.dropout(X, site="")
    assert caught.value.status == "PHILOX_ERROR_INVALID"


def test_states_that_an_inner_vmap_maps_are_refused_by_name():
    def outer(x):
        return vmap(lambda s: ph.dropout(x, states=s), randomness="same")(
            STATES[:, None])

    with pytest.raises(RuntimeError, match="philox: states are mapped"):
        vmap(outer, randomness="different")(X)


# --- autocast -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_changes_no_dtype_as_for_torchs_dropout(dtype):
    pairs = [(ph.dropout, F.dropout), (ph.alpha_dropout, F.alpha_dropout),
             (ph.feature_alpha_dropout, F.feature_alpha_dropout),
             (ph.dropout1d, F.dropout1d), (ph.bernoulli, torch.bernoulli)]
    with torch.autocast("cpu", dtype):
        for given in (torch.float32, torch.float64, dtype):
            x = torch.ones(4, 6, dtype=given)
            for ours, theirs in pairs:
                other = theirs(x) if theirs is torch.bernoulli else \
                    theirs(x, 0.5, True)
                assert ours(x).dtype == other.dtype == given
        assert ph.uniform((2,)).dtype == torch.rand(2).dtype
        assert ph.normal((2,)).dtype == torch.randn(2).dtype


def test_autocast_draws_the_same_mask_in_forward_and_backward():
    w = torch.eye(8, requires_grad=True)
    x = torch.ones(16, 8, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        h = x @ w
        y = ph.dropout(h, 0.5, states=STATES)
    assert h.dtype == y.dtype == torch.bfloat16
    y.float().sum().backward()
    assert x.grad.dtype == torch.float32 and x.grad.equal(y.float())
    assert y.float().equal(ph.dropout(torch.ones(16, 8), 0.5, states=STATES))


@pytest.mark.parametrize("n", [0, -1, 2**32, 2**32 + 1])
def test_a_count_that_cannot_be_changes_nothing(n):
    ph.reserve("counted")
    before = ph.digest()
    with pytest.raises(ValueError, match="'counted' reserves 1 to"):
        ph.reserve("counted", n)
    with pytest.raises(ValueError, match="'new' reserves 1 to"):
        ph.reserve("new", n)
    assert ph.digest() == before


def test_a_name_with_a_nul_is_refused():
    with pytest.raises(ValueError, match="it has a NUL"):
        ph.reserve("q\0x")
    assert len(ph.reserve("q")) == 1


def test_a_device_without_numbers_is_named():
    with pytest.raises(ValueError, match="no numbers on the device xpu"):
        ph.reserve("a", 1, "xpu")


def test_meta_tensors_have_shapes_alone():
    y = ph.dropout(torch.ones(3, 4, device="meta"), 0.5)
    assert y.device.type == "meta" and y.shape == (3, 4)
