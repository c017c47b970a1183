"""philox for JAX: numbers and dropout whose masks are never stored, on a CPU.

The numbers are those of ``philox.torch`` and of the C library, bit for bit::

    import philox.jax as ph

    @jax.jit
    def loss(x, state):
        return ph.dropout(x, state, 0.1).sum()

    ph.seed(42)
    jax.grad(loss)(x, ph.reserve("attention")[0])

A draw takes its numbers from a *state*, a pair {seed, offset} of 64 bits each,
and every function but those of the ledger is pure: the same state gives the
same numbers, under ``jit``, ``grad``, ``scan`` and ``jax.checkpoint``. So two
draws that are to differ need two states: of :func:`reserve`, or of
:func:`fold`.

As JAX has no 64-bit integers by default, a state is uint32[4]: the low and the
high word of the seed, then those of the offset. Where ``jax_enable_x64`` is on,
uint64[2] and int64[2] are states as well; such arrays of numpy always are.

Under ``vmap`` each element of the batch is a call of its own, one after the
other: where the state is shared all elements have the same numbers, and where
there is a state for each (``fold(state, jnp.arange(n))``), each has its own.

On several devices the numbers are the same, too: XLA does not split a draw of
this module, so under ``jit`` each device draws the whole array. Within
``jax.shard_map`` each draws its shard only, as an array of its own, from the
state that it is given: ``fold(state, jax.lax.axis_index(axis))``, for example.

It is for CPUs only: what XLA compiles for a GPU cannot draw here.

Shapes, dtypes and parameters are known when a function is traced; x, logits and
states may be traced. It was tested with jax 0.10.2; ``make python-jax`` builds
it, with the headers of the jax that is installed.
"""

from __future__ import annotations

import ctypes
import math
import operator
import pathlib
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from philox import _library
from philox._context import ADVANCE, Context
from philox._library import Error

__all__ = ["Error", "dropout", "fold", "load_state_dict", "normal", "reserve",
           "sample", "seed", "state", "state_dict", "uniform"]

_PATH = pathlib.Path(_library.__file__).parent / "jax_numbers.so"
if not _PATH.exists():
    raise ImportError(
        f"philox: there is no {_PATH}: `make python-jax` builds it")
_numbers = ctypes.CDLL(str(_PATH))
for _name in ("philox_jax_draw", "philox_jax_dropout", "philox_jax_sample"):
    jax.ffi.register_ffi_target(_name, jax.ffi.pycapsule(
        getattr(_numbers, _name)), platform="cpu")

_UNIFORM, _NORMAL = 1, 2  # enum philox_dist
_FLOATING = tuple(map(np.dtype, (jnp.float32, jnp.bfloat16, jnp.float16,
                                 jnp.float64)))
_LONG = (np.dtype(np.int64), np.dtype(np.uint64))

# --- arguments ----------------------------------------------------------------


def _words(states: Any, name: str) -> Array:
    """Return states, of any dtype they may have, as uint32[..., 4]."""
    if isinstance(states, np.ndarray) and states.dtype in _LONG:
        states = np.ascontiguousarray(states).view(np.uint32)
    words = jnp.asarray(states)
    if words.dtype in _LONG:
        words = jax.lax.bitcast_convert_type(words, jnp.uint32)
        words = words.reshape(*words.shape[:-2], -1)
    if words.dtype != jnp.uint32 or words.ndim < 1 or words.shape[-1] != 4:
        raise TypeError(
            f"philox: a state of {name} is uint32[4], or uint64[2] or int64[2] "
            f"with jax_enable_x64, not {jnp.asarray(states).dtype}"
            f"{list(np.shape(states))}")
    return words


def _one(state: Any, name: str) -> Array:
    words = _words(state, name)
    if words.ndim != 1:
        raise ValueError(f"philox: {name} takes one state, not an array of "
                         f"them of shape {list(words.shape[:-1])}")
    return words


def _number(value: Any, what: str) -> np.float64:
    """Return a parameter, which is a finite number."""
    if isinstance(value, jax.core.Tracer):
        raise TypeError(f"philox: {what} is a number that is known when a "
                        "function is traced, and not traced itself")
    if not math.isfinite(value):
        raise ValueError(f"philox: {what} is finite, not {value}")
    return np.float64(value)


def _fraction(value: Any, what: str) -> np.float64:
    number = _number(value, what)
    if not 0 <= number <= 1:
        raise ValueError(f"philox: {what} is in [0, 1], not {value}")
    return number


def _require_floating(dtype: np.dtype, name: str) -> None:
    if dtype not in _FLOATING:
        raise TypeError(f"philox: {name} takes float32, float64, bfloat16 and "
                        f"float16, not {dtype}")
    if dtype == np.float64 and not jax.config.jax_enable_x64:
        raise TypeError(f"philox: {name} of float64 needs jax_enable_x64")


def _shape(shape: int | Sequence[int], name: str) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, Sequence) else (shape,)
    sizes = tuple(map(operator.index, sizes))
    if any(size < 0 for size in sizes):
        raise ValueError(f"philox: {name} has no shape {sizes}")
    return sizes


def _call(target: str, shape: Sequence[int], dtype: Any, like: Array) -> Any:
    """Return a target whose result differs between shards as `like` does."""
    kind = jax.typeof(like)
    axes = getattr(kind, "manual_axis_type", None)
    if axes is None or axes.empty:
        result = jax.ShapeDtypeStruct(shape, dtype)
    else:
        result = kind.update(shape=tuple(shape), dtype=np.dtype(dtype),
                             weak_type=False)
    return jax.ffi.ffi_call(target, result, vmap_method="sequential")


# --- states -------------------------------------------------------------------


def _state_of(seed: int, offset: int) -> list[int]:
    return [seed % 2**32, seed >> 32, offset % 2**32, offset >> 32]


def state(seed: int, offset: int = 0) -> Array:
    """Make a state, uint32[4].

    Args:
        seed: from -2**63 to 2**64 - 1; negative ones are taken modulo 2**64.
        offset: a multiple of 4 from 0 to 2**64 - 4.
    """
    seed, offset = operator.index(seed), operator.index(offset)
    _require_seed(seed)
    if not 0 <= offset < 2**64 or offset % ADVANCE:
        raise ValueError(f"philox: an offset is a multiple of {ADVANCE} from 0 "
                         f"to 2**64 - {ADVANCE}, not {offset}")
    return jnp.array(_state_of(seed % 2**64, offset), jnp.uint32)


def _four_times(n: Any) -> tuple[Array, Array]:
    """Return the low and the high word of 4 n, modulo 2**64."""
    if isinstance(n, (int, np.integer)):
        n = np.array(int(n) % 2**64, np.uint64)
    # Before JAX would make 32 bits of 64
    steps = n if isinstance(n, np.ndarray) else jnp.asarray(n)
    if not jnp.issubdtype(steps.dtype, jnp.integer):
        raise TypeError(f"philox: fold takes integers, not {steps.dtype}")
    if steps.dtype.itemsize < 4:
        steps = steps.astype(np.int32)
    return (jnp.asarray(steps.astype(np.uint32)) << 2,
            jnp.asarray((steps >> 30).astype(np.uint32)))


def fold(state: Any, n: Any) -> Array:
    """Return the state of step `n`, whose offset is 4 n further, modulo 2**64.

    Args:
        state: one, or an array of them [..., 4].
        n: an integer; or an array of them, traced or not, that is broadcast
            with `state` but for its last dimension.

    Returns:
        States of the same dtype. That of step n of ``reserve(site, n)[0]`` is
        row n of it, so fold only to steps that were reserved.
    """
    words = _words(state, "fold")
    low, high = _four_times(n)
    offset = words[..., 2] + low
    high = words[..., 3] + high + (offset < low).astype(jnp.uint32)
    parts = jnp.broadcast_arrays(words[..., 0], words[..., 1], offset, high)
    folded = jnp.stack(parts, -1)
    dtype = jnp.asarray(state).dtype
    if dtype in _LONG:
        folded = jax.lax.bitcast_convert_type(
            folded.reshape(*folded.shape[:-1], 2, 2), dtype)
    return folded


# --- numbers ------------------------------------------------------------------


def uniform(state: Any, shape: int | Sequence[int] = (),
            dtype: Any = jnp.float32, low: float = 0.0,
            high: float = 1.0) -> Array:
    """Return numbers that are uniform in [low, high).

    Args:
        state: what to draw from.
        shape: () for one number.
        dtype: float32, bfloat16, float16, or float64 with jax_enable_x64.
        low, high: finite in the dtype, low below high.

    Raises:
        ValueError, TypeError: an argument is not allowed.
        jax.errors.JaxRuntimeError: the library refused, in its own sentence,
            what only it knows: a bound that the dtype does not have.
    """
    low, high = _number(low, "uniform's low"), _number(high, "uniform's high")
    if not low < high:
        raise ValueError(f"philox: uniform's low {low} is not below its high "
                         f"{high}")
    return _draw("uniform", _UNIFORM, state, shape, dtype, low, high)


def normal(state: Any, shape: int | Sequence[int] = (),
           dtype: Any = jnp.float32, mean: float = 0.0,
           std: float = 1.0) -> Array:
    """Return normal numbers; std is above 0. Else as :func:`uniform`."""
    mean, std = _number(mean, "normal's mean"), _number(std, "normal's std")
    if not std > 0:
        raise ValueError(f"philox: normal's std is above 0, not {std}")
    return _draw("normal", _NORMAL, state, shape, dtype, mean, std)


def _draw(name: str, dist: int, state: Any, shape: int | Sequence[int],
          dtype: Any, a: np.float64, b: np.float64) -> Array:
    _require_floating(np.dtype(dtype), name)
    words = _one(state, name)
    call = _call("philox_jax_draw", _shape(shape, name), np.dtype(dtype), words)
    return call(words, dist=np.int64(dist), a=a, b=b)


def dropout(x: Any, state: Any, p: float = 0.5) -> Array:
    """Drop each element with probability `p`; scale the others by 1 / (1 - p).

    Args:
        x: any shape; float32, bfloat16, float16, or float64 with
            jax_enable_x64.
        state: what to draw from.
        p: in [0, 1]. With 0 nothing is drawn, and the result is x.

    Returns:
        An array of x's shape and dtype. Of the mask nothing is kept: the
        backward draws it again from the state, which is all that it keeps.
        Element i in row-major order has the same mask in every dtype. A dropped
        NaN or infinity is 0.

    It has a ``jax.custom_vjp``, so reverse mode works, any number of times, and
    forward mode (``jvp``, ``jacfwd``) raises JAX's TypeError, unless p is 0.
    """
    x = jnp.asarray(x)
    p = _fraction(p, "dropout's p")
    _require_floating(x.dtype, "dropout")
    words = _one(state, "dropout")
    return _dropout(x, words, p) if p else x


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def _dropout(x: Array, words: Array, p: np.float64) -> Array:
    return _call("philox_jax_dropout", x.shape, x.dtype, x)(x, words, p=p)


def _dropout_forward(x: Array, words: Array,
                     p: np.float64) -> tuple[Array, Array]:
    return _dropout(x, words, p), words


def _dropout_backward(p: np.float64, words: Array,
                      g: Array) -> tuple[Array, None]:
    return _dropout(g, words, p), None


_dropout.defvjp(_dropout_forward, _dropout_backward)


def sample(logits: Any, states: Any, temperature: float = 1.0, top_k: int = 0,
           top_p: float = 1.0, min_p: float = 0.0) -> Array:
    """Return a token for each row of logits, by softmax(logits / temperature).

    Args:
        logits: [rows, vocabulary]; float32, bfloat16, float16.
        states: one for each row.
        temperature: at least 0; 0 takes the largest logit.
        top_k: only the k largest logits; 0: all.
        top_p: only the fewest tokens whose probability is at least this; 1:
            all.
        min_p: only tokens at least this times as likely as the likeliest; 0:
            all.

    Returns:
        int32 [rows]. There is no derivative.
    """
    logits = jax.lax.stop_gradient(jnp.asarray(logits))
    words = _words(states, "sample")
    if logits.dtype not in _FLOATING[:3]:
        raise TypeError("philox: sample takes float32, bfloat16 and float16, "
                        f"not {logits.dtype}")
    if logits.ndim != 2 or words.shape != (logits.shape[0], 4):
        raise ValueError(
            "philox: sample takes logits [rows, vocabulary] and a state for "
            f"each row, not logits {list(logits.shape)} and states "
            f"{list(words.shape)} of words")
    rows, vocabulary = logits.shape
    if not 0 < vocabulary < 2**31 - 1:
        raise ValueError("philox: sample has no vocabulary of size "
                         f"{vocabulary}")
    temperature = _number(temperature, "sample's temperature")
    if temperature < 0:
        raise ValueError("philox: sample's temperature is at least 0, not "
                         f"{temperature}")
    if not 0 <= operator.index(top_k) < 2**31:
        raise ValueError(f"philox: sample's top_k is at least 0, not {top_k}")
    parameters = {"temperature": temperature, "top_k": np.int64(top_k),
                  "top_p": _fraction(top_p, "sample's top_p"),
                  "min_p": _fraction(min_p, "sample's min_p")}
    if not rows:
        return jnp.zeros(0, jnp.int32)
    call = _call("philox_jax_sample", (rows,), jnp.int32, words)
    return call(logits, words, **parameters)


# --- the ledger ---------------------------------------------------------------


class _Ledger:
    """The context of this process, made when it is first needed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seed = 0
        self.made: Context | None = None

    def context(self) -> Context:
        with self.lock:
            if self.made is None:
                self.made = Context(seed=self.seed)
            return self.made


_ledger = _Ledger()


def _require_seed(value: int) -> None:
    if not -2**63 <= value < 2**64:
        raise ValueError(f"philox: the seed {value} has more than 64 bits")


def seed(value: int) -> None:
    """Give the ledger a seed, 0 before that; all sites begin again.

    Args:
        value: from -2**63 to 2**64 - 1; negative ones are taken modulo 2**64.
    """
    value = operator.index(value)
    _require_seed(value)
    context = _ledger.context()
    _ledger.seed = value % 2**64
    context.seed(_ledger.seed)


def reserve(site: str, n: int = 1) -> Array:
    """Return the states of the next `n` draws at a site, uint32[n, 4].

    Args:
        site: the name; a new one makes a new site.
        n: how many states, at least 1.

    They are those that ``philox.torch.reserve`` gives on a CPU without a mesh,
    and no other call of this function gives them. The ledger of
    ``philox.torch`` is another one: in a program with both, give the sites
    different names.

    Raises:
        RuntimeError: called in a function that is traced (``jit``, ``scan``,
            ``jax.checkpoint``), where it would run once and every call would
            have the same numbers: reserve before, and pass the states.
        philox.Error: the ledger refused, in its own sentence.
    """
    if isinstance(jnp.zeros(()), jax.core.Tracer):
        raise RuntimeError(
            f"philox: {site!r} is reserved in a function that is traced: each "
            "call of it would draw the same numbers. Reserve before it, and "
            "pass the states as an argument.")
    n = operator.index(n)
    if not 1 <= n < 2**32:
        raise ValueError(f"philox: reserve gives 1 state or more, not {n}")
    first = _library.State()
    _ledger.context().reserve((site,), (n,), ctypes.addressof(first))
    return fold(state(first.seed, first.offset), jnp.arange(n, dtype=jnp.uint32))


def state_dict() -> dict[str, Any]:
    """Return all that decides later states of the ledger, as plain data.

    It is like that of ``philox.torch``, which can load it, with the sites of a
    CPU. States that were reserved and not used up are not in it.
    """
    return {"version": 1, "seed": _ledger.seed,
            "contexts": {"cpu": _ledger.context().save_text()}}


def load_state_dict(state: Mapping[str, Any]) -> None:
    """Continue where :func:`state_dict` was called, in this or a new process.

    Raises:
        ValueError: it is not of this version, or has no sites of a CPU.
        philox.Error: its text is damaged; nothing has changed.
    """
    if state.get("version") != 1 or "cpu" not in state["contexts"]:
        raise ValueError("philox: not a state_dict() of a CPU, of this version")
    made = Context(seed=state["seed"])
    made.load_text(state["contexts"]["cpu"])
    with _ledger.lock:
        _ledger.made = made
        _ledger.seed = state["seed"]
