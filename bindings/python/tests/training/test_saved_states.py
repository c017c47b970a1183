"""state_dict(), load_state_dict(), seed() and set_mesh()."""

import copy
import io
import os
import subprocess
import sys
import textwrap
import warnings

import pytest
import torch
import torch.distributed as dist

import philox.torch as ph
from philox.torch import _states
from small import Squared, positive, require_one_mask, require_same

SITES = ["a", "b.0", "c d", "\u00e9t\u00e9"]


def draw(times=1, sites=SITES):
    return [ph.reserve(site, n) for _ in range(times) for site in sites
            for n in (1, 3)]


def through_a_file(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def test_a_saved_state_continues_bit_for_bit():
    ph.seed(-5)
    draw(3)
    state = through_a_file(ph.state_dict())
    expected = draw(2)
    draw(1)
    ph.load_state_dict(state)
    require_same(draw(2), expected)


def test_a_state_is_a_snapshot():
    draw()
    state = ph.state_dict()
    kept = copy.deepcopy(state)
    draw()
    ph.seed(1)
    assert state == kept


def test_a_state_without_any_draw_has_the_seed():
    ph.seed(77)
    state = through_a_file(ph.state_dict())
    expected = draw()
    _states.reset()
    ph.load_state_dict(state)
    require_same(draw(), expected)


OTHER = """
    import sys, torch
    import philox.torch as ph

    ph.seed(1234)
    for site in ("a", "only here"):
        ph.reserve(site, 5)
    ph.load_state_dict(torch.load(sys.argv[1], weights_only=True))
    print(sorted(ph.unclaimed()))
    rows = [ph.reserve(site, n) for site in sys.argv[2:] for n in (1, 3)]
    rows.append(ph.reserve("only here"))
    torch.save(rows, sys.argv[1])
    print(ph.unclaimed())
"""


def test_a_process_with_other_sites_continues_too(tmp_path):
    ph.seed(9)
    draw(2)
    torch.save(ph.state_dict(), tmp_path / "state")
    expected = [*draw(), ph.reserve("only here")]
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(OTHER), str(tmp_path / "state"),
         *SITES], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [str(sorted(SITES)), "[]"]
    require_same(torch.load(tmp_path / "state"), expected)


def damaged(state):
    """Yield states that are wrong in one way each."""
    text = state["contexts"]["cpu"]

    def with_text(text):
        return {**state, "contexts": {"cpu": text}}

    yield with_text("")
    yield with_text("not philox")
    yield with_text(text[:-1])
    yield with_text(text[:len(text) // 2])
    yield with_text(text + text)
    for at in range(0, len(text), max(len(text) // 40, 1)):
        if text[at].isdigit():
            other = str((int(text[at]) + 1) % 10)
            yield with_text(text[:at] + other + text[at + 1:])
    yield {**state, "version": 2}
    yield {name: value for name, value in state.items() if name != "version"}
    yield {name: value for name, value in state.items() if name != "seed"}
    yield {name: value for name, value in state.items() if name != "contexts"}


def test_a_damaged_state_raises_and_changes_nothing():
    ph.seed(3)
    draw()
    saved = ph.state_dict()
    draw()
    before, digest = ph.state_dict(), ph.digest()
    n = 0
    for state in damaged(saved):
        with pytest.raises((ph.Error, ValueError, KeyError)):
            ph.load_state_dict(state)
        assert ph.state_dict() == before and ph.digest() == digest
        n += 1
    assert n > 15
    expected = draw()
    _states.reset()
    ph.load_state_dict(before)
    require_same(draw(), expected)


def test_graphs_survive_a_load():
    """Their states are data."""
    model = Squared()
    x = positive(200)
    y = model(x)
    ph.load_state_dict(ph.state_dict())
    model(positive(200))
    y.sum().backward()
    require_one_mask(x, y)


def test_seed_restarts_every_site():
    ph.seed(5)
    first = draw(2)
    ph.seed(5)
    require_same(draw(2), first)
    ph.seed(6)
    other = draw(2)
    for ours, theirs in zip(other, first, strict=True):
        assert not torch.equal(ours, theirs)


@pytest.mark.parametrize("one, two, same", [
    (-1, 2**64 - 1, True), (-2**63, 2**63, True), (0, 2**64 - 1, False),
    (1, 2**32 + 1, False), (1, 2**63 + 1, False)])
def test_seeds_have_64_bits(one, two, same):
    ph.seed(one)
    first = ph.dropout(torch.ones(200))
    ph.seed(two)
    assert torch.equal(first, ph.dropout(torch.ones(200))) == same


@pytest.mark.parametrize("seed", [2**64, -2**63 - 1])
def test_seeds_with_more_bits_are_refused(seed):
    before = ph.state_dict()
    with pytest.raises(ValueError):
        ph.seed(seed)
    assert ph.state_dict() == before


def test_the_order_in_which_sites_are_made_does_not_matter():
    ph.seed(2)
    forth = {site: ph.reserve(site, 2) for site in SITES}
    _states.reset()
    ph.seed(2)
    back = {site: ph.reserve(site, 2) for site in reversed(SITES)}
    for site in SITES:
        assert torch.equal(forth[site], back[site])


def test_sites_have_numbers_of_their_own():
    masks = [ph.dropout(torch.ones(200), site=f"s{i}") for i in range(100)]
    assert len({tuple(mask.tolist()) for mask in masks}) == 100


def on(coordinate, differs=(), n=4, axis="data"):
    """Return draws of the rank at a coordinate of a mesh."""
    _states.reset()
    ph.seed(8)
    ph.set_mesh({axis: (n, coordinate), "tensor": (2, coordinate % 2)},
                differs=differs)
    return torch.stack([ph.dropout(torch.ones(100), site=site)
                        for site in ("x", "y") for _ in range(3)])


def test_ranks_differ_only_along_axes_that_are_told():
    ph.seed(8)
    alone = torch.stack([ph.dropout(torch.ones(100), site=site)
                         for site in ("x", "y") for _ in range(3)])
    for rank in range(4):
        assert torch.equal(on(rank), alone)
    ranks = [on(rank, differs=["data"]) for rank in range(4)]
    assert torch.equal(ranks[0], alone)
    rows = {tuple(row.tolist()) for rank in ranks for row in rank}
    assert len(rows) == 4 * 6


def test_other_axes_do_not_change_what_differs():
    _states.reset()
    of_data = []
    for tensor in range(2):
        _states.reset()
        ph.set_mesh({"data": (2, 1), "tensor": (2, tensor)}, differs=["data"])
        of_data.append(ph.dropout(torch.ones(100), site="x"))
    assert torch.equal(*of_data)


def test_an_unknown_axis_is_refused_and_changes_nothing():
    with pytest.raises(ValueError, match="'pipe'"):
        ph.set_mesh({"data": (2, 1)}, differs=["pipe"])
    ph.set_mesh({"data": (2, 0)})


def test_a_mesh_comes_before_the_first_draw():
    ph.set_mesh({"data": (2, 1)}, differs=["data"])
    ph.set_mesh({"data": (4, 3)}, differs=["data"])
    ph.reserve("x")
    before = ph.state_dict()
    with pytest.raises(ph.Error):
        ph.set_mesh({"data": (2, 1)}, differs=["data"])
    assert ph.state_dict() == before


def test_a_state_of_another_mesh_is_refused():
    ph.set_mesh({"data": (2, 1)}, differs=["data"])
    draw()
    state = ph.state_dict()
    _states.reset()
    draw()
    before = ph.state_dict()
    with pytest.raises(ph.Error):
        ph.load_state_dict(state)
    assert ph.state_dict() == before


def test_the_mesh_and_its_ranks_survive_a_load():
    ph.seed(8)
    ph.set_mesh({"data": (4, 2)}, differs=["data"])
    draw()
    state = through_a_file(ph.state_dict())
    expected = draw(1, [*SITES, "new"])
    _states.reset()
    ph.set_mesh({"data": (4, 2)}, differs=["data"])
    ph.load_state_dict(state)
    require_same(draw(1, [*SITES, "new"]), expected)


def test_a_fork_does_not_draw_its_parents_numbers():
    ph.reserve("a")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            ph.reserve("a")
            os.write(writing, b"drew")
        except ph.Error as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"fork" in os.read(reading, 1000)
    os.close(reading)
    os.close(writing)


def test_one_rank_alone_is_not_warned(tmp_path):
    store = dist.FileStore(str(tmp_path / "store"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ph.dropout(torch.ones(3))
    finally:
        dist.destroy_process_group()


def test_saved_micro_batches_take_their_states_with_them():
    """A state that was reserved is the caller's to save."""
    states = ph.reserve("mine", 2)
    saved = through_a_file({"mine": states, "philox": ph.state_dict()})
    x = torch.ones(200)
    expected = ph.dropout(x, states=states, op=1)
    _states.reset()
    ph.load_state_dict(saved["philox"])
    assert torch.equal(ph.dropout(x, states=saved["mine"], op=1), expected)
    assert not torch.equal(ph.reserve("mine", 2), states)
