"""The law of philox/accept.h, in integers and fractions, and known answers.

python3 tests/accept/accept.py >tests/accept/accept.txt

Rows of logits, masses and what filters keep are those of filters.py. Nothing is
shared with the library but the formulas of its exponential function and
logarithm.
"""

import dataclasses
import itertools
import math
import os
import sys
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "sample"))
import filters as law  # noqa: E402
from filters import INF, NAN, bits_of, from_bits  # noqa: E402

HEADER = """\
# Known answers of philox_rows_accept(), made by tests/accept/accept.py.
# Words between spaces, and each case has
#   dtype vocab first n point order filters order filters seed offset
#   rows of the target, n + 1
#   rows of the draft, n of them, or none if point is 1
#   drafts, n of them
#   count, and as many tokens
# where a row is kind seed mask T k p m [logits].
#   point   1: the drafts are point masses, and the draft's filters mean nothing
#   order, filters  of the target, then of the draft; as in filters.txt, as are
#           kind, mask, T, k, p and m
#   seed, offset    of the row's state; an odd offset is poison
#   logits  `vocab` of them, if the kind is 7
# Cases that have the first nine words in common can be made in one call."""

ONE, WORD = 2**56, 2**64
MAX_LISTED = 64

# --- random numbers ----------------------------------------------------------


def block(seed, low, high):
    """Philox4x32-10."""
    m = 2**32 - 1
    key = [seed & m, seed >> 32]
    c = [low & m, low >> 32, high & m, high >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ key[0], b & m, a >> 32 ^ c[3] ^ key[1], a & m]
        key = [(key[0] + 0x9E3779B9) & m, (key[1] + 0xBB67AE85) & m]
    return c


def draw4(seed, offset, subsequence):
    return block(seed, offset // 4, subsequence)


def fold(seed, plane, index):
    w = block(seed, index, plane)
    return w[1] << 32 | w[0]


FOLD_ACCEPT, FOLD_REST = 0x8000000000000008, 0x8000000000000009


def number(plane, seed, offset):
    w = draw4(fold(seed, plane, offset // 4), 0, 0)
    return w[1] << 32 | w[0]


# --- the law -----------------------------------------------------------------


def kept_of(row, entry):
    """The tokens that a row keeps, ascending."""
    if row.order == law.JOINT:
        kept = set(entry.tokens)
        for which in (law.TOP_K, law.TOP_P, law.MIN_P):
            if row.filters & which:
                kept &= law.apply(row, entry, which, entry.tokens)
    else:
        kept = set(law.base_of(row, entry))
    return sorted(kept)


def masses_of(row):
    """What a row's columns have; nothing if there is no token."""
    x = law.visible_logits(row)
    if not law.legal(row, x):
        return {}
    temperature = from_bits(row.t)
    entry = law.Entry(x, temperature)
    kept = kept_of(row, entry)
    if kept and temperature < 2.0**-100:
        return {entry.tokens[0]: 1}
    return {c: entry.mass(c) for c in kept}


def invert(weights, rest):
    """`weights` are pairs of a column and its weight, in order."""
    total, before = sum(w for _, w in weights), 0
    for v, weight in weights:
        before += weight
        if before * WORD > rest * total:
            return v
    raise AssertionError("rest is below 2^64")


def is_accepted(p, q, x, coin):
    px, qx = p.get(x, 0), q.get(x, 0)
    return coin * qx * sum(p.values()) < WORD * px * sum(q.values())


def residual(p, q):
    """What is drawn from where a draft is not accepted."""
    p_sum, q_sum = sum(p.values()), sum(q.values())
    weights = [(v, max(0, p[v] * q_sum - q.get(v, 0) * p_sum)) for v in p]
    if not any(w for _, w in weights):
        weights = list(p.items())
    return weights


def token_at(p, q, x, coin, rest):
    """The column of a position; x is None without a draft."""
    if not p:
        return None
    if x is None:
        return invert(list(p.items()), rest)
    if is_accepted(p, q, x, coin):
        return x
    return invert(residual(p, q), rest)


@dataclasses.dataclass
class Call:
    """One entry. Rows are law.Case, and have the same dtype, vocab, first."""
    target: list
    draft: "list | None"
    drafts: list
    seed: int
    offset: int

    def column(self, j):
        """That of a draft, or None."""
        row = self.target[0]
        if j == len(self.drafts):
            return None
        c = self.drafts[j] - row.first
        return c if 0 <= c < row.vocab else None

    def token(self, j):
        offset = self.offset + 4 * j
        if self.offset % 2 or offset > WORD - 4:
            return -1
        x = self.column(j)
        if x is None:
            q = {}
        elif self.draft is None:
            q = {x: 1}
        else:
            q = masses_of(self.draft[j])
        c = token_at(masses_of(self.target[j]), q, x,
                     number(FOLD_ACCEPT, self.seed, offset),
                     number(FOLD_REST, self.seed, offset))
        return -1 if c is None else self.target[0].first + c

    def tokens(self):
        tokens = []
        for j in range(len(self.target)):
            tokens.append(self.token(j))
            if tokens[-1] < 0 or j == len(self.drafts):
                break
            if tokens[-1] != self.drafts[j]:
                break
        return tokens


# --- printing ----------------------------------------------------------------


def row_words(row):
    words = [row.kind, row.seed, row.mask, f"{row.t:x}", row.k, f"{row.p:x}",
             f"{row.m:x}"]
    return words + [f"{bits:x}" for bits in row.logits]


def lines(call):
    t, d = call.target[0], (call.draft or call.target)[0:1]
    d = d[0] if d else t
    yield [t.dtype, t.vocab, t.first, len(call.drafts), int(call.draft is None),
           t.order, t.filters, d.order, d.filters, call.seed, call.offset]
    for row in call.target + (call.draft or []):
        assert (row.dtype, row.vocab, row.first) == (t.dtype, t.vocab, t.first)
        side = d if any(row is other for other in call.draft or []) else t
        assert (row.order, row.filters) == (side.order, side.filters)
        yield row_words(row)
    if call.drafts:
        yield call.drafts
    tokens = call.tokens()
    yield [len(tokens)] + tokens


# --- cases -------------------------------------------------------------------

TEMPERATURES = [1] * 8 + [0.7] * 4 + [1.5, 1.5, 30, 1e20, 0.05, 0.3]
TEMPERATURES += [0, 0, -0.0, 2.0**-101]
PS = [0.5, 0.9, 0.9, 0.95, 0.999, 1, 1, 1 - 2.0**-24, 0, 1e-40]
MS = [0, 0, 0.05, 0.05, 0.1, 0.5, 1e-5, 1e-30, 1]
VOCABS = [1, 2, 2, 3, 3, 5, 7, 16, 31, 32, 33, 64, 65, 100, 128, 200, 257, 300]
KINDS = [0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 6]
MASKS = [0] * 10 + [1] * 5 + [2, 3, 4]
LATE = 2000


class Chooser(law.Chooser):
    """Choices that are the same at every run."""

    def word(self):
        return self.below(2**32) << 32 | self.below(2**32)

    def number(self, good, bad):
        return bits_of(self.one(good if self.below(80) else bad))

    def row(self, head, order, filters):
        dtype, vocab, first = head
        kind = self.one(KINDS)
        if kind == 3 and dtype == "f16":
            kind = 2
        ks = [0, 1, 2, 3, 50, vocab // 2, vocab // 4, vocab - 1, vocab + 1]
        mask = self.one(MASKS) if first <= 2**24 else 0
        return law.Case(kind, dtype, self.below(2**32), vocab, first, mask,
                        self.number(TEMPERATURES, law.BAD_TEMPERATURES), order,
                        filters, self.one(ks), self.number(PS, law.BAD),
                        self.number(MS, law.BAD))

    def draft_row(self, target, order, filters):
        """One that resembles the target's more or less."""
        other = self.row((target.dtype, target.vocab, target.first), order,
                         filters)
        how = self.below(10)
        if how < 3:
            return other
        near = dataclasses.replace(target, order=order, filters=filters)
        if how < 8:
            near.t = other.t
        if how < 6:
            near.k, near.p, near.m = other.k, other.p, other.m
        if how < 4:
            near.mask = other.mask
        return near

    def from_masses(self, masses):
        u = self.random.random() * sum(masses.values())
        for c, mass in masses.items():
            u -= mass
            if u < 0:
                return c
        return max(masses, key=masses.get)

    def token(self, target, draft):
        """A draft: often a likely one, in some way or other."""
        first, vocab, how = target.first, target.vocab, self.below(100)
        p = masses_of(target)
        q = masses_of(draft) if draft else p
        if how < 62 and q:
            return first + self.from_masses(q)
        if how < 84 and p:
            return first + self.from_masses(p)
        if how < 92:
            return first + self.below(vocab)
        if how < 96:
            end = first + vocab
            return self.one([-1, -1, first - 1, end, -2**31, 2**31 - 1])
        none = [c for c in range(vocab) if not p.get(c) or not q.get(c)]
        return first + (self.one(none) if none else self.below(vocab))

    def call(self, target, draft, offset=None):
        n = len(target) - 1
        drafts = [self.token(target[j], draft[j] if draft else None)
                  for j in range(n)]
        if offset is None:
            offset = 4 * self.one([0, 0, 1, 7, self.below(2**30), 2**61])
        return Call(target, draft, drafts, self.word(), offset)

    def chain(self, head, n, point, sides, offset=None):
        target = [self.row(head, *sides[0]) for _ in range(n + 1)]
        draft = None
        if not point:
            draft = [self.draft_row(row, *sides[1]) for row in target[:n]]
        return self.call(target, draft, offset)


def crossed_cases():
    """Groups of a few cases that can be made in one call."""
    chooser = Chooser(11)
    for i in range(66):
        head = (law.DTYPES[i % 3], chooser.one(VOCABS), chooser.one(law.FIRSTS))
        n, point = [0, 1, 1, 2, 3, 3, 4, 4, 2, 1][i % 10], chooser.below(4) == 0
        sides = [(chooser.below(3), chooser.one([0, 0, 1, 2, 3, 4, 5, 6, 7]))
                 for _ in range(2)]
        if chooser.below(2):
            sides[1] = sides[0]
        for _ in range(4 if n < 4 else 3):
            yield chooser.chain(head, n, point, sides)


def same_cases():
    """Draft and target are one distribution, or one but for a scale."""
    chooser = Chooser(12)
    for i in range(18):
        head = (law.DTYPES[i % 3], chooser.one(VOCABS), chooser.one(law.FIRSTS))
        side = (i % 3, [0, 7, 3][i // 3 % 3])
        target = [chooser.row(head, *side) for _ in range(4)]
        draft = [dataclasses.replace(row) for row in target[:3]]
        for row in target + draft:
            row.mask = 0 if i % 2 else row.mask
        yield chooser.call(target, draft)


NAN_ROW, HALF = [1, 2, NAN, 0.5, 1], bits_of(0.5)
PLAIN, FLAT = [0, 1, -2, 0.5, 1], [0] * 5
INFINITE, TWO_INFINITE = [1, -2, INF, 0, -INF], [INF, 1, -INF, INF, 0]
NONE = [-INF] * 5
APART = [-INF, -INF, 3, -INF, 2]


def listed(logits, dtype, **rest):
    return law.listed(logits, dtype=dtype, **rest)


def special_cases():
    """Rows without a token, infinities, and distributions that are apart."""
    chooser = Chooser(13)
    rows = [NAN_ROW, PLAIN, INFINITE, TWO_INFINITE, NONE, APART, FLAT]
    for i, (p, q) in enumerate(itertools.product(rows, rows)):
        dtype, t = law.DTYPES[i % 3], bits_of([1, 0.7, 1, 0][i % 4])
        some = {"filters": [0, 2, 0][i % 3], "order": i % 3,
                "p": bits_of([1, 0.75][i % 2]), "dtype": dtype}
        target = [listed(p, t=bits_of([1, 1, 0][i % 3]), **some),
                  listed(PLAIN, **some), listed(p, **some)]
        draft = [listed(q, t=t, **some), listed(q, **some)]
        yield chooser.call(target, draft)


def mask_cases():
    """A NaN that is hidden, masks that differ and one that hides all."""
    chooser = Chooser(14)
    hidden = law.hiding_seed(1, 2, 5)
    for i in range(9):
        seed, mask = [(hidden, 1), (0, 3), (hidden, 1)][i % 3]
        some = {"dtype": law.DTYPES[i // 3], "filters": 0}
        target = [listed(NAN_ROW, seed=hidden, mask=1, **some),
                  listed(PLAIN, **some), listed(PLAIN, seed=5, mask=1, **some)]
        draft = [listed(NAN_ROW if i % 3 else PLAIN, seed=seed, mask=mask,
                        **some), listed(PLAIN, seed=9, mask=1, **some)]
        yield chooser.call(target, draft)


def bad_cases():
    """Parameters that leave a target or a draft without tokens."""
    chooser = Chooser(15)
    bad = [{"t": bits_of(t)} for t in law.BAD_TEMPERATURES]
    bad += [{"p": bits_of(p)} for p in law.BAD]
    bad += [{"m": bits_of(m)} for m in law.BAD]
    for i, change in enumerate(bad):
        some = {"dtype": law.DTYPES[i % 3], "filters": 7, "order": i % 3}
        row = listed(FLAT[:2], **some)
        wrong = dataclasses.replace(row, **change)
        target = [row, wrong if i % 2 else row, row]
        draft = [row, row] if i % 2 else [row, wrong]
        yield chooser.call(target, draft)


def end_cases():
    """Rows whose words end, and poison."""
    chooser = Chooser(16)
    for i in range(20):
        left, n = 1 + i % 5, 1 + i % 4
        side, head = (0, 0), (law.DTYPES[i % 3], 3, 0)
        target = [chooser.row(head, *side) for _ in range(n + 1)]
        for row in target:
            row.kind, row.mask, row.t = 1, 0, bits_of(1)
        draft = [dataclasses.replace(row) for row in target[:n]]
        yield chooser.call(target, draft if i % 3 else None, WORD - 4 * left)
    for offset in (WORD - 1, 1, 4 * 77 + 1):
        for point in range(2):
            yield chooser.chain(("f32", 5, 3), 2, point, [(0, 0)] * 2, offset)


def long_cases():
    """Many drafts of distributions that agree or almost do."""
    chooser = Chooser(17)
    for n, vocab, point in ((20, 2, 0), (33, 100, 0), (64, 1, 1), (40, 3, 0)):
        target = [law.Case(1, "f32", chooser.below(2**32), vocab, 3, filters=0)
                  for _ in range(n + 1)]
        draft = [dataclasses.replace(row) for row in target[:n]]
        call = chooser.call(target, None if point else draft)
        call.drafts = [3 + chooser.from_masses(masses_of(row))
                       for row in draft]
        yield call
        if not point:
            call = dataclasses.replace(call, drafts=list(call.drafts))
            call.drafts[n - 2] = -1
            yield call


def large_cases():
    chooser = Chooser(18)
    for i in range(9):
        head = (law.DTYPES[i % 3], LATE + chooser.below(4000), i)
        n, side = 1 + i % 3, (i % 3, [0, 7, 3, 2, 0][i % 5])
        yield chooser.chain(head, n, i % 4 == 3, [side, side])
    for i, vocab in enumerate((128256, 151936, 262144, 100277)):
        dtype, order, filters = ["bf16", "f32"][i % 2], i % 3, [0, 2, 0, 3][i]
        target = [law.Case(2, dtype, chooser.below(2**32), vocab, i, 0,
                           order=order, filters=filters, k=50000,
                           p=bits_of(0.99)) for _ in range(2)]
        draft = [dataclasses.replace(target[0], t=bits_of(0.9))]
        yield chooser.call(target, draft)
    for kinds in ((0, 1), (1, 0), (0, 0), (0, None)):  # the largest sums
        rows = [law.Case(kind or 0, "bf16", chooser.below(2**32), 200000, 1,
                         t=bits_of(30), filters=0) for kind in kinds]
        draft = None if kinds[1] is None else [rows[1]]
        yield chooser.call([rows[0]] * 2, draft)


# --- cases in which the last digit decides -----------------------------------


def mass_of(t):
    return math.floor(Fraction(law.exp_f32(t)) * ONE)


def logit_below(mass):
    """The greatest t <= 0 of at most this mass, or one near it."""
    low, high = 0x80000000, bits_of(-39.0)
    while low < high:
        middle = (low + high) // 2
        if mass_of(from_bits(middle)) <= mass:
            high = middle
        else:
            low = middle + 1
    return from_bits(low)


def decompose(mass):
    """Logits whose masses have this sum."""
    logits = []
    while mass:
        logits.append(logit_below(mass))
        assert 0 < mass_of(logits[-1]) <= mass
        mass -= mass_of(logits[-1])
    return logits


def flips(answer, low, high):
    """The least n at which answer(n) is no longer answer(low), or None."""
    was = answer(low)
    if answer(high) == was:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if answer(middle) == was else (low, middle)
    return high


def edge_call(head, q_logits, x, seed, mass):
    """`head` are the first logits; those after have this mass together."""
    logits = head + decompose(mass)
    rows = [listed(logits, "f32", first=0, filters=0) for _ in range(2)]
    if x is None:
        return Call(rows[:1], None, [], seed, 4)
    draft = None
    if q_logits:
        q = q_logits + [-INF] * (len(logits) - len(q_logits))
        draft = [listed(q, "f32", first=0, filters=0)]
    return Call(rows, draft, [x], seed, 4)


def edge_pair(head, q_logits, x, seed):
    """Two cases whose first tokens differ, or nothing."""
    coin, rest = number(FOLD_ACCEPT, seed, 4), number(FOLD_REST, seed, 4)
    q = {c: mass_of(t) for c, t in enumerate(q_logits or [])}
    if x is not None and not q:
        q = {x: 1}

    def answer(mass):
        p = {c: mass_of(t) for c, t in enumerate(head)}
        p[len(head)] = mass
        return token_at(p, q, x, coin, rest)

    least = flips(answer, 1, ONE - 1)
    if least is None:
        return []
    pair = [edge_call(head, q_logits, x, seed, least - 1 + i) for i in range(2)]
    tokens = [call.token(0) for call in pair]
    assert tokens[0] != tokens[1] and len(pair[1].target[0].logits) < MAX_LISTED
    return pair


def edge_cases():
    chooser, kinds = Chooser(19), [0] * 4
    while min(kinds) < 7:
        kind, seed = kinds.index(min(kinds)), chooser.word()
        t = [law.f32(-3 * chooser.random.random()) for _ in range(3)]
        pair = [
            lambda: edge_pair([t[0], 0.0], None, 0, seed),  # point mass
            lambda: edge_pair([t[0], 0.0], [t[1], 0.0], 0, seed),
            lambda: edge_pair([0.0], None, None, seed),  # no draft
            lambda: edge_pair([law.f32(t[0] - 3), 0.0, t[2]], [0.0, t[1]], 0,
                              seed)
        ][kind]
        pair = pair()
        kinds[kind] += bool(pair)
        yield from pair


def cases():
    yield from crossed_cases()
    yield from same_cases()
    yield from special_cases()
    yield from mask_cases()
    yield from bad_cases()
    yield from end_cases()
    yield from long_cases()
    yield from edge_cases()
    yield from large_cases()


# --- checks of the above -----------------------------------------------------


def check_blocks():
    """Random123's kat_vectors."""
    ones = WORD - 1
    for key, low, high, words in (
        (0, 0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (ones, ones, ones, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e,
         "d16cfe09 94fdcceb 5001e420 24126ea1")):
        assert block(key, low, high) == [int(w, 16) for w in words.split()]


def ceiling(a, b):
    return -(-a // b)


def coins_of(p, q, x):
    """How many of 2^64 coins accept x."""
    px, qx = p.get(x, 0), q.get(x, 0)
    a, b = WORD * px * sum(q.values()), qx * sum(p.values())
    count = 0 if a == 0 else WORD if b == 0 else min(WORD, ceiling(a, b))
    for coin in {0, count - 1, count, WORD - 1}:
        if 0 <= coin < WORD:
            assert is_accepted(p, q, x, coin) == (coin < count)
    return count


def rests_of(weights):
    """How many of 2^64 rests draw each."""
    total, before, rests = sum(w for _, w in weights), 0, {}
    for v, weight in weights:
        low = ceiling(before * WORD, total)
        before += weight
        high = ceiling(before * WORD, total)
        rests[v] = high - low
        for rest in {low, high - 1} if high > low else ():
            assert invert(weights, rest) == v
    assert sum(rests.values()) == WORD
    return rests


def chances(p, q, drafts):
    """Of each (token, whether the draft is accepted); drafts: chances."""
    of = {}
    for x, chance in drafts.items():
        accepted = Fraction(coins_of(p, q, x), WORD)
        of[x, 1] = of.get((x, 1), 0) + chance * accepted
        if accepted == 1:
            continue
        for v, rests in rests_of(residual(p, q)).items():
            part = chance * (1 - accepted) * Fraction(rests, WORD)
            of[v, 0] = of.get((v, 0), 0) + part
    return of


def near(a, b):
    return abs(a - b) <= Fraction(1, 2**62)


def normal(masses):
    total = sum(masses.values())
    return {v: Fraction(mass, total) for v, mass in masses.items()}


def first_of(of, v):
    return of.get((v, 0), 0) + of.get((v, 1), 0)


def some_masses(chooser, n):
    while True:
        limits = [chooser.one([2, 4, 9, 1000]) for _ in range(n)]
        masses = {v: chooser.below(limits[v]) for v in range(n)}
        if any(masses.values()):
            return masses


def check_positions():
    """A token has the target's chance, whatever the draft's is."""
    chooser = Chooser(20)
    for i in range(500):
        n = 1 + chooser.below(5)
        p, q = some_masses(chooser, n), some_masses(chooser, n)
        of = chances(p, q, normal(q))
        for v, chance in normal(p).items():
            assert near(first_of(of, v), chance), (p, q, v)
        x = chooser.below(n)  # a point mass
        of = chances(p, {x: 1}, {x: Fraction(1)})
        for v, chance in normal(p).items():
            assert near(first_of(of, v), chance), (p, x, v)
        # without a draft, and with a draft that has no tokens
        for v, rests in rests_of(list(p.items())).items():
            assert near(Fraction(rests, WORD), normal(p)[v])
        assert residual(p, {}) == list(p.items()) == residual(p, p)
        assert not any(is_accepted(p, {}, v, 0) for v in p)


def check_chains():
    """Two tokens: the second from here, or alone if the first was not kept."""
    chooser = Chooser(21)
    for _ in range(60):
        n = 2 + chooser.below(3)
        p, q = some_masses(chooser, n), some_masses(chooser, n)
        first = chances(p, q, normal(q))
        for v in range(n):
            after, draft = some_masses(chooser, n), some_masses(chooser, n)
            second = chances(after, draft, normal(draft))
            alone = rests_of(list(after.items()))
            for w, chance in normal(after).items():
                both = first.get((v, 1), 0) * first_of(second, w)
                both += first.get((v, 0), 0) * Fraction(alone[w], WORD)
                assert near(both, normal(p)[v] * chance), (p, q, after, draft)


def note(calls):
    """What the cases are, for those who change them."""
    drafts = sum(len(call.drafts) for call in calls)
    kept = sum(len(call.tokens()) - 1 for call in calls if call.target[0].vocab
               < LATE)
    all_kept = sum(bool(call.drafts) and len(call.tokens()) == len(call.target)
                   for call in calls if call.target[0].vocab < LATE)
    print(f"{len(calls)} cases, {drafts} drafts, {kept} accepted, "
          f"{all_kept} cases to the end", file=sys.stderr)


def main():
    check_blocks()
    check_positions()
    check_chains()
    print(HEADER)
    calls = list(cases())
    for call in calls:
        for words in lines(call):
            print(*words)
    note(calls)


if __name__ == "__main__":
    main()
