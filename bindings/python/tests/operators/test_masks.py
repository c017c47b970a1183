"""Dropout in all its forms: masks, values, layouts, extremes and poison."""

import math

import numpy as np
import oracle
import pytest
import torch
from torch.nn import functional as F

import philox.torch as ph

ops = torch.ops.philox

STATES = torch.tensor([[42, 0], [-9, 40], [7, 2**40]])
PLACES = ({}, {"first": 6}, {"first": 2**61 + 1},
          {"first": 2, "cols": 11, "stride": 999})
INF, NAN = math.inf, math.nan


def kept(state, n, p, **place):
    return torch.from_numpy(
        oracle.keep(state, oracle.elements_of(n, **place), p))


def expected_dropout(x, keep, p):
    """Return dropout of x, computed in float32 but for float64."""
    scale = 1 / (1 - p) if p < 1 else 0.0
    wide = x.double() if x.dtype == torch.float64 else x.float()
    scaled = wide * torch.tensor(scale, dtype=wide.dtype)
    return torch.where(keep, scaled, 0.0).to(x.dtype)


# --- dropout ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", oracle.REALS)
@pytest.mark.parametrize("op", range(3))
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_dropout_zeroes_below_the_threshold_and_scales_the_rest(
        place, op, dtype):
    x = torch.linspace(-3, 5, 110).to(dtype)
    for p in (0.1, 0.5, 0.9, 2**-32):
        made = ops.dropout(x, STATES, p, op, **place)
        keep = kept(STATES[op], 110, p, **place)
        assert made.equal(expected_dropout(x, keep, p))


@pytest.mark.parametrize("dtype", oracle.REALS)
def test_the_mask_is_the_same_in_every_dtype(dtype):
    keep = kept(STATES[1], 1000, 0.3)
    made = ph.dropout(torch.ones(1000, dtype=dtype), 0.3, states=STATES, op=1)
    assert (made != 0).equal(keep)
    drawn = ph.bernoulli(0.3, (1000,), dtype=dtype, states=STATES, op=1)
    assert (drawn == 0).equal(keep)


LAYOUTS = {
    "transposed": lambda x: x.t().contiguous().t(),
    "strided": lambda x: torch.zeros(2 * x.shape[0], 3 * x.shape[1],
                                     dtype=x.dtype)[::2, ::3].copy_(x),
    "flipped copy": lambda x: x.flip(0).flip(0),
    "offset": lambda x: torch.cat([x[:1], x])[1:],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_depend_on_the_row_major_index_only(layout):
    x = torch.randn(20, 30)
    y = LAYOUTS[layout](x)
    assert y.equal(x)
    keep = kept(STATES[0], 600, 0.4).reshape(20, 30)
    made = ph.dropout(y, 0.4, states=STATES)
    assert made.equal(expected_dropout(x, keep, 0.4))
    assert made.is_contiguous()
    made = ph.alpha_dropout(y, 0.4, states=STATES)
    assert made.equal(ph.alpha_dropout(x, 0.4, states=STATES))
    drawn = ph.bernoulli(y.sigmoid(), states=STATES)
    assert drawn.equal(ph.bernoulli(x.sigmoid(), states=STATES))
    made = ph.stochastic_round(y, states=STATES)
    assert made.equal(ph.stochastic_round(x, states=STATES))


def test_channels_last_has_the_mask_of_the_row_major_index():
    x = torch.randn(2, 3, 4, 5)
    last = x.to(memory_format=torch.channels_last)
    for draw in (ph.dropout, ph.dropout2d, ph.alpha_dropout):
        assert draw(last, states=STATES).equal(draw(x, states=STATES))


def test_states_may_be_strided_and_have_more_dimensions():
    x = torch.ones(100)
    wide = torch.stack([STATES, STATES + 8], 2)[..., 0]
    assert not wide.is_contiguous()
    for states in (wide, STATES.reshape(3, 1, 2), STATES.reshape(1, 3, 2)):
        made = ph.dropout(x, states=states, op=2)
        assert made.equal(ph.dropout(x, states=STATES[2:]))
        assert (made != 0).equal(kept(STATES[2], 100, 0.5))
    assert ph.dropout(x, states=STATES[2]).equal(made)


def test_zero_dimensions_are_one_element():
    for state in STATES:
        made = ph.dropout(torch.tensor(3.0), states=state)
        assert made.shape == ()
        assert made.item() == (6.0 if kept(state, 1, 0.5) else 0.0)
    assert ph.bernoulli(torch.tensor(1.0)).shape == ()
    assert ph.uniform(()).shape == ()
    assert ph.alpha_dropout(torch.tensor(1.0)).shape == ()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4, 5)])
def test_empty_tensors_stay_empty(shape):
    x = torch.empty(shape)
    for made in (ph.dropout(x), ph.alpha_dropout(x), ph.bernoulli(x),
                 ph.uniform(shape), ph.normal(shape), ph.gumbel(shape),
                 ph.exponential(shape), ph.log_normal(shape),
                 ph.integers(shape, 0, 3), ph.dropout_(x.clone()),
                 ph.normal_(x.clone()), ph.stochastic_round(x)):
        assert made.shape == shape
    if len(shape) > 1:
        assert ph.feature_alpha_dropout(x).shape == shape
    if len(shape) == 3:
        assert ph.dropout1d(x).shape == shape


def test_probability_zero_keeps_all_and_draws_nothing():
    x = torch.tensor([1.0, NAN, -INF])
    before = ph.state_dict()
    for draw in (ph.dropout, ph.dropout_, ph.alpha_dropout):
        assert draw(x, 0.0) is x
        assert draw(x, 0.7, training=False) is x
    x = torch.ones(2, 3, 4)
    assert ph.dropout1d(x, 0.0) is x
    assert ph.feature_alpha_dropout(x, 0.5, False) is x
    assert ph.state_dict() == before
    # The operators themselves draw with any p
    assert ops.dropout(torch.ones(50), STATES, 0.0).equal(torch.ones(50))


def test_probability_one_drops_all():
    x = torch.tensor([1.0, NAN, INF, -2.0])
    assert ph.dropout(x, 1.0).equal(torch.zeros(4))
    assert ph.dropout_(x.clone(), 1.0).equal(torch.zeros(4))
    y = torch.tensor([[[1.0, NAN], [INF, 2.0]]])
    assert ph.dropout1d(y, 1.0).equal(torch.zeros(1, 2, 2))
    x = torch.randn(5)
    assert ph.alpha_dropout(x, 1.0).equal(F.alpha_dropout(x, 1.0, True))
    assert ph.bernoulli(1.0, (9,)).equal(torch.ones(9))
    assert ph.bernoulli(0.0, (9,)).equal(torch.zeros(9))


@pytest.mark.parametrize("dtype", oracle.REALS)
def test_a_dropped_nan_or_infinity_is_zero_and_a_kept_one_stays(dtype):
    keep = kept(STATES[0], 300, 0.5)
    for value in (NAN, INF, -INF):
        made = ph.dropout(torch.full((300,), value, dtype=dtype), 0.5,
                          states=STATES)
        assert made[~keep].equal(torch.zeros_like(made[~keep]))
        same = torch.full_like(made[keep], value)
        torch.testing.assert_close(made[keep], same, equal_nan=True, rtol=0,
                                   atol=0)


POISON = torch.tensor([[1, 7], [5, -1]])


@pytest.mark.parametrize("op", [0, 1])
@pytest.mark.parametrize("dtype", oracle.REALS)
def test_a_poisoned_state_gives_nan(dtype, op):
    x = torch.rand(2, 3, 50, dtype=dtype)
    how = {"states": POISON, "op": op}
    for made in (ph.dropout(x, **how), ph.dropout_(x.clone(), **how),
                 ph.dropout1d(x, **how), ph.alpha_dropout(x, **how),
                 ph.feature_alpha_dropout(x, **how), ph.bernoulli(x, **how),
                 ph.bernoulli(0.5, (9,), dtype=dtype, **how),
                 ph.uniform((9,), dtype=dtype, **how),
                 ph.normal((9,), dtype=dtype, **how),
                 ph.log_normal((9,), dtype=dtype, **how),
                 ph.exponential((9,), dtype=dtype, **how),
                 ph.gumbel((9,), dtype=dtype, **how),
                 ph.stochastic_round(x.float(), **how)):
        assert made.isnan().all()


def test_a_poisoned_state_gives_integers_of_all_ones():
    for dtype in (torch.int32, torch.int64):
        made = ph.integers((9,), 0, 5, dtype=dtype, states=POISON)
        assert made.tolist() == [-1] * 9


# --- channels -----------------------------------------------------------------

CHANNELS = [
    (ph.dropout1d, (4, 5, 6), 2), (ph.dropout1d, (20, 6), 1),
    (ph.dropout2d, (4, 5, 6, 7), 2), (ph.dropout2d, (20, 6, 7), 1),
    (ph.dropout3d, (4, 5, 2, 3, 4), 2), (ph.dropout3d, (20, 2, 3, 4), 1),
    (ph.feature_alpha_dropout, (4, 5), 2),
    (ph.feature_alpha_dropout, (4, 5, 6, 3), 2)]


@pytest.mark.parametrize("dtype", oracle.REALS)
@pytest.mark.parametrize("draw, shape, dims", CHANNELS)
def test_whole_channels_are_dropped(draw, shape, dims, dtype):
    x = torch.randn(shape).to(dtype)
    channels = shape[:dims]
    keep = kept(STATES[2], math.prod(channels), 0.4)
    keep = keep.reshape(channels + (1,) * (len(shape) - dims)).expand(shape)
    assert 0 < keep.sum() < keep.numel()
    made = draw(x, 0.4, states=STATES, op=2)
    if draw is ph.feature_alpha_dropout:
        assert made.equal(expected_alpha(x, keep, 0.4))
    else:
        assert made.equal(expected_dropout(x, keep, 0.4))


@pytest.mark.parametrize("ours, theirs, shape", [
    (ph.dropout1d, F.dropout1d, (3, 400, 2)),
    (ph.dropout1d, F.dropout1d, (400, 2)),
    (ph.dropout2d, F.dropout2d, (3, 400, 2, 2)),
    (ph.dropout3d, F.dropout3d, (3, 400, 2, 2, 2)),
    (ph.dropout3d, F.dropout3d, (400, 2, 2, 2)),
    (ph.feature_alpha_dropout, F.feature_alpha_dropout, (3, 400, 5)),
    (ph.alpha_dropout, F.alpha_dropout, (3, 400)),
    (ph.dropout, F.dropout, (3, 400))])
def test_dropped_and_kept_elements_have_torchs_values(ours, theirs, shape):
    x = torch.ones(shape, dtype=torch.float64)
    made, other = ours(x, 0.3), theirs(x, 0.3, True)
    # Two values in both, and where they are is drawn for the same channels
    torch.testing.assert_close(made.unique(), other.unique())
    low = made == made.min()
    if made.dim() > 2 or ours is ph.dropout1d:
        rows = low.reshape(low.shape[0], -1) if ours is ph.dropout1d and \
            low.dim() == 2 else low.flatten(2)
        assert (rows.all(-1) == rows.any(-1)).all()
    assert abs(low.double().mean() - 0.3) < 0.1


@pytest.mark.parametrize("first", [0, 3, 2**60])
@pytest.mark.parametrize("inner", [1, 3, 5000, 9000])
def test_masked_places_a_channel_by_its_index_and_first(inner, first):
    n = 20000
    x = torch.randn(n)
    made = ops.masked(x, STATES, 0.5, 2.0, 0.5, -7.0, inner, 1, first)
    groups = oracle.elements_of(-(-n // inner), first=first)
    keep = torch.from_numpy(oracle.keep(STATES[1], groups, 0.5))
    keep = keep.repeat_interleave(inner)[:n]
    assert made.equal(torch.where(keep, x * 2 + 0.5, -7.0))


# --- alpha dropout ------------------------------------------------------------


def expected_alpha(x, keep, p):
    """Compute alpha dropout as torch does, two roundings for what is kept."""
    scale, shift, dropped = alpha_constants(p)
    wide = x.double() if x.dtype == torch.float64 else x.float()
    kind = wide.dtype
    made = wide * torch.tensor(scale, dtype=kind) + torch.tensor(shift,
                                                                 dtype=kind)
    return torch.where(keep, made, torch.tensor(dropped, dtype=kind)).to(
        x.dtype)


def alpha_constants(p):
    # ATen/native/Dropout.cpp, _dropout_impl: alpha, a and b
    alpha = 1.7580993408473766
    a = 1 / math.sqrt((alpha * alpha * p + 1) * (1 - p))
    return a, alpha * a * p, alpha * a * p - alpha * a


def test_the_alpha_is_that_of_selu():
    # Klambauer et al.: scale times alpha of SELU, whose limit at -inf it is
    limit = F.selu(torch.tensor(-1e4, dtype=torch.float64)).item()
    a, _, dropped = alpha_constants(0.3)
    assert dropped == pytest.approx(a * limit * 0.7, rel=1e-7)


@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("dtype", oracle.REALS)
def test_alpha_dropout_has_the_mask_of_dropout_and_torchs_formula(dtype, p):
    x = torch.randn(500).to(dtype)
    keep = kept(STATES[1], 500, p)
    made = ph.alpha_dropout(x, p, states=STATES, op=1)
    if dtype == torch.float64:
        torch.testing.assert_close(made, expected_alpha(x, keep, p),
                                   rtol=1e-15, atol=1e-15)
    else:
        assert made.equal(expected_alpha(x, keep, p))


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_alpha_dropout_keeps_mean_and_variance_of_selu_inputs(p):
    # Its promise is for inputs of mean 0 and variance 1
    x = torch.randn(200000, generator=torch.Generator().manual_seed(3),
                    dtype=torch.float64)
    made = ph.alpha_dropout(x, p)
    assert abs(made.mean()) < 0.02 and abs(made.var() - 1) < 0.03


# --- bernoulli of a tensor ----------------------------------------------------


@pytest.mark.parametrize("dtype", oracle.REALS)
@pytest.mark.parametrize("first", [0, 9, 2**62])
def test_bernoulli_of_a_tensor_compares_each_word_with_its_threshold(
        first, dtype):
    p = torch.rand(5000, dtype=torch.float64).to(dtype)
    p[:4] = torch.tensor([0, 1, 0.5, 2.0**-10], dtype=dtype)
    made = ops.bernoulli_of(p, STATES, 2, first)
    words = oracle.words(STATES[2], oracle.elements_of(5000, first=first))
    exact = [float(int(w) < oracle.threshold(float(x)))
             for w, x in zip(words, p.tolist(), strict=True)]
    assert made.dtype == dtype and made.tolist() == exact


def test_bernoulli_of_what_is_no_probability_is_nan():
    p = torch.tensor([NAN, -0.001, 1.001, INF, -INF, 0.0, 1.0])
    made = ph.bernoulli(p)
    assert made[:5].isnan().all() and made[5:].tolist() == [0, 1]


# --- threads ------------------------------------------------------------------


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def large_draws(n):
    x = torch.linspace(-2, 2, n)
    how = {"states": STATES, "op": 1}
    return {
        "dropout": ph.dropout(x, 0.3, **how),
        "dropout_": ph.dropout_(x.clone(), 0.3, **how),
        "alpha": ph.alpha_dropout(x, 0.3, **how),
        "channels": ph.dropout1d(x.reshape(1, -1, 7), 0.3, **how),
        "bernoulli": ph.bernoulli(x.sigmoid(), **how),
        "normal": ph.normal((n,), **how),
        "uniform": ph.uniform((n,), dtype=torch.float64, **how),
        "integers": ph.integers((n,), 0, 3 * 2**61, **how),
        "round": ph.stochastic_round(x, **how)}


def test_large_tensors_have_the_same_bits_with_one_thread_and_more(threads):
    n = 7 * 150001
    threads(1)
    one = large_draws(n)
    threads(2)
    two = large_draws(n)
    threads(5)
    five = large_draws(n)
    for name in one:
        assert one[name].equal(two[name]) and one[name].equal(five[name]), name


def test_large_tensors_have_the_masks_of_their_elements(threads):
    threads(2)
    n = 7 * 150001
    made = large_draws(n)
    keep = kept(STATES[1], n, 0.3)
    x = torch.linspace(-2, 2, n)
    assert made["dropout"].equal(expected_dropout(x, keep, 0.3))
    assert made["dropout_"].equal(made["dropout"])
    assert made["alpha"].equal(expected_alpha(x, keep, 0.3))
    channel = keep[:n // 7].repeat_interleave(7)
    assert made["channels"].flatten().equal(expected_dropout(x, channel, 0.3))
    words = oracle.words(STATES[1], np.arange(n))
    p = x.sigmoid().double().numpy()
    below = words < np.floor(p * 2**32 + 0.5).astype(np.uint64)
    assert made["bernoulli"].numpy().astype(bool).tolist() == below.tolist()
    u = oracle.wide_words(STATES[1], np.arange(n)) >> np.uint64(11)
    assert made["uniform"].equal(
        torch.from_numpy(u.astype(np.float64) / 2**53))
