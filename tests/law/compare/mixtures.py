"""Orders, by the headers, and the order of data: quotas, what is at positions,
and where samples are."""

import ctypes
from ctypes import byref, c_uint32, c_uint64, c_void_p

import numpy as np

import law
import orders
import page
from arith import U64
from keys import any_name
from library import (Data, DataSample, Mixture, MixtureSource, Source, State,
                     at)
from states import any_state, pick

DEFAULT = 65536
COUNT = 24                              # positions of a read


def any_size(rng, most):
    """From 1 to 2^most - 1, of any number of bits."""
    return 1 + (int(rng.integers(0, 2**63)) >> 63 - int(rng.integers(most)))


def any_sources(rng):
    n = int(rng.integers(1, 7))
    same = int(rng.integers(3)) == 0        # remainders that are equal
    sources = []
    for _ in range(n):
        samples = any_size(rng, pick(rng, (5, 12, 30, 64)))
        window = pick(rng, (0, 1, any_size(rng, 5), any_size(rng, 12),
                            samples, samples + 1, max(samples // 3, 1)))
        weight = 1 if same else any_size(rng, pick(rng, (4, 12, 64)))
        sources.append((samples, weight, window))
    size = pick(rng, (0, n, int(rng.integers(n, 40)), any_size(rng, 20),
                      any_size(rng, 33), any_size(rng, 63)))
    if rng.integers(4) and 0 in orders.shares(sources, size or DEFAULT)[1]:
        return any_sources(rng)             # few that are refused
    return sources, size


class Given:
    """Sources, as the library gets them."""

    def __init__(self, rng):
        self.sources, self.size = any_sources(rng)
        self.name = any_name(rng)
        self.array = (Source * len(self.sources))(*(
            Source(samples=samples, weight=weight, window=window)
            for samples, weight, window in self.sources))
        self.desc = Data(name=self.name, sources=ctypes.addressof(self.array),
                         n_sources=len(self.sources),
                         source_size=ctypes.sizeof(Source), block=self.size)
        self.mixed = (MixtureSource * len(self.sources))()

    def quotas(self):
        """Those of the law."""
        return orders.shares(self.sources, self.size or DEFAULT)[1]

    def expected(self, state, positions):
        made = orders.samples_at(state, self.sources, self.size or DEFAULT,
                                 positions)
        return np.stack(made, -1).tolist()

    def positions(self, rng):
        """A few in a row: at first, anywhere, or about an end of a source."""
        samples = self.sources[0][0]
        size, quota = orders.shares(self.sources, self.size or DEFAULT)
        end = samples * size // quota[0]
        first = pick(rng, (0, any_size(rng, 63), max(end - COUNT // 2, 0),
                           size * any_size(rng, 20) - COUNT // 2))
        first = min(max(first, 0), 2**63 - COUNT)
        return first + np.arange(COUNT, dtype=U64)

    def told(self, what, ours, theirs):
        return (f"{what} of data {self.name} of {self.sources}, block "
                f"{self.size}: the law has {ours}, philox {theirs}")


def triples(samples):
    return [[x.source, x.epoch, x.sample] for x in samples]


def quotas(library, given):
    """Whether they are refused, and what is wrong."""
    try:
        library("data_quotas", byref(given.desc), given.mixed)
    except RuntimeError as error:
        if 0 in given.quotas():
            return True, None
        return True, given.told("quotas", given.quotas(), error)
    theirs = [source.quota for source in given.mixed]
    if theirs != given.quotas():
        return False, given.told("quotas", given.quotas(), theirs)
    return False, None


def read(library, rng, given, data, seed):
    """Some positions, and the way back."""
    positions, samples = given.positions(rng), (DataSample * COUNT)()
    library("data_read", data, c_uint64(int(positions[0])), c_uint64(COUNT),
            samples)
    ours = given.expected((seed, 0), positions)
    if triples(samples) != ours:
        return given.told(f"positions from {positions[0]} by seed {seed:#x}",
                          ours, triples(samples))
    return found(library, given, data, positions, samples)


def found(library, given, data, positions, samples):
    """Where the first and the last of a read are."""
    place = c_uint64()
    for i in 0, COUNT - 1:
        library("data_find", data, byref(samples[i]), byref(place))
        if place.value != positions[i]:
            return given.told(f"the position of {triples(samples)[i]}",
                              positions[i], place.value)
    return None


def hashed(built, library, given, data):
    mixture = Mixture()
    library("data_mixture", data, byref(mixture))
    built.calls_mixture_hash.restype = c_uint64
    ours = orders.order_hash(given.sources, given.size or DEFAULT)
    theirs = built.calls_mixture_hash(byref(mixture))
    return None if ours == theirs else given.told("the hash", ours, theirs)


def of_state(built, of_page, rng, given):
    """Of a state with an offset, or poison: by the headers, and one position
    by the page's functions."""
    state, samples = any_state(rng), (DataSample * COUNT)()
    if rng.integers(10) == 0:
        state = state[0], 2**64 - 1
    positions = given.positions(rng)
    built.calls_mixture(State(*state), given.mixed,
                        c_uint32(len(given.sources)),
                        c_uint64(int(positions[0])), c_uint32(COUNT), samples)
    ours = given.expected(state, positions)
    if triples(samples) != ours:
        return given.told(f"positions from {positions[0]} of state {state}",
                          ours, triples(samples))
    if state[1] % 2:
        return None
    i = int(rng.integers(COUNT))
    slow = list(of_page.sample_at(state, given.sources, given.size or DEFAULT,
                                  int(positions[i])))
    return None if slow == ours[i] else given.told(
        f"by the page's functions {slow}, position {positions[i]} of state "
        f"{state}", ours[i], triples(samples)[i])


def case(built, of_page, library, rng, context):
    """One mixture of a context, whose generator is set anew."""
    given, data = Given(rng), c_void_p()
    refused, wrong = quotas(library, given)
    if refused or wrong:
        return wrong
    library.c.philox_context_generator.restype = c_void_p
    generator = c_void_p(library.c.philox_context_generator(context))
    library("data_create", context, byref(given.desc), byref(data))
    wrong = hashed(built, library, given, data)
    library("data_seek", data, c_uint64(int(given.positions(rng)[0])))
    seed = int(rng.integers(0, 2**64, dtype=U64))
    library("generator_seed", generator, c_uint64(seed))
    if rng.integers(2):
        index = int(rng.integers(0, 2**64, dtype=U64))
        library("generator_fold", generator, c_uint64(index))
        seed = int(law.fold(seed, law.RANK, index))
    position = c_uint64(1)
    library("data_position", data, byref(position))
    if position.value != 0 and not wrong:
        wrong = given.told("the position after a seed", 0, position.value)
    seed = orders.data_seed(seed, given.name)
    wrong = (wrong or read(library, rng, given, data, seed) or
             of_state(built, of_page, rng, given))
    library("data_destroy", data)
    return wrong


def order(built, rng):
    """Items at places, and the places of these items."""
    state, n = any_state(rng), any_size(rng, 64)
    if rng.integers(4) == 0:
        n = int(rng.integers(1, 40))
    if rng.integers(20) == 0:
        state = state[0], 2**64 - 1
    e = rng.integers(0, n, COUNT, dtype=U64)
    items, places = np.empty_like(e), np.empty_like(e)
    built.calls_order(State(*state), c_uint64(n), c_uint32(COUNT),
                      *(c_void_p(at(x)) for x in (e, items, places)))
    ours, back = orders.items(*state, n, e), e
    if state[1] % 2:
        ours = back = np.full(COUNT, 2**64 - 1, U64)
    if np.array_equal(ours, items) and np.array_equal(back, places):
        return None
    return (f"the order of {n} items of state {state}, places {e}: the law has "
            f"{ours}, philox {items}, whose places are {places}")


def check(built, library, rng, n):
    context, of_page = c_void_p(), page.load()
    library("context_create", library.device, byref(context))
    for _ in range(n):
        wrong = (order(built, rng) or
                 case(built, of_page, library, rng, context))
        if wrong:
            return wrong
    library("context_destroy", context)
    print(f"orders, data: {n}")
    return None
