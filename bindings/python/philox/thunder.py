"""philox for Lightning Thunder: dropout in jitted functions without a stored
mask, on a CPU and on CUDA::

    import philox.thunder as pht
    import philox.torch as ph

    ph.seed(42)
    jitted = pht.jit(model)            # thunder.jit with philox
    jitted(x).sum().backward()         # draws each mask again, from two numbers

Thunder has a primitive that takes a state from CUDA's generator and moves it
on, ``prims.get_and_update_rng_state``, and one that draws uniform numbers from
such a state, ``prims.uniform_philox``. With :data:`transform` a jitted function
takes its numbers from these two, and :data:`executor` carries them out with
philox:

- A state {seed, offset} is one of ``philox.torch.reserve("thunder")``, on the
  ledger of the draw's device. Its offset counts 32-bit words of philox's own,
  and moves by 4 a draw, whatever the shape. The previous state, an argument of
  the primitive, only keeps the calls in order.
- Element i of a draw is that of ``torch.ops.philox.uniform``, so the numbers
  are the same on every device, and differ from those of torch and nvFuser.

What is replaced, and why:

- ``prims.get_and_update_rng_state`` refuses a CPU when it is traced. The
  transform writes :data:`get_and_update_rng_state` instead, which allows both
  devices. The executor carries out the primitive, too, where a trace has it.
- Thunder's own implementation of ``prims.uniform_philox`` is for CUDA, [0, 1)
  and offsets that are known multiples of 4; the executor's has no such bounds.
- ``prims.uniform``, also within dropout and other symbols, becomes a draw from
  a state that is taken in front of the outermost symbol: so a checkpoint's
  recompute does not take another. Thunder's own ``replace_uniform``, which only
  nvFuser's executor calls, finds nothing left.
- A dropout of float16 or bfloat16 compares float32 numbers, not its own
  dtype's: on their coarse grid the probability would not be the one asked for.

The executor alone, without the transform, draws from the same states, but keeps
masks, and a checkpoint that would draw again in its recompute raises
RuntimeError.

A symbol that an executor in front of philox's claims as a whole, attention for
example, is left to it, and draws from PyTorch's generator. :func:`jit` puts
philox's in front.

On CUDA the two numbers of a state are read back for each draw, which waits for
the stream, as Thunder's own primitive does; a graph cannot capture that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from numbers import Number
from typing import Any

import thunder
import thunder.core.prims as prims
import thunder.extend
import torch
from thunder.core.devices import Device, DeviceType, to_torch_device
from thunder.core.dtypes import dtype as Dtype
from thunder.core.dtypes import bfloat16, float16, float32, float64
from thunder.core.dtypes import to_torch_dtype
from thunder.core.proxies import (
    IntegerProxy, NumberProxy, ProxyTag, TensorProxy, numberproxy, variableify)
from thunder.core.symbol import BoundSymbol, BoundSymbolTag
from thunder.core.trace import TraceCtx, TraceProvenance, from_trace, tracectx
from thunder.core.transform_common import Transform
from thunder.torch import uniform_philox as _uniform_philox

from philox.torch import _operators, _states

__all__ = ["SITE", "executor", "get_and_update_rng_state", "jit", "transform"]

#: The site of all draws of jitted functions.
SITE = "thunder"

#: Carries out the primitives of states and draws.
executor = thunder.extend.OperatorExecutor("philox", version="0.1")
thunder.extend.register_executor(executor)

_FLOATING = (float32, float64, bfloat16, float16)
_DEVICES = (DeviceType.CPU, DeviceType.CUDA)

# --- what runs ----------------------------------------------------------------


def _take_state(seed: int | None, offset: int | None,
                device: Device | torch.device) -> tuple[int, int]:
    """Return the next state on a device. The previous one is only for order."""
    states = _states.reserve(SITE, 1, to_torch_device(device))
    return tuple(states[0].tolist())


def _signed(value: int) -> int:
    """Return 64 bits as int64 has them."""
    return (value + 2**63) % 2**64 - 2**63


def _draw(shape: Sequence[int], minval: float, maxval: float, *,
          device: Device | torch.device, dtype: Dtype | torch.dtype, seed: int,
          offset: int) -> torch.Tensor:
    device = to_torch_device(device)
    states = torch.tensor([[_signed(seed), _signed(offset)]], dtype=torch.int64,
                          device=device)
    like = torch.empty((), dtype=to_torch_dtype(dtype), device=device)
    return _operators._ops.uniform(like.expand(tuple(shape)), states,
                                   float(minval), float(maxval))


# --- what a trace has ---------------------------------------------------------


def _take_state_meta(seed: IntegerProxy | int | None,
                     offset: IntegerProxy | int | None,
                     device: Device) -> tuple[IntegerProxy, IntegerProxy]:
    if (seed is None) != (offset is None):
        raise ValueError("philox: a previous state is a seed and an offset, or "
                         "both are None")
    if device.devicetype not in _DEVICES:
        raise NotImplementedError(f"philox: there are no states on {device}")
    return numberproxy(int, None), numberproxy(int, None)


#: The symbol that takes a state on a CPU or on CUDA: (seed, offset, device),
#: of the previous state or None, gives the next (seed, offset).
get_and_update_rng_state = executor.register_operator(
    "philox_get_and_update_rng_state", meta=_take_state_meta, fn=_take_state,
    tags=(prims.OpTags.RANDOM_OP, prims.OpTags.DONT_RECOMPUTE_IN_BACKWARD))

_uniform = executor.register_operator(
    "philox_uniform_philox", meta=prims.uniform_philox.meta, fn=_draw)


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, IntegerProxy))


def _can_draw(shape: Sequence[int], minval: Any = 0.0, maxval: Any = 1.0, *,
              device: Any, dtype: Any, seed: Any = 0, offset: Any = 0) -> bool:
    return (thunder.core.devices.to_device(device).devicetype in _DEVICES
            and thunder.core.dtypes.to_dtype(dtype) in _FLOATING
            and isinstance(minval, Number) and isinstance(maxval, Number)
            and math.isfinite(minval) and math.isfinite(maxval)
            and _is_int(seed) and _is_int(offset))


def _drawn(shape: Sequence[int], minval: float = 0.0, maxval: float = 1.0, *,
           device: Any, dtype: Any, seed: Any, offset: Any) -> TensorProxy:
    return _uniform(tuple(shape), float(minval), float(maxval),
                    device=thunder.core.devices.to_device(device),
                    dtype=thunder.core.dtypes.to_dtype(dtype), seed=seed,
                    offset=offset)


def _fresh(shape: Sequence[int], minval: float, maxval: float, *,
           device: Device, dtype: Dtype) -> TensorProxy:
    """Draw where the transform has not been: once, and the numbers are kept."""
    seed, offset = get_and_update_rng_state(None, None, device)
    return _drawn(shape, minval, maxval, device=device, dtype=dtype, seed=seed,
                  offset=offset)


executor.register_implementation(prims.get_and_update_rng_state,
                                 get_and_update_rng_state)
for _symbol in (prims.uniform_philox, _uniform_philox):
    executor.register_implementation(_symbol, checker=_can_draw,
                                     execution_transform=_drawn)
executor.register_implementation(prims.uniform, checker=_can_draw,
                                 execution_transform=_fresh)

# --- the transform ------------------------------------------------------------

_DROPOUT = "torch.nn.functional.dropout"

# Cheap elementwise primitives: of random numbers alone, they are carried out
# again rather than stored.
_REPEATED = {getattr(prims.PrimIDs, name) for name in (
    "LT", "LE", "GT", "GE", "EQ", "NE", "ADD", "SUB", "MUL", "DIV",
    "CONVERT_ELEMENT_TYPE")}


def _draws(bsym: BoundSymbol) -> bool:
    """Is there a uniform in a symbol, however deep?"""
    return bsym.sym.id == prims.PrimIDs.UNIFORM or any(map(_draws,
                                                           bsym.subsymbols))


class _Rewriter:
    """Rewrites the symbols of one trace."""

    def __init__(self, trace: TraceCtx, before: Iterable[Any]) -> None:
        self.trace = trace
        self.before = list(before)
        self.last: dict[Device, tuple[IntegerProxy, IntegerProxy]] = {}
        self.taken: list[BoundSymbol] = []  # in front of the outermost symbol
        self.random: set[str] = set()

    def symbols(self, bsyms: Sequence[BoundSymbol]) -> list[BoundSymbol]:
        """Return what the outermost symbols of the trace become."""
        made: list[BoundSymbol] = []
        for bsym in bsyms:
            parts = self.parts(bsym)
            made += [*self.taken, *parts]
            self.taken = []
        for bsym in made:
            self.mark(bsym)
        return made

    def parts(self, bsym: BoundSymbol) -> list[BoundSymbol]:
        """Return a symbol as it is, or what it is made of, if it draws."""
        if not _draws(bsym) or any(ex.can_execute_or_fuse(bsym)
                                   for ex in self.before):
            return [bsym]
        if bsym.sym.id == prims.PrimIDs.UNIFORM:
            return [self.draw(bsym)]
        parts = [part for inner in bsym.subsymbols
                 for part in self.parts(inner)]
        if bsym.sym.id == "activation_checkpoint":
            return [bsym.from_bsym(subsymbols=parts)]
        if bsym.sym.id == _DROPOUT:
            parts = self.in_float32(parts)
        repeated = BoundSymbolTag.RECOMPUTE_IN_BACKWARD in bsym.tags or any(
            ProxyTag.RECOMPUTE_IN_BACKWARD in out.tags
            for out in bsym.flat_proxy_outs)
        for part in parts:
            part.tags |= bsym.tags
            if repeated:
                part.tags.add(BoundSymbolTag.RECOMPUTE_IN_BACKWARD)
        return parts

    def draw(self, bsym: BoundSymbol) -> BoundSymbol:
        shape, minval, maxval = (*bsym.args, 0.0, 1.0)[:3]
        device, dtype = bsym.kwargs["device"], bsym.kwargs["dtype"]
        bounds = [_value(bound) for bound in (minval, maxval)]
        if not _can_draw(shape, *bounds, device=device, dtype=dtype):
            raise NotImplementedError(
                f"philox: no uniform numbers of {dtype} on {device} from "
                f"{minval} to {maxval}")
        self.trace.push_scope([])
        seed, offset = get_and_update_rng_state(
            *self.last.get(device, (None, None)), device)
        self.taken += self.trace.pop_scope()
        self.last[device] = seed, offset
        return prims.uniform_philox.bind(
            shape, *map(float, bounds), device=device, dtype=dtype, seed=seed,
            offset=offset, output=bsym.output)

    def in_float32(self, parts: list[BoundSymbol]) -> list[BoundSymbol]:
        """Return the symbols of a dropout with a draw in float32 at least."""
        swaps: dict[Any, TensorProxy] = {}
        made = []
        for part in parts:
            if part.sym is prims.uniform_philox and \
                    part.kwargs["dtype"] in (bfloat16, float16):
                wide = TensorProxy(like=part.output, dtype=float32)
                swaps[variableify(part.output)] = wide
                part = part.from_bsym(kwargs={**part.kwargs, "dtype": float32})
            made.append(part.from_bsym_swap_proxies(swaps))
        return made

    def mark(self, bsym: BoundSymbol) -> None:
        """Mark what is of random numbers alone: the backward makes it again."""
        if bsym.sym is get_and_update_rng_state or \
                bsym.sym is prims.get_and_update_rng_state:
            for out in bsym.flat_proxy_outs:
                out.tags.discard(ProxyTag.RECOMPUTE_IN_BACKWARD)
            bsym.tags.discard(BoundSymbolTag.RECOMPUTE_IN_BACKWARD)
            return
        for inner in bsym.subsymbols:
            self.mark(inner)
        tensors = [proxy.name for proxy in bsym.flat_proxy_args
                   if isinstance(proxy, TensorProxy)]
        if bsym.sym.id == prims.PrimIDs.UNIFORM_PHILOX or (
                bsym.sym.id in _REPEATED and tensors
                and self.random.issuperset(tensors)):
            self.random.update(out.name for out in bsym.flat_proxy_outs)
        for out in bsym.flat_proxy_outs:
            if out.name in self.random:
                out.tags.add(ProxyTag.RECOMPUTE_IN_BACKWARD)


def _value(number: Any) -> Any:
    return number.value if isinstance(number, NumberProxy) else number


class _Philox(Transform):
    """Makes every uniform of a trace a draw from a state taken for it."""

    def transform_traces_pre_prologue(
            self, prologue_trace: TraceCtx, computation_trace: TraceCtx,
            epilogue_trace: TraceCtx | None, *,
            executors_list: Sequence[Any] = (),
            **_: Any) -> tuple[TraceCtx, TraceCtx, TraceCtx | None]:
        before = takewhile(lambda ex: ex != executor, executors_list)
        made = from_trace(computation_trace)
        with tracectx(made):
            rewriter = _Rewriter(made, before)
            made.bound_symbols = rewriter.symbols(
                computation_trace.bound_symbols)
        made.set_provenance(TraceProvenance("Transform for philox"))
        return prologue_trace, made, epilogue_trace


#: Makes uniform numbers draws from states, and has masks drawn again.
transform = _Philox()


def jit(function: Any, **options: Any) -> Callable[..., Any]:
    """Return ``thunder.jit`` of a function or module, with philox's numbers.

    Options are those of ``thunder.jit``. philox's executor is put in front of
    the ``executors``, unless it is among them; its transform is the first of
    the ``transforms``.
    """
    executors = options.pop("executors", None)
    if executors is None:
        executors = thunder.extend.get_default_executors()
    executors = list(executors)
    if executor not in executors and executor.name not in executors:
        executors.insert(0, executor)
    transforms = [transform, *(options.pop("transforms", None) or ())]
    return thunder.jit(function, executors=executors, transforms=transforms,
                       **options)
