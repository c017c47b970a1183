"""What the tests of training share."""

import pytest
import torch

from philox.torch import _states


@pytest.fixture(autouse=True)
def as_in_a_new_process():
    """Begin each test without sites, a mesh, compiled code or tapes."""
    _states.reset()
    torch._dynamo.reset()
    torch.manual_seed(20)
    yield
    _states.reset()
