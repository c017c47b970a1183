"""What all tests of the package share."""

import pytest
import torch

import philox.torch as ph
from philox.torch import _states


@pytest.fixture(autouse=True)
def fresh_package():
    """Begin and end each test with no sites, no mesh, and one seed."""
    _states.reset()
    ph.seed(20240229)
    torch.manual_seed(1)
    yield
    _states.reset()
