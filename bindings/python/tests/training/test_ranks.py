"""Ranks: shards of a DTensor have the numbers of one process."""

import pytest
import torch
import torch.multiprocessing

import philox.torch as ph
import ranks_worker
from philox.torch import _states

WORLDS = (1, 2, 4)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What all ranks of 1, 2 and 4 found, by number of ranks and rank."""
    folder = tmp_path_factory.mktemp("ranks")
    found = {}
    for world in WORLDS:
        torch.multiprocessing.spawn(ranks_worker.main, (world, str(folder)),
                                    world)
        for rank in range(world):
            found[world, rank] = torch.load(folder / f"{world}.{rank}")
    return found


def alone(name, call=ranks_worker.draw):
    """Return what one process without DTensors draws."""
    _states.reset()
    ph.seed(2)
    x = ranks_worker.whole(name).requires_grad_()
    y = call(x)
    y.sum().backward()
    return y.detach(), x.grad


@pytest.mark.parametrize("world, key, name", [
    (world, key, name) for world in WORLDS
    for key, _, _, name in ranks_worker.cases(world)])
def test_any_mesh_and_placement_draws_what_one_process_does(
        results, world, key, name):
    y, gradient = alone(name)
    kept = y != 0
    assert kept.any() and not kept.all()
    assert torch.equal(gradient != 0, kept)
    for rank in range(world):
        ours, its_gradient, placed = results[world, rank][key]
        assert torch.equal(ours, y)
        assert torch.equal(its_gradient, gradient)
        assert placed


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("how", ["states", "model", "checkpoint"])
def test_dropout_of_a_dtensor_compiles_as_one_graph(results, how, dim, world):
    """So does a checkpoint repeat it."""
    y, gradient = alone("even")
    for rank in range(world):
        ours, its_gradient = results[world, rank][f"{how}, {dim}"]
        assert torch.equal(ours, y)
        assert torch.equal(its_gradient, gradient)


def test_pytorchs_dropout_depends_on_how_a_dtensor_is_cut(results):
    rows, columns = (results[2, 0][f"PyTorch's, {d}"] for d in (0, 1))
    assert isinstance(rows, torch.Tensor) and isinstance(columns, torch.Tensor)
    assert not torch.equal(rows, columns)


@pytest.mark.parametrize("world", WORLDS)
def test_a_partial_dtensor_is_refused(results, world):
    for rank in range(world):
        assert "redistribute" in results[world, rank]["partial"]


@pytest.mark.parametrize("world", WORLDS)
def test_a_dtensor_of_strided_shards_is_refused(results, world):
    for rank in range(world):
        told = results[world, rank]["strided"]
        assert told is True or "redistribute" in told


@pytest.mark.parametrize("world", WORLDS)
def test_a_dtensor_takes_states_that_are_shared_where_sites_differ(results,
                                                                   world):
    alone = ph.dropout(torch.ones(8), states=torch.tensor([[3, 0]]))
    for rank in range(world):
        told = results[world, rank]["differs, a DTensor"]
        assert "'dropout' draws for a DTensor" in told and "data" in told
        assert torch.equal(results[world, rank]["given, a DTensor"], alone)


def plain_alone():
    ph.seed(2)
    return [ph.dropout(torch.ones(64), site="plain") for _ in range(3)]


@pytest.mark.parametrize("how", ["plain", "alike"])
def test_ranks_draw_alike_for_plain_tensors_unless_told(results, how):
    for world in WORLDS:
        for rank in range(world):
            for ours, theirs in zip(results[world, rank][how], plain_alone()):
                assert torch.equal(ours, theirs)
            _states.reset()


def test_ranks_differ_along_an_axis_that_is_told_and_rank_0_is_one_process(
        results):
    for world in WORLDS:
        draws = [results[world, rank]["differs"] for rank in range(world)]
        _states.reset()
        for ours, theirs in zip(draws[0], plain_alone()):
            assert torch.equal(ours, theirs)
        masks = {tuple(y.tolist()) for of_rank in draws for y in of_rank}
        assert len(masks) == 3 * world


@pytest.mark.parametrize("world", WORLDS)
def test_several_ranks_without_a_mesh_are_warned_once(results, world):
    for rank in range(world):
        told = results[world, rank]["warnings"]
        assert len(told) == (1 if world > 1 else 0)
        assert all("set_mesh" in text and str(world) in text for text in told)
        assert results[world, rank]["warnings with a mesh"] == []
