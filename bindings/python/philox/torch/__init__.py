"""philox for PyTorch: random operators whose masks are never stored.

The numbers are the same eager, compiled, under activation checkpointing, with
retain_graph and backwards in any order, on any mesh of ranks, and after a resume
in the middle of a step::

    import philox.torch as ph

    ph.seed(42)
    model = ph.exchange(model)        # every nn.Dropout of the model
    loss = model(x).sum()
    loss.backward()                   # draws each mask again, from 16 bytes
    torch.save(ph.state_dict(), "states.pt")

A draw takes its numbers from a *state*, a pair {seed, offset}. A *site* has a
name and gives a new state to each draw; :func:`reserve` gives them to you.
"""

from philox._library import Error
from philox.torch._compile import Compiled, checkpoint, compile
from philox.torch._operators import (
    alpha_dropout, bernoulli, bernoulli_, dropout, dropout1d, dropout2d,
    dropout3d, dropout_, exponential, exponential_, feature_alpha_dropout,
    gumbel, integers, integers_, log_normal, log_normal_, normal, normal_,
    sample, stochastic_round, uniform, uniform_)
from philox.torch._states import (
    anchored, check, checkpoint_contexts, digest, fresh, load_state_dict,
    reserve, reserve_all, seed, set_mesh, state_dict, unclaimed)
from philox.torch.modules import (
    AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout,
    exchange, leftovers, sites)

__all__ = [
    "AlphaDropout", "Compiled", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d",
    "Error", "FeatureAlphaDropout", "alpha_dropout", "anchored", "bernoulli",
    "bernoulli_", "check", "checkpoint", "checkpoint_contexts", "compile",
    "digest", "dropout", "dropout1d", "dropout2d", "dropout3d", "dropout_",
    "exchange", "exponential", "exponential_", "feature_alpha_dropout", "fresh",
    "gumbel", "integers", "integers_", "leftovers", "load_state_dict",
    "log_normal", "log_normal_", "normal", "normal_", "reserve", "reserve_all",
    "sample", "seed", "set_mesh", "sites", "state_dict", "stochastic_round",
    "unclaimed", "uniform", "uniform_"]
