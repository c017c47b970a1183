"""A small transformer is trained the same in every way."""

import subprocess
import sys
import textwrap

import pytest
import torch

import philox.torch as ph
from philox.torch import _states
from small import batch, new_transformer, require_close, require_same, train

STEPS, STOP = 20, 7


def new_run(around=None):
    model = new_transformer()
    model.around = around
    ph.seed(31)
    return model, torch.optim.AdamW(model.parameters(), 0.01)


def checkpointed(block, x):
    return ph.checkpoint(block, x)


@pytest.fixture(scope="module")
def eager():
    """The losses and parameters of the eager run."""
    _states.reset()
    model, optimizer = new_run()
    losses = train(model, optimizer, range(STEPS))
    return losses, [p.detach().clone() for p in model.parameters()]


def test_the_transformer_drops_at_eight_places_and_learns(eager):
    model, _ = new_run()
    assert len(ph.sites(model)) == 8
    losses = [float.fromhex(loss) for loss in eager[0]]
    assert len(set(losses)) == STEPS
    assert all(0 < loss < 5 for loss in losses)


def test_checkpoints_train_bit_for_bit_as_eager(eager):
    model, optimizer = new_run(checkpointed)
    assert train(model, optimizer, range(STEPS)) == eager[0]
    require_same(list(model.parameters()), eager[1])


def test_a_checkpoint_of_everything_trains_bit_for_bit_as_eager(eager):
    model, optimizer = new_run(checkpointed)

    def whole(tokens):
        return ph.checkpoint(model, tokens)

    assert train(whole, optimizer, range(STEPS)) == eager[0]
    require_same(list(model.parameters()), eager[1])


def test_a_graph_in_one_piece_on_eager_operators_trains_bit_for_bit(eager):
    """Dynamo alone leaves the arithmetic as it is."""
    model, optimizer = new_run()
    compiled = ph.compile(model, backend="eager", fullgraph=True)
    assert train(compiled, optimizer, range(STEPS)) == eager[0]
    require_same(list(model.parameters()), eager[1])


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("around", [None, checkpointed])
def test_compiled_training_follows_eager_up_to_rounding(eager, backend, around):
    model, optimizer = new_run(around)
    compiled = ph.compile(model, backend=backend, fullgraph=True)
    losses = train(compiled, optimizer, range(STEPS))
    for ours, theirs in zip(losses, eager[0], strict=True):
        assert abs(float.fromhex(ours) - float.fromhex(theirs)) < 1e-3


def test_compiled_masks_are_the_eager_ones_bit_for_bit():
    def run(wrap):
        model, _ = new_run()
        outputs = []
        for site in ph.sites(model):
            site.register_forward_hook(
                lambda site, inputs, output, name=site.site:
                outputs.append((output == 0) & (inputs[0] != 0)))
        call = wrap(model)
        seen = []
        for step in range(4):
            outputs.clear()
            call(batch(step))
            seen += list(outputs)
        return seen

    plain = run(lambda model: model)
    ours = run(lambda model: ph.compile(model, backend="aot_eager",
                                        fullgraph=True))
    assert len(plain) == 4 * 8
    assert all(mask.any() for mask in plain)
    require_same(ours, plain)


def test_backwards_of_micro_batches_may_come_in_any_order():
    """Gradients of several micro-batches are a sum, whatever the order."""
    def run(order, around):
        model, _ = new_run(around)
        losses = [model(batch(step)).square().mean() for step in range(4)]
        for i in order:
            losses[i].backward()
        return [p.grad for p in model.parameters()]

    expected = run([0, 1, 2, 3], None)
    require_close(run([3, 1, 0, 2], None), expected)
    require_close(run([2, 3, 1, 0], checkpointed), expected)


PART = """
    import sys, torch
    sys.path.insert(0, sys.argv[1])
    import philox.torch as ph
    from small import train
    from test_transformer import STEPS, STOP, checkpointed, new_run

    path, how = sys.argv[2], sys.argv[3]
    model, optimizer = new_run(checkpointed if how == "checkpoint" else None)
    # Sites and numbers that the other process did not have
    ph.dropout(torch.ones(3), site="of this process only")
    saved = torch.load(path, weights_only=True)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    ph.load_state_dict(saved["philox"])
    call = model
    if how == "compile":
        call = ph.compile(model, backend="eager")
    print(*train(call, optimizer, range(STOP, STEPS)), sep="\\n")
    torch.save(list(model.parameters()), path + ".out")
    assert not ph.unclaimed(), ph.unclaimed()
"""


@pytest.mark.parametrize("how", ["eager", "checkpoint", "compile"])
def test_training_resumes_in_another_process_bit_for_bit(
        eager, tmp_path, request, how):
    model, optimizer = new_run()
    assert train(model, optimizer, range(STOP)) == eager[0][:STOP]
    path = tmp_path / "saved"
    torch.save({"model": model.state_dict(), "philox": ph.state_dict(),
                "optimizer": optimizer.state_dict()}, path)
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PART),
         str(request.path.parent), str(path), how],
        capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == eager[0][STOP:]
    require_same(torch.load(f"{path}.out"), eager[1])
