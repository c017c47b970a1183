"""Tokens of entries, with all that may be asked of them, and drafts."""

import ctypes

import numpy as np

import tokens
from arith import F32, U64
from law import bf16
from library import (DTYPES, Bias, History, Logprob, Penalty, Sample, at)

TEMPERATURES = 0, 0.75, 1, 2, 0.3, 0.0, -0.0, 1e-31, 1e-30, 100
BAD = -1, np.nan, np.inf
TOP_K, TOP_P, MIN_P = 1, 2, 4


def chosen(rng, n, usual, rare):
    """An f32 for each entry; one in 30 is rare."""
    x = rng.choice(np.array(usual, F32), n)
    return np.where(rng.integers(0, 30, n) == 0,
                    rng.choice(np.array(rare, F32), n), x)


def any_logits(rng, n, vocab):
    x = rng.standard_normal((n, vocab)) * rng.choice((0.1, 1, 5, 60))
    if rng.integers(2):
        x = np.round(x * 4) / 4                 # ties, zeros of both signs
    x[rng.integers(0, 20, x.shape) == 0] = -np.inf
    for i in range(n):
        j = int(rng.integers(vocab))
        x[i, j] = (x[i, j], x[i, j], x[i, j], np.inf, np.nan,
                   3e38)[int(rng.integers(6))]
        if rng.integers(20) == 0:
            x[i] = -np.inf
    return x.astype(F32)


class Batch:
    """A sample of n entries: what the library gets, and the law's options."""

    def __init__(self, rng, n, vocab, first, dtype, rows, penalties=True):
        self.n, self.vocab, self.first, self.kept = n, vocab, first, []
        self.v = first + np.arange(vocab, dtype=U64)
        self.desc = Sample(dtype=DTYPES[dtype], vocab=vocab, first=first)
        self.options = [tokens.Options() for _ in range(n)]
        self.set_logits(rng, dtype)
        self.set_filters(rng)
        if rng.integers(2):
            self.set_mask(rng)
        if rng.integers(2):
            self.set_bias(rng)
        self.rows = np.asarray(rows)
        if penalties and rng.integers(2):
            self.set_penalties(rng)

    def hold(self, array):
        """The address of an array, which lives as long as this."""
        self.kept.append(array)
        return at(array)

    def address(self, desc):
        self.kept.append(desc)
        return ctypes.addressof(desc)

    def set_logits(self, rng, dtype):
        x = any_logits(rng, self.n, self.vocab)
        pitch = self.vocab + int(rng.integers(0, 5))
        stored = x
        if dtype == "f16":
            stored = x.astype(np.float16)
            x = stored.astype(F32)
        if dtype == "bf16":
            stored = bf16(x).astype(np.uint16)
            x = (stored.astype(np.uint32) << 16).view(F32)
        held = np.zeros((self.n, pitch), stored.dtype)
        held[:, :self.vocab] = stored
        self.x, self.desc.logits, self.desc.pitch = x, self.hold(held), pitch

    def set_filters(self, rng):
        n, d = self.n, self.desc
        d.filters = int(rng.integers(8)) if rng.integers(3) else 0
        d.order = int(rng.integers(3))
        t = chosen(rng, n, TEMPERATURES, BAD)
        k = rng.choice((0, 1, 3, self.vocab // 2, 2**32 - 1), n)
        k = k.astype(np.uint32)
        p = chosen(rng, n, (0, 0.5, 0.9, 0.999, 1, -0.0), (-0.5, 1.5, np.nan))
        m = chosen(rng, n, (0, 0.1, 0.9, 1e-39, 1), (-1, 2, np.nan))
        d.temperatures = self.hold(t)
        d.top_ks = self.hold(k) if d.filters & TOP_K else None
        d.top_ps = self.hold(p) if d.filters & TOP_P else None
        d.min_ps = self.hold(m) if d.filters & MIN_P else None
        for i, o in enumerate(self.options):
            o.temperature, o.order = t[i], d.order
            o.k = int(k[i]) if d.filters & TOP_K else 0
            o.p = p[i] if d.filters & TOP_P else 1
            o.m = m[i] if d.filters & MIN_P else 0

    def set_mask(self, rng):
        size = (self.first + self.vocab + 31) // 32
        words = rng.integers(0, 2**32, (self.n, size), dtype=np.uint32)
        words |= rng.integers(0, 2**32, words.shape, dtype=np.uint32)
        if rng.integers(2):
            words[:] = words[0]
        else:
            self.desc.allowed_pitch = size
        self.desc.allowed = self.hold(words)
        for i, o in enumerate(self.options):
            o.allowed = bit(words[i], self.v)

    def set_bias(self, rng):
        count = int(rng.integers(1, 6))
        ids = np.full((self.n, count), -1, np.int32)
        biases = rng.standard_normal((self.n, count)).astype(F32)
        for i, o in enumerate(self.options):
            some = np.unique(rng.integers(0, self.first + self.vocab + 3,
                                          int(rng.integers(count + 1))))
            ids[i, :len(some)] = some
            o.bias, o.biased = np.zeros(self.vocab, F32), self.v < 0
            for v, b in zip(some - self.first, biases[i]):
                if 0 <= v < self.vocab:
                    o.bias[v], o.biased[v] = b, True
        self.desc.bias = self.address(Bias(
            ids=self.hold(ids), biases=self.hold(biases), count=count))

    def set_penalties(self, rng):
        n, end = self.n, self.first + self.vocab
        size, rows = (end + 31) // 32, int(self.rows.max()) + 1
        seen = rng.integers(0, 2**32, (rows, size), dtype=np.uint32)
        counts = rng.integers(0, 4, (rows, end)).astype(np.uint32)
        r = chosen(rng, n, (0, 1, 1.3, 0.5), (-1, np.nan, np.inf))
        f = chosen(rng, n, (0, 0.3, -0.1), (np.nan, np.inf))
        p = chosen(rng, n, (0, 0.7, -0.4), (np.nan, -np.inf))
        history = History(counts=self.hold(counts), counts_pitch=end,
                          seen=self.hold(seen), seen_pitch=size, rows=rows,
                          vocab=end)
        self.desc.penalties = self.address(Penalty(
            history=self.address(history), repetitions=self.hold(r),
            frequencies=self.hold(f), presences=self.hold(p)))
        self.penalties = self.kept[-1]
        for i, o in enumerate(self.options):
            row = self.rows[i]
            o.seen = bit(seen[row], self.v)
            o.count = np.where(o.seen, counts[row][self.first:], 0)
            o.repetition, o.frequency, o.presence = r[i], f[i], p[i]

    def add_drafts(self, rng):
        """Of the sample itself: they count as drawn."""
        count = int(rng.integers(1, 5))
        drafts = rng.integers(-1, self.first + self.vocab,
                              (self.n, count)).astype(np.int32)
        self.penalties.drafts = self.hold(drafts)
        self.penalties.n_drafts = count
        for i in range(self.n):
            self.note(i, drafts[i])

    def note(self, i, drafts):
        o = self.options[i]
        for x in drafts:
            if o.seen is not None and 0 <= x - self.first < self.vocab:
                o.count[x - self.first] += 1

    def entry(self, i, lost=False):
        return tokens.Entry(self.x[i], self.v, self.options[i], lost)

    def raw(self, i):
        return tokens.Entry(self.x[i], self.v, tokens.Options())


def bit(words, v):
    return words[(v >> U64(5)).astype(int)] >> (v & U64(31)).astype(
        np.uint32) & 1 == 1


class Out:
    """What a sample writes."""

    def __init__(self, rng, batch):
        n, d = batch.n, batch.desc
        self.pitch = int(rng.integers(1, batch.vocab + 2))
        self.n_top = int(rng.integers(1, batch.vocab + 3))
        self.n_top = min(self.n_top, 1024)
        self.tokens = np.zeros(n, np.int32)
        self.keys, self.cuts = np.zeros(n, U64), np.zeros(n, U64)
        self.counts = np.zeros(n, np.uint32)
        self.kept = np.full((n, self.pitch), -7, np.int32)
        d.tokens, d.keys, d.cuts = at(self.tokens), at(self.keys), at(
            self.cuts)
        d.kept_counts, d.kept = at(self.counts), at(self.kept)
        d.kept_pitch = self.pitch
        self.ids = rng.integers(-1, batch.first + batch.vocab + 2,
                                (n, 5)).astype(np.int32)
        self.processed, self.raw = self.logprobs(n), self.logprobs(n)
        self.descs = [Logprob(drawn=at(drawn), ids=at(self.ids), n_ids=5,
                              of_ids=at(of_ids), top=at(top),
                              of_top=at(of_top), n_top=self.n_top)
                      for drawn, of_ids, top, of_top in (self.processed,
                                                         self.raw)]
        d.logprobs, d.raw_logprobs = map(ctypes.addressof, self.descs)

    def logprobs(self, n):
        return (np.zeros(n, F32), np.zeros((n, 5), F32),
                np.zeros((n, self.n_top), np.int32),
                np.zeros((n, self.n_top), F32))


def logprobs_of(entry, key, ids, first, n_top):
    """Of the token, of ids, and the first: as the library writes them."""
    x = entry.logprobs()
    token = tokens.token_of(key)
    drawn = x[token - first] if token >= 0 else F32(np.nan)
    of_ids = [x[v - first] if 0 <= v - first < len(x) else F32(np.nan)
              for v in ids]
    columns, of_top = entry.top(min(n_top, len(x)))
    empty = F32(np.nan if entry.failed is not None else -np.inf)
    rest = n_top - len(columns)
    return (drawn, np.array(of_ids, F32),
            np.array([first + c for c in columns] + [-1] * rest),
            np.array(list(of_top) + [empty] * rest, F32))


def same(ours, theirs):
    """Equal, to the bit; a NaN is the quiet one."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.dtype == F32:
        ours, theirs = ours.view(np.uint32), theirs.view(np.uint32)
    return np.array_equal(ours, theirs)


def entry_is_right(batch, out, state, i):
    """What is wrong with entry i, by name."""
    lost = state[1] % 2 == 1
    e, raw = batch.entry(i, lost), batch.raw(i)
    key = e.sample(state)
    kept = np.sort(tokens.indices_of(e.kept)).astype(np.int64)
    n = min(len(kept), out.pitch)
    right = {
        "key": same(U64(key), out.keys[i]),
        "token": tokens.token_of(key) == out.tokens[i],
        "cut": same(U64(e.cut), out.cuts[i]),
        "count": len(e.kept) == out.counts[i],
        "kept": np.array_equal(kept[:n], out.kept[i, :n])}
    for name, of, theirs in (("logprobs", e, out.processed),
                             ("raw logprobs", raw, out.raw)):
        ours = logprobs_of(of, key, out.ids[i], batch.first, out.n_top)
        for part, a, b in zip(("token", "ids", "top", "of top"), ours,
                              theirs):
            right[f"{name} of {part}"] = same(a, b[i])
    wrong = [name for name, well in right.items() if not well]
    return f"{', '.join(wrong)} of {batch.options[i]}" if wrong else None


def any_batch(rng, n, rows, penalties=True):
    vocab = int(rng.integers(1, 300 if rng.integers(8) else 5000))
    first = int(rng.integers(0, 2000)) if rng.integers(2) else 0
    dtype = ("f32", "bf16", "f16")[int(rng.integers(3))]
    return Batch(rng, n, vocab, first, dtype, rows, penalties)


def any_row_state(rng):
    offset = (0, 8, 2**64 - 4, 2**64 - 1)[int(rng.integers(20)) % 4]
    return int(rng.integers(0, 2**64, dtype=U64)), offset


def sample(library, rng):
    n = int(rng.integers(1, 5))
    batch = any_batch(rng, n, range(n))
    if batch.desc.penalties and rng.integers(2):
        batch.add_drafts(rng)
    out = Out(rng, batch)
    states = [any_row_state(rng) for _ in range(n)]
    library.sample(states, batch.desc)
    for i in range(n):
        wrong = entry_is_right(batch, out, states[i], i)
        if wrong:
            return n, f"sample in state {states[i]}: {wrong}"
    return n, None


# --- drafts ------------------------------------------------------------------


def any_drafts(rng, target, n, count):
    """Mostly of likely tokens; some that are none."""
    drafts = np.empty((n, count), np.int32)
    for i in range(n):
        for j in range(count):
            likely = target.entry(i * (count + 1) + j).order
            v = rng.integers(-1, target.first + target.vocab + 2)
            if len(likely) and rng.integers(4):
                v = tokens.indices_of(likely[:3])[int(rng.integers(3)) %
                                                  len(likely[:3])]
            drafts[i, j] = v
    return drafts


def distributions(batch, i, positions, drafts):
    """Of the positions of entry i: x before them counts as drawn."""
    for j in range(positions):
        batch.note(i * positions + j, drafts[:j])
    return lambda j: batch.entry(i * positions + j).distribution()


def accept(library, rng):
    n, count = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    target = any_batch(rng, n * (count + 1), np.repeat(range(n), count + 1))
    draft = None
    if rng.integers(3):
        dtype = next(k for k, v in DTYPES.items() if v == target.desc.dtype)
        draft = Batch(rng, n * count, target.vocab, target.first, dtype,
                      np.repeat(range(n), count))
        if rng.integers(2):                     # like the target's
            draft.x[:] = target.x.reshape(n, count + 1, -1)[:, :-1].reshape(
                draft.x.shape)
            draft.kept[0][:, :target.vocab] = target.kept[0].reshape(
                n, count + 1, -1)[:, :-1, :target.vocab].reshape(
                    draft.x.shape)
    drafts = any_drafts(rng, target, n, count)
    rows = library.rows(b"drafts", n)
    states = [(int(rng.integers(0, 2**64, dtype=U64)), 16) for _ in range(n)]
    library.set_rows(rows, states)
    theirs, counts = library.accept(rows, target.desc,
                                    draft and draft.desc, drafts, n)
    library("rows_destroy", rows)
    columns = range(target.first, target.first + target.vocab)
    for i in range(n):
        of_target = distributions(target, i, count + 1, drafts[i])
        of_draft = draft and distributions(draft, i, count, drafts[i])
        ours = tokens.accepted(states[i], of_target, of_draft,
                               [int(x) for x in drafts[i]], columns)
        if ours != list(theirs[i]) or tokens.taken(ours, drafts[i]) != \
                counts[i]:
            return n, (f"drafts {drafts[i]} of state {states[i]}: the law has "
                       f"{ours}, philox {theirs[i]}, {counts[i]} tokens")
    return n, None


def check(library, rng, n):
    for what in sample, accept:
        done = 0
        while done < n:
            count, wrong = what(library, rng)
            if wrong:
                return wrong
            done += count
        print(f"{what.__name__}: {done} entries")
    return None
