"""Modules that draw, and the exchange of PyTorch's for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from philox.torch import _operators, _states

_counter = itertools.count()


class Site(nn.Module):
    """A module that draws, once or several times in a forward of its model.

    Attributes:
        site: the name under which it draws. Modules that share a name share
            numbers in turn, and none draws what another has drawn.
    """

    site: str

    def __init__(self, site: str | None = None) -> None:
        super().__init__()
        self.site = site or f"{type(self).__name__}-{next(_counter)}"
        # What philox.torch.compile() reserves for a forward: a row for each call
        self.register_buffer("_given", torch.empty(0, 2, dtype=torch.int64),
                             persistent=False)
        self._next = 0
        self._calls = 0
        self._anchored = False  # by a compiled model, before its graph

    def states(self, device: torch.device) -> Tensor | None:
        """Return the states of one draw; None: the operator reserves them."""
        n = self._given.shape[0]
        if n == 0:
            self._count()
            return None
        if n == 1:
            return self._given
        i = self._next
        if i >= n:
            raise RuntimeError(
                f"philox: {self.site} draws more than the {n} times a forward "
                "that it drew in the first call of the compiled model")
        self._next = i + 1
        return self._given[i:i + 1]

    def draws(self) -> bool:
        """Return whether a call of the module would draw now."""
        return self.training

    @torch.compiler.disable
    def _count(self) -> None:
        self._calls += 1
        if self._anchored and _states.in_backward() and _states.is_anchored():
            raise RuntimeError(
                f"philox: {self.site} draws in a recompute outside of the graph "
                "of its compiled model, which had reserved its numbers before: "
                "use philox.torch.checkpoint() in that model")


class _Dropout(Site):
    """What the dropouts have in common."""

    draw: Callable[..., Tensor]

    def __init__(self, p: float = 0.5, inplace: bool = False, *,
                 site: str | None = None) -> None:
        super().__init__(site)
        _operators._require_p(p, type(self).__name__)
        self.p = p
        self.inplace = inplace

    def forward(self, x: Tensor) -> Tensor:
        """Return x with dropout in training, x itself otherwise."""
        if not self.draws():
            return x
        draw = type(self).draw
        y = draw(x, self.p, site=self.site, states=self.states(x.device))
        return x.copy_(y) if self.inplace else y

    def draws(self) -> bool:
        """Return whether a call of the module would draw now."""
        return self.training and self.p > 0

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}, site={self.site!r}"


class Dropout(_Dropout):
    """``nn.Dropout`` without a stored mask: :func:`philox.torch.dropout`."""

    draw = staticmethod(_operators.dropout)


class Dropout1d(_Dropout):
    """``nn.Dropout1d``: :func:`philox.torch.dropout1d`."""

    draw = staticmethod(_operators.dropout1d)


class Dropout2d(_Dropout):
    """``nn.Dropout2d``: :func:`philox.torch.dropout2d`."""

    draw = staticmethod(_operators.dropout2d)


class Dropout3d(_Dropout):
    """``nn.Dropout3d``: :func:`philox.torch.dropout3d`."""

    draw = staticmethod(_operators.dropout3d)


class AlphaDropout(_Dropout):
    """``nn.AlphaDropout``: :func:`philox.torch.alpha_dropout`."""

    draw = staticmethod(_operators.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """``nn.FeatureAlphaDropout``: :func:`philox.torch.feature_alpha_dropout`."""

    draw = staticmethod(_operators.feature_alpha_dropout)


_EXCHANGED: dict[type[nn.Module], type[_Dropout]] = {
    nn.Dropout: Dropout, nn.Dropout1d: Dropout1d, nn.Dropout2d: Dropout2d,
    nn.Dropout3d: Dropout3d, nn.AlphaDropout: AlphaDropout,
    nn.FeatureAlphaDropout: FeatureAlphaDropout}


def exchange(model: nn.Module, prefix: str = "") -> nn.Module:
    """Exchange every dropout module of a model for philox's, and name all sites.

    A site's name is its path in the model after `prefix`, "encoder.0.dropout"
    for example, so that it is the same in every process and after a load. A
    module that the model has at two paths has its first. Subclasses of
    PyTorch's modules are left alone.

    Returns the model, or, if it is a dropout module itself, the new one.

    Not exchanged, as no module draws there: the ``dropout=`` of
    ``nn.MultiheadAttention`` and of recurrent modules, and calls of
    ``torch.nn.functional``. :func:`leftovers` names the former.
    """
    made: dict[nn.Module, nn.Module] = {}
    for path, module in list(model.named_modules()):
        name = ".".join(part for part in (prefix, path) if part)
        if isinstance(module, Site):
            module.site = name or module.site
        elif type(module) in _EXCHANGED:
            new = _EXCHANGED[type(module)](module.p, module.inplace,
                                           site=name or None)
            new.train(module.training)
            made[module] = new
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if child in made:
                parent._modules[name] = made[child]
    return made.get(model, model)


def leftovers(model: nn.Module) -> list[str]:
    """Return the paths of modules that draw, in training, with PyTorch's generator.

    Known are PyTorch's own: dropouts and RReLU, attention and recurrent modules
    with ``dropout`` above 0, fractional pooling.
    """
    known: tuple[Any, ...] = (
        nn.modules.dropout._DropoutNd, nn.RReLU, nn.FractionalMaxPool2d,
        nn.FractionalMaxPool3d)
    return [path for path, module in model.named_modules()
            if isinstance(module, known)
            or (isinstance(module, (nn.MultiheadAttention, nn.RNNBase))
                and module.dropout > 0)]


def sites(model: nn.Module) -> list[Site]:
    """Return the modules of a model that draw, each once."""
    return [module for module in model.modules() if isinstance(module, Site)]
