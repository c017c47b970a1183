"""What each rank of test_ranks.py runs: all cases of one number of ranks."""

import os
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import (DTensor, Partial, Replicate, Shard,
                                      distribute_tensor)

import philox.torch as ph
from philox.torch import _states

#: The shapes of whole tensors, by name.
SHAPES = {"even": (8, 12), "uneven": (7, 5), "fewer": (3, 2),
          "middle": (3, 6, 5), "line": (11,), "four": (2, 5, 3, 4)}

#: Placements for any number of ranks in a row.
ROW = {
    "Shard(0)": [Shard(0)], "Shard(1)": [Shard(1)], "Shard(2)": [Shard(2)],
    "Shard(-1)": [Shard(-1)], "Replicate": [Replicate()]}

#: Placements on a mesh of 2 by 2 ranks.
SQUARE = {
    "Shard(0), Shard(1)": [Shard(0), Shard(1)],
    "Shard(1), Shard(0)": [Shard(1), Shard(0)],
    "Shard(1), Shard(1)": [Shard(1), Shard(1)],
    "Shard(0), Shard(0)": [Shard(0), Shard(0)],
    "Shard(2), Shard(1)": [Shard(2), Shard(1)],
    "Replicate, Shard(1)": [Replicate(), Shard(1)],
    "Shard(0), Replicate": [Shard(0), Replicate()],
    "Replicate, Replicate": [Replicate(), Replicate()]}


def whole(name):
    """Return the whole tensor of a case, without zeros."""
    shape = SHAPES[name]
    return (torch.arange(torch.Size(shape).numel()) % 7 + 1.0).reshape(shape)


def fits(placements, name):
    """Does a tensor have the dimensions that it is to be cut along?"""
    return all(not isinstance(p, Shard) or p.dim < len(SHAPES[name])
               for p in placements)


def cases(world):
    """Return the cases of a number of ranks."""
    found = [((f"{placement} of {name}"), (world,), placements, name)
             for placement, placements in ROW.items() for name in SHAPES
             if fits(placements, name)]
    if world == 4:
        found += [((f"{placement} of {name}"), (2, 2), placements, name)
                  for placement, placements in SQUARE.items() for name in SHAPES
                  if fits(placements, name)]
    return found


def draw(x):
    """Return the second draw of a site, squared."""
    ph.dropout(x, 0.4, site="drop")
    y = ph.dropout(x, 0.4, site="drop")
    return y * y


class Model(nn.Module):
    """A module that a DTensor goes through."""

    def __init__(self):
        super().__init__()
        self.drop = ph.Dropout(0.4, site="drop")

    def forward(self, x):
        y = self.drop(x)
        return y * y


def again():
    _states.reset()
    ph.seed(2)


def run_cases(world, results):
    meshes = {}
    for key, shape, placements, name in cases(world):
        if shape not in meshes:
            meshes[shape] = init_device_mesh("cpu", shape)
        again()
        x = distribute_tensor(whole(name), meshes[shape],
                              placements).requires_grad_()
        y = draw(x)
        y.sum().backward()
        results[key] = (y.full_tensor().detach(), x.grad.full_tensor(),
                        tuple(y.placements) == tuple(x.placements))


def run_others(world, results):
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("data",))

    def compiled(x, states):
        y = ph.dropout(x, 0.4, states=states, op=1)
        return y * y

    for placement in (Shard(0), Shard(1)):
        again()
        torch._dynamo.reset()
        x = distribute_tensor(whole("even"), mesh, [placement]).requires_grad_()
        y = torch.compile(compiled, backend="aot_eager", fullgraph=True)(
            x, ph.reserve("drop", 2))
        y.sum().backward()
        results[f"states, {placement.dim}"] = (y.full_tensor().detach(),
                                           x.grad.full_tensor())

        again()
        torch._dynamo.reset()
        x = distribute_tensor(whole("even"), mesh, [placement]).requires_grad_()
        model = ph.compile(Model(), backend="aot_eager", fullgraph=True)
        model(x)
        y = model(x)
        y.sum().backward()
        results[f"model, {placement.dim}"] = (y.full_tensor().detach(),
                                          x.grad.full_tensor())

        again()
        x = distribute_tensor(whole("even"), mesh, [placement]).requires_grad_()
        y = ph.checkpoint(draw, x)
        y.sum().backward()
        results[f"checkpoint, {placement.dim}"] = (y.full_tensor().detach(),
                                               x.grad.full_tensor())

        torch.manual_seed(0)
        x = distribute_tensor(torch.ones(8, 12), mesh, [placement])
        try:
            own = nn.functional.dropout(x, 0.4).full_tensor()
        except Exception as error:  # which one is not ours to say
            own = repr(error)
        results[f"PyTorch's, {placement.dim}"] = own

    again()
    x = DTensor.from_local(torch.ones(4), mesh, [Partial()], run_check=False)
    results["partial"] = refused(x)
    # Of which each rank has parts that are apart
    strided = distribute_tensor(torch.ones(4, 8), mesh, [Shard(1)]).flatten()
    results["strided"] = (world == 1 or all(
        type(one) is Shard for one in strided.placements) or refused(strided))
    again()
    ph.set_mesh(mesh, differs=["data"])
    x = distribute_tensor(torch.ones(8), mesh, [Replicate()])
    results["differs, a DTensor"] = refused(x)
    given = torch.tensor([[3, 0]])
    results["given, a DTensor"] = ph.dropout(x, states=given).to_local()

    # Plain tensors
    again()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plain = [ph.dropout(torch.ones(64), site="plain") for _ in range(3)]
    results["plain"] = plain
    results["warnings"] = [str(w.message) for w in caught]
    again()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ph.set_mesh(mesh)
        results["alike"] = [ph.dropout(torch.ones(64), site="plain")
                            for _ in range(3)]
        again()
        ph.set_mesh(mesh, differs=["data"])
        results["differs"] = [ph.dropout(torch.ones(64), site="plain")
                              for _ in range(3)]
    results["warnings with a mesh"] = [str(w.message) for w in caught]


def refused(x):
    """Return the sentence with which a dropout is refused."""
    try:
        ph.dropout(x)
    except ValueError as error:
        return str(error)
    return "no error"


def main(rank, world, folder):
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    store = dist.FileStore(os.path.join(folder, f"store{world}"), world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    results = {}
    run_cases(world, results)
    run_others(world, results)
    torch.save(results, os.path.join(folder, f"{world}.{rank}"))
    dist.barrier()
    dist.destroy_process_group()
