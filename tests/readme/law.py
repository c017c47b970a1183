"""The Python of doc/law.md gives the answers that the page shows.

python3 tests/readme/law.py doc/law.md

The page's functions are run with exact arithmetic, rounded as its section 1
says. Nothing is shared with the library, whose commands and programs print the
answers (tests/scripts/readme.sh).
"""

import hashlib
import math
import re
import struct
import sys
from fractions import Fraction

# --- section 1 ----------------------------------------------------------------


def rounded(q, digits, least, most):
    """The number nearest to a fraction, ties to even."""
    sign, q = (-1, -q) if q < 0 else (1, q)
    if q == 0:
        return 0.0
    power = q.numerator.bit_length() - q.denominator.bit_length()
    power -= Fraction(2)**power > q
    place = max(power, least) - digits + 1
    whole = round(q / Fraction(2)**place)  # to even
    if whole * Fraction(2)**place >= Fraction(2)**(most + 1):
        return sign * math.inf
    return sign * math.ldexp(whole, place)


class Real:
    """An f32 or f64, held as a Python float."""

    def __init__(self, x):
        x = x.x if isinstance(x, Real) else x
        special = isinstance(x, float) and (not math.isfinite(x) or x == 0)
        self.x = x if special else rounded(Fraction(x), *self.form)

    def of(self, other):
        if isinstance(other, Real):
            assert type(other) is type(self)
            return other.x
        assert type(self)(other).x == other
        return float(other)

    def combined(self, a, b, operate):
        """Of Python's floats for signs and infinities, else exact."""
        rough = operate(a, b)
        if not (math.isfinite(a) and math.isfinite(b)):
            return type(self)(rough)
        q = operate(Fraction(a), Fraction(b))
        return type(self)(q if q else math.copysign(0.0, rough))

    def __mul__(self, other):
        return self.combined(self.x, self.of(other), lambda a, b: a * b)

    def __add__(self, other):
        return self.combined(self.x, self.of(other), lambda a, b: a + b)

    def __sub__(self, other):
        return self.combined(self.x, self.of(other), lambda a, b: a - b)

    def __rsub__(self, other):
        return self.combined(self.of(other), self.x, lambda a, b: a - b)

    def __truediv__(self, other):
        return self.combined(self.x, self.of(other), lambda a, b: a / b)

    def __rtruediv__(self, other):
        return self.combined(self.of(other), self.x, lambda a, b: a / b)

    __rmul__ = __mul__

    def __neg__(self):
        return type(self)(-self.x)

    def __lt__(self, other):
        return self.x < self.of(other)

    def __gt__(self, other):
        return self.x > self.of(other)

    def __ge__(self, other):
        return self.x >= self.of(other)

    def __eq__(self, other):
        return self.x == self.of(other)

    def __str__(self):
        """As C's %a."""
        return re.sub(r"\.?0*p", "p", self.x.hex())


class f32(Real):
    form = 24, -126, 127


class f64(Real):
    form = 53, -1022, 1023


def fma(a, b, c):
    kind = next(type(x) for x in (a, b, c) if isinstance(x, Real))
    a, b, c = (kind(0).of(x) for x in (a, b, c))
    q = Fraction(a) * Fraction(b) + Fraction(c)
    return kind(q if q else a * b + c)


def sqrt(a):
    """The root with many digits, and one more that says that it goes on."""
    shifted = exact(a) * 4**200
    root = math.isqrt(int(shifted))
    more = root * root != shifted
    return type(a)(Fraction(2 * root + more, 2**201) if a != 0 else a.x)


def exact(x):
    return Fraction(x.x if isinstance(x, Real) else x)


def bits(x):
    forms = ("<I", "<f") if isinstance(x, f32) else ("<Q", "<d")
    return struct.unpack(forms[0], struct.pack(forms[1], x.x))[0]


def f32_of(n):
    return f32(struct.unpack("<f", struct.pack("<I", n))[0])


def f64_of(n):
    return f64(struct.unpack("<d", struct.pack("<Q", n))[0])


def u32(n):
    return n % 2**32


def u64(n):
    return n % 2**64


# --- the page -----------------------------------------------------------------


def read(page):
    """The constants and functions of a page."""
    names = {name: globals()[name] for name in (
        "Fraction", "f32", "f64", "fma", "sqrt", "exact", "bits", "f32_of",
        "f64_of", "u32", "u64")}
    names["inf"], names["nan"] = math.inf, math.nan
    for name, size, numbers in re.findall(
            r"^\| `((?:LN|EXP|SIN|COS|MILLS)(32|64))` \| (.*) \|$", page, re.M):
        kind = f32 if size == "32" else f64
        names[name] = [kind(float.fromhex(x)) for x in numbers.split(", ")]
    for name, short, other, long in re.findall(
            r"^\| `(\w+)` \| (0x\S+) \| `(\w+)` \| (0x\S+) \|$", page, re.M):
        names[name] = f32(float.fromhex(short))
        names[other] = f64(float.fromhex(long))
    for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S):
        exec(block, names)
    return names


# --- the answers, in their order ----------------------------------------------


def normals(law):
    return [str(law["normal"]((42, 0), e)) for e in range(4)]


def keys(law):
    region = law["region_seed"](42, b"layer")
    axes = [(b"data", 3), (b"a", 0)]
    seeds = {
        "hash of layer": law["hash_of"](b"layer"),
        "generator 42, folded by 7": law["fold"](42, law["RANK"], 7),
        "region layer of 42": region,
        "on data 3": law["region_seed"](42, b"layer", axes),
        "operator 2, call 1": law["op_seed"](region, 2, 1),
        "row 9 of requests of 42": law["row_state"](42, b"requests", 9)[0],
        "retries of (42, 8)": law["retry"]((42, 8), 0)[0]}
    return [f"{name:28} {seed:016x}" for name, seed in seeds.items()]


def words(law):
    elements = 2**32 - 1, 2**32
    return ([f"{law['word']((42, 8), e):08x}" for e in elements] +
            [f"{law['word64']((42, 8), e):016x}" for e in elements])


def widened(half):
    return str(f32(struct.unpack("<e", struct.pack("<H", half))[0]))


def values(law):
    s, w, both, n = (42, 0), [], range(2), law
    words = [n["word"](s, e) for e in range(8)]
    ends = f32(4), f32(-1), f32(-1)
    small = range(3287538, 3287540)
    w += [n["ranged"](f32(words[e] >> 8) * 2**-24, *ends,
                      f32_of(bits(f32(3)) - 1)) for e in both]
    w += [f32_of(n["bf16"](n["ranged"](
        f32(words[e] >> 24) * 2**-8, *ends, f32(3 - 2**-6))) << 16)
        for e in both]
    w += [f64(n["word64"](s, e) >> 11) * 2**-53 for e in both]
    w += [widened(n["f16"](fma(n["normal"](s, e), f32(0.1), f32(2))))
          for e in both]
    w += [n["normal_64"](s, e) for e in both]
    w += [n["exp"](n["normal"](s, e)) for e in both]
    w += [n["exp_64"](n["normal_64"](s, e)) for e in both]
    w += [n["exponential"](s, e) * f32(1 / 3) for e in both]
    w += [n["exponential_64"](s, e) for e in both]
    w += [n["gumbel_64"](s, e) for e in both]
    w += [n["exponential"](s, e) for e in small]
    w += [n["gumbel"](s, e) for e in small]
    below = n["threshold"](f64(0.3))
    w += [" ".join("0x1p+0" if x < below else "0x0p+0" for x in words)]
    w += [n["integer"](s, e, 5, 2**31 + 1, 32) for e in range(4)]
    w += [n["integer"](s, e, -9, 19, 64) for e in both]
    return [str(x) for x in w]


def digest(law, dist, dtype):
    """Of elements 0 to 255: means 0, deviations 1, rates 1 change nothing."""
    make = law[{"log-normal": "normal", "uniform": "word"}.get(dist, dist) +
               ("64" if dist == "uniform" else "_64") * (dtype == "f64")]
    shift, scale = {"f32": (8, 2**-24), "bf16": (24, 2**-8),
                    "f16": (21, 2**-11), "f64": (11, 2**-53)}[dtype]
    kind = f64 if dtype == "f64" else f32
    hashed = hashlib.sha256()
    for e in range(256):
        x = make((42, 0), e)
        if dist == "uniform":
            x = kind(x >> shift) * scale
        if dist == "log-normal":
            x = law["exp_64" if dtype == "f64" else "exp"](x)
        n = law[dtype](x) if dtype in ("bf16", "f16") else bits(x)
        hashed.update(n.to_bytes({"f32": 4, "f64": 8}.get(dtype, 2), "little"))
    return hashed.hexdigest()[:16]


def digests(law):
    return [" ".join(digest(law, dist, dtype)
                     for dtype in ("f32", "f64", "bf16", "f16"))
            for dist in ("uniform", "normal", "log-normal", "exponential",
                         "gumbel")]


def dropped(law):
    below, scale = law["threshold"](f64(0.4)), f32(1 / (1 - 0.4))
    lines = [f"T {below:x}, scale {scale}"]
    large, small = f32(0.3), f32(1e-6)
    for e in range(4):
        w = law["word"]((42, 0), e)
        of = [law[f"round_{kind}"](x, w)
              for kind in ("bf16", "f16") for x in (large, small)]
        lines.append(f"{law['dropout'](large, w, below, scale)}  "
                     "bf16 {:04x} {:04x}  f16 {:04x} {:04x}".format(*of))
    return lines


def rows(law):
    seed, _ = law["row_state"](42, b"requests", 9)
    return [str(f32(law["word"]((seed, offset), e) >> 8) * 2**-24)
            for offset in (0, 4) for e in (1, 2)]


def keys_of_logits(law):
    return [law["key_of"](f32(7 * v % 16 - 8) / 4, v) for v in range(16)]


def masses(law, keys, cut, inverse):
    most = law["number_of"](max(keys))
    return {law["index_of"](key): law["mass_of"](law["t_of"](
        law["number_of"](key), most, inverse)) for key in keys if key >= cut}


def sampled(law, name, temperature, k=0, p=1, m=0, form=0):
    keys = keys_of_logits(law)
    most = law["number_of"](max(keys))
    inverse = law["inverse_of"](temperature)
    scale = inverse if inverse != 0 else f32(1)
    cut = law["cut_of"](keys, scale, k, f32(p), f32(m), form)
    key = law["sample"]((42, 72), keys, inverse, cut)
    token = law["token_of"](key)
    kept = masses(law, keys, cut, scale)
    every = masses(law, keys, min(keys), f32(1))
    logprobs = [law["logprob"](keys[token], least, most, by, law["ln_of_total"](
        sum(of.values()))) for least, by, of in (
            (cut, scale, kept), (min(keys), f32(1), every))]
    return [f"{name}: token {token}, key {key:x}",
            f"  cut {cut:x}, {len(kept)} kept, "
            "logprob {}, raw {}".format(*logprobs)]


def tokens(law):
    return (sampled(law, "T 0", 0) + sampled(law, "T 0.75", 0.75) +
            sampled(law, "T 0.75, top-k 3", 0.75, 3) +
            sampled(law, "T 0.75, top-p 0.8", 0.75, 0, 0.8) +
            sampled(law, "T 2, KPM, 12, 0.8, 0.3", 2, 12, 0.8, 0.3, 1) +
            sampled(law, "T 2, MKP, 12, 0.8, 0.3", 2, 12, 0.8, 0.3, 2))


def drafts(law):
    keys, lines = keys_of_logits(law), []
    target = masses(law, keys, sorted(keys)[-3], f32(2))
    logits = masses(law, keys, 0, f32(0.25))
    for name in "logits", "point":
        for chain in (9, 9, 9), (2, 9, 0), (11, 2, 9), (9, 4, 11):
            drawn = []
            for j, x in enumerate((*chain, None)):
                q = logits if name == "logits" else {x: 1}
                drawn.append(law["judged"]((42, 16 + 4 * j), target,
                                           q if x is not None else {}, x))
                if drawn[-1] != x:
                    break
            n = len(drawn)
            lines.append("{}, drafts {} {} {}: ".format(name, *chain) +
                         f"{n} tokens, " +
                         " ".join(map(str, drawn + [-1] * (4 - n))))
    return lines


def formats(law):
    state, tenths, small = (42, 0), f32(0.3), f32(-0.001)
    lines = [f"{form} " + " ".join(
        f"{law['rounded_to'](form, state, e, x, n, is_exact, True):x}"
        for e in range(4)
        for x, n, is_exact in ((tenths, 32, False), (small, 8, True)))
        for form in ("bf16", "f16", "e4m3", "e5m2", "e2m1")]
    ties = [law["f32_of"](0x3F800000 | 0x53 << 12 | rest)
            for rest in range(1, 0x1000, 0x2AA)]
    lines.append("ties " + " ".join(
        f"{law['rounded_to']('e4m3', state, 0, x, 8, True, True):x}"
        for x in ties))
    signs = sum((law["word"](state, 32 + i) < 2**31) << i for i in range(32))
    lines.append("{:x} {:x} {:x} {:x}".format(
        law["nvfp4"](f32(3.3), f32(0.01)), law["mx"]("e4m3", f32(3.7), False),
        law["mx"]("e4m3", f32(3.7), True), signs))
    return lines


def orders(law):
    return [" ".join(str(law["item"]((42, 0), n, e)) for e in range(count))
            for n, count in ((12, 12), (1000, 4), (10**6, 4), (9 * 10**18, 2))]


def narrowed(x, dtype):
    """Of the right digits, without an f32 in between; none is at an end."""
    form = {"f32": f32.form, "bf16": (8, -126, 127), "f16": (11, -14, 15)}
    return str(f64(rounded(exact(x), *form[dtype])))


def truncations(law):
    lines = []
    for count, dtype, *parameters in (
            (3, "f32", 0, 1, -2, 2), (3, "f32", 0.5, 2, -1e300, 3),
            (2, "f32", 0, 1, 38, 1e300), (2, "f32", 0, 1, -1e10, -1000),
            (2, "f32", 0, 1, 1, 1 + 2**-40), (2, "bf16", -3, 0.1, -2, 0),
            (2, "f16", 0, 0.02, -0.04, 0.04)):
        lines += [narrowed(law["truncated"]((42, 0), e, *map(f64, parameters)),
                           dtype) for e in range(count)]
    return lines


def data(law):
    sources, lines = [(1000, 3, 0), (100000, 7, 256), (5, 1, 1)], []
    for name, of, block, position in (
            ("one", sources[:1], 65536, 997),
            ("windows", sources[1:2], 65536, 99998),
            ("two", sources[:2], 10, 4 * 10**9), ("three", sources, 65536, 0)):
        state = law["data_state"](42, name.encode())
        lines.append(f"{name} {law['order_hash'](of, block):016x}: " + " ".join(
            "{},{},{}".format(*law["sample_at"](state, of, block, position + i))
            for i in range(4)))
    return lines


def categories(law):
    lines = []
    for first, count, weights in (
            (0, 16, (1, 0, 3.5, 2)), (1000, 8, (1e300, 5e-324, 0.1e300)),
            (0, 8, (0, 0, 7)),
            (0, 16, (9, 8, 7, 6, 5, 4, 3, 2, 1, 0.5, 0.25))):
        sums = law["weight_sums"]([f64(w) for w in weights])
        lines.append(" ".join(str(law["category"]((42, 0), first + i, sums))
                              for i in range(count)))
    return lines


def sums(law):
    made = law["weight_sums"]([f64(w) for w in (0.1, 0, 5e-324, 0.2, 0.7)])
    counts = (0, 1, 2**62, 2**63 + 3)
    return [" ".join(map(str, made)), " ".join(
        str(law["category"]((42, 0), e, counts)) for e in range(16))]


def subsets(law):
    logits = [law["weight_ln"](f32(7 * i % 16)) for i in range(16)]
    return [f"{i} {key:x}" for i, key in law["subset"]((42, 72), logits, 5)]


def blocks(law, page):
    """The table of Random123."""
    found = re.findall(r"^\| (\S+|2\^64 - 1) \| (\S+|2\^64 - 1) \| "
                       r"(\S+|2\^64 - 1) \| ((?:[0-9a-f]{8} ?){4}) \|$",
                       page, re.M)
    for *counter, answer in found:
        counter = [2**64 - 1 if x == "2^64 - 1" else int(x, 0)
                   for x in counter]
        made = " ".join(f"{x:08x}" for x in law["block"](*counter))
        if made != answer:
            print(f"block{tuple(counter)}: {made}, not {answer}")
            return False
    return len(found) == 3


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    law = read(page)
    shown = [text.splitlines() for text in re.findall(
        r"^```output\n(.*?)^```", page, re.M | re.S)]
    makers = (normals, keys, words, values, digests, dropped, rows, tokens,
              drafts, formats, orders, truncations, data, categories, sums,
              subsets)
    right = blocks(law, page) and len(shown) == len(makers)
    for answers, maker in zip(shown, makers):
        made = maker(law)
        for a, b in zip(answers, made):
            if a != b:
                print(f"{maker.__name__}: the page shows {a}\n  made: {b}")
        right = right and answers == made
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
