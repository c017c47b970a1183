"""What all tests of the package share."""

import pytest

import philox.torch as ph
from philox.torch import _states


@pytest.fixture(autouse=True)
def fresh_package():
    """Begin and end each test with no sites, no mesh, and one seed."""
    _states.reset()
    ph.seed(20240229)
    yield
    _states.reset()
