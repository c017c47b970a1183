"""Compiled models and checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import checkpoint as _checkpoint

from philox.torch import _states, modules


class Compiled(nn.Module):
    """A compiled model whose states are reserved before each call.

    In the graph they are inputs: nothing in it reserves, so recomputes, whoever
    asks for them, draw what the forward drew.
    """

    def __init__(self, model: nn.Module, **options: Any) -> None:
        super().__init__()
        self.model = model
        self._options = options
        self._sites = dict(enumerate(modules.sites(model)))
        names = {module: name for name, module in model.named_modules()}
        self._buffers_of = [f"{names[site]}._given".lstrip(".")
                            for site in self._sites.values()]
        # How often each site draws, by which of them may
        self._counts: dict[tuple[bool, ...], list[int]] = {}
        self._run = torch.compile(self._call, **options)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items()
                if name != "_run"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._run = torch.compile(self._call, **self._options)

    def _call(self, states: list[Tensor], arguments: tuple[Any, ...],
              keywords: dict[str, Any]) -> Any:
        for site, own in zip(self._sites.values(), states, strict=True):
            if own.shape[0] > 1:
                site._next = 0
        swapped = dict(zip(self._buffers_of, states, strict=True))
        return torch.func.functional_call(self.model, swapped, arguments,
                                          keywords)

    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the model; the first call in training is eager, and counts."""
        who = tuple([site.draws() for site in self._sites.values()])
        if not any(who):
            return self._run([site._given for site in self._sites.values()],
                             arguments, keywords)
        # A recompute of the first call is eager, too
        first = _states.remembered(who not in self._counts)
        if first or who not in self._counts:
            return self._first(who, arguments, keywords)
        return self._run(self._reserve(self._counts[who]), arguments, keywords)

    def _first(self, who: tuple[bool, ...], arguments: tuple[Any, ...],
               keywords: dict[str, Any]) -> Any:
        if _states.is_anchored():
            # Its recompute would not be eager, and take seeds in another order
            raise RuntimeError(
                "philox: the first call of a compiled model in training counts "
                "its draws: make one outside of philox.torch.anchored()")
        for site in self._sites.values():
            site._calls = 0
        result = self.model(*arguments, **keywords)
        self._counts[who] = [site._calls for site in self._sites.values()]
        return result

    def _reserve(self, counts: list[int]) -> list[Tensor]:
        """Reserve a row for each draw that the first call counted."""
        sites = [(site, n) for site, n in zip(self._sites.values(), counts,
                                              strict=True) if n]
        if not sites:
            return [site._given for site in self._sites.values()]
        if _states.is_anchored():
            for site, _ in sites:
                site._anchored = True
        rows = _states.reserve_all([site.site for site, _ in sites],
                                   [n for _, n in sites], self._device())
        parts = iter(rows.split([n for _, n in sites]))
        return [next(parts) if n else site._given
                for site, n in zip(self._sites.values(), counts, strict=True)]

    def _device(self) -> torch.device:
        tensor = next(self.model.parameters(), None)
        return torch.device("cpu") if tensor is None else tensor.device


def compile(model: nn.Module, **options: Any) -> Compiled:
    """Return ``torch.compile`` of a model, with states reserved before each call.

    Args:
        model: its modules that draw are philox's (:func:`exchange`).
        options: those of ``torch.compile``: fullgraph, dynamic, mode, backend.

    The numbers are those of the model itself, called as often. The first call
    in training runs the model itself and counts how often each module draws,
    and so does the first call after modules went to evaluation or back. A
    module that draws more often later raises RuntimeError, unless it drew just
    once: then it would repeat itself. One that did not draw at all leaves the
    graph when it does, as under ``torch.compile``. Modules that share a site
    are refused, and so is a model on several devices.

    A module that draws several times within a checkpoint of the model needs
    ``torch._dynamo.config.skip_fwd_side_effects_in_bwd_under_checkpoint``.
    """
    names = [site.site for site in modules.sites(model)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"philox: two modules draw at the site {twice[0]!r}: "
                         "call philox.torch.exchange(model) to name them")
    devices = {tensor.device for tensor in model.parameters()}
    if len(devices) > 1:
        raise ValueError("philox: a model on several devices: compile its parts")
    return Compiled(model, **options)


def checkpoint(function: Callable[..., Any], *arguments: Any,
               **keywords: Any) -> Any:
    """Call a function under ``torch.utils.checkpoint``, without reentry.

    Its recompute draws what its forward drew. Keywords of
    ``torch.utils.checkpoint.checkpoint``, a context_fn among them, are passed
    on; a selective policy is one. Where a graph is captured,
    ``preserve_rng_state`` is False by default.
    """
    if keywords.pop("use_reentrant", False):
        raise ValueError("philox: a reentrant checkpoint has no tape: call "
                         "PyTorch's, with philox.torch.anchored() within")
    inner = keywords.pop("context_fn", None)

    def contexts() -> tuple[Any, Any]:
        ours = _states.checkpoint_contexts()
        if inner is None:
            return ours
        return tuple(_Both(*pair) for pair in zip(inner(), ours, strict=True))

    if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        # PyTorch's generator cannot be read in a capture
        keywords.setdefault("preserve_rng_state", False)
    if torch.compiler.is_compiling():
        # States are inputs of the graph there: nothing has to be recorded
        return _checkpoint.checkpoint(
            function, *arguments, use_reentrant=False,
            **({"context_fn": inner} if inner else {}), **keywords)
    return _checkpoint.checkpoint(function, *arguments, use_reentrant=False,
                                  context_fn=contexts, **keywords)


class _Both:
    """Two context managers as one, which may be entered again."""

    def __init__(self, outer: Any, inner: Any) -> None:
        self.outer, self.inner = outer, inner

    def __enter__(self) -> None:
        self.outer.__enter__()
        try:
            self.inner.__enter__()
        except BaseException:
            self.outer.__exit__(None, None, None)
            raise

    def __exit__(self, *error: Any) -> Any:
        try:
            self.inner.__exit__(*error)
        finally:
            stopped = self.outer.__exit__(*error)
        return stopped
