"""Every number against Philox in numpy, and against stored tables."""

import math

import numpy as np
import oracle
import pytest
import torch

import philox.torch as ph

ops = torch.ops.philox

#: Seeds and offsets: small, large, negative as int64, at the end
STATES = torch.tensor([[0, 0], [0x0123456789abcdef, 4096],
                       [-1, 2**34 + 8], [-2401053088876216593, -4]])
PLACES = ({}, {"first": 5}, {"first": 2**62 + 3},
          {"first": 3, "cols": 7, "stride": 1000003},
          {"first": 1, "cols": 13, "stride": 13})
N = 91  # a multiple of the columns above, and no multiple of 4


def elements(place):
    return oracle.elements_of(N, **place)


def each_place(test):
    test = pytest.mark.parametrize("place", PLACES, ids=str)(test)
    return pytest.mark.parametrize("op", range(len(STATES)))(test)


def like(dtype):
    return torch.empty(N, dtype=dtype)


def words_of_table(line):
    return [int(word, 16) for word in line]


def table(name):
    lines = (oracle.KNOWN / name).read_text().splitlines()
    return [line.split() for line in lines if line and line[0] != "#"]


# --- the oracle itself --------------------------------------------------------


@pytest.mark.parametrize("name", ["kat_philox.txt", "kat_random123.txt"])
def test_oracle_has_the_known_answers_of_random123(name):
    rows = table(name)
    assert len(rows) >= 3
    for rounds, *row in rows:
        c = words_of_table(row)
        assert rounds == "10"
        made = oracle.block(c[5] << 32 | c[4], c[1] << 32 | c[0],
                            c[3] << 32 | c[2])
        assert made.tolist() == c[6:]


def test_oracle_rounds_as_numpy():
    x = np.random.default_rng(1).standard_normal(300) * 2.0**-120
    for value in (*x, *(x * 2.0**-25), *(x * 2.0**180)):
        exact = oracle.Fraction(float(value))
        assert oracle.rounded(exact, torch.float32) == np.float32(value)
        assert oracle.rounded(exact, torch.float64) == value


# --- a stored table of exact values -------------------------------------------

DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16,
          "f16": torch.float16, "i32": torch.int32, "i64": torch.int64}


def signed(value):
    return (value + 2**63) % 2**64 - 2**63


def draw_of_table(name, dtype, states, first, a, b):
    one = torch.empty(1, dtype=dtype)
    if name == "stochastic_rounding":
        x = torch.tensor([a], dtype=torch.float64).float()
        return ops.stochastic_round(x, states, dtype, 0, first)
    if name == "integers":
        return ops.integers(one, states, a, b + 1, 0, first)
    counts = {"uniform": 2, "normal": 2, "log_normal": 2, "exponential": 1,
              "gumbel": 0, "bernoulli": 1}
    return getattr(ops, name)(one, states, *(a, b)[:counts[name]], 0, first)


def number(text, name):
    if name == "integers":
        return int(text)
    return float.fromhex(text) if "x" in text else float(text)


@pytest.mark.parametrize("name", [
    "uniform", "normal", "log_normal", "exponential", "gumbel", "bernoulli",
    "integers", "stochastic_rounding"])
def test_numbers_are_those_of_the_stored_table(name):
    compared = 0
    for row in table("kat_distributions.txt"):
        if row[0] != name or row[1] not in DTYPES or int(row[4]) >= 2**63:
            continue
        a, b = number(row[5], name), number(row[6], name)
        if name == "integers" and b == 2**63 - 1:
            continue  # one above the largest is no int64
        states = torch.tensor([[signed(int(row[2], 16)), signed(int(row[3]))]])
        made = draw_of_table(name, DTYPES[row[1]], states, int(row[4]), a, b)
        assert made.dtype == DTYPES[row[1]] and made.shape == (1,)
        made = made.item()
        if name == "integers":
            assert made == int(row[7]), row
        else:
            exact = oracle.Fraction(row[7])
            off = abs(oracle.Fraction(made) - exact)
            # The table has 25 digits of a value
            slack = abs(exact) * oracle.Fraction(1, 10**24)
            assert off <= oracle.Fraction(row[8]) + slack, row
        compared += 1
    assert compared > 20


# --- words --------------------------------------------------------------------


@each_place
def test_integers_of_all_32_bits_are_the_words(op, place):
    made = ops.integers(like(torch.int32), STATES, -2**31, 2**31, op, **place)
    words = oracle.words(STATES[op], elements(place)).astype(np.int64) - 2**31
    assert made.tolist() == words.tolist()


def test_seed_and_offset_of_a_state_are_int64_bits():
    states = torch.tensor([[-1, -4]])
    made = ops.integers(like(torch.int32), states, -2**31, 2**31)
    words = oracle.words((2**64 - 1, 2**64 - 4), np.arange(N))
    assert made.tolist() == (words.astype(np.int64) - 2**31).tolist()


# --- uniform ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", oracle.REALS)
@each_place
def test_uniform_numbers_have_as_many_bits_as_the_dtype_has_digits(
        op, place, dtype):
    made = ops.uniform(like(dtype), STATES, 0, 1, op, **place)
    bits = oracle.FORMATS[dtype][0]
    if dtype == torch.float64:
        u = oracle.wide_words(STATES[op], elements(place)) >> np.uint64(11)
    else:
        u = oracle.words(STATES[op], elements(place)) >> np.uint64(32 - bits)
    assert made.tolist() == [int(n) / 2**bits for n in u]


@pytest.mark.parametrize("dtype", oracle.REALS)
@pytest.mark.parametrize("low, high", [(-1.5, 2.25), (3, 10), (-0.1, 0.3),
                                       (1, 1.0625), (-1e-3, 0), (100, 101)])
def test_uniform_numbers_of_a_range_are_rounded_once(low, high, dtype):
    made = ops.uniform(like(dtype), STATES, low, high, 1)
    assert made.equal(
        oracle.uniform(STATES[1], elements({}), low, high, dtype))


@pytest.mark.parametrize("dtype", oracle.REALS)
def test_uniform_numbers_stay_below_high_where_they_would_round_to_it(dtype):
    like = torch.empty(20000, dtype=dtype)
    step = 2.0**(7 - oracle.FORMATS[dtype][0])
    made = ops.uniform(like, STATES, 100, 100 + 4 * step, 1)
    assert made.unique().tolist() == [100 + i * step for i in range(4)]


# --- normal, exponential ------------------------------------------------------


def close(made, exact, off):
    """Check numbers against exact ones, half a unit of the dtype aside."""
    bits = oracle.FORMATS[made.dtype][0]
    exact = torch.from_numpy(np.asarray(exact, np.float64))
    allowed = off + exact.abs() * 2.0**-bits
    assert ((made.double() - exact).abs() <= allowed).all()


@pytest.mark.parametrize("dtype", oracle.REALS)
@each_place
def test_normal_numbers_are_those_of_box_and_muller(op, place, dtype):
    wide = dtype == torch.float64
    z = oracle.normal(STATES[op], elements(place), wide)
    off = 4e-15 if wide else 2e-6
    close(ops.normal(like(dtype), STATES, 0, 1, op, **place), z, off)
    close(ops.normal(like(dtype), STATES, -3, 0.5, op, **place), z / 2 - 3,
          off)


@pytest.mark.parametrize("dtype", oracle.REALS)
def test_log_normal_numbers_are_the_exponential_of_normal_ones(dtype):
    wide = dtype == torch.float64
    x = np.exp(oracle.normal(STATES[1], elements({}), wide) / 4 + 0.5)
    close(ops.log_normal(like(dtype), STATES, 0.5, 0.25, 1), x,
          2e-15 if wide else 2e-6)


@pytest.mark.parametrize("dtype", oracle.REALS)
@each_place
def test_exponential_numbers_are_logarithms_of_their_word(op, place, dtype):
    wide = dtype == torch.float64
    x = oracle.exponential(STATES[op], elements(place), wide)
    close(ops.exponential(like(dtype), STATES, 1, op, **place), x,
          4e-16 * (1 + x.max()) if wide else 4e-6)
    close(ops.exponential(like(dtype), STATES, 2.5, op, **place), x / 2.5,
          4e-16 * (1 + x.max()) if wide else 4e-6)


@pytest.mark.parametrize("dtype", oracle.REALS)
@each_place
def test_gumbel_numbers_are_logarithms_of_exponential_ones(op, place, dtype):
    wide = dtype == torch.float64
    x = oracle.exponential(STATES[op], elements(place), wide)
    # What is off in 1 - v, which is near 1, is off by more in its logarithm
    off = (1 + 1 / x.astype(np.float64)) * (2.0**-51 if wide else 2.0**-22)
    close(ops.gumbel(like(dtype), STATES, op, **place), -np.log(x),
          torch.from_numpy(off))


# --- integers -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_small_integers_are_drawn_by_lemires_method(place, dtype):
    made = ops.integers(like(dtype), STATES, -3, 7, 1, **place)
    exact, _ = oracle.integers(STATES[1], elements(place), -3, 7,
                               dtype == torch.int64)
    assert made.tolist() == exact


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("dtype, low, high", [
    (torch.int32, -2**30, 2**30 + 1), (torch.int32, -2**31, 2**31 - 2**29),
    (torch.int64, -2**62, 2**62 + 1), (torch.int64, -2**63, 2**63 - 2**61)])
def test_rejected_integers_are_drawn_again_from_the_retry_states(
        dtype, low, high, place):
    made = ops.integers(like(dtype), STATES, low, high, 2, **place)
    exact, tried = oracle.integers(STATES[2], elements(place), low, high,
                                   dtype == torch.int64)
    assert tried > 5  # so the case is one
    assert made.tolist() == exact


# --- stochastic rounding ------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@each_place
def test_stochastic_rounding_takes_one_of_two_neighbours_by_the_word(
        op, place, dtype):
    rng = np.random.default_rng(7)
    scale = 2.0**rng.integers(-27, 15, N)
    x = (rng.standard_normal(N) * scale).astype(np.float32)
    made = ops.stochastic_round(torch.from_numpy(x), STATES, dtype, op,
                                **place)
    exact = oracle.stochastic_round(STATES[op], elements(place), x, dtype)
    assert made.view(torch.int16).equal(exact.view(torch.int16))


def test_stochastic_rounding_has_the_input_as_its_mean():
    x = torch.full((100000,), 1 + 2**-9 + 2**-12)
    made = ph.stochastic_round(x, torch.bfloat16).double()
    assert set(made.tolist()) == {1.0, 1 + 2**-7}
    share = (2**-9 + 2**-12) * 2**7
    spread = 2**-7 * math.sqrt(share * (1 - share) / len(x))
    assert abs(made.mean() - x[0]) < 4 * spread


def test_stochastic_rounding_keeps_what_needs_no_rounding_and_infinities():
    x = torch.tensor([0.0, -0.0, 1.5, -2.0, math.inf, -math.inf])
    for dtype in (torch.bfloat16, torch.float16):
        made = ph.stochastic_round(x, dtype)
        assert made.dtype == dtype and made.float().equal(x)
        assert made.signbit().equal(x.signbit())
        assert ph.stochastic_round(torch.tensor(math.nan), dtype).isnan()


# --- what users call ----------------------------------------------------------


@pytest.mark.parametrize("name, parameters", [
    ("uniform", (-2.0, 3.0)), ("normal", (1.0, 2.0)),
    ("log_normal", (0.0, 0.5)), ("exponential", (3.0,)), ("gumbel", ()),
    ("integers", (-5, 50))])
def test_functions_of_a_size_draw_their_operators_numbers(name, parameters):
    dtypes = (torch.int32, torch.int64) if name == "integers" else oracle.REALS
    for dtype in dtypes:
        made = getattr(ph, name)((7, 13), *parameters, dtype=dtype,
                                 states=STATES, op=2)
        flat = getattr(ops, name)(like(dtype), STATES, *parameters, 2)
        assert made.dtype == dtype and made.shape == (7, 13)
        assert made.is_contiguous() and made.reshape(-1).equal(flat)


def test_default_dtypes_are_torchs():
    assert ph.uniform((2,)).dtype == torch.float32
    assert ph.bernoulli(0.5, (2,)).dtype == torch.float32
    assert ph.integers((2,), 0, 9).dtype == torch.int64
    torch.set_default_dtype(torch.float64)
    try:
        assert ph.normal((2,)).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_each_call_at_a_site_has_the_next_states():
    first = ph.reserve("a", 1)
    made = [ph.uniform((5,), site="a") for _ in range(2)]
    for i, x in enumerate(made, 1):
        state = (int(first[0, 0]), int(first[0, 1]) + 4 * i)
        assert x.equal(oracle.uniform(state, np.arange(5), 0, 1,
                                      torch.float32))


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1 - 2**-33, 2**-33, 1.0])
@pytest.mark.parametrize("dtype", oracle.REALS)
def test_bernoulli_numbers_compare_the_word_with_the_threshold(p, dtype):
    made = ph.bernoulli(p, (N,), dtype=dtype, states=STATES, op=3)
    exact = oracle.bernoulli(STATES[3], np.arange(N), p)
    assert made.dtype == dtype and made.tolist() == exact.tolist()
