"""What operators are to PyTorch: schemas, fake kernels, compilers, export."""

import pytest
import torch
import torch._dynamo.testing
from torch.library import opcheck

import philox.torch as ph

ops = torch.ops.philox

STATES = torch.tensor([[3, 0], [4, 12], [5, 40]])
INTEGER = {"dtype": torch.int64}

#: Operator and the arguments after its first tensor and the states
CALLS = {
    "uniform": ((-1.0, 1.0), {}), "normal": ((0.0, 2.0), {}),
    "log_normal": ((0.0, 0.5), {}), "exponential": ((1.5,), {}),
    "bernoulli": ((0.3,), {}), "gumbel": ((), {}),
    "integers": ((0, 9), INTEGER), "dropout": ((0.4,), {}),
    "stochastic_round": ((torch.bfloat16,), {}),
    "masked": ((0.4, 2.0, 0.5, -1.0, 2), {}), "bernoulli_of": ((), {}),
    "uniform_": ((-1.0, 1.0), {}), "normal_": ((0.0, 2.0), {}),
    "log_normal_": ((0.0, 0.5), {}), "exponential_": ((1.5,), {}),
    "bernoulli_": ((0.3,), {}), "integers_": ((0, 9), INTEGER),
    "dropout_": ((0.4,), {}),
}
DIFFERENTIABLE = ("dropout", "masked", "stochastic_round", "bernoulli_of")


def subject(name, shape=(4, 6)):
    _, options = CALLS[name]
    return torch.ones(shape, **options) if options else torch.full(shape, 0.5)


def place(name):
    if name in ("masked", "bernoulli_of"):
        return 1, 4
    return 1, 4, 3, 10


def test_all_operators_are_in_these_tests():
    names = {name.split("::")[1].split(".")[0]
             for name in torch._C._dispatch_get_all_op_names()
             if name.startswith("philox::")}
    assert names == set(CALLS) | {"sample"}


@pytest.mark.parametrize("name", CALLS)
def test_opcheck_accepts_every_operator(name):
    arguments = (STATES, *CALLS[name][0])
    op = getattr(ops, name).default
    strided = subject(name, (6, 4)).t()
    inputs = [subject(name), subject(name, ()), subject(name, (0, 3))]
    if not name.endswith("_"):
        inputs += [strided]
    for x in inputs:
        opcheck(op, (x, *arguments))
    opcheck(op, (subject(name), *arguments, *place(name)))
    if name in DIFFERENTIABLE:
        for x in (subject(name), strided.clone()):
            opcheck(op, (x.requires_grad_(), *arguments))


def test_opcheck_accepts_sample():
    states = torch.arange(20).reshape(10, 2) * 4
    for rows in (1, 5, 0):
        for dtype in (torch.float32, torch.bfloat16):
            opcheck(ops.sample.default, (torch.randn(rows, 7).to(dtype),
                                         states, 0.7, 3, 0.9, 0.05, 2))


@pytest.mark.parametrize("name", CALLS)
def test_fake_kernels_give_the_shape_dtype_strides_and_device(name):
    if name.endswith("_"):
        return_nothing(name)
        return
    op = getattr(ops, name)
    for x in (subject(name), subject(name, (6, 4)).t(), subject(name, ()),
              subject(name, (2, 0))):
        real = op(x, STATES, *CALLS[name][0])
        with torch._subclasses.FakeTensorMode() as mode:
            fake = op(mode.from_tensor(x), mode.from_tensor(STATES),
                      *CALLS[name][0])
        for what in ("shape", "dtype", "device"):
            assert getattr(fake, what) == getattr(real, what)
        assert fake.stride() == real.stride()
        meta = op(x.to("meta"), STATES.to("meta"), *CALLS[name][0])
        assert meta.shape == real.shape and meta.dtype == real.dtype


def return_nothing(name):
    x = subject(name)
    assert getattr(ops, name)(x, STATES, *CALLS[name][0]) is None
    with torch._subclasses.FakeTensorMode() as mode:
        assert getattr(ops, name)(mode.from_tensor(x),
                                  mode.from_tensor(STATES),
                                  *CALLS[name][0]) is None


# --- torch.compile ------------------------------------------------------------

USER_CALLS = {
    "dropout": lambda x, s: ph.dropout(x, 0.3, states=s, op=1),
    "dropout1d": lambda x, s: ph.dropout1d(x, 0.3, states=s),
    "dropout2d": lambda x, s: ph.dropout2d(x, 0.3, states=s),
    "feature_alpha": lambda x, s: ph.feature_alpha_dropout(x, 0.3, states=s),
    "alpha": lambda x, s: ph.alpha_dropout(x, 0.3, states=s, op=2),
    "bernoulli_of": lambda x, s: ph.bernoulli(x.sigmoid(), states=s) * x,
    "round": lambda x, s: ph.stochastic_round(x, states=s).float() * x,
    "uniform": lambda x, s: x * ph.uniform(x.shape, -1.0, 1.0, states=s),
    "normal": lambda x, s: x + ph.normal(x.shape, states=s),
    "log_normal": lambda x, s: x + ph.log_normal(x.shape, states=s),
    "exponential": lambda x, s: x + ph.exponential(x.shape, states=s),
    "gumbel": lambda x, s: x + ph.gumbel(x.shape, states=s),
    "integers": lambda x, s: x + ph.integers(x.shape, 0, 9, states=s),
    "bernoulli": lambda x, s: x + ph.bernoulli(0.3, x.shape, states=s),
    "dropout_": lambda x, s: ph.dropout_(x * 2, 0.3, states=s),
    "dropout_ strided": lambda x, s: ph.dropout_((x * 2).transpose(0, 1), 0.3,
                                                 states=s),
    "normal_": lambda x, s: x * ph.normal_(torch.empty_like(x), states=s),
    "integers_": lambda x, s: x * ph.integers_(x.detach().long(), 0, 5,
                                               states=s),
}


@pytest.mark.parametrize("name", USER_CALLS)
def test_compiled_values_and_gradients_are_those_of_eager(name):
    f = USER_CALLS[name]
    torch._dynamo.reset()
    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    for shape in ((3, 4, 5), (3, 4, 5)):
        x = torch.randn(shape, requires_grad=True)
        y = x.detach().clone().requires_grad_()
        made, eager = compiled(x, STATES), f(y, STATES)
        assert made.equal(eager) and made.stride() == eager.stride()
        g = torch.randn_like(eager)
        made.backward(g)
        eager.backward(g)
        assert x.grad.equal(y.grad)


@pytest.mark.parametrize("name", USER_CALLS)
def test_dynamic_shapes_are_compiled_once(name):
    f = USER_CALLS[name]
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(f, backend=counter, fullgraph=True, dynamic=True)
    compiled(torch.randn(4, 6, 5), STATES)
    # A float that is specialised makes Dynamo begin the same frame again
    frames = counter.frame_count
    assert frames > 0
    for shape in ((2, 7, 3), (9, 5, 8), (4, 6, 5)):
        x = torch.randn(shape)
        assert compiled(x, STATES).equal(f(x, STATES))
    assert counter.frame_count == frames


def test_compiled_in_place_writes_an_argument():
    torch._dynamo.reset()

    @torch.compile(backend="aot_eager", fullgraph=True)
    def f(x, states):
        ph.dropout_(x, 0.5, states=states)
        ph.uniform_(x[0], states=states, op=1)
        return x.sum()

    x = torch.ones(4, 30)
    y = ph.dropout(x, 0.5, states=STATES)
    y[0] = ph.uniform((30,), states=STATES, op=1)
    total = f(x, STATES)
    assert x.equal(y) and total == y.sum()


def test_compiled_operators_write_in_place():
    torch._dynamo.reset()

    @torch.compile(backend="aot_eager", fullgraph=True)
    def f(x, states):
        ops.normal_(x, states, 0.0, 1.0)
        return x * 2

    x = torch.zeros(12)
    made = f(x, STATES)
    assert x.equal(ph.normal((12,), states=STATES)) and made.equal(x * 2)


def test_sample_compiles():
    torch._dynamo.reset()
    f = torch.compile(lambda x, s: ph.sample(x, 0.8, top_k=5, states=s) + 1,
                      backend="aot_eager", fullgraph=True, dynamic=True)
    for rows in (3, 2):
        x = torch.randn(rows, 20)
        assert f(x, STATES).equal(ph.sample(x, 0.8, top_k=5,
                                            states=STATES) + 1)


def test_a_call_without_states_leaves_the_graph_and_draws_new_numbers():
    torch._dynamo.reset()
    f = torch.compile(lambda x: ph.dropout(x + 1, 0.5, site="c"),
                      backend="aot_eager")
    x = torch.ones(100)
    first, second = f(x), f(x)
    assert not first.equal(second)
    ph.seed(20240229)
    assert ph.dropout(x + 1, 0.5, site="c").equal(first)
    assert ph.dropout(x + 1, 0.5, site="c").equal(second)


# --- torch.export -------------------------------------------------------------


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(8, 8)

    def forward(self, x, states):
        x = ph.dropout(self.line(x), 0.5, states=states)
        x = ph.alpha_dropout(x, 0.2, states=states, op=1)
        return x + ph.normal(x.shape, states=states, op=2)


def test_an_exported_program_draws_the_same_numbers():
    model, x = Model(), torch.randn(4, 8)
    rows = torch.export.Dim("rows", min=2, max=100)
    program = torch.export.export(model, (x, STATES), strict=True,
                                  dynamic_shapes=({0: rows}, None))
    targets = [str(node.target) for node in program.graph.nodes]
    assert {"philox.dropout.default", "philox.masked.default",
            "philox.normal.default"} <= set(targets)
    for n in (4, 9):
        x = torch.randn(n, 8)
        assert program.module()(x, STATES).equal(model(x, STATES))
    lowered = program.run_decompositions()
    assert lowered.module()(x, STATES).equal(model(x, STATES))


def test_an_exported_program_is_saved_and_loaded(tmp_path):
    model, x = Model(), torch.randn(4, 8)
    program = torch.export.export(model, (x, STATES))
    torch.export.save(program, tmp_path / "model.pt2")
    again = torch.export.load(tmp_path / "model.pt2")
    assert again.module()(x, STATES).equal(model(x, STATES))


def test_make_fx_traces_a_draw_and_its_backward():
    def f(x, states):
        y = ph.dropout(x, 0.5, states=states)
        return torch.autograd.grad(y.sum(), x)[0]

    x = torch.ones(50, requires_grad=True)
    traced = torch.fx.experimental.proxy_tensor.make_fx(f)(x, STATES)
    for states in (STATES, STATES + 4):
        assert traced(x, states).equal(
            ph.dropout(torch.ones(50), 0.5, states=states))
