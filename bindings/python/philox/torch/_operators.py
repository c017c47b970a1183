"""The operators: their library, what they are to the compiler and to autograd,
and the functions that users call.

An operator of ``torch.ops.philox`` is pure: the same states give the same
numbers. The functions here reserve states where none are given, and choose what
carries derivatives: outside of the compiler an autograd.Function, which knows
forward mode and vmap, and inside it the registered formula.
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from philox.torch import _states

torch.ops.load_library(str(pathlib.Path(__file__).parent / "operators.so"))
_ops = torch.ops.philox

FLOATING = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGER = (torch.int32, torch.int64)
ROUNDED = (torch.bfloat16, torch.float16)

# Alpha dropout: what the negative saturation value of SELU is, and its scale.
_ALPHA = 1.7580993408473766

# --- shapes -------------------------------------------------------------------


def _fake_like(like: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(like, memory_format=torch.contiguous_format)


def _fake_rounded(x: Tensor, states: Tensor, dtype: torch.dtype,
                  *_: Any) -> Tensor:
    return torch.empty_like(x, dtype=dtype,
                            memory_format=torch.contiguous_format)


def _fake_sample(logits: Tensor, *_: Any) -> Tensor:
    return logits.new_empty(logits.shape[0], dtype=torch.int32)


def _fake_nothing(*_: Any) -> None:
    return None


_MADE = ("uniform", "normal", "log_normal", "exponential", "bernoulli", "gumbel",
         "integers")
_MAPPED = ("dropout", "masked", "bernoulli_of")
_WRITTEN = ("uniform_", "normal_", "log_normal_", "exponential_", "bernoulli_",
            "integers_", "dropout_")

for _name in _MADE + _MAPPED:
    torch.library.register_fake(f"philox::{_name}", _fake_like)
for _name in _WRITTEN:
    torch.library.register_fake(f"philox::{_name}", _fake_nothing)
torch.library.register_fake("philox::stochastic_round", _fake_rounded)
torch.library.register_fake("philox::sample", _fake_sample)

# --- vmap ---------------------------------------------------------------------
#
# Under vmap with randomness="different" the states of a draw get a batch
# dimension and, for each sample, a leading dimension of 1: a mark that sample b
# has the elements b numel + e of one tensor of all samples. So the backward of
# such a draw has what it needs in its states. States without a batch dimension
# are shared: the same numbers for each sample, as in the Jacobian of a draw.


def _levels(states: Tensor) -> list[int]:
    """Return the levels of the vmaps over states."""
    functorch = torch._C._functorch
    levels = []
    while functorch.is_functorch_wrapped_tensor(states):
        if functorch.is_batchedtensor(states):
            levels.append(functorch.maybe_get_level(states))
        states = functorch.get_unwrapped(states)
    return levels


def _marked(states: Tensor) -> Tensor:
    """Return states as each vmap around the caller asks for them."""
    if not torch._C._are_functorch_transforms_active():
        return states
    for level in torch._C._functorch.get_interpreter_stack() or ():
        if level.key() != torch._C._functorch.TransformType.Vmap:
            continue
        vmap = torch._C._functorch.CVmapInterpreterPtr(level)
        how = vmap.randomness()
        if how == torch._C._functorch.RandomnessType.Error:
            raise RuntimeError(
                "philox: vmap called a random operation with randomness="
                "'error'. Use 'same' or 'different'.")
        if how == torch._C._functorch.RandomnessType.Different:
            above = [n for n in _levels(states) if n >= level.level()]
            if above == [level.level()]:
                continue  # each sample has states of its own
            if above:
                raise RuntimeError(
                    "philox: states are mapped by a vmap inside of one with "
                    "randomness='different': map them by both, or give that "
                    "one randomness='same'.")
            states = torch._C._functorch._add_batch_dim(
                states.expand(vmap.batchSize(), 1, *states.shape), 0,
                level.level())
    return states


def _rule(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Return the vmap rule of draw(x, states, ...)."""

    def rule(info: Any, in_dims: Sequence[Any], x: Tensor, states: Tensor,
             *rest: Any) -> tuple[Tensor, int]:
        x_dim, states_dim = in_dims[:2]
        n = info.batch_size
        if x_dim is not None:
            x = x.movedim(x_dim, 0)
        if states_dim is not None:
            states = states.movedim(states_dim, 0)
        if states_dim is not None and states.dim() > 3:
            x = x if x_dim is not None else x.expand(n, *x.shape)
            return draw(x, states[0, 0], *rest), 0
        parts = [draw(x[i] if x_dim is not None else x,
                      states[i] if states_dim is not None else states, *rest)
                 for i in range(n)]
        return torch.stack(parts), 0

    return rule


for _name in _MADE + _MAPPED + ("stochastic_round",):
    torch.library.register_vmap(f"philox::{_name}",
                                _rule(getattr(_ops, _name)))

# --- derivatives --------------------------------------------------------------


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, states, *ctx.rest = inputs
    ctx.save_for_backward(states)
    ctx.save_for_forward(states)
    ctx.dtype, ctx.made = x.dtype, output.dtype


def _differentiable(name: str, derivative: Callable[..., Tensor]) -> Any:
    """Return an operator of (x, states, ...) as a function with derivatives.

    `derivative` has the operator's arguments: it is what the operator does to
    tangents and gradients instead of x. Outside of the compiler there are two
    autograd.Functions: that of transforms costs 25 us a call more.
    """
    of = getattr(_ops, name).default

    def back(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        states, = ctx.saved_tensors
        none = (None,) * (1 + len(ctx.rest))
        if not ctx.needs_input_grad[0]:
            return (None, *none)
        return (derivative(g, states, *ctx.rest).to(ctx.dtype), *none)

    def forth(ctx: Any, g: Tensor | None, *_: Any) -> Tensor | None:
        states, = ctx.saved_tensors
        if g is None:
            return None
        return derivative(g, states, *ctx.rest).to(ctx.made)

    def forward(ctx: Any, *inputs: Any) -> Tensor:
        output = of(*inputs)
        _keep(ctx, inputs, output)
        return output

    def vmap(info: Any, in_dims: Sequence[Any], *arguments: Any) -> Any:
        return _rule(transformed)(info, in_dims, *arguments)

    shared = {"backward": staticmethod(back), "jvp": staticmethod(forth)}
    plain = type(f"Philox_{name}", (torch.autograd.Function,),
                 {"forward": staticmethod(forward), **shared}).apply
    transformed = type(f"Philox_{name}", (torch.autograd.Function,), {
        "forward": staticmethod(lambda *arguments: of(*arguments)),
        "setup_context": staticmethod(_keep),
        "vmap": staticmethod(vmap), **shared}).apply

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])
        ctx.rest = inputs[2:]
        ctx.dtype = inputs[0].dtype

    torch.library.register_autograd(f"philox::{name}", back,
                                    setup_context=setup)

    def apply(*arguments: Any) -> Tensor:
        if torch.compiler.is_compiling():
            return of(*arguments)
        if torch._C._are_functorch_transforms_active():
            return transformed(*arguments)
        return plain(*arguments)

    return apply


def _dropout_derivative(g: Tensor, states: Tensor, *rest: Any) -> Tensor:
    return _dropout(g, states, *rest)


def _masked_derivative(g: Tensor, states: Tensor, p: float, scale: float,
                       shift: float, dropped: float, *rest: Any) -> Tensor:
    return _masked(g, states, p, scale, -0.0, 0.0, *rest)


def _round_derivative(g: Tensor, states: Tensor, *rest: Any) -> Tensor:
    return g


def _no_derivative(g: Tensor, states: Tensor, *rest: Any) -> Tensor:
    return torch.zeros_like(g)


_dropout = _differentiable("dropout", _dropout_derivative)
_masked = _differentiable("masked", _masked_derivative)
_stochastic_round = _differentiable("stochastic_round", _round_derivative)
_bernoulli_of = _differentiable("bernoulli_of", _no_derivative)

# --- what users call ----------------------------------------------------------


def _states_for(site: str, states: Tensor | None,
                device: torch.device) -> Tensor:
    if states is None and device.type == "meta":
        states = torch.empty(1, 2, dtype=torch.int64, device=device)
    elif states is None:
        states = _states.reserve_all((site,), (1,), device)
    elif states.dim() != 2 and states.shape[-1:] == (2,):
        states = states.reshape(-1, 2)  # other dimensions are marks of vmap
    _require_device(states, device, site)
    if torch.compiler.is_compiling():
        return states
    return _marked(states)


def _require_device(states: Tensor, device: torch.device, site: str) -> None:
    if states.device != device:
        raise RuntimeError(f"philox: the states of {site} are on "
                           f"{states.device}, and what is drawn on {device}")


def _require_floating(x: Tensor, name: str) -> None:
    if x.dtype not in FLOATING:
        raise TypeError(f"philox: {name} takes float32, float64, bfloat16 and "
                        f"float16, not {x.dtype}")


def _require_p(p: float, name: str) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"philox: {name} has a probability in [0, 1], not {p}")


def dropout(x: Tensor, p: float = 0.5, training: bool = True, *,
            site: str = "dropout", states: Tensor | None = None,
            op: int = 0) -> Tensor:
    """Drop each element with probability `p`; scale the others by 1 / (1 - p).

    Args:
        x: any shape and strides; float32, float64, bfloat16 or float16; a
            DTensor draws its shard of the whole tensor's numbers.
        p: in [0, 1]. With 0 nothing is drawn.
        training: False returns x.
        site: where states are reserved, if none are given.
        states: what to draw from, of :func:`reserve`; int64 [n, 2] on x's
            device.
        op: which row of the states.

    Returns:
        A contiguous tensor of x's shape and dtype. Of the mask nothing is kept:
        the backward draws it again, from 16 bytes. Element i in row-major order
        has the same mask in every dtype, layout and on every device. A dropped
        NaN or infinity is 0.

    Raises:
        ValueError, TypeError: p or x's dtype is not allowed.
        RuntimeError: no such row of the states, or they are elsewhere.
    """
    _require_p(p, "dropout")
    _require_floating(x, "dropout")
    if not training or p == 0:
        return x
    if _is_dtensor(x):
        return _distributed().dropout(x, p, site, states, op)
    states = _states_for(site, states, x.device)
    return _dropout(x, states, p, op, 0, 0, 0)


def dropout_(x: Tensor, p: float = 0.5, training: bool = True, *,
             site: str = "dropout", states: Tensor | None = None,
             op: int = 0) -> Tensor:
    """Do what :func:`dropout` does in place, and return x."""
    _require_p(p, "dropout_")
    _require_floating(x, "dropout_")
    if not training or p == 0:
        return x
    states = _states_for(site, states, x.device)
    if _in_plain_memory(x):
        _ops.dropout_(x, states, p, op)
        return _written(x)
    return x.copy_(_dropout(x.clone(), states, p, op, 0, 0, 0))


def _feature_shape(x: Tensor, batched_dims: int, name: str) -> int:
    """Return how many elements a channel of [N, C, ...] or [C, ...] has."""
    if batched_dims and x.dim() not in (batched_dims - 1, batched_dims):
        raise ValueError(f"philox: {name} takes {batched_dims - 1} or "
                         f"{batched_dims} dimensions, not {x.dim()}")
    if x.dim() < 2:
        raise ValueError(f"philox: {name} takes 2 dimensions or more")
    channel = 1 if batched_dims and x.dim() == batched_dims - 1 else 2
    return max(math.prod(x.shape[channel:]), 1)


def _feature_dropout(x: Tensor, p: float, training: bool, site: str,
                     states: Tensor | None, op: int, dims: int,
                     name: str) -> Tensor:
    _require_p(p, name)
    _require_floating(x, name)
    inner = _feature_shape(x, dims, name)
    if not training or p == 0:
        return x
    scale = 1 / (1 - p) if p < 1 else 0.0
    states = _states_for(site, states, x.device)
    return _masked(x, states, p, scale, -0.0, 0.0, inner, op, 0, 0, 0)


def dropout1d(x: Tensor, p: float = 0.5, training: bool = True, *,
              site: str = "dropout1d", states: Tensor | None = None,
              op: int = 0) -> Tensor:
    """Drop whole channels of x, [N, C, L] or [C, L]; else as :func:`dropout`.

    Channel c of sample n has the mask's element n C + c.
    """
    return _feature_dropout(x, p, training, site, states, op, 3, "dropout1d")


def dropout2d(x: Tensor, p: float = 0.5, training: bool = True, *,
              site: str = "dropout2d", states: Tensor | None = None,
              op: int = 0) -> Tensor:
    """Drop whole channels of x, [N, C, H, W] or [C, H, W]."""
    return _feature_dropout(x, p, training, site, states, op, 4, "dropout2d")


def dropout3d(x: Tensor, p: float = 0.5, training: bool = True, *,
              site: str = "dropout3d", states: Tensor | None = None,
              op: int = 0) -> Tensor:
    """Drop whole channels of x, [N, C, D, H, W] or [C, D, H, W]."""
    return _feature_dropout(x, p, training, site, states, op, 5, "dropout3d")


def _alpha(x: Tensor, p: float, training: bool, site: str,
           states: Tensor | None, op: int, inner: int, name: str) -> Tensor:
    _require_p(p, name)
    _require_floating(x, name)
    if not training or p == 0:
        return x
    states = _states_for(site, states, x.device)
    if p == 1:
        return x * 0
    a = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    b = a * _ALPHA * p
    return _masked(x, states, p, a, b, b - a * _ALPHA, inner, op, 0, 0, 0)


def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, *,
                  site: str = "alpha_dropout", states: Tensor | None = None,
                  op: int = 0) -> Tensor:
    """Replace elements by SELU's negative saturation with probability `p`.

    The result is scaled and shifted so that mean 0 and variance 1 stay
    (Klambauer et al., "Self-Normalizing Neural Networks", 2017). Arguments are
    those of :func:`dropout`.
    """
    return _alpha(x, p, training, site, states, op, 1, "alpha_dropout")


def feature_alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, *,
                          site: str = "feature_alpha_dropout",
                          states: Tensor | None = None, op: int = 0) -> Tensor:
    """Do what :func:`alpha_dropout` does to whole channels of [N, C, ...]."""
    inner = _feature_shape(x, 0, "feature_alpha_dropout")
    return _alpha(x, p, training, site, states, op, inner,
                  "feature_alpha_dropout")


def stochastic_round(x: Tensor, dtype: torch.dtype = torch.bfloat16, *,
                     site: str = "stochastic_round",
                     states: Tensor | None = None, op: int = 0) -> Tensor:
    """Round float32 to one of its two neighbours in bfloat16 or float16.

    The expectation is x, up to 2^-32 of the distance of the neighbours. The
    derivative is straight-through: the gradient in x's dtype.
    """
    if x.dtype != torch.float32 or dtype not in ROUNDED:
        raise TypeError("philox: stochastic_round takes float32 to bfloat16 or "
                        f"float16, not {x.dtype} to {dtype}")
    states = _states_for(site, states, x.device)
    return _stochastic_round(x, states, dtype, op, 0, 0, 0)


# --- numbers of a size --------------------------------------------------------


def _like(size: Sequence[int], dtype: torch.dtype | None,
          device: torch.device | str | None, allowed: Sequence[torch.dtype],
          name: str) -> Tensor:
    if dtype is None:
        dtype = (torch.get_default_dtype() if torch.float32 in allowed
                 else torch.int64)
    if dtype not in allowed:
        raise TypeError(f"philox: {name} has no numbers of {dtype}")
    device = _states.device_of(device)
    return torch.empty((), dtype=dtype, device=device).expand(tuple(size))


def _made(name: str, size: Sequence[int], parameters: tuple[Any, ...],
          dtype: torch.dtype | None, device: torch.device | str | None,
          site: str, states: Tensor | None, op: int,
          allowed: Sequence[torch.dtype] = FLOATING) -> Tensor:
    if states is not None and device is None:
        device = states.device
    like = _like(size, dtype, device, allowed, name)
    states = _states_for(site, states, like.device)
    return getattr(_ops, name)(like, states, *parameters, op)


def uniform(size: Sequence[int], low: float = 0.0, high: float = 1.0, *,
            dtype: torch.dtype | None = None,
            device: torch.device | str | None = None, site: str = "uniform",
            states: Tensor | None = None, op: int = 0) -> Tensor:
    """Return numbers that are uniform in [low, high).

    Args:
        size: the shape.
        low, high: finite in the dtype, low below high.
        dtype: float32, float64, bfloat16 or float16; default: PyTorch's.
        device: default: that of the states, or CPU.
        site, states, op: as for :func:`dropout`.
    """
    return _made("uniform", size, (low, high), dtype, device, site, states, op)


def normal(size: Sequence[int], mean: float = 0.0, std: float = 1.0, *,
           dtype: torch.dtype | None = None,
           device: torch.device | str | None = None, site: str = "normal",
           states: Tensor | None = None, op: int = 0) -> Tensor:
    """Return normal numbers; std is above 0. Else as :func:`uniform`."""
    return _made("normal", size, (mean, std), dtype, device, site, states, op)


def log_normal(size: Sequence[int], mean: float = 0.0, std: float = 1.0, *,
               dtype: torch.dtype | None = None,
               device: torch.device | str | None = None,
               site: str = "log_normal", states: Tensor | None = None,
               op: int = 0) -> Tensor:
    """Return exp of normal numbers. Else as :func:`uniform`."""
    return _made("log_normal", size, (mean, std), dtype, device, site, states,
                 op)


def exponential(size: Sequence[int], rate: float = 1.0, *,
                dtype: torch.dtype | None = None,
                device: torch.device | str | None = None,
                site: str = "exponential", states: Tensor | None = None,
                op: int = 0) -> Tensor:
    """Return exponential numbers of a rate above 0. Else as :func:`uniform`."""
    return _made("exponential", size, (rate,), dtype, device, site, states, op)


def gumbel(size: Sequence[int], *, dtype: torch.dtype | None = None,
           device: torch.device | str | None = None, site: str = "gumbel",
           states: Tensor | None = None, op: int = 0) -> Tensor:
    """Return Gumbel numbers. Else as :func:`uniform`."""
    return _made("gumbel", size, (), dtype, device, site, states, op)


def integers(size: Sequence[int], low: int, high: int, *,
             dtype: torch.dtype | None = None,
             device: torch.device | str | None = None, site: str = "integers",
             states: Tensor | None = None, op: int = 0) -> Tensor:
    """Return integers from low to high - 1, each equally likely.

    The dtype is int64 (default) or int32. Else as :func:`uniform`.
    """
    return _made("integers", size, (low, high), dtype, device, site, states, op,
                 INTEGER)


def bernoulli(p: Tensor | float, size: Sequence[int] | None = None, *,
              dtype: torch.dtype | None = None,
              device: torch.device | str | None = None, site: str = "bernoulli",
              states: Tensor | None = None, op: int = 0) -> Tensor:
    """Return 1 with probability `p`, else 0.

    Args:
        p: a number, with `size`; or a tensor of numbers in [0, 1], whose shape,
            dtype and device the result has. Where one is none, the result is
            NaN. The derivative with respect to a tensor is 0.
        size, dtype, device, site, states, op: as for :func:`uniform`.
    """
    if isinstance(p, Tensor):
        if size is not None or dtype is not None or device is not None:
            raise TypeError("philox: a tensor p gives size, dtype and device")
        _require_floating(p, "bernoulli")
        return _bernoulli_of(p, _states_for(site, states, p.device), op, 0, 0, 0)
    _require_p(p, "bernoulli")
    if size is None:
        raise TypeError("philox: bernoulli of a number takes a size")
    return _made("bernoulli", size, (p,), dtype, device, site, states, op)


# --- in place -----------------------------------------------------------------


def _in_plain_memory(x: Tensor) -> bool:
    """Can an operator write x without autograd or a transform noticing?"""
    return (not torch.compiler.is_compiling() and x.is_contiguous()
            and not (x.requires_grad and torch.is_grad_enabled())
            and torch._C._functorch.peek_interpreter_stack() is None
            and torch.autograd.forward_ad._current_level < 0
            and type(x) in (Tensor, torch.nn.Parameter))


def _written(x: Tensor) -> Tensor:
    """Let autograd know that x was written: it may have been saved."""
    if not x.is_inference():
        torch.autograd.graph.increment_version(x)
    return x


def _write(name: str, x: Tensor, parameters: tuple[Any, ...], site: str,
           states: Tensor | None, op: int,
           allowed: Sequence[torch.dtype] = FLOATING) -> Tensor:
    if x.dtype not in allowed:
        raise TypeError(f"philox: {name}_ has no numbers of {x.dtype}")
    states = _states_for(site, states, x.device)
    if _in_plain_memory(x):
        getattr(_ops, f"{name}_")(x, states, *parameters, op)
        return _written(x)
    return x.copy_(getattr(_ops, name)(x.detach(), states, *parameters, op))


def uniform_(x: Tensor, low: float = 0.0, high: float = 1.0, *,
             site: str = "uniform", states: Tensor | None = None,
             op: int = 0) -> Tensor:
    """Fill x with what :func:`uniform` would return, and return it."""
    return _write("uniform", x, (low, high), site, states, op)


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, *,
            site: str = "normal", states: Tensor | None = None,
            op: int = 0) -> Tensor:
    """Fill x with what :func:`normal` would return, and return it."""
    return _write("normal", x, (mean, std), site, states, op)


def log_normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, *,
                site: str = "log_normal", states: Tensor | None = None,
                op: int = 0) -> Tensor:
    """Fill x with what :func:`log_normal` would return, and return it."""
    return _write("log_normal", x, (mean, std), site, states, op)


def exponential_(x: Tensor, rate: float = 1.0, *, site: str = "exponential",
                 states: Tensor | None = None, op: int = 0) -> Tensor:
    """Fill x with what :func:`exponential` would return, and return it."""
    return _write("exponential", x, (rate,), site, states, op)


def bernoulli_(x: Tensor, p: float = 0.5, *, site: str = "bernoulli",
               states: Tensor | None = None, op: int = 0) -> Tensor:
    """Fill x with what :func:`bernoulli` would return, and return it."""
    _require_p(p, "bernoulli_")
    return _write("bernoulli", x, (p,), site, states, op)


def integers_(x: Tensor, low: int, high: int, *, site: str = "integers",
              states: Tensor | None = None, op: int = 0) -> Tensor:
    """Fill x with what :func:`integers` would return, and return it."""
    return _write("integers", x, (low, high), site, states, op, INTEGER)


# --- sampling -----------------------------------------------------------------


def sample(logits: Tensor, temperature: float = 1.0, *, top_k: int = 0,
           top_p: float = 1.0, min_p: float = 0.0, site: str = "sample",
           states: Tensor | None = None, op: int = 0) -> Tensor:
    """Return one token for each row of logits, by softmax(logits / temperature).

    Args:
        logits: [rows, vocabulary], or [vocabulary]; float32, bfloat16, float16.
        temperature: at least 0; 0 takes the largest logit.
        top_k: only the k largest logits; 0: all.
        top_p: only the fewest tokens whose probability is at least this; 1: all.
        min_p: only tokens at least this times as likely as the likeliest; 0:
            all.
        states: [rows, 2], one for each row of logits, from row `op` on.

    Returns:
        int64 [rows], or a scalar for one row. There is no derivative.
    """
    if logits.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        raise TypeError("philox: sample takes float32, bfloat16 and float16, "
                        f"not {logits.dtype}")
    if logits.dim() not in (1, 2):
        raise ValueError("philox: logits have one or two dimensions, not "
                         f"{logits.dim()}")
    if states is None and any(
            level.key() == torch._C._functorch.TransformType.Vmap
            for level in torch._C._functorch.get_interpreter_stack() or ()):
        raise RuntimeError("philox: sample in a vmap takes states; without, "
                           "give it all rows of logits at once")
    rows = logits.detach()
    rows = rows if rows.dim() == 2 else rows[None]
    if states is None and len(rows):
        states = _states.reserve_all((site,), (len(rows),), logits.device)
    elif states is None:
        states = torch.empty(0, 2, dtype=torch.int64, device=logits.device)
    _require_device(states, logits.device, site)
    tokens = _ops.sample(rows, states, temperature, top_k, top_p, min_p, op)
    return tokens.to(torch.int64).reshape(logits.shape[:-1])


# --- DTensor ------------------------------------------------------------------


def _is_dtensor(x: Tensor) -> bool:
    return type(x).__name__ == "DTensor" and \
        type(x).__module__.startswith("torch.distributed.")


def _distributed() -> Any:
    from philox.torch import _distributed as module
    return module
