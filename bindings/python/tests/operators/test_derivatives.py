"""Derivatives: reverse and forward mode, twice, and their compositions."""

import math

import numpy as np
import oracle
import pytest
import torch
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.func import (
    functional_call, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap)

import philox.torch as ph

STATES = torch.tensor([[21, 0], [22, 16]])
P = 0.4
ALPHA = 1.7580993408473766


def keep(shape, op=0, channels=None):
    """Return the mask of dropout, of whole channels if there are some."""
    n = math.prod(channels or shape)
    mask = torch.from_numpy(oracle.keep(STATES[op], np.arange(n), P))
    if channels:
        mask = mask.reshape(channels + (1,) * (len(shape) - len(channels)))
    return mask.expand(shape) if channels else mask.reshape(shape)


def slope(name, shape):
    """Return what the derivative of each element is, in float64."""
    channels = {"dropout1d": shape[:2], "feature_alpha_dropout": shape[:2]}
    mask = keep(shape, channels=channels.get(name)).double()
    if "alpha" in name:
        return mask / math.sqrt((ALPHA * ALPHA * P + 1) * (1 - P))
    return mask / (1 - P)


NAMES = ("dropout", "dropout1d", "alpha_dropout", "feature_alpha_dropout")
SHAPE = (2, 5, 3)
each = pytest.mark.parametrize("name", NAMES)


def drawn(name):
    return lambda x: getattr(ph, name)(x, P, states=STATES)


@pytest.fixture
def x():
    return torch.randn(SHAPE, dtype=torch.float64)


# --- reverse mode -------------------------------------------------------------


@each
def test_gradients_have_the_mask_of_the_forward(name, x):
    x.requires_grad_()
    g = torch.randn(SHAPE, dtype=torch.float64)
    drawn(name)(x).backward(g)
    torch.testing.assert_close(x.grad, slope(name, SHAPE) * g)
    assert (x.grad == 0).equal(slope(name, SHAPE) == 0)


@each
@pytest.mark.parametrize("dtype", oracle.REALS)
def test_gradients_have_the_inputs_dtype_and_the_forwards_mask(name, dtype):
    x = torch.randn(SHAPE).to(dtype).requires_grad_()
    y = drawn(name)(x)
    y.backward(torch.ones_like(y))
    assert x.grad.dtype == dtype
    torch.testing.assert_close(x.grad, slope(name, SHAPE).to(dtype))


@each
def test_gradcheck_and_gradgradcheck_accept(name, x):
    x.requires_grad_()
    assert gradcheck(drawn(name), (x,), check_forward_ad=True,
                     check_batched_grad=True,
                     check_batched_forward_grad=False)
    assert gradgradcheck(drawn(name), (x,), check_fwd_over_rev=True,
                         check_rev_over_rev=True)
    strided = torch.randn(3, 5, 2, dtype=torch.float64).permute(2, 1, 0)
    assert gradcheck(drawn(name), (strided.requires_grad_(),),
                     check_forward_ad=True)


@each
def test_a_dropped_infinity_or_nan_of_the_gradient_is_zero(name, x):
    x.requires_grad_()
    g = torch.full(SHAPE, math.inf, dtype=torch.float64)
    drawn(name)(x).backward(g)
    dropped = slope(name, SHAPE) == 0
    assert x.grad[dropped].eq(0).all() and x.grad[~dropped].isinf().all()


@each
def test_the_backward_keeps_no_mask(name):
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
            lambda t: saved.append(t) or t, lambda t: t):
        y = drawn(name)(torch.randn(200, 50, 3, requires_grad=True))
    assert y.requires_grad
    assert sum(t.numel() for t in saved) == STATES.numel()


def test_backwards_may_come_twice_and_in_another_order():
    x = torch.ones(300, requires_grad=True)
    a, b = ph.dropout(x), ph.dropout(x)
    assert not a.equal(b)
    for y in (b, a, a, b):
        made, = torch.autograd.grad(y.sum(), x, retain_graph=True)
        assert made.equal(y.detach())


def test_gradients_that_are_not_contiguous_have_the_same_mask():
    x = torch.ones(20, 30, requires_grad=True)
    y = ph.dropout(x, P, states=STATES)
    for g in (torch.ones(()).expand(20, 30), torch.ones(30, 20).t(),
              torch.ones(20, 60)[:, ::2]):
        made, = torch.autograd.grad(y, x, g, retain_graph=True)
        assert made.equal(y.detach())


def test_probability_one_has_a_gradient_of_zero():
    for draw in (ph.dropout, ph.alpha_dropout):
        x = torch.ones(5, requires_grad=True)
        draw(x, 1.0).sum().backward()
        assert x.grad.equal(torch.zeros(5))


# --- forward mode -------------------------------------------------------------


@each
def test_dual_numbers_have_tangents_with_the_forwards_mask(name, x):
    t = torch.randn(SHAPE, dtype=torch.float64)
    for requires_grad in (False, True):
        with forward_ad.dual_level():
            x = x.detach().requires_grad_(requires_grad)
            y = drawn(name)(forward_ad.make_dual(x, t))
            primal, tangent = forward_ad.unpack_dual(y)
        assert primal.detach().equal(drawn(name)(x.detach()))
        torch.testing.assert_close(tangent.detach(), slope(name, SHAPE) * t)


@each
def test_jvp_and_vjp_agree_with_the_slope(name, x):
    t = torch.randn(SHAPE, dtype=torch.float64)
    y, tangent = jvp(drawn(name), (x,), (t,))
    assert y.equal(drawn(name)(x))
    torch.testing.assert_close(tangent, slope(name, SHAPE) * t)
    y, back = vjp(drawn(name), x)
    assert y.equal(drawn(name)(x))
    torch.testing.assert_close(back(t)[0], slope(name, SHAPE) * t)


def test_linearize_repeats_the_mask(x):
    y, forth = linearize(drawn("dropout"), x)
    t = torch.randn_like(x)
    assert y.equal(drawn("dropout")(x))
    torch.testing.assert_close(forth(t), slope("dropout", SHAPE) * t)


@each
def test_jacobians_and_hessians(name, x):
    s = slope(name, SHAPE)
    jacobian = torch.diag(s.flatten()).reshape(SHAPE + SHAPE)
    torch.testing.assert_close(jacrev(drawn(name))(x), jacobian)
    torch.testing.assert_close(
        torch.autograd.functional.jacobian(drawn(name), x), jacobian)
    torch.testing.assert_close(
        jacfwd(drawn(name), randomness="same")(x), jacobian)

    def cubes(x):
        return drawn(name)(x).pow(3).sum()

    second = torch.diag((6 * drawn(name)(x) * s * s).flatten())
    second = second.reshape(SHAPE + SHAPE)
    for made in (jacfwd(jacrev(cubes), randomness="same")(x),
                 jacrev(jacrev(cubes))(x),
                 torch.autograd.functional.hessian(cubes, x)):
        torch.testing.assert_close(made, second)


def test_nested_gradients(x):
    def f(x):
        return drawn("dropout")(x.sin()).sum()

    s = slope("dropout", SHAPE)
    made = grad(lambda x: grad(f)(x).sum())(x)
    torch.testing.assert_close(made, -s * x.sin())
    _, tangent = jvp(grad(f), (x,), (torch.ones_like(x),))
    torch.testing.assert_close(tangent, -s * x.sin())
    made = grad(lambda x: jvp(f, (x,), (x,))[1])(x)
    torch.testing.assert_close(made, s * (x.cos() - x * x.sin()))


def test_functional_calls_of_modules_draw_the_same():
    model = torch.nn.Sequential(torch.nn.Linear(4, 30), ph.Dropout(site="d"))
    x = torch.randn(3, 4)
    ph.seed(5)
    y = model(x)
    y.sum().backward()
    expected = {k: v.grad for k, v in model.named_parameters()}
    ph.seed(5)
    made = grad(lambda p: functional_call(model, p, (x,)).sum())(
        {k: v.detach() for k, v in model.named_parameters()})
    for name, value in made.items():
        torch.testing.assert_close(value, expected[name])


# --- others -------------------------------------------------------------------


def test_bernoulli_of_a_tensor_has_a_derivative_of_zero():
    p = torch.rand(30, dtype=torch.float64, requires_grad=True)
    y = ph.bernoulli(p, states=STATES)
    y.sum().backward()
    assert p.grad.equal(torch.zeros_like(p))
    _, t = jvp(lambda p: ph.bernoulli(p, states=STATES), (p.detach(),),
               (torch.ones_like(p),))
    assert t.equal(torch.zeros_like(p))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_stochastic_rounding_is_straight_through(dtype):
    x = torch.randn(40, requires_grad=True)
    y = ph.stochastic_round(x, dtype, states=STATES)
    assert y.dtype == dtype
    g = torch.randn(40).to(dtype)
    y.backward(g)
    assert x.grad.dtype == torch.float32 and x.grad.equal(g.float())
    # A tangent has the dtype of what it belongs to
    t = torch.randn(40)
    _, tangent = jvp(lambda x: ph.stochastic_round(x, dtype, states=STATES),
                     (x.detach(),), (t,))
    assert tangent.dtype == dtype and tangent.equal(t.to(dtype))


def test_tangents_of_stochastic_rounding_go_on_through_what_follows():
    x, t = torch.randn(9), torch.randn(9)
    _, tangent = jvp(
        lambda x: ph.stochastic_round(x, states=STATES).float() * 2, (x,),
        (t,))
    assert tangent.equal(t.bfloat16().float() * 2)


def test_integers_and_tokens_have_no_derivative():
    assert not ph.integers((4,), 0, 9).requires_grad
    logits = torch.randn(3, 5, requires_grad=True)
    assert not ph.sample(logits).requires_grad


def test_numbers_of_a_size_have_no_graph():
    with torch.enable_grad():
        for draw in (ph.uniform, ph.normal, ph.log_normal, ph.exponential,
                     ph.gumbel):
            assert not draw((3,)).requires_grad


# --- vmap ---------------------------------------------------------------------


def batch(n):
    return torch.randn(n, 7, 3, dtype=torch.float64)


MAPPED = {
    "dropout": lambda x, s: ph.dropout(x, P, states=s),
    "dropout1d": lambda x, s: ph.dropout1d(x, P, states=s),
    "alpha_dropout": lambda x, s: ph.alpha_dropout(x, P, states=s),
    "bernoulli": lambda x, s: ph.bernoulli(x.sigmoid(), states=s),
    "round": lambda x, s: ph.stochastic_round(x.float(), states=s),
    "normal": lambda x, s: x * 0 + ph.normal(x.shape, dtype=x.dtype,
                                             states=s),
    "uniform": lambda x, s: x * 0 + ph.uniform(x.shape, dtype=x.dtype,
                                               states=s),
    "integers": lambda x, s: x * 0 + ph.integers(x.shape, 0, 99, states=s),
}
each_mapped = pytest.mark.parametrize("name", MAPPED)


@each_mapped
def test_vmap_with_different_draws_the_elements_of_one_tensor(name):
    f, x = MAPPED[name], batch(5)
    made = vmap(lambda x: f(x, STATES), randomness="different")(x)
    assert made.equal(f(x, STATES))  # sample b has elements b numel + e
    made = vmap(lambda x: f(x, STATES), in_dims=1, out_dims=1,
                randomness="different")(x.movedim(0, 1))
    assert made.equal(f(x, STATES).movedim(0, 1))
    made = vmap(lambda x: f(x, STATES), in_dims=-1, out_dims=2,
                randomness="different")(x.movedim(0, 2))
    assert made.equal(f(x, STATES).movedim(0, 2))


@each_mapped
def test_vmap_with_same_draws_one_samples_numbers(name):
    f, x = MAPPED[name], batch(5)
    made = vmap(lambda x: f(x, STATES), randomness="same")(x)
    assert made.equal(torch.stack([f(one, STATES) for one in x]))


@each_mapped
def test_vmap_with_error_refuses_random_numbers(name):
    with pytest.raises(RuntimeError, match="philox.*randomness"):
        vmap(lambda x: MAPPED[name](x, STATES))(batch(2))


def test_different_has_other_masks_than_same_has():
    x = torch.ones(4, 100)
    masks = vmap(ph.dropout, randomness="different")(x)
    assert len({tuple(row) for row in masks.tolist()}) == 4
    masks = vmap(ph.dropout, randomness="same")(x)
    assert len({tuple(row) for row in masks.tolist()}) == 1


def test_an_input_without_batch_is_drawn_for_each_sample():
    x, y = torch.ones(6), torch.zeros(3)
    made = vmap(lambda b: ph.dropout(x, P, states=STATES) + b,
                randomness="different")(y)
    assert made.equal(ph.dropout(torch.ones(3, 6), P, states=STATES))
    made = vmap(lambda b: ph.uniform((6,), states=STATES) + b,
                randomness="different")(y)
    assert made.equal(ph.uniform((3, 6), states=STATES))


@each_mapped
def test_nested_vmap_draws_the_elements_of_the_whole(name):
    f, x = MAPPED[name], torch.randn(2, 3, 5, 4, dtype=torch.float64)

    def nested(outer, inner):
        return vmap(vmap(lambda x: f(x, STATES), randomness=inner),
                    randomness=outer)(x)

    flat = f(x.reshape(6, 5, 4), STATES).reshape(x.shape)
    assert nested("different", "different").equal(flat)
    one = torch.stack([torch.stack([f(b, STATES) for b in a]) for a in x])
    assert nested("same", "same").equal(one)
    # The inner one alone differs, and so does the outer one alone
    rows = torch.stack([f(a, STATES) for a in x])
    assert nested("same", "different").equal(rows)
    columns = torch.stack([f(x[:, j], STATES) for j in range(3)], 1)
    assert nested("different", "same").equal(columns)


@each_mapped
def test_vmap_over_states_draws_from_each(name):
    states = torch.tensor([[[1, 0]], [[2, 4]], [[3, 8]]])
    f, x = MAPPED[name], batch(3)
    expected = torch.stack([f(a, b) for a, b in zip(x, states, strict=True)])
    assert vmap(f, randomness="same")(x, states).equal(expected)
    expected = torch.stack([f(x[0], b) for b in states])
    made = vmap(f, in_dims=(None, 0), randomness="same")(x[0], states)
    assert made.equal(expected)


@each
@pytest.mark.parametrize("randomness", ["different", "same"])
def test_per_sample_gradients_have_their_forwards_masks(name, randomness):
    x = batch(4)
    w = torch.randn(7, 3, dtype=torch.float64)
    f = drawn(name)
    forward = vmap(f, randomness=randomness)(x)
    ones = vmap(f, randomness=randomness)(x + 1) - forward  # the slope

    def loss(w, x):
        return f(x * w).pow(2).sum() / 2

    made = vmap(grad(loss), in_dims=(None, 0), randomness=randomness)(w, x)
    value = vmap(lambda w, x: f(x * w), in_dims=(None, 0),
                 randomness=randomness)(w, x)
    torch.testing.assert_close(made, value * ones * x)

    total = grad(lambda w: vmap(lambda x: loss(w, x),
                                randomness=randomness)(x).sum())(w)
    torch.testing.assert_close(total, made.sum(0))


def test_states_of_any_dimensions_are_rows_in_vmap():
    x = torch.ones(3, 50)
    whole = ph.dropout(x, P, states=STATES[0])
    made = vmap(lambda x: ph.dropout(x, P, states=STATES[0]),
                randomness="different")(x)
    assert made.equal(whole)
    made = vmap(lambda x: ph.dropout(x, P, states=STATES.reshape(1, 2, 1, 2)),
                randomness="different")(x)
    assert made.equal(whole)
    states = torch.arange(12).reshape(3, 2, 1, 2) * 4
    made = vmap(lambda x, s: ph.dropout(x, P, states=s, op=1),
                randomness="same")(x, states)
    rows = [ph.dropout(x[i], P, states=states[i, 1]) for i in range(3)]
    assert made.equal(torch.stack(rows))


@each
def test_states_are_reserved_inside_of_transforms(name):
    x = torch.randn(SHAPE, dtype=torch.float64)
    draw = getattr(ph, name)

    def f(x):
        return draw(x, P, site="t").sum()

    calls = (lambda: grad(f)(x), lambda: jvp(f, (x,), (x,))[1],
             lambda: grad(lambda x: grad(f)(x).sum() + f(x))(x),
             lambda: vmap(grad(f), randomness="different")(x.expand(1, *SHAPE)),
             lambda: jacrev(f)(x))
    for call in calls:
        ph.seed(3)
        before = ph.reserve("t")
        made = call()
        after = ph.reserve("t")
        assert after[0, 1] > before[0, 1] + 4  # the call has reserved
        ph.seed(3)
        ph.reserve("t")
        assert call().equal(made)


def test_backward_through_vmap_has_the_masks():
    x = torch.ones(5, 40, requires_grad=True)
    y = vmap(ph.dropout, randomness="different")(x)
    y.sum().backward()
    assert x.grad.equal(y.detach())
    with forward_ad.dual_level():
        z = forward_ad.make_dual(torch.ones(5, 40), torch.ones(5, 40))
        y = vmap(ph.dropout, randomness="different")(z)
        primal, tangent = forward_ad.unpack_dual(y)
        assert tangent.equal(primal)


def test_jvp_in_vmap_has_the_masks():
    def f(x):
        return jvp(lambda x: ph.dropout(x, P, states=STATES), (x,), (x,))

    x = torch.ones(4, 30)
    y, t = vmap(f, randomness="different")(x)
    assert y.equal(t) and y.equal(ph.dropout(x, P, states=STATES))


def test_in_place_in_vmap():
    x = torch.zeros(5, 8)
    vmap(lambda x: ph.normal_(x, states=STATES), randomness="different")(x)
    assert x.equal(ph.normal((5, 8), states=STATES))
    x = torch.ones(5, 8)
    made = vmap(lambda x: ph.dropout_(x, P, states=STATES),
                randomness="same")(x)
    assert made.equal(ph.dropout(torch.ones(8), P, states=STATES).expand(5, 8))
    assert x.equal(made)


def test_vmap_in_chunks_and_empty_samples():
    x = torch.ones(3, 0)
    made = vmap(ph.dropout, randomness="different")(x)
    assert made.shape == (3, 0)


def test_hessian_of_torch_func_is_refused_with_a_sentence_as_by_torch(x):
    # torch.func.hessian has no randomness: its vmap has "error"
    def theirs(x):
        return torch.nn.functional.dropout(x).pow(2).sum()

    for f in (theirs, lambda x: ph.dropout(x).pow(2).sum()):
        with pytest.raises(RuntimeError, match="randomness"):
            hessian(f)(x)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_mapped_states_are_each_samples_own(randomness):
    states = torch.tensor([[[1, 0]], [[2, 4]], [[3, 8]]])
    x = torch.ones(3, 50)
    expected = torch.stack([ph.dropout(a, P, states=s)
                            for a, s in zip(x, states, strict=True)])
    made = vmap(lambda x, s: ph.dropout(x, P, states=s),
                randomness=randomness)(x, states)
    assert made.equal(expected)
    made = vmap(grad(lambda x, s: ph.dropout(x, P, states=s).sum()),
                randomness=randomness)(x, states)
    assert made.equal(expected)

    def inner(x, states):
        return vmap(lambda x: ph.dropout(x, P, states=states),
                    randomness="different")(x)

    x = torch.ones(3, 4, 50)
    expected = torch.stack([ph.dropout(a, P, states=s)
                            for a, s in zip(x, states, strict=True)])
    assert vmap(inner, randomness="same")(x, states).equal(expected)
