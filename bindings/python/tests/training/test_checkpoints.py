"""Checkpoints: a recompute draws what its forward drew, or says it cannot."""

import threading

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils import checkpoint as own

import philox.torch as ph
from small import Squared, positive, require_close, require_one_mask, \
    require_same


def chain(x, depth=3):
    """Several dropouts in a row, so that order matters."""
    for i in range(depth):
        x = torch.sin(ph.dropout(x, 0.25, site=f"site{i % 2}")) + 0.1
    return x


def run(call, *, retain=1):
    """Return y and gradients of two forwards, whose backwards are reversed."""
    ph.seed(3)
    torch.manual_seed(4)
    xs = [positive(50) for _ in range(2)]
    ys = [call(x) for x in xs]
    for y in reversed(ys):
        for i in range(retain):
            y.sum().backward(retain_graph=i + 1 < retain)
    return [*(y.detach() for y in ys), *(x.grad / retain for x in xs)]


def nested(x):
    return ph.checkpoint(lambda x: chain(ph.checkpoint(
        lambda x: chain(ph.checkpoint(chain, x)), x)), x)


def flat(x):
    return chain(chain(chain(x)))


def test_a_checkpoint_is_its_function():
    require_same(run(lambda x: ph.checkpoint(chain, x)), run(chain))


def test_a_checkpoint_may_be_told_that_it_is_not_reentrant():
    require_same(run(lambda x: ph.checkpoint(chain, x, use_reentrant=False)),
                 run(chain))
    with pytest.raises(ValueError, match="anchored"):
        ph.checkpoint(chain, positive(3), use_reentrant=True)


def test_nested_checkpoints_are_their_function():
    require_same(run(nested), run(flat))


@pytest.mark.parametrize("call", [lambda x: ph.checkpoint(chain, x), nested])
def test_a_retained_graph_recomputes_the_same_twice(call):
    require_same(run(call, retain=2), run(call))


def test_the_gradient_has_the_mask_of_the_forward():
    x = positive(1000)
    y = ph.checkpoint(Squared(), x)
    y.sum().backward()
    require_one_mask(x, y)


def test_a_recompute_takes_nothing_new():
    """Later draws are those of a run without a checkpoint."""
    run(lambda x: ph.checkpoint(chain, x), retain=3)
    after = [ph.reserve("site0"), ph.reserve("site1")]
    run(chain)
    require_same(after, [ph.reserve("site0"), ph.reserve("site1")])


SAVED, RECOMPUTED = (own.CheckpointPolicy.MUST_SAVE,
                     own.CheckpointPolicy.MUST_RECOMPUTE)


@pytest.mark.parametrize("saved", ["sin", "dropout", "nothing", ""])
def test_selective_checkpoints_are_right_under_every_policy(saved):
    """The policy saves operators whose name contains `saved`."""
    asked = set()

    def policy(context, op, *arguments, **keywords):
        asked.add(op._schema.name)
        return SAVED if saved in op._schema.name else RECOMPUTED

    def call(x):
        return ph.checkpoint(
            chain, x, context_fn=lambda:
            own.create_selective_checkpoint_contexts(policy))

    require_same(run(call), run(chain))
    assert asked == {"philox::dropout", "aten::sin", "aten::add"}


def test_a_selective_checkpoint_does_not_see_how_states_are_reserved():
    """Else operators of the recompute would get what others have saved."""
    def policy(context, op, *arguments, **keywords):
        return SAVED

    def function(x):
        x = ph.dropout(x, 0.5, states=ph.reserve("several", 25), op=24)
        return torch.sin(torch.cat([x[:25].sin(), x[25:]]))

    def call(x):
        return ph.checkpoint(
            function, x, context_fn=lambda:
            own.create_selective_checkpoint_contexts(policy))

    require_same(run(call), run(function))


def test_pytorchs_checkpoint_with_our_contexts_is_right():
    require_same(run(lambda x: own.checkpoint(
        chain, x, use_reentrant=False, context_fn=ph.checkpoint_contexts)),
        run(chain))


@pytest.mark.parametrize("early", [True, False])
def test_a_recompute_may_stop_early(early):
    calls = []

    def function(x):
        y = ph.dropout(chain(x), 0.5, site="last") * 1.0
        calls.append(1)
        return y

    with own.set_checkpoint_early_stop(early):
        ours = run(lambda x: ph.checkpoint(function, x))
    assert len(calls) == (2 if early else 4)
    require_same(ours, run(function))


def test_a_recompute_that_draws_elsewhere_names_both_sites():
    names = iter(["forward_site", "recompute_site"])

    def function(x):
        return ph.dropout(x, 0.5, site=next(names)).sin()

    y = ph.checkpoint(function, positive(10))
    with pytest.raises(RuntimeError) as error:
        y.sum().backward()
    assert "forward_site" in str(error.value)
    assert "recompute_site" in str(error.value)


def test_a_recompute_that_draws_more_names_the_site():
    more = iter([0, 1])

    def function(x):
        x = x.sin()
        for _ in range(next(more)):
            x = ph.dropout(x, 0.5, site="surplus")
        return x.sin()

    y = ph.checkpoint(function, positive(10))
    with pytest.raises(RuntimeError, match="surplus"):
        y.sum().backward()


def test_pytorchs_checkpoint_without_a_tape_names_the_site():
    y = own.checkpoint(Squared(), positive(10), use_reentrant=False)
    with pytest.raises(RuntimeError, match="'drop' draws inside a backward"):
        y.sum().backward()


def test_a_reentrant_checkpoint_without_an_anchor_names_the_site():
    y = own.checkpoint(Squared(), positive(10), use_reentrant=True)
    with pytest.raises(RuntimeError, match="'drop' draws inside a backward"):
        y.sum().backward()


def test_an_error_in_a_backward_leaves_later_ones_right():
    y = own.checkpoint(Squared(), positive(10), use_reentrant=False)
    with pytest.raises(RuntimeError):
        y.sum().backward()
    require_same(run(lambda x: ph.checkpoint(chain, x)), run(chain))


def test_an_error_in_a_forward_leaves_no_tape():
    def function(x):
        ph.dropout(x, 0.5)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        ph.checkpoint(function, positive(10))
    x = positive(100)
    y = Squared()(x)
    y.sum().backward()
    require_one_mask(x, y)


def test_reentrant_checkpoints_are_right_when_anchored():
    model, masks = Squared(), []
    with ph.anchored():
        for _ in range(2):
            x = positive(1000)
            y = own.checkpoint(model, x, use_reentrant=True)
            y.sum().backward()
            require_one_mask(x, y)
            masks.append(y != 0)
    assert not torch.equal(*masks)


def test_an_anchor_within_a_reentrant_checkpoint_holds_in_any_thread():
    def function(x):
        with ph.anchored():
            y = ph.dropout(x, 0.5)
        return y * y

    x = positive(1000)
    y = own.checkpoint(function, x, use_reentrant=True)
    thread = threading.Thread(target=lambda: y.sum().backward())
    thread.start()
    thread.join()
    require_one_mask(x, y)


class Several(nn.Module):
    """A module that draws before and after another."""

    def __init__(self):
        super().__init__()
        self.a, self.b = ph.Dropout(0.5, site="a"), ph.Dropout(0.5, site="b")

    def forward(self, x):
        return torch.stack([m(x) for m in (self.b, self.a, self.b)]) ** 2


def test_a_reentrant_checkpoint_around_a_compiled_model_is_right_anchored():
    model = ph.compile(Several(), backend="aot_eager", fullgraph=True)
    x = positive(1000)
    with ph.anchored():
        with pytest.raises(RuntimeError, match="outside of philox.torch"):
            model(x)
    model(x)
    with ph.anchored():
        for _ in range(2):
            x = positive(1000)
            y = own.checkpoint(model, x, use_reentrant=True)
            y.sum().backward()
            torch.testing.assert_close(x.grad * x.detach(),
                                       2 * y.detach().sum(0))
            assert not torch.equal(y[0], y[2])


def test_anchored_numbers_follow_pytorchs_seed():
    def draw():
        torch.manual_seed(1)
        with ph.anchored():
            return [ph.dropout(torch.ones(100)) for _ in range(2)]

    first, again = draw(), draw()
    require_same(first, again)
    assert not torch.equal(*first)


def test_pytorchs_own_draws_in_a_checkpoint_are_right_too():
    """A function may draw with both generators."""
    def function(x):
        y = ph.dropout(F.dropout(x, 0.5), 0.5)
        return y * y

    x = positive(1000)
    y = ph.checkpoint(function, x)
    y.sum().backward()
    require_one_mask(x, y)


class DrawsInBackward(torch.autograd.Function):
    """The identity, whose gradient gets a mask of its own."""

    @staticmethod
    def forward(ctx, x, allowed):
        ctx.allowed = allowed
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        if not ctx.allowed:
            return ph.dropout(gradient, 0.5, site="backward"), None
        with ph.fresh():
            return ph.dropout(gradient, 0.5, site="backward"), None


def test_new_numbers_in_a_backward_need_leave():
    x = positive(1000)
    with pytest.raises(RuntimeError, match="'backward' draws inside"):
        DrawsInBackward.apply(x, False).sum().backward()
    masks = []
    for _ in range(2):
        x.grad = None
        DrawsInBackward.apply(x, True).sum().backward()
        masks.append(x.grad != 0)
        assert masks[-1].any() and not masks[-1].all()
    assert not torch.equal(*masks)


def test_gradients_of_gradients_under_a_checkpoint_have_the_mask():
    x = positive(1000)
    y = ph.checkpoint(lambda x: ph.dropout(x, 0.5) ** 3, x)
    first, = torch.autograd.grad(y.sum(), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)
    kept = y != 0
    assert kept.any() and not kept.all()
    assert torch.equal(first != 0, kept) and torch.equal(second != 0, kept)


def test_a_gradient_penalty_within_a_checkpoint_is_right():
    def penalty(x):
        y = ph.checkpoint(chain, x)
        g, = torch.autograd.grad(y.sum(), x, create_graph=True)
        return (g * g) + y

    def plain(x):
        y = chain(x)
        g, = torch.autograd.grad(y.sum(), x, create_graph=True)
        return (g * g) + y

    require_close(run(lambda x: ph.checkpoint(penalty, x)), run(plain))


def test_tapes_of_sequential_checkpoints_are_their_own():
    model = ph.exchange(nn.Sequential(*[nn.Dropout(0.2) for _ in range(6)]))

    def call(x):
        for part in model:
            x = ph.checkpoint(lambda x, part=part: part(x).sin(), x)
        return x

    def plain(x):
        for part in model:
            x = part(x).sin()
        return x

    require_same(run(call), run(plain))
