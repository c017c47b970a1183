"""What doc/law.md says of tokens and drafts, with numpy, of one entry.

Logits are arrays of f32; v holds their vocabulary indices, as u64.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from arith import F32, F64, I64, U64, bits, f32_of, fma
from law import (ACCEPT, REST, block, exp, fold, gumbel_of, ln, words)

ERROR = 2**64 - 1
JOINT, KPM, MKP = range(3)


@dataclass
class Options:
    """Of an entry. Arrays have an item for each column, or are None."""
    temperature: float = 1.0
    order: int = JOINT
    k: int = 0
    p: float = 1.0
    m: float = 0.0
    allowed: np.ndarray = None              # bool
    bias: np.ndarray = None                 # f32
    biased: np.ndarray = None               # bool: which have a bias
    seen: np.ndarray = None                 # bool
    count: np.ndarray = None                # of the history, and drafts
    repetition: float = 0.0
    frequency: float = 0.0
    presence: float = 0.0


def keys_of(x, v):
    b = bits(x).astype(I64)
    nan, low = b & 0x7FFFFFFF > 0x7F800000, b == 0xFF800000
    b = np.where(b == 2**31, 0, b)
    place = np.where(b >> 31 == 1, 2**32 - 1 - b, b + 2**31).astype(U64)
    key = place << U64(32) | (U64(2**32 - 1) - v)
    return np.where(nan, U64(ERROR), np.where(low, U64(0), key))


def indices_of(keys):
    return U64(2**32 - 1) - (keys & U64(2**32 - 1))


def numbers_of(keys):
    place = (keys >> U64(32)).astype(I64)
    return f32_of(np.where(place >> 31 == 1, place - 2**31, 2**32 - 1 - place))


def token_of(key):
    return -1 if key in (0, ERROR) else 2**32 - 1 - key % 2**32


def changed(x, o):
    r, f, p = F32(o.repetition), F32(o.frequency), F32(o.presence)
    if o.bias is not None:
        x = np.where(o.biased, x + o.bias, x)
    if o.seen is None:
        return x
    if r != 0:
        new = np.where(x > 0, x / r, x * r)
        x = np.where(o.seen | (o.count > 0), new, x)
    return np.where(o.count > 0, (x - f * o.count.astype(F32)) - p, x)


def inverse_of(temperature):
    t = F32(temperature)
    b = int(bits(t))
    if b == 2**31:
        return F32(0)
    if b >= 0x7F800000:
        return None
    return F32(1) / t if b >= 0x0D800000 else F32(0)


def exponents(x, most, inverse):
    return np.where(x == most, F32(0), (x - most) * inverse)


def masses(t):
    """As Python integers."""
    m = (exp(t).astype(F64) * 2.0**56).astype(U64)
    return [int(x) for x in m]


def cut_of(keys, inverse, o):
    """Of keys that are not 0, in descending order."""
    t = exponents(numbers_of(keys), numbers_of(keys[:1])[0], inverse)
    m, p = F32(o.m), F32(o.p)
    n = n_m = n_p = len(keys)
    n_k = min(o.k, n) if o.k else n
    if m >= 2.0**-126:
        n_m = int((t >= ln(m)).sum())
    if p < 1:
        base = [n, n_k, min(n_k, n_m)][o.order]
        mass = masses(t)
        goal = Fraction(float(p)) * sum(mass[:base])
        before, n_p = mass[0], 1
        while n_p < n and before < goal:
            before, n_p = before + mass[n_p], n_p + 1
    return keys[min(n_k, n_m, n_p) - 1]


def is_refused(o):
    """Whether the options leave the entry without a token."""
    p, m = F32(o.p), F32(o.m)
    r, f, s = F32(o.repetition), F32(o.frequency), F32(o.presence)
    return not (0 <= p <= 1 and 0 <= m <= 1 and 0 <= r < np.inf
            and np.isfinite(f) and np.isfinite(s)
            and inverse_of(o.temperature) is not None)


class Entry:
    """The keys of an entry, its cut, and its most and inverse."""

    def __init__(self, x, v, o, lost=False):
        self.keys = keys_of(changed(x, o), v)
        if o.allowed is not None:
            self.keys = np.where(o.allowed, self.keys, U64(0))
        self.order = np.sort(self.keys[self.keys > 0])[::-1]
        self.failed = None
        if lost or is_refused(o) or (self.keys == U64(ERROR)).any():
            self.failed = ERROR
        elif len(self.order) == 0:
            self.failed = 0
        self.cut, self.kept = ERROR, self.order[:0]
        if self.failed is None:
            self.choose(o)

    def choose(self, o):
        self.inverse = inverse_of(o.temperature)
        self.finite = self.inverse if self.inverse != 0 else F32(1)
        self.most = numbers_of(self.order[:1])[0]
        self.cut = cut_of(self.order, self.finite, o)
        self.kept = self.order[self.order >= self.cut]

    def exponents(self, keys):
        return exponents(numbers_of(keys), self.most, self.finite)

    def sample(self, state):
        """The key of the token."""
        if self.failed is not None:
            return self.failed
        v, x = indices_of(self.kept), numbers_of(self.kept)
        if self.inverse != 0:
            x = fma(x, self.inverse, gumbels(state, v))
        return int(keys_of(x, v).max())

    def logprobs(self):
        """Of all columns."""
        if self.failed is not None:
            return np.full(len(self.keys), np.nan, F32)
        total = sum(masses(self.exponents(self.kept)))
        cut = max(total.bit_length() - 53, 0)
        ln_total = ln(F64((total >> cut) * 2.0**(cut - 56)))
        t = self.exponents(self.keys).astype(F64)
        return np.where(self.keys < self.cut, F32(-np.inf),
                (t - ln_total).astype(F32))

    def top(self, n):
        """The first of what is kept, as columns, and their logprobs."""
        n = min(n, len(self.kept))
        order = np.argsort(self.keys)[::-1][:n]
        return list(order), self.logprobs()[order]

    def distribution(self):
        """The masses of what is kept, by index."""
        if self.failed is not None:
            return {}
        v = [int(i) for i in indices_of(self.kept)]
        if self.inverse == 0:
            return {v[0]: 1}
        return dict(zip(v, masses(self.exponents(self.kept))))


def gumbels(state, v):
    q, place = np.unique(v >> U64(2), return_inverse=True)
    w = gumbel_of(words(state, q), state, q)
    return w[place, (v & U64(3)).astype(I64)]


def coin_of(state, plane):
    seed, offset = state
    w = block(fold(seed, plane, offset // 4), 0, 0)
    return int(w[1]) << 32 | int(w[0])


def judged(state, p, q, x):
    P, Q = sum(p.values()), sum(q.values())
    if not p:
        return -1
    if x is not None:
        coin = coin_of(state, ACCEPT)
        if coin * q.get(x, 0) * P < p.get(x, 0) * Q << 64:
            return x
    rest = {v: max(0, m * Q - q.get(v, 0) * P) for v, m in p.items()}
    if sum(rest.values()) == 0:
        rest = p
    goal, total = coin_of(state, REST) * sum(rest.values()) >> 64, 0
    for v in sorted(rest):
        total += rest[v]
        if total > goal:
            return v


def accepted(state, target, draft, drafts, columns):
    """The tokens of an entry. target, draft: functions of a position that
    give the masses; draft is None where no distribution is given."""
    tokens = []
    for j in range(len(drafts) + 1):
        x = drafts[j] if j < len(drafts) and drafts[j] in columns else None
        q = {}
        if x is not None:
            q = draft(j) if draft else {x: 1}
        token = judged((state[0], state[1] + 4 * j), target(j), q, x)
        tokens.append(token)
        if x is None or token != x:
            break
    return tokens + [-1] * (len(drafts) + 1 - len(tokens))


def taken(tokens, drafts):
    """How many of an entry's tokens there are: one after those accepted."""
    n = 0
    while n < len(drafts) and tokens[n] == drafts[n] and tokens[n] >= 0:
        n += 1
    return n + 1
