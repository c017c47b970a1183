"""philox: random numbers that are safe in captured graphs and exactly repeatable
in the backward pass.

``philox.torch`` has the operators, modules and states for PyTorch, and
``philox.jax`` a few functions for JAX on a CPU.
"""

from philox._library import Error, build, version

__version__ = version()
__all__ = ["Error", "__version__", "build"]
