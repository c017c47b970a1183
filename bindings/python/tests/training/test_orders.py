"""Forwards and backwards in any order, number and thread."""

import gc
import itertools
import random
import resource
import sys
import threading

import pytest
import torch

import philox.torch as ph
from small import Squared, positive, require_one_mask


def forwards(n, *, size=200):
    model = Squared()
    xs = [positive(size) for _ in range(n)]
    return xs, [model(x) for x in xs]


def require_distinct(masks):
    assert len({tuple(mask.tolist()) for mask in masks}) == len(masks)


@pytest.mark.parametrize("seed", range(5))
def test_ten_forwards_have_their_masks_in_any_order_of_backwards(seed):
    xs, ys = forwards(10)
    order = list(range(10))
    random.Random(seed).shuffle(order)
    for i in order:
        ys[i].sum().backward()
    for x, y in zip(xs, ys):
        require_one_mask(x, y)
    require_distinct([y != 0 for y in ys])


def test_a_retained_graph_gives_the_same_gradient_again():
    (x,), (y,) = forwards(1)
    y.sum().backward(retain_graph=True)
    first = x.grad.clone()
    forwards(3)
    y.sum().backward()
    assert torch.equal(x.grad, 2 * first)
    require_one_mask(x, y)


def test_a_second_backward_without_retaining_is_pytorchs_error():
    _, (y,) = forwards(1)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="through the graph a second time"):
        y.sum().backward()


def test_one_backward_of_a_sum_gives_each_forward_its_mask():
    xs, ys = forwards(10)
    torch.stack(ys).sum().backward()
    for x, y in zip(xs, ys):
        require_one_mask(x, y)


def test_dropped_graphs_leave_no_trace():
    """Others have the numbers that they would have had."""
    ph.seed(4)
    expected = [mask != 0 for mask in forwards(6)[1]]
    ph.seed(4)
    model, masks = Squared(), []
    for i in range(6):
        x = positive(200)
        y = model(x)
        masks.append(y.detach() != 0)
        if i % 2:
            del y
            gc.collect()
        else:
            y.sum().backward()
            require_one_mask(x, y)
    for ours, theirs in zip(masks, expected):
        assert torch.equal(ours, theirs)


def test_a_forward_that_fails_shifts_nothing_afterwards():
    model = Squared()
    model(positive(10))
    ph.seed(4)
    with pytest.raises(TypeError):
        model(torch.ones(4, dtype=torch.int32))
    y = model(positive(200))
    ph.seed(4)
    assert torch.equal(y != 0, model(positive(200)) != 0)


def in_threads(functions):
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_a_backward_may_run_in_another_thread():
    xs, ys = forwards(4)
    in_threads([lambda y=y: y.sum().backward() for y in ys])
    for x, y in zip(xs, ys):
        require_one_mask(x, y)


def test_a_recompute_may_run_in_another_thread():
    model = Squared()
    xs = [positive(200) for _ in range(4)]
    ys = [ph.checkpoint(model, x) for x in xs]
    in_threads([lambda y=y: y.sum().backward() for y in ys])
    for x, y in zip(xs, ys):
        require_one_mask(x, y)


def test_four_threads_at_one_site_never_share_a_state():
    barrier = threading.Barrier(4)
    states = [[] for _ in range(4)]

    def reserve(mine):
        barrier.wait()
        for i in range(2000):
            mine.append(ph.reserve("site", 1 + i % 3))

    in_threads([lambda mine=mine: reserve(mine) for mine in states])
    rows = torch.cat(list(itertools.chain(*states))).tolist()
    assert len({tuple(row) for row in rows}) == len(rows) == 4 * 3999


def test_four_threads_make_new_sites_at_once():
    barrier = threading.Barrier(4)
    states = [[] for _ in range(4)]

    def reserve(mine):
        try:
            for i in range(300):
                barrier.wait()
                mine.append(ph.reserve(f"site{i}"))
        except BaseException:
            barrier.abort()
            raise

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        in_threads([lambda mine=mine: reserve(mine) for mine in states])
    finally:
        sys.setswitchinterval(interval)
    rows = torch.cat(list(itertools.chain(*states))).tolist()
    assert len({tuple(row) for row in rows}) == len(rows) == 1200


def test_four_threads_train_on_one_site():
    model, barrier, results = Squared(), threading.Barrier(4), []

    def steps():
        barrier.wait()
        for _ in range(20):
            x = positive(200)
            y = model(x)
            y.sum().backward()
            results.append((x, y.detach()))

    in_threads([steps] * 4)
    for x, y in results:
        require_one_mask(x, y)
    require_distinct([y != 0 for _, y in results])


def test_a_checkpoint_in_one_thread_is_no_tape_for_another():
    model, inside, done = Squared(), threading.Event(), threading.Event()
    xs, ys = [positive(200), positive(200)], []

    def function(x):
        first = model(x)
        inside.set()
        assert done.wait(60)
        return torch.stack([first, model(x)])

    def outer():
        ys.append(ph.checkpoint(function, xs[0]))
        ys[0].sum().backward()

    def other():
        assert inside.wait(60)
        y = model(xs[1])
        y.sum().backward()
        require_one_mask(xs[1], y)
        done.set()

    in_threads([outer, other])
    torch.testing.assert_close(xs[0].grad,
                               2 * ys[0].detach().sum(0) / xs[0].detach())
    require_distinct([ys[0][0] != 0, ys[0][1] != 0, xs[1].grad != 0])


def resident():
    """Return the resident memory of this process, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_ten_thousand_forwards_without_a_backward_keep_nothing():
    x = torch.ones(100, requires_grad=True)
    before = ph.reserve("drop")
    assert before is not None
    model = Squared()
    texts = []
    for _ in range(2):
        for _ in range(10_000):
            model(x)
        texts.append(ph.state_dict()["contexts"]["cpu"])
    assert abs(len(texts[1]) - len(texts[0])) < 64


def test_a_million_draws_do_not_grow_the_process():
    x = torch.ones(8)
    for _ in range(5_000):
        ph.dropout(x)
    gc.collect()
    before = resident()
    for _ in range(1_000_000):
        ph.dropout(x)
    gc.collect()
    assert resident() - before < 4 << 20


def test_graphs_that_are_kept_all_keep_their_masks():
    xs, ys = forwards(2000, size=20)
    forwards(10)
    for i in (1999, 0, 1000):
        ys[i].sum().backward()
        assert torch.equal(xs[i].grad != 0, ys[i] != 0)
    require_distinct([torch.cat([a, b, c]) for a, b, c in zip(
        *(iter([y.detach() for y in ys[:1998]]),) * 3)])


def test_a_load_while_other_threads_reserve_is_safe():
    ph.reserve("raced")
    saved = ph.state_dict()
    stop = threading.Event()
    failed = []

    def draw():
        try:
            while not stop.is_set():
                assert not ph.reserve("raced")[0, 1] % 4
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=draw) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        ph.load_state_dict(saved)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed
