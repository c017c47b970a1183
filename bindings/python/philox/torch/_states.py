"""Where states come from: contexts, sites, tapes of checkpoints.

A *state* is a pair {seed, offset}, a row of an int64 tensor, and data like any
other: an operator that is given the same state draws the same numbers. A *site*
is a place in a program that draws, known by its name: a region of philox with
one operator. Each call of :func:`reserve` gives states that no other call has
given, and the ledger of the site's device knows which those are.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from philox import _context, _library
from philox._context import ADVANCE
from philox.torch import _graphs


class Context(_context.Context):
    """The context of one of PyTorch's devices."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        name = "host:sync" if device.type == "cpu" else f"cuda:{device.index}"
        super().__init__(name, _settings.seed, _settings.mesh, _settings.differs)
        if device.type == "cuda":
            _graphs.prepare(device)

    def new_states(self, sites: Sequence[str],
                   counts: Sequence[int]) -> torch.Tensor:
        """Return the states of counts[i] draws of sites[i], one after another."""
        states = self.host_states(sites, counts)
        if self.device.type == "cpu":
            return states
        there = torch.empty_like(states, device=self.device)
        self.write(states, there)
        return there

    def host_states(self, sites: Sequence[str],
                    counts: Sequence[int]) -> torch.Tensor:
        """Return them in memory of the host."""
        states = torch.empty(len(sites), 2, dtype=torch.int64, device="cpu")
        self.reserve(sites, counts, states.data_ptr(), self.stream())
        return _each_draw(states, counts)

    def stream(self) -> int:
        if self.device.type == "cpu":
            return 0
        return torch.cuda.current_stream(self.device).cuda_stream

    def write(self, states: torch.Tensor, to: torch.Tensor) -> None:
        """Write host states to the device, in the order of its stream."""
        _library.call("philox_context_write_states", self.handle, self.stream(),
                      to.data_ptr(), states.data_ptr(), len(states))


def _each_draw(states: torch.Tensor, counts: Sequence[int]) -> torch.Tensor:
    """Return a row for each draw: draw i of a site is 4 i words further."""
    if all(n == 1 for n in counts):
        return states
    rows = states.repeat_interleave(torch.tensor(counts, device="cpu"), 0)
    rows[:, 1] += torch.cat(
        [ADVANCE * torch.arange(n, device="cpu") for n in counts])
    return rows


class _Settings:
    """What new contexts begin with, and those that there are."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.contexts: dict[torch.device, Context] = {}
        self.seed = 0
        self.mesh: list[tuple[str, int, int]] = []
        self.differs: tuple[str, ...] = ()
        self.warned = False

    def context(self, device: torch.device) -> Context:
        context = self.contexts.get(device)
        if context is None:
            with self.lock:
                if device not in self.contexts:
                    self.contexts[device] = Context(device)
                context = self.contexts[device]
        return context


_settings = _Settings()
_graphs.watch()


def device_of(device: torch.device | str | None) -> torch.device:
    """Return a device with its index, as tensors have it."""
    device = torch.device("cpu" if device is None else device)
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    if device.type == "cpu":
        return torch.device("cpu")
    if device.type != "cuda":
        raise ValueError(f"philox: there are no numbers on the device {device}, "
                         "only on a CPU and on CUDA")
    return device


# --- tapes --------------------------------------------------------------------


class _Thread(threading.local):
    def __init__(self) -> None:
        self.sources: list[Any] = []  # innermost last


_thread = _Thread()


class _Ledger:
    """The outermost source: new states."""

    def reserve(self, device: torch.device, sites: Sequence[str],
                counts: Sequence[int], above: int) -> torch.Tensor:
        if in_backward():
            raise RuntimeError(
                f"philox: {sites[0]!r} draws inside a backward, and nothing says "
                "which numbers. If this is the recompute of a checkpoint, use "
                "philox.torch.checkpoint(), or context_fn="
                "philox.torch.checkpoint_contexts with use_reentrant=False; under "
                "a reentrant checkpoint, philox.torch.anchored(); compile a model "
                "that has checkpoints with philox.torch.compile(). For new numbers "
                "use philox.torch.fresh().")
        return _new(device, sites, counts)

    def remembered(self, value: bool, above: int) -> bool:
        return value


def _new(device: torch.device, sites: Sequence[str],
         counts: Sequence[int]) -> torch.Tensor:
    # A caller's modes have no business here: one of a selective checkpoint would
    # count these operators, and a recompute does not repeat them
    with _disable_current_modes():
        if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return _graphs.reserve(device, sites, counts,
                                   lambda: _settings.context(device))
        return _settings.context(device).new_states(sites, counts)


_ledger = _Ledger()


def _reserve_from(above: int, device: torch.device, sites: Sequence[str],
                  counts: Sequence[int]) -> torch.Tensor:
    """Ask the innermost of the first `above` sources of this thread."""
    source = _thread.sources[above - 1] if above else _ledger
    return source.reserve(device, sites, counts, above - 1)


def _remembered_from(above: int, value: bool) -> bool:
    source = _thread.sources[above - 1] if above else _ledger
    return source.remembered(value, above - 1)


@torch.compiler.disable
def remembered(value: bool) -> bool:
    """Return the value, or in a recompute what it was in its forward."""
    return _remembered_from(len(_thread.sources), value)


@contextmanager
def _source(source: Any) -> Iterator[None]:
    _thread.sources.append(source)
    try:
        yield
    finally:
        _thread.sources.pop()


class _Tape:
    """What the forward of a checkpoint reserved and decided, in order."""

    def __init__(self) -> None:
        self.entries: list[tuple[torch.device, tuple[str, ...], torch.Tensor]] = []
        self.values: list[bool] = []


class _Recording:
    """A context manager: what is reserved within is kept on the tape."""

    def __init__(self, tape: _Tape) -> None:
        self.tape = tape

    def __enter__(self) -> None:
        self.tape.entries.clear()
        self.tape.values.clear()
        _thread.sources.append(self)

    def __exit__(self, *_: object) -> None:
        _thread.sources.pop()

    def reserve(self, device: torch.device, sites: Sequence[str],
                counts: Sequence[int], above: int) -> torch.Tensor:
        states = _reserve_from(above, device, sites, counts)
        self.tape.entries.append((device, tuple(sites), states))
        return states

    def remembered(self, value: bool, above: int) -> bool:
        value = _remembered_from(above, value)
        self.tape.values.append(value)
        return value


class _Repeating:
    """A context manager: what was reserved is given again, in the same order.

    It may be entered any number of times, and begins at the front each time.
    """

    def __init__(self, tape: _Tape) -> None:
        self.tape = tape
        self.place = threading.local()

    def __enter__(self) -> None:
        self.place.next = self.place.value = 0
        _thread.sources.append(self)

    def __exit__(self, *_: object) -> None:
        _thread.sources.pop()

    def reserve(self, device: torch.device, sites: Sequence[str],
                counts: Sequence[int], above: int) -> torch.Tensor:
        i = self.place.next
        entries = self.tape.entries
        if i == len(entries) or entries[i][:2] != (device, tuple(sites)) or \
                len(entries[i][2]) != sum(counts):
            what = "nothing more" if i == len(entries) else \
                f"{', '.join(entries[i][1])} on {entries[i][0]}"
            raise RuntimeError(
                f"philox: a recompute draws at {', '.join(sites)} on {device}, "
                f"where its forward drew at {what}: they are not the same program")
        self.place.next = i + 1
        return entries[i][2]

    def remembered(self, value: bool, above: int) -> bool:
        i = self.place.value
        self.place.value = i + 1
        return self.tape.values[i] if i < len(self.tape.values) else value


class _Anchored:
    """New states from PyTorch's own generator of the device."""

    def reserve(self, device: torch.device, sites: Sequence[str],
                counts: Sequence[int], above: int) -> torch.Tensor:
        seeds = torch.randint(-2**63, 2**63 - 1, (len(sites), 1), device=device)
        states = torch.cat([seeds, torch.zeros_like(seeds)], 1)
        n = torch.tensor(counts, device=device)
        rows = states.repeat_interleave(n, 0, output_size=sum(counts))
        rows[:, 1] += ADVANCE * torch.cat(
            [torch.arange(k, device=device) for k in counts])
        return rows

    def remembered(self, value: bool, above: int) -> bool:
        return _remembered_from(above, value)


class _Fresh:
    """New states also inside a backward."""

    def reserve(self, device: torch.device, sites: Sequence[str],
                counts: Sequence[int], above: int) -> torch.Tensor:
        return _new(device, sites, counts)

    def remembered(self, value: bool, above: int) -> bool:
        return _remembered_from(above, value)


def is_anchored() -> bool:
    """Return whether the innermost block is that of :func:`anchored`."""
    return bool(_thread.sources) and isinstance(_thread.sources[-1], _Anchored)


def in_backward() -> bool:
    """Return whether this thread is inside a backward."""
    return torch._C._current_graph_task_id() != -1


def anchored() -> Any:
    """Draw, within the block, from states that come from PyTorch's generator.

    Each site takes a seed of the device's own generator, so whatever saves and
    restores that one repeats philox's numbers too: reentrant checkpoints, and
    those of Megatron and DeepSpeed. The ledger does not know these states:
    freshness is PyTorch's, and :func:`state_dict` does not have them.

    The block is the calling thread's, and a backward may run in another: begin
    it inside the function that is checkpointed. A compiled model makes its
    first call outside.
    """
    return _source(_Anchored())


def fresh() -> Any:
    """Allow, within the block, that new numbers are drawn inside a backward.

    For a function whose derivative draws numbers of its own. Outside of a
    backward nothing changes, except that a checkpoint's tape is not used.
    """
    return _source(_Fresh())


def checkpoint_contexts() -> tuple[Any, Any]:
    """Return the contexts of a checkpoint's forward and of its recompute.

    Pass it to ``torch.utils.checkpoint.checkpoint(..., use_reentrant=False,
    context_fn=philox.torch.checkpoint_contexts)``. What the forward reserves is
    reserved again, in the same order, by each recompute: 16 bytes a draw. A
    recompute that draws at other sites raises RuntimeError.
    """
    tape = _Tape()
    return _Recording(tape), _Repeating(tape)


# --- what users call ----------------------------------------------------------


def _warn_of_ranks() -> None:
    distributed = torch.distributed
    if _settings.mesh or _settings.warned or not distributed.is_available() or \
            not distributed.is_initialized() or distributed.get_world_size() == 1:
        return
    _settings.warned = True
    warnings.warn(
        f"philox.torch has no mesh, and there are {distributed.get_world_size()} "
        "ranks: all of them draw the same numbers for plain tensors. If each has "
        "samples of its own, call philox.torch.set_mesh() with differs=.",
        stacklevel=4)


@torch.compiler.disable
def reserve_all(sites: Sequence[str], counts: Sequence[int],
                device: torch.device | str | None = None) -> torch.Tensor:
    """Return the states of counts[i] draws at sites[i], one after another.

    The sites get what :func:`reserve` would give each of them in turn, in one
    call of the library: all of it or, with an error, none.

    Returns an int64 tensor of shape [sum(counts), 2] on the device.
    """
    if not sites:
        raise ValueError("philox: no site to reserve for")
    _warn_of_ranks()
    # States are no part of what a transform of torch.func differentiates or maps
    with torch._C._DisableFuncTorch():
        return _reserve_from(len(_thread.sources), device_of(device), sites,
                             counts)


def reserve(site: str, n: int = 1,
            device: torch.device | str | None = None) -> torch.Tensor:
    """Return the states of the next `n` draws at a site.

    Args:
        site: the name; a new one makes a new site.
        n: how many states, at least 1.
        device: where the states are, and what they are for; default: CPU.

    Returns:
        An int64 tensor of shape [n, 2], rows {seed, offset}. Whatever draws
        from a row again draws the same numbers.

    Raises:
        philox.Error: the device captures a graph, for example.
        RuntimeError: called inside a backward (see :func:`fresh`), or in a
            recompute that is not the program of its forward.

    ``torch.compile`` leaves its graph for this call; ``philox.torch.compile``
    reserves before it.
    """
    return reserve_all((site,), (n,), device)


def seed(value: int) -> None:
    """Give the generators of all devices a seed; all sites begin again.

    Args:
        value: from -2**63 to 2**64 - 1; negative ones are taken modulo 2**64.
    """
    if not -2**63 <= value < 2**64:
        raise ValueError(f"philox: the seed {value} has more than 64 bits")
    with _settings.lock:
        _settings.seed = value % 2**64
        for context in _settings.contexts.values():
            context.seed(value)


def set_mesh(mesh: Any, differs: Sequence[str] = ()) -> None:
    """Tell this process's place among the ranks.

    Args:
        mesh: a ``torch.distributed.DeviceMesh`` whose dimensions have names, or
            a mapping of each axis to (number of ranks, own coordinate).
        differs: axes along which the numbers of plain tensors differ, such as
            the data axis where each rank has samples of its own. Along all
            others ranks draw the same numbers. Sites that exist already keep
            what they have.

    Call it before anything draws; it may be called again until then. DTensors
    need no mesh here: each rank draws its shard of the whole tensor's numbers.
    With `differs` a DTensor needs states that its ranks share.
    """
    axes = _axes_of(mesh)
    unknown = set(differs) - {name for name, _, _ in axes}
    if unknown:
        raise ValueError(f"philox: the mesh has no axis {sorted(unknown)[0]!r}")
    for context in list(_settings.contexts.values()):
        context.set_mesh(axes, differs)
    _settings.mesh, _settings.differs = axes, tuple(differs)


def require_shared(site: str) -> None:
    """Raise ValueError if sites differ along an axis: a DTensor's must not."""
    if _settings.differs:
        raise ValueError(
            f"philox: {site!r} draws for a DTensor, of which each rank has a part "
            "or a copy, and set_mesh() was told that sites differ along "
            f"{', '.join(_settings.differs)}: pass states= that all ranks share")


def _axes_of(mesh: Any) -> list[tuple[str, int, int]]:
    if isinstance(mesh, Mapping):
        return [(name, *place) for name, place in mesh.items()]
    names = mesh.mesh_dim_names
    coordinate = mesh.get_coordinate()
    if names is None or coordinate is None:
        raise ValueError("philox: the mesh has no names of dimensions, or this "
                         "rank is not in it")
    return list(zip(names, mesh.shape, coordinate, strict=True))


def state_dict() -> dict[str, Any]:
    """Return all that decides later numbers: text for each device in use.

    It is plain data: ``torch.save`` and ``torch.load(weights_only=True)`` take
    it. States that were reserved and not used up are not in it; those are
    tensors of yours.
    """
    with _settings.lock:
        return {
            "version": 1,
            "seed": _settings.seed,
            "contexts": {str(device): context.save_text()
                         for device, context in _settings.contexts.items()}}


def load_state_dict(state: Mapping[str, Any]) -> None:
    """Continue where :func:`state_dict` was called, in this or a new process.

    Sites of `state` that do not exist here begin where they were when they first
    draw; sites that only exist here begin as they would have there. The mesh
    stays as it was set here, and must be the one of the text.

    Raises:
        philox.Error: a text is damaged, or of another mesh; nothing has changed.
    """
    if state.get("version") != 1:
        raise ValueError("philox: not a state_dict() of this version")
    seed = state["seed"]
    made: dict[torch.device, Context] = {}
    for name, text in state["contexts"].items():
        device = device_of(name)
        made[device] = Context(device)
        made[device].load_text(text)
    with _settings.lock:
        _settings.contexts = made
        _settings.seed = seed


def unclaimed(device: torch.device | str | None = None) -> list[str]:
    """Return the names of sites that were loaded and have not drawn yet.

    A name that stays here after a step belongs to a module that was renamed.
    """
    return _settings.context(device_of(device)).unclaimed()


def digest(device: torch.device | str | None = None) -> int:
    """Return 64 bits that two runs share if their later numbers are the same."""
    return _settings.context(device_of(device)).digest()


def check() -> None:
    """Raise philox.Error if a device has seen a graph launched without philox.

    It does not wait: what ran on streams that were synchronised is certain.
    """
    for context in list(_settings.contexts.values()):
        context.check()


def reset() -> None:
    """Forget all sites, meshes and seeds: as in a new process. For tests."""
    with _settings.lock:
        _settings.contexts = {}
        _settings.seed, _settings.mesh, _settings.differs = 0, [], ()
        _settings.warned = False
