"""In-place forms: the numbers of the others, and autograd as torch has it."""

import oracle
import pytest
import torch
from torch.nn import functional as F

import philox.torch as ph

STATES = torch.tensor([[11, 0], [12, 8]])

#: In-place function, its pure one, parameters, and torch's own in-place method
FILLS = {
    "uniform_": (ph.uniform_, ph.uniform, (-1.0, 2.0),
                 lambda x: x.uniform_(-1, 2)),
    "normal_": (ph.normal_, ph.normal, (1.0, 3.0), lambda x: x.normal_(1, 3)),
    "log_normal_": (ph.log_normal_, ph.log_normal, (0.0, 0.5),
                    lambda x: x.log_normal_(0, 0.5)),
    "exponential_": (ph.exponential_, ph.exponential, (2.0,),
                     lambda x: x.exponential_(2)),
    "bernoulli_": (ph.bernoulli_, lambda size, p, **k: ph.bernoulli(
        p, size, **k), (0.3,), lambda x: x.bernoulli_(0.3)),
}
each_fill = pytest.mark.parametrize("name", FILLS)


def fill(name, x):
    return FILLS[name][0](x, *FILLS[name][2], states=STATES, op=1)


def expected(name, x):
    _, pure, parameters, _ = FILLS[name]
    return pure(x.shape, *parameters, dtype=x.dtype, states=STATES, op=1)


@each_fill
@pytest.mark.parametrize("dtype", oracle.REALS)
def test_fills_write_the_pure_numbers_and_return_the_tensor(name, dtype):
    x = torch.zeros(7, 9, dtype=dtype)
    assert fill(name, x) is x
    assert x.equal(expected(name, x))


@each_fill
def test_fills_of_a_strided_tensor_write_it_and_nothing_else(name):
    base = torch.full((14, 18), -77.0)
    x = base[::2, 1::2]
    assert fill(name, x) is x
    assert x.equal(expected(name, x))
    base[::2, 1::2] = -77
    assert (base == -77).all()
    x = torch.zeros(9, 7).t()
    assert fill(name, x) is x and x.equal(expected(name, x))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_integers_fill_contiguous_and_strided_tensors(dtype):
    pure = ph.integers((6, 8), -4, 9, dtype=dtype, states=STATES)
    x = torch.zeros(6, 8, dtype=dtype)
    assert ph.integers_(x, -4, 9, states=STATES) is x and x.equal(pure)
    y = torch.zeros(8, 6, dtype=dtype).t()
    assert ph.integers_(y, -4, 9, states=STATES) is y and y.equal(pure)


@pytest.mark.parametrize("dtype", oracle.REALS)
def test_dropout_in_place_writes_what_dropout_returns(dtype):
    x = torch.randn(8, 6).to(dtype)
    pure = ph.dropout(x, 0.4, states=STATES, op=1)
    y = x.clone()
    assert ph.dropout_(y, 0.4, states=STATES, op=1) is y and y.equal(pure)
    base = torch.full((16, 18), -5.0, dtype=dtype)
    z = base[::2, ::3].copy_(x)
    assert ph.dropout_(z, 0.4, states=STATES, op=1) is z and z.equal(pure)
    assert (base[1::2] == -5).all() and (base[:, 1::3] == -5).all()


def test_dropout_in_place_without_training_is_the_tensor_itself():
    x = torch.randn(5)
    before = x.clone()
    assert ph.dropout_(x, 0.5, False) is x and x.equal(before)


# --- autograd -----------------------------------------------------------------


def writers():
    for name in FILLS:
        yield name, lambda x, n=name: fill(n, x), FILLS[name][3]
    yield ("dropout_", lambda x: ph.dropout_(x, 0.5, states=STATES),
           lambda x: F.dropout(x, 0.5, True, True))


each_writer = pytest.mark.parametrize(
    "ours, theirs", [pytest.param(a, b, id=n) for n, a, b in writers()])


@each_writer
@pytest.mark.parametrize("strided", [False, True])
def test_a_leaf_that_requires_grad_is_refused_as_by_torch(
        ours, theirs, strided):
    def leaf():
        x = torch.ones(4, 6)
        return (x.t() if strided else x).requires_grad_()

    for write in (theirs, ours):
        x = leaf()
        with pytest.raises(RuntimeError, match="leaf Variable"):
            write(x)
        assert x.detach().eq(1).all()


@each_writer
@pytest.mark.parametrize("strided", [False, True])
def test_a_parameter_is_written_under_no_grad(ours, theirs, strided):
    x = torch.nn.Parameter(torch.ones(40, 6).t() if strided
                           else torch.ones(40, 6))
    with torch.no_grad():
        made = ours(x)
    assert made is x and x.requires_grad and x.is_leaf
    assert x.grad_fn is None and not x.detach().eq(1).all()


@each_writer
@pytest.mark.parametrize("strided", [False, True])
def test_a_tensor_of_the_graph_has_the_gradient_that_torch_gives(
        ours, theirs, strided):
    def run(write):
        x = torch.ones(50, 6, requires_grad=True)
        y = x * 3
        y = y.t() if strided else y
        assert write(y) is y
        assert y.requires_grad and not y.is_leaf
        y.sum().backward()
        return x.grad, y.detach()

    grad, y = run(ours)
    other, _ = run(theirs)
    if other.any():  # dropout: 3 times the scale where it is kept
        y = y.t() if strided else y
        assert grad.equal(y) and y.any() and not y.all()
    else:
        assert not grad.any()


@each_writer
def test_the_version_of_a_written_tensor_counts_as_torchs(ours, theirs):
    for write in (ours, theirs):
        x = torch.ones(6)
        write(x)
        assert x._version == 1
        a = torch.ones(6, requires_grad=True)
        b = a * 1
        c = b.exp()  # saves c
        write(c)
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            c.sum().backward()


@each_writer
def test_a_view_that_is_written_is_written_in_its_base(ours, theirs):
    for write in (ours, theirs):
        x = torch.ones(8, 20, requires_grad=True)
        y = x * 2
        write(y[2:4])
        assert y[:2].eq(2).all() and y[4:].eq(2).all()
        y.sum().backward()
        assert x.grad[:2].eq(2).all() and x.grad[4:].eq(2).all()
        assert not x.grad[2:4].eq(2).all()


@each_writer
def test_inference_mode_is_no_obstacle(ours, theirs):
    with torch.inference_mode():
        x = torch.ones(100)
        assert ours(x) is x and not x.eq(1).all()


@each_writer
def test_overlapping_memory_is_refused_as_by_torch(ours, theirs):
    for write in (theirs, ours):
        x = torch.ones(1).expand(5)
        with pytest.raises(RuntimeError, match="single memory location"):
            write(x)


def test_in_place_draws_of_dual_tensors_have_the_right_tangents():
    with torch.autograd.forward_ad.dual_level():
        make_dual = torch.autograd.forward_ad.make_dual
        x = make_dual(torch.ones(64), torch.ones(64))
        ph.dropout_(x, 0.5)
        primal, tangent = torch.autograd.forward_ad.unpack_dual(x)
        assert torch.equal(primal, tangent) and (primal == 0).any()
        y = make_dual(torch.ones(64), torch.ones(64))
        ph.uniform_(y)
        _, tangent = torch.autograd.forward_ad.unpack_dual(y)
        assert tangent is None or not tangent.any()
