"""philox.torch.compile: the numbers of the model itself, called as often."""

import copy
import io
import pickle

import pytest
import torch
import torch.distributed as dist
from torch import nn

import philox.torch as ph
from small import Squared, positive, require_close, require_one_mask, \
    require_same


def compiled(model, **options):
    return ph.compile(model, **{"backend": "aot_eager", "fullgraph": True,
                                **options})


def calls(model, arguments, **keywords):
    """Return masks of all results of several calls, and all gradients."""
    ph.seed(9)
    results = []
    for argument in arguments:
        x = argument.clone().requires_grad_()
        y = model(x, **keywords)
        y.sum().backward()
        results += [y.detach(), x.grad]
    return results


def inputs(n, *shape):
    torch.manual_seed(2)
    return [torch.rand(shape or (40,)) + 0.5 for _ in range(n)]


class Thrice(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = ph.Dropout(0.25, site="thrice")
        self.once = ph.Dropout(0.25, site="once")

    def forward(self, x):
        x = self.drop(self.once(self.drop(x)).sin() + 1)
        return self.drop(x) * x


class Shared(nn.Module):
    """One module at two paths."""

    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Dropout(0.25), nn.Sigmoid())
        self.b = nn.Sequential(self.a[0], nn.Tanh())

    def forward(self, x):
        return self.b(self.a(x)) + 0.1


class Unused(nn.Module):
    """A module that is not called, before one that is."""

    def __init__(self):
        super().__init__()
        self.idle = ph.Dropout(0.5, site="idle")
        self.drop = ph.Dropout(0.5, site="busy")

    def forward(self, x):
        return self.drop(x) * x


MODELS = {"thrice": Thrice, "shared": lambda: ph.exchange(Shared()),
          "unused": Unused, "alone": lambda: ph.Dropout(0.5, site="alone"),
          "alpha": lambda: ph.exchange(nn.Sequential(
              nn.AlphaDropout(0.3), nn.FeatureAlphaDropout(0.3))),
          "channels": lambda: ph.exchange(nn.Sequential(
              nn.Dropout1d(0.3), nn.Unflatten(2, (2, 5)), nn.Dropout2d(0.3)))}


@pytest.mark.parametrize("name", MODELS)
def test_a_compiled_model_draws_what_the_model_does(name):
    shape = (2, 3, 10) if name in ("alpha", "channels") else (40,)
    xs = inputs(4, *shape)
    eager = calls(MODELS[name](), xs)
    require_close(calls(compiled(MODELS[name]()), xs), eager)
    assert not torch.equal(eager[0] != 0, eager[2] != 0) or \
        not torch.equal(eager[0], eager[2])


def test_a_module_called_three_times_draws_three_masks():
    class Three(Thrice):
        def forward(self, x):
            return torch.stack([self.drop(x) for _ in range(3)])

    model = compiled(Three())
    for _ in range(3):
        masks = model(torch.ones(100)) != 0
        assert len({tuple(mask.tolist()) for mask in masks}) == 3


class Within(Thrice):
    def forward(self, x):
        return ph.checkpoint(super().forward, x)


def test_modules_called_thrice_in_a_checkpoint_need_an_option_of_pytorch():
    xs = inputs(4)
    with torch._dynamo.config.patch(
            skip_fwd_side_effects_in_bwd_under_checkpoint=True):
        require_close(calls(compiled(Within()), xs), calls(Thrice(), xs))


def test_modules_called_thrice_in_a_checkpoint_are_refused_without_it():
    model = compiled(Within())
    calls(model, inputs(1))
    with pytest.raises(torch._dynamo.exc.Unsupported, match="_next"):
        model(positive(40))


def test_modules_called_thrice_in_a_checkpoint_fail_aloud_after_a_break():
    model = compiled(Within(), fullgraph=False)
    calls(model, inputs(1))
    y = model(positive(40))
    with pytest.raises(RuntimeError, match="'thrice' draws inside a backward"):
        y.sum().backward()


def test_an_unused_modules_site_does_not_move():
    model = compiled(Unused())
    calls(model, inputs(3))
    ours = ph.reserve("idle")
    ph.seed(9)
    assert torch.equal(ours, ph.reserve("idle"))


def test_a_module_that_draws_more_often_than_counted_says_so():
    class Varying(Thrice):
        n = 2

        def forward(self, x):
            for _ in range(self.n):
                x = self.drop(x)
            return x

    model = compiled(Varying(), fullgraph=False)
    model(torch.ones(4))
    model(torch.ones(4))
    model.model.n = 3
    with pytest.raises(Exception, match="thrice draws more than the 2 times"):
        model(torch.ones(4))


def test_a_branch_that_was_not_taken_at_first_is_right_later():
    class Branch(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = (ph.Dropout(0.5, site=s) for s in "ab")
            self.second = False

        def forward(self, x):
            y = self.b(x) if self.second else self.a(x)
            return y * y

    model = compiled(Branch(), fullgraph=False)
    masks = []
    for second in (False, False, True, True):
        model.model.second = second
        x = positive(100)
        y = model(x)
        y.sum().backward()
        require_one_mask(x, y)
        masks.append(tuple((y != 0).tolist()))
    assert len(set(masks)) == 4


def test_evaluation_draws_nothing_and_training_continues():
    def run(model):
        ph.seed(1)
        x = torch.rand(50) + 0.5
        torch.manual_seed(0)
        results = []
        for mode in (True, True, False, False, True, False, True):
            model.train(mode)
            y = model(x)
            results.append(y != 0)
            assert torch.equal(y, x * x) == (not mode)
        return results

    require_same(run(compiled(Squared())), run(Squared()))


def test_a_model_first_called_in_evaluation_trains_later():
    model = compiled(Squared()).eval()
    assert torch.equal(model(torch.ones(50)), torch.ones(50))
    model.train()
    ph.seed(9)
    ours = [model(torch.ones(50)) for _ in range(3)]
    ph.seed(9)
    own = Squared()
    require_same(ours, [own(torch.ones(50)) for _ in range(3)])


def test_the_mode_of_the_wrapped_model_is_what_counts():
    """Its owner may call eval() of the model, or of a part, itself."""
    def run(model, parts):
        ph.seed(1)
        results = []
        for first, second in ((1, 1), (1, 0), (1, 0), (0, 0), (0, 1), (1, 1)):
            parts[0].train(bool(first))
            parts[1].train(bool(second))
            results.append(model(torch.ones(50)) != 0)
        return results

    def new():
        return ph.exchange(nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.25)))

    own = new()
    expected = run(own, list(own))
    model = compiled(new())
    require_same(run(model, list(model.model)), expected)


def test_a_probability_may_change_and_be_0_in_between():
    def run(model, drop):
        ph.seed(1)
        results = []
        for p in (0.0, 0.5, 0.25, 0.0, 0.75):
            drop.p = p
            results.append(model(torch.ones(50)) != 0)
        return results

    own = Squared()
    model = compiled(Squared())
    require_same(run(model, model.model.drop), run(own, own.drop))


def test_shapes_may_vary():
    xs = [inputs(1, n, 3)[0] for n in (4, 7, 5, 9, 2)]
    require_close(calls(compiled(Thrice(), dynamic=True), xs),
                  calls(Thrice(), xs))


def test_arguments_may_be_keywords_and_containers():
    class Picky(Squared):
        def forward(self, batch, *, scale, extra=None):
            y = self.drop(batch["x"][0]) * scale
            return {"y": y, "more": [y * extra["z"], None]}

    def run(model):
        ph.seed(1)
        results = []
        for _ in range(3):
            x = positive(40)
            out = model({"x": [x, "text"]}, scale=2.0,
                        extra={"z": torch.full((40,), 3.0)})
            assert out["more"][1] is None
            (out["y"] + out["more"][0]).sum().backward()
            require_one_mask(x, out["y"])
            results.append(out["y"] != 0)
        return results

    require_same(run(compiled(Picky())), run(Picky()))


def test_state_dict_goes_through_a_compiled_model():
    def new():
        return ph.exchange(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)))

    first, second = compiled(new()), compiled(new())
    first(torch.ones(1, 4))
    state = first.state_dict()
    assert set(state) == {"model.0.weight", "model.0.bias"}
    second.load_state_dict(state)
    third = new()
    third.load_state_dict(first.model.state_dict())
    for other in (second.model, third):
        require_same(list(other.state_dict().values()), list(state.values()))
    x = torch.ones(5, 4)
    results = [calls(model, [x, x]) for model in (first, second, third)]
    require_close(results[0], results[1])
    require_close(results[0], results[2])


@pytest.mark.parametrize("how", [copy.deepcopy,
                                 lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("called", [0, 1, 2])
def test_a_copy_of_a_compiled_model_runs_its_own_parameters(how, called):
    model = compiled(ph.exchange(nn.Sequential(nn.Linear(4, 4),
                                               nn.Dropout(0.5))))
    for _ in range(called):
        model(torch.ones(1, 4))
    other = how(model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.fill_(1.0)
    for _ in range(2):
        y = other(torch.ones(50, 4))
        assert set(y.flatten().tolist()) == {0.0, 10.0}
    assert 10.0 not in model(torch.ones(50, 4)).flatten().tolist()


@pytest.mark.parametrize("how", [copy.deepcopy,
                                 lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_of_a_module_has_its_site_and_none_of_its_numbers(how):
    module = ph.Dropout(0.5)
    other = how(module)
    assert other.site == module.site and other.p == module.p
    masks = [m(torch.ones(100)) != 0 for m in (module, other, module, other)]
    assert len({tuple(mask.tolist()) for mask in masks}) == 4


def test_a_whole_model_goes_through_torch_save():
    model = ph.exchange(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)))
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    other = torch.load(file, weights_only=False)
    assert other[1].site == "1"
    xs = inputs(2, 3, 4)
    require_same(calls(other, xs), calls(model, xs))


def test_modules_that_share_a_site_are_refused_until_named():
    model = nn.Sequential(ph.Dropout(0.5, site="same"),
                          ph.Dropout(0.5, site="same"))
    with pytest.raises(ValueError, match="'same'"):
        ph.compile(model)
    xs = inputs(3)
    ph.exchange(model)
    require_close(calls(compiled(model), xs), calls(model, xs))


def test_two_models_with_the_same_names_draw_in_turn():
    """They share sites, and no number."""
    models = [compiled(Squared()), compiled(Squared())]
    masks = [model(torch.ones(100)) != 0 for _ in range(3) for model in models]
    assert len({tuple(mask.tolist()) for mask in masks}) == 6
    ph.seed(0)
    own = Squared()
    require_same(masks, [own(torch.ones(100)) != 0 for _ in range(6)])


def test_prefixes_keep_two_models_apart():
    models = [ph.exchange(nn.Sequential(nn.Dropout(0.5)), prefix=name)
              for name in ("one", "two")]
    ph.seed(9)
    first = models[0](torch.ones(100))
    models[1](torch.ones(100))
    ph.seed(9)
    models[1](torch.ones(100))
    assert torch.equal(first, models[0](torch.ones(100)))


def test_frozen_and_no_grad_calls_draw_the_same_numbers():
    def run(model):
        ph.seed(3)
        results = [model(torch.ones(50))]
        with torch.no_grad():
            results.append(model(torch.ones(50)))
        with torch.inference_mode():
            results.append(model(torch.ones(50)).clone())
        results.append(model(torch.ones(50)))
        return [y != 0 for y in results]

    require_same(run(compiled(Squared())), run(Squared()))


@pytest.fixture
def one_process_group(tmp_path):
    store = dist.FileStore(str(tmp_path / "store"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("order", ["DDP of compiled", "compiled of DDP",
                                   "DDP"])
def test_data_parallel_models_draw_what_the_model_does(one_process_group,
                                                       order):
    def new():
        torch.manual_seed(0)
        return ph.exchange(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5),
                                         nn.Tanh(), nn.Dropout(0.25)))

    parallel = nn.parallel.DistributedDataParallel
    model = {"DDP of compiled": lambda: parallel(compiled(new())),
             "compiled of DDP": lambda: compiled(parallel(new()),
                                                 fullgraph=False),
             "DDP": lambda: parallel(new())}[order]()
    own = new()
    xs = inputs(4, 6, 4)
    require_close(calls(model, xs), calls(own, xs))
    require_close([p.grad for p in model.parameters()],
                  [p.grad for p in own.parameters()])


def test_default_devices_and_modes_do_not_change_what_is_reserved():
    ph.seed(1)
    expected = ph.reserve("site", 3)
    ph.seed(1)
    with torch.device("meta"):
        assert torch.equal(ph.reserve("site", 3, "cpu"), expected)


def test_a_model_made_on_meta_trains_once_it_is_real():
    with torch.device("meta"):
        model = ph.exchange(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)))
    model = compiled(model.to_empty(device="cpu"))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1.0)
    for _ in range(3):
        y = model(torch.ones(50, 4))
        assert set(y.flatten().tolist()) == {0.0, 10.0}
