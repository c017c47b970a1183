"""Tokens: which may be drawn, and which is, against a model in numpy."""

import math

import numpy as np
import oracle
import pytest
import torch
from torch.func import vmap

import philox.torch as ph

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
ROWS, VOCABULARY = 60, 37


def states_of(n, seed=900):
    i = torch.arange(n)
    return torch.stack([seed + i, 4 * i], 1)


def logits_of(dtype=torch.float32, rows=ROWS, vocabulary=VOCABULARY, scale=2):
    return (torch.randn(rows, vocabulary) * scale).to(dtype)


def allowed(logits, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0):
    """Return which tokens pass all filters, each taken of the whole row."""
    x = logits.astype(np.float64) / temperature
    p = np.exp(x - x.max())
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    keep = np.ones(len(p), bool)
    if top_k:
        keep[order[top_k:]] = False
    if top_p < 1:
        before = np.cumsum(p[order]) - p[order]
        keep[order[before >= top_p]] = False
        keep[order[0]] = True
    if min_p:
        keep &= p >= min_p * p.max()
    return keep


def token(logits, state, **how):
    """Draw a token by the Gumbel-max rule among those that are allowed."""
    elements = np.arange(len(logits))
    gumbel = -np.log(oracle.exponential(state, elements, False))
    score = logits.astype(np.float64) / how.get("temperature", 1.0) + gumbel
    return int(np.argmax(np.where(allowed(logits, **how), score, -np.inf)))


FILTERS = [
    {}, {"temperature": 0.5}, {"temperature": 3.0}, {"top_k": 1},
    {"top_k": 5}, {"top_k": 1000}, {"top_p": 0.5}, {"top_p": 0.9},
    {"top_p": 0.0}, {"min_p": 0.1}, {"min_p": 1.0},
    {"temperature": 0.8, "top_k": 9, "top_p": 0.8, "min_p": 0.02}]


@pytest.mark.parametrize("how", FILTERS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tokens_are_those_of_the_model_in_numpy(dtype, how):
    logits, states = logits_of(dtype), states_of(ROWS)
    made = ph.sample(logits, how.get("temperature", 1.0), states=states,
                     **{k: v for k, v in how.items() if k != "temperature"})
    assert made.shape == (ROWS,) and made.dtype == torch.int64
    rows = logits.double().numpy()
    if dtype == torch.float32:
        expected = [token(row, state, **how)
                    for row, state in zip(rows, states.tolist(), strict=True)]
        assert made.tolist() == expected
    elif "top_k" not in how and "top_p" not in how:
        same = sum(token(row, state, **how) == t for row, state, t in
                   zip(rows, states.tolist(), made.tolist(), strict=True))
        assert same == ROWS
    # Short dtypes have ties, of which a filter keeps one or another
    for row, t in zip(rows, made.tolist(), strict=True):
        least = min(row[allowed(row, **how)])
        assert row[t] >= least


@pytest.mark.parametrize("dtype", DTYPES)
def test_temperature_zero_takes_the_largest_logit(dtype):
    logits = torch.stack([torch.randperm(200) for _ in range(30)]).to(dtype)
    made = ph.sample(logits, 0.0)
    assert made.equal(logits.argmax(1))
    assert ph.sample(logits, 0, top_k=3, top_p=0.5).equal(made)


def test_the_largest_logit_is_taken_by_top_k_1_top_p_0_and_min_p_1():
    logits = logits_of()
    for how in ({"top_k": 1}, {"top_p": 0.0}, {"min_p": 1.0}):
        assert ph.sample(logits, **how).equal(logits.argmax(1))


def test_a_vector_is_one_row():
    logits = logits_of()
    states = states_of(1)
    made = ph.sample(logits[3], states=states)
    assert made.shape == () and made.dtype == torch.int64
    assert made == ph.sample(logits[3:4], states=states)[0]
    assert made.item() == token(logits[3].numpy(), states[0].tolist())


def test_rows_draw_from_the_states_from_op_on():
    logits, states = logits_of(rows=5), states_of(9)
    made = ph.sample(logits, states=states, op=4)
    assert made.equal(ph.sample(logits, states=states[4:]))
    expected = [token(row.numpy(), state.tolist())
                for row, state in zip(logits, states[4:], strict=True)]
    assert made.tolist() == expected


def test_fewer_states_than_rows_from_op_on_are_refused():
    for n, op in ((4, 0), (5, 1), (9, 5), (5, -1), (5, 2**62)):
        with pytest.raises(RuntimeError, match="sample: .*fewer states"):
            ph.sample(logits_of(rows=5), states=states_of(n), op=op)


def test_rows_that_are_alike_draw_from_states_of_their_own():
    logits = torch.zeros(50, 1000)
    made = ph.sample(logits)
    assert made.unique().numel() > 40
    assert not ph.sample(logits).equal(made)


def test_rows_at_a_site_have_the_numbers_of_as_many_calls():
    logits = logits_of(rows=6)
    together = ph.sample(logits, site="s")
    ph.seed(20240229)
    alone = torch.stack([ph.sample(row, site="s") for row in logits])
    assert together.equal(alone)


def test_no_rows_give_no_tokens_and_reserve_nothing():
    before = ph.state_dict()
    made = ph.sample(torch.empty(0, 7))
    assert made.shape == (0,) and made.dtype == torch.int64
    assert ph.state_dict() == before


def test_logits_that_are_not_contiguous_are_read_in_order():
    logits, states = logits_of(), states_of(ROWS)
    made = ph.sample(logits, states=states)
    assert ph.sample(logits.t().contiguous().t(), states=states).equal(made)
    wide = torch.zeros(ROWS, 2 * VOCABULARY)
    wide[:, ::2] = logits
    assert ph.sample(wide[:, ::2], states=states).equal(made)


@pytest.mark.parametrize("temperature, how", [
    (1.0, {}), (0.5, {}), (1.0, {"top_k": 3}), (2.0, {"top_p": 0.7}),
    (1.0, {"min_p": 0.3})])
def test_frequencies_are_those_of_the_softmax(temperature, how):
    n = 30000
    logits = torch.tensor([0.3, -1.0, 1.2, 0.0, 2.0, -0.4])
    made = ph.sample(logits.expand(n, 6), temperature, **how)
    keep = allowed(logits.numpy(), temperature, **how)
    p = np.where(keep, np.exp(logits.double().numpy() / temperature), 0)
    p /= p.sum()
    counts = np.bincount(made.numpy(), minlength=6)
    assert not counts[~keep].any()
    chi = ((counts[keep] - n * p[keep])**2 / (n * p[keep])).sum()
    degrees = keep.sum() - 1
    # Wilson and Hilferty: above the mean by 4 standard deviations
    limit = degrees * (1 - 2 / (9 * degrees)
                       + 4 * math.sqrt(2 / (9 * degrees)))**3
    assert degrees > 0 and chi < limit


def test_a_masked_token_is_never_drawn_and_an_infinite_one_always():
    logits = torch.zeros(500, 9)
    logits[:, 4] = -math.inf
    assert not (ph.sample(logits) == 4).any()
    logits[:, 2] = math.inf
    assert (ph.sample(logits) == 2).all()


def test_rows_without_a_number_and_poisoned_states_give_no_token():
    assert ph.sample(torch.full((2, 4), math.nan)).tolist() == [-1, -1]
    assert ph.sample(torch.full((1, 4), -math.inf)).tolist() == [-1]
    made = ph.sample(torch.zeros(2, 4), states=torch.tensor([[1, 0], [1, 5]]))
    assert made[0] >= 0 and made[1] == -1


def test_sample_is_refused_in_a_vmap_where_samples_would_be_alike():
    with pytest.raises(RuntimeError, match="philox: sample.*vmap"):
        vmap(ph.sample, randomness="different")(torch.zeros(3, 2, 5))


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_sample_in_a_vmap_draws_from_mapped_states():
    logits, states = logits_of(rows=6), states_of(6)
    made = vmap(lambda x, s: ph.sample(x, states=s), randomness="same")(
        logits, states[:, None])
    assert made.equal(ph.sample(logits, states=states))
