"""philox.torch.exchange: modules, names and what it leaves."""

import pytest
import torch
from torch import nn

import philox.torch as ph
from small import positive, require_one_mask, require_same

PAIRS = [(nn.Dropout, ph.Dropout), (nn.Dropout1d, ph.Dropout1d),
         (nn.Dropout2d, ph.Dropout2d), (nn.Dropout3d, ph.Dropout3d),
         (nn.AlphaDropout, ph.AlphaDropout),
         (nn.FeatureAlphaDropout, ph.FeatureAlphaDropout)]


@pytest.mark.parametrize("theirs, ours", PAIRS)
def test_every_dropout_is_exchanged_with_its_settings(theirs, ours):
    for p, inplace, training in ((0.1, False, True), (0.7, True, False)):
        model = nn.Sequential(nn.Identity(), theirs(p, inplace))
        model.train(training)
        assert ph.exchange(model) is model
        new = model[1]
        assert type(new) is ours
        assert (new.p, new.inplace, new.training, new.site) == \
            (p, inplace, training, "1")


def test_a_model_that_is_a_dropout_is_returned_new():
    new = ph.exchange(nn.Dropout(0.3))
    assert type(new) is ph.Dropout and new.p == 0.3


def test_sites_are_paths_after_the_prefix():
    model = nn.ModuleDict({
        "encoder": nn.ModuleList([nn.Sequential(nn.Linear(2, 2),
                                                nn.Dropout(0.1))]),
        "head": nn.Dropout(0.2)})
    ph.exchange(model, prefix="student")
    assert [site.site for site in ph.sites(model)] == [
        "student.encoder.0.1", "student.head"]
    ph.exchange(model)
    assert [site.site for site in ph.sites(model)] == ["encoder.0.1", "head"]


def test_a_shared_module_is_one_site_with_its_first_path():
    shared = nn.Dropout(0.5)
    model = nn.ModuleDict({"a": nn.Sequential(shared), "b": shared})
    ph.exchange(model)
    assert model["a"][0] is model["b"]
    assert model["b"].site == "a.0"
    assert ph.sites(model) == [model["b"]]
    masks = [m(torch.ones(100)) != 0 for m in (model["a"], model["b"])]
    assert not torch.equal(*masks)


def test_exchange_twice_is_exchange_once():
    model = ph.exchange(nn.TransformerEncoder(nn.TransformerEncoderLayer(
        8, 2, 16, 0.1, batch_first=True), 2, enable_nested_tensor=False))
    modules = list(model.modules())
    names = [site.site for site in ph.sites(model)]
    ph.exchange(model)
    assert all(a is b for a, b in zip(modules, model.modules(), strict=True))
    assert [site.site for site in ph.sites(model)] == names
    assert len(set(names)) == len(names) == 6


def test_an_encoder_layer_keeps_its_attentions_own_dropout():
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.1, batch_first=True)
    ph.exchange(layer)
    assert {site.site for site in ph.sites(layer)} == {
        "dropout", "dropout1", "dropout2"}
    assert ph.leftovers(layer) == ["self_attn"]
    layer.self_attn.dropout = 0.0
    assert ph.leftovers(layer) == []


def test_an_exchanged_encoder_layer_trains_and_evaluates():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.5, batch_first=True)
    layer.self_attn.dropout = 0.0
    ph.exchange(layer)
    x = torch.rand(2, 3, 8)

    def run(call):
        ph.seed(5)
        layer.zero_grad()
        y = call(x)
        (y ** 2).sum().backward()
        return [y.detach(), *(p.grad.clone() for p in layer.parameters())]

    torch.manual_seed(1)
    plain = run(layer)
    torch.manual_seed(2)
    require_same(run(lambda x: ph.checkpoint(layer, x)), plain)
    layer.eval()
    with torch.no_grad():
        torch.testing.assert_close(layer(x), layer(x))


def test_leftovers_names_all_that_draws_with_pytorchs_generator():
    class Mine(nn.Dropout):
        pass

    model = nn.ModuleDict({
        "mine": Mine(0.5), "rrelu": nn.RReLU(), "lstm": nn.LSTM(2, 2, 2,
                                                                dropout=0.5),
        "plain_lstm": nn.LSTM(2, 2), "pool": nn.FractionalMaxPool2d(2, 2),
        "attention": nn.MultiheadAttention(4, 2, dropout=0.1),
        "plain_attention": nn.MultiheadAttention(4, 2),
        "drop": nn.Dropout(0.5), "linear": nn.Linear(2, 2)})
    assert ph.leftovers(model) == ["mine", "rrelu", "lstm", "pool", "attention",
                                   "drop"]
    ph.exchange(model)
    assert ph.leftovers(model) == ["mine", "rrelu", "lstm", "pool", "attention"]
    assert type(model["mine"]) is Mine


def test_names_do_not_depend_on_what_the_process_made_before():
    def names():
        return [site.site for site in ph.sites(ph.exchange(
            nn.Sequential(nn.Dropout(), ph.Dropout(), nn.Dropout2d())))]

    first = names()
    ph.Dropout()
    assert names() == first == ["0", "1", "2"]


def test_modules_without_names_have_sites_of_their_own():
    made = [ph.Dropout() for _ in range(10)] + [ph.Dropout2d()]
    assert len({module.site for module in made}) == 11


def test_in_place_modules_are_right():
    model = ph.exchange(nn.Sequential(nn.Dropout(0.5, inplace=True)))
    x = positive(500)
    h = x * 1.0
    y = model(h)
    assert y is h
    (y * y).sum().backward()
    require_one_mask(x, y)


def test_state_dicts_of_exchanged_models_fit_the_original():
    def new():
        return nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))

    exchanged = ph.exchange(new())
    plain = new()
    plain.load_state_dict(exchanged.state_dict())
    exchanged.load_state_dict(plain.state_dict())
    assert set(exchanged.state_dict()) == set(plain.state_dict())


def test_evaluation_returns_the_input_itself():
    module = ph.Dropout(0.5).eval()
    x = torch.ones(3)
    assert module(x) is x
    module.train()
    module.p = 0.0
    assert module(x) is x
