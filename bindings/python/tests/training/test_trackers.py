"""Cases that users of PyTorch have reported, which philox must settle.

Where PyTorch's own operator still fails, that is tested too: a test that says
so fails when PyTorch no longer does.
"""

import contextlib
import subprocess
import sys
import textwrap

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import philox.torch as ph
from small import Squared, positive, require_one_mask

BUDGETS = torch._functorch.config


def own_squared(x):
    """PyTorch's dropout, squared."""
    y = F.dropout(x, 0.5)
    return y * y


@pytest.mark.parametrize("budget", [0.5, 0.0])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_gradient_has_the_mask_under_a_memory_budget(backend, budget):
    with BUDGETS.patch(activation_memory_budget=budget):
        model = ph.compile(Squared(), backend=backend, fullgraph=True)
        model(torch.ones(2))  # eager, and counts
        for _ in range(2):
            x = positive(64, 64)
            y = model(x)
            y.sum().backward()
            require_one_mask(x, y)


@pytest.mark.parametrize("budget", [0.5, 0.0])
def test_pytorchs_gradient_lacks_the_mask_under_a_memory_budget(budget):
    with BUDGETS.patch(activation_memory_budget=budget):
        x = positive(64, 64)
        y = torch.compile(own_squared, backend="aot_eager")(x)
        y.sum().backward()
        with pytest.raises(AssertionError):
            require_one_mask(x, y)


class Branches(nn.Module):
    """A large branch, then a small one; they meet at the end."""

    def __init__(self):
        super().__init__()
        self.large = ph.Dropout(0.5, site="large")
        self.small = ph.Dropout(0.5, site="small")

    def forward(self, x, y):
        a, b = self.large(x), self.small(y)
        return a, b, (a @ a).sum() + (b @ b).sum()


def test_branches_keep_their_numbers_when_reordered_for_peak_memory():
    """PyTorch 2.15 does not reorder its own dropouts in this model, so only
    ours are tested."""
    def run(model):
        ph.seed(1)
        results = []
        for _ in range(3):
            x, y = positive(256, 256), positive(8, 8)
            a, b, total = model(x, y)
            total.backward()
            results += [a != 0, b != 0, x.grad, y.grad]
        return results

    torch.manual_seed(3)
    eager = run(Branches())
    with torch._inductor.config.patch(fallback_random=True,
                                      reorder_for_peak_memory=True):
        torch.manual_seed(3)
        compiled = run(ph.compile(Branches(), fullgraph=True))
    for ours, theirs in zip(compiled, eager):
        torch.testing.assert_close(ours, theirs)
    kept = eager[0]
    assert kept.any() and not kept.all()


class DeepSpeeds(torch.autograd.Function):
    """The checkpoint of DeepSpeed: it restores PyTorch's generator itself."""

    @staticmethod
    def forward(ctx, function, x):
        ctx.function, ctx.state = function, torch.get_rng_state()
        ctx.save_for_backward(x)
        with torch.no_grad():
            return function(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        with torch.enable_grad():
            y = ctx.function(x)
        torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, x.grad


class Around(nn.Module):
    """A model that calls DeepSpeed's checkpoint."""

    def __init__(self):
        super().__init__()
        self.inner = Squared()

    def forward(self, x):
        return DeepSpeeds.apply(self.inner, x)


@pytest.mark.parametrize("anchored", [True, False])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_deepspeeds_checkpoint_in_a_compiled_model_is_refused(
        backend, anchored):
    """It leaves the graph, so that its recompute has no states: no gradient is
    better than a wrong one."""
    model = ph.compile(Around(), backend=backend)
    model(torch.ones(2))
    with ph.anchored() if anchored else contextlib.nullcontext():
        y = model(positive(1000))
        with pytest.raises(RuntimeError, match="drop'? draws in"):
            y.sum().backward()


class WithCheckpoint(Around):
    """The same model with philox's checkpoint."""

    def forward(self, x):
        return ph.checkpoint(self.inner, x)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_model_with_philoxs_checkpoint_has_one_mask(backend):
    model = ph.compile(WithCheckpoint(), backend=backend, fullgraph=True)
    for _ in range(3):
        x = positive(1000)
        y = model(x)
        y.sum().backward()
        require_one_mask(x, y)


def test_pytorchs_compiled_model_with_deepspeeds_checkpoint_has_two_masks():
    model = torch.compile(lambda x: DeepSpeeds.apply(own_squared, x))
    x = positive(1000)
    y = model(x)
    y.sum().backward()
    with pytest.raises(AssertionError):
        require_one_mask(x, y)


def test_eager_deepspeeds_checkpoint_is_right_when_anchored():
    model = Squared()
    masks = []
    with ph.anchored():
        for _ in range(2):
            x = positive(1000)
            y = DeepSpeeds.apply(model, x)
            y.sum().backward()
            require_one_mask(x, y)
            masks.append(y != 0)
    assert not torch.equal(*masks)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_deepspeeds_checkpoint_around_a_compiled_model_is_right_anchored(
        backend):
    model = ph.compile(Squared(), backend=backend)
    model(torch.ones(2))
    with ph.anchored():
        for _ in range(3):
            x = positive(1000)
            y = DeepSpeeds.apply(model, x)
            y.sum().backward()
            require_one_mask(x, y)


def saved_bytes(function, x):
    """Return how many bytes of tensors autograd keeps for function(x)."""
    sizes = []

    def pack(tensor):
        sizes.append(tensor.numel() * tensor.element_size())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(x)
    return sum(sizes)


@pytest.mark.parametrize("draw, shape", [
    (ph.dropout, (1024, 1024)), (ph.dropout1d, (64, 64, 64)),
    (ph.dropout2d, (16, 16, 16, 16)), (ph.alpha_dropout, (1024, 1024)),
    (ph.feature_alpha_dropout, (64, 64, 64)), (ph.stochastic_round, (1024,)),
    (ph.bernoulli, (1024,))])
def test_a_draw_saves_at_most_32_bytes(draw, shape):
    x = (torch.rand(shape) / 2).requires_grad_()
    assert 0 < saved_bytes(draw, x) <= 32


def test_pytorchs_dropout_saves_a_byte_or_more_an_element():
    x = torch.ones(1024, 1024, requires_grad=True)
    assert saved_bytes(lambda x: F.dropout(x, 0.5), x) >= x.numel()


def test_a_compiled_draw_saves_no_mask():
    model = ph.compile(nn.Sequential(ph.Dropout(0.5, site="a"),
                                     ph.Dropout(0.5, site="b")),
                       backend="aot_eager", fullgraph=True)
    x = torch.ones(256, 256, requires_grad=True)
    model(x)
    assert 0 < saved_bytes(model, x) <= 2 * 32


RESUMED = """
    import sys, torch
    from torch.utils.data import DataLoader, TensorDataset
    import philox.torch as ph

    path, start, stop = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(0)
    ph.seed(11)
    data = TensorDataset(torch.randn(40, 8), torch.randn(40, 1))
    model = ph.exchange(torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.Dropout(0.3), torch.nn.Tanh(),
        torch.nn.Dropout(0.3), torch.nn.Linear(16, 1)))
    adam = torch.optim.Adam(model.parameters(), 0.01)
    if start:
        saved = torch.load(path, weights_only=True)
        model.load_state_dict(saved["model"])
        adam.load_state_dict(saved["adam"])
        ph.load_state_dict(saved["philox"])
    for i, (x, y) in enumerate(DataLoader(data, batch_size=4)):
        if not start <= i < stop:
            continue
        loss = ((model(x) - y) ** 2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        print(i, loss.item().hex())
    torch.save({"model": model.state_dict(), "adam": adam.state_dict(),
                "philox": ph.state_dict()}, path)
    for name, value in model.state_dict().items():
        print(name, [v.hex() for v in value.flatten().tolist()])
"""


def test_a_run_stopped_in_an_epoch_resumes_in_a_new_process(tmp_path):
    def run(name, start, stop):
        result = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(RESUMED),
             str(tmp_path / name), str(start), str(stop)],
            capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout.splitlines()

    whole = run("whole", 0, 10)
    first = run("parts", 0, 4)
    second = run("parts", 4, 10)
    assert first[:4] + second == whole
    assert len({line.split()[1] for line in whole[:10]}) == 10
