"""Every way to declare what a compiled model draws, and which are right."""

import pytest
import torch
from torch import nn
from torch.utils import checkpoint as own

import philox.torch as ph
from small import (Squared, gradients, positive, require_close,
                   require_one_mask)

BUDGETS = torch._functorch.config
BACKENDS = ["aot_eager", "inductor"]


class Deep(nn.Module):
    """Linear layers with dropouts between; `around` calls each part."""

    def __init__(self, around=None):
        super().__init__()
        self.parts = nn.ModuleList(
            nn.Sequential(nn.Linear(32, 32), nn.Dropout(0.5), nn.GELU(),
                          nn.Dropout(0.25)) for _ in range(3))
        self.around = around

    def forward(self, x):
        for part in self.parts:
            x = self.around(part, x) if self.around else part(x)
        return x


def new_deep(around=None):
    torch.manual_seed(5)
    ph.seed(6)
    return ph.exchange(Deep(around))


def steps(call, model):
    """Return the results and gradients of three calls; the first is eager."""
    torch.manual_seed(8)
    all_of_them = []
    for _ in range(3):
        x = positive(16, 32)
        model.zero_grad()
        y = call(x)
        (y * y).sum().backward()
        all_of_them += [y.detach(), x.grad, *gradients(model)]
    return all_of_them


def philox_checkpoint(part, x):
    return ph.checkpoint(part, x)


def torch_checkpoint(part, x):
    return own.checkpoint(part, x, use_reentrant=False)


@pytest.fixture
def by_hand():
    """What three eager steps give when each mask is a plain product."""
    model = new_deep()

    def call(x):
        for part in model.parts:
            x = part[0](x)
            x = x * ph.dropout(torch.ones_like(x), 0.5, site=part[1].site)
            x = part[2](x)
            x = x * ph.dropout(torch.ones_like(x), 0.25, site=part[3].site)
        return x

    return steps(call, model)


def test_eager_steps_are_those_by_hand(by_hand):
    model = new_deep()
    require_close(steps(model, model), by_hand)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("budget", [1.0, 0.5, 0.1, 0.0])
def test_compiled_steps_are_those_by_hand_under_every_budget(
        by_hand, budget, backend):
    model = new_deep()
    with BUDGETS.patch(activation_memory_budget=budget):
        compiled = ph.compile(model, backend=backend, fullgraph=True)
        require_close(steps(compiled, model), by_hand)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("around", [philox_checkpoint, torch_checkpoint])
def test_checkpoints_in_a_compiled_model_are_right(by_hand, backend, around):
    model = new_deep(around)
    compiled = ph.compile(model, backend=backend, fullgraph=True)
    model.around = None
    compiled(torch.ones(1, 32))  # the eager call; PyTorch's knows no tape
    model.around = around
    ph.seed(6)
    require_close(steps(compiled, model), by_hand)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_checkpoint_around_a_compiled_model_is_right(by_hand, backend):
    model = new_deep()
    compiled = ph.compile(model, backend=backend, fullgraph=True)
    require_close(steps(lambda x: ph.checkpoint(compiled, x), model), by_hand)


def test_a_checkpoint_around_and_others_in_a_compiled_model_are_right(by_hand):
    model = new_deep(philox_checkpoint)
    with BUDGETS.patch(activation_memory_budget=0.1):
        compiled = ph.compile(model, backend="aot_eager", fullgraph=True)
        require_close(steps(lambda x: ph.checkpoint(compiled, x), model),
                      by_hand)


def test_checkpointed_calls_may_be_interleaved_from_the_first_on(by_hand):
    """The first call's recompute is eager, even after compiled calls."""
    model = new_deep()
    compiled = ph.compile(model, backend="aot_eager")
    torch.manual_seed(8)
    xs = [positive(16, 32) for _ in range(3)]
    ys = [ph.checkpoint(compiled, x) for x in xs]
    for i in (1, 0, 2):
        model.zero_grad()
        (ys[i] * ys[i]).sum().backward()
        n = len(by_hand) // 3
        require_close([ys[i].detach(), xs[i].grad, *gradients(model)],
                      by_hand[i * n:(i + 1) * n])


@pytest.mark.parametrize("backend", BACKENDS)
def test_plain_torch_compile_is_right_with_graph_breaks(by_hand, backend):
    model = new_deep()
    require_close(steps(torch.compile(model, backend=backend), model), by_hand)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_checkpoint_around_plain_torch_compile_is_right(by_hand, backend):
    model = new_deep()
    compiled = torch.compile(model, backend=backend)
    require_close(steps(lambda x: ph.checkpoint(compiled, x), model), by_hand)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("around", [philox_checkpoint, torch_checkpoint])
def test_checkpoints_in_plain_torch_compile_are_refused(backend, around):
    """PyTorch breaks the graph within the checkpoint, and no tape is there."""
    model = new_deep(around)
    y = torch.compile(model, backend=backend)(positive(16, 32))
    with pytest.raises(RuntimeError, match="with philox.torch.compile()"):
        y.sum().backward()


@pytest.mark.parametrize("backend", BACKENDS)
def test_reentrant_checkpoints_in_a_compiled_model_are_right(by_hand, backend):
    """The compiler does not let them reenter."""
    model = new_deep()
    compiled = ph.compile(model, backend=backend, fullgraph=True)
    compiled(torch.ones(1, 32))
    model.around = lambda part, x: own.checkpoint(part, x, use_reentrant=True)
    ph.seed(6)
    require_close(steps(compiled, model), by_hand)


def test_saved_tensors_may_be_moved_and_copied(by_hand):
    model = new_deep()
    with torch.autograd.graph.save_on_cpu():
        require_close(steps(model, model), by_hand)
    with torch.autograd.graph.saved_tensors_hooks(
            lambda tensor: tensor.clone(), lambda tensor: tensor.clone()):
        model = new_deep()
        require_close(steps(model, model), by_hand)


@pytest.mark.parametrize("budget", [0.5, 0.0])
def test_plain_torch_compile_is_right_under_a_budget(budget):
    with BUDGETS.patch(activation_memory_budget=budget):
        x = positive(64, 64)
        y = torch.compile(Squared(), backend="aot_eager")(x)
        y.sum().backward()
        require_one_mask(x, y)


@pytest.mark.parametrize("model", [
    Squared(), lambda x: ph.dropout(x, 0.5, site="drop")])
def test_plain_torch_compile_with_fullgraph_says_what_it_refuses(model):
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported) as error:
        compiled(positive(8))
    assert "torch.compiler.disable" in str(error.value)
    assert "philox" in str(error.value)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("budget", [1.0, 0.5, 0.0])
def test_states_of_the_caller_are_right_in_one_graph(budget, backend):
    def squared(x, states):
        y = ph.dropout(x, 0.5, states=states, op=1)
        return y * y

    with BUDGETS.patch(activation_memory_budget=budget):
        compiled = torch.compile(squared, backend=backend, fullgraph=True)
        for _ in range(2):
            x, states = positive(64, 64), ph.reserve("mine", 2)
            y = compiled(x, states)
            y.sum().backward()
            require_one_mask(x, y)
            assert torch.equal(y != 0, squared(x, states) != 0)
