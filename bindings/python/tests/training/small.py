"""Small models, and checks that many tests of training make."""

import torch
from torch import nn

import philox.torch as ph

torch.set_num_threads(1)  # other processes test at the same time


def positive(*shape):
    """Return a leaf without zeros, so that zeros of a result are dropped."""
    return (torch.rand(shape) + 0.5).requires_grad_()


def require_one_mask(x, y):
    """Check, after y.sum().backward(), that forward and backward agree.

    y is 0 exactly where x was dropped; both kinds of elements must exist.
    """
    kept = y != 0
    assert kept.any() and not kept.all()
    assert torch.equal(x.grad != 0, kept)


class Squared(nn.Module):
    """dropout(x) squared: the backward needs the mask, or what it made."""

    def __init__(self, module=None):
        super().__init__()
        self.drop = module or ph.Dropout(0.5, site="drop")

    def forward(self, x):
        y = self.drop(x)
        return y * y


class Block(nn.Module):
    """A layer of a transformer that drops at four places."""

    def __init__(self, width, heads, p):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.drop_weights, self.drop_out = nn.Dropout(p), nn.Dropout(p)
        self.drop_up, self.drop_down = nn.Dropout(p), nn.Dropout(p)

    def attend(self, x):
        n, length, width = x.shape
        q, k, v = self.qkv(x).view(
            n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) / (width / self.heads) ** 0.5)
        weights = self.drop_weights(weights.softmax(-1))
        return (weights @ v).transpose(1, 2).reshape(n, length, width)

    def forward(self, x):
        x = x + self.drop_out(self.out(self.attend(self.norm1(x))))
        up = self.drop_up(torch.relu(self.up(self.norm2(x))))
        return x + self.drop_down(self.down(up))


class Transformer(nn.Module):
    """Two layers over 20 tokens; `around` calls each layer."""

    def __init__(self, p=0.25, width=16):
        super().__init__()
        self.embed = nn.Embedding(20, width)
        self.blocks = nn.ModuleList(Block(width, 2, p) for _ in range(2))
        self.head = nn.Linear(width, 20)
        self.around = None

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = self.around(block, x) if self.around else block(x)
        return self.head(x)


def new_transformer():
    """Return the same transformer each time, with philox's dropouts."""
    torch.manual_seed(7)
    return ph.exchange(Transformer())


def batch(step):
    """Return the tokens of a step."""
    generator = torch.Generator().manual_seed(1000 + step)
    return torch.randint(20, (4, 8), generator=generator)


def train(model, optimizer, steps):
    """Return the losses of some steps, as bits."""
    losses = []
    for step in steps:
        tokens = batch(step)
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1),
                                           tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
    return losses


def gradients(model):
    """Return copies of the gradients of all parameters."""
    return [parameter.grad.clone() for parameter in model.parameters()]


def require_same(ours, theirs):
    """Check that two lists of tensors are the same, bit for bit."""
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert torch.equal(a, b)


def require_close(ours, theirs):
    """Check that two lists of tensors differ by rounding at most."""
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
