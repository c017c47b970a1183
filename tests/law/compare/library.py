"""libphilox.so, called by ctypes as its public headers say."""

import ctypes
from ctypes import (Structure, byref, c_char_p, c_double, c_int, c_size_t,
                    c_uint32, c_uint64, c_void_p, sizeof)

import numpy as np

from law import SIZES

DISTS = {name: i for i, name in enumerate((
    "bits", "uniform", "normal", "bernoulli", "dropout", "log-normal",
    "exponential", "gumbel", "integers", "round", "signs", "permutation",
    "truncated-normal", "categorical"))}
DTYPES = {name: i for i, name in enumerate((
    "u32", "u64", "f32", "bf16", "f16", "f64", "i32", "i64"))}
CUTS = {name: i for i, name in enumerate((
    "WHOLE", "BLOCK", "CEIL", "BOUNDS", "STRIDED", "ZIGZAG"))}


def struct(name, text):
    """A structure whose members are named as in C; `size` is set."""
    types = {"p": c_void_p, "u": c_uint32, "U": c_uint64, "d": c_double,
             "z": c_size_t, "s": c_char_p}
    fields = [(field[2:], types[field[0]]) for field in text.split()]
    made = type(name, (Structure,), {"_fields_": fields})

    def begin(self, *values, **named):
        Structure.__init__(self, *values, **named)
        if fields[0][0] == "size":
            self.size = sizeof(made)

    made.__init__ = begin
    return made


State = struct("State", "U:seed U:offset")
Rng = struct("Rng", "U:seed U:offset p:cell")
Quantize = struct(
    "Quantize", "z:size u:op u:call U:first U:count U:rows U:row_stride "
    "u:in_dtype u:format u:rule u:bits u:scaling u:flags p:in_ p:out p:scales "
    "p:tensor_scale p:saturated U:tensor_rows U:reserved")
Rounding = struct("Rounding", "u:format u:rule u:bits u:saturate")
Fill = struct(
    "Fill", "z:size u:dist u:dtype U:first U:count U:rows U:row_stride p:out "
    "p:in_ d:p d:low d:high d:mean d:std d:rate U:from_ U:to p:layout U:n")
Dim = struct("Dim", "U:extent u:cut u:parts u:part u:reserved U:block "
             "p:bounds")
Span = struct("Span", "U:first U:count U:rows U:row_stride")
Sample = struct(
    "Sample", "z:size p:logits u:dtype u:vocab u:first u:filters U:pitch "
    "d:temperature p:temperatures p:allowed U:allowed_pitch u:order u:top_k "
    "p:top_ks d:top_p p:top_ps d:min_p p:min_ps p:tokens p:keys p:cuts "
    "p:kept_counts p:kept U:kept_pitch p:logprobs p:raw_logprobs p:bias "
    "p:penalties u:flags u:reserved")
Logprob = struct("Logprob", "z:size p:drawn p:ids p:of_ids p:top p:of_top "
                 "u:n_ids u:n_top")
History = struct("History", "z:size p:counts U:counts_pitch p:seen "
                 "U:seen_pitch u:rows u:vocab")
Penalty = struct(
    "Penalty", "z:size p:history d:repetition p:repetitions d:frequency "
    "p:frequencies d:presence p:presences p:drafts u:n_drafts u:reserved")
Bias = struct("Bias", "z:size p:ids p:biases u:count u:reserved")
Accept = struct("Accept", "z:size p:target p:draft p:drafts p:tokens "
                "p:counts u:n_drafts u:reserved")
Rows = struct("Rows", "z:size s:name u:count p:generator")
RowList = struct("RowList", "z:size p:indices p:mask u:count p:steps")
RowFill = struct("RowFill", "z:size u:dist u:dtype U:first U:count p:counts "
                 "U:pitch p:out u:flags u:reserved")
Subset = struct("Subset", "z:size p:weights u:dtype u:is_log u:items u:wanted "
                "p:chosen p:keys p:count p:scratch")
Axis = struct("Axis", "s:name u:n_ranks u:coordinate u:flags u:reserved")
Op = struct("Op", "s:name u:calls U:advance")
Region = struct("Region", "z:size s:name p:ops z:n_ops z:op_size p:generator "
                "u:pending u:flags p:differs z:n_differs")
Source = struct("Source", "U:samples U:weight U:window")
Data = struct("Data", "z:size s:name p:sources z:n_sources z:source_size "
              "U:block p:generator")
DataSample = struct("DataSample", "U:epoch U:sample u:source u:reserved")
MixtureSource = struct("MixtureSource", "U:samples U:window U:quota U:first")
Mixture = struct("Mixture", "p:sources U:key U:block U:poison u:n_sources "
                 "u:reserved")


class Shard(Structure):
    _fields_ = [("size", c_size_t), ("n_dims", c_uint32),
                ("reserved", c_uint32), ("dims", Dim * 8)]


class Mesh(Structure):
    _fields_ = [("size", c_size_t), ("n_axes", c_uint32),
                ("reserved", c_uint32), ("axes", Axis * 8)]


def at(array):
    return None if array is None else array.ctypes.data


class Library:
    """With a host device, a context and a stream."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.philox_error_message.restype = c_char_p
        self.device, self.context = c_void_p(), c_void_p()
        self.stream = c_void_p()
        self("device_open", c_char_p(b"host"), byref(self.device))
        self("context_create", self.device, byref(self.context))
        self("stream_create", self.device, c_int(0), byref(self.stream))

    def __call__(self, name, *args):
        if getattr(self.c, "philox_" + name)(*args) != 0:
            message = self.c.philox_error_message()
            raise RuntimeError(name + ": " + message.decode(errors="replace"))

    def finish(self):
        self("stream_synchronize", self.device, self.stream)

    def fill_desc(self, kind, dtype, span, out, a, b, values):
        f = Fill(dist=DISTS[kind], dtype=DTYPES[dtype], out=at(out),
                 in_=at(values), first=span[0], count=span[1], rows=span[2],
                 row_stride=span[3])
        if kind == "categorical":           # a: the sums
            f.in_, f.n = at(a), len(a)
        names = {"uniform": ("low", "high"), "normal": ("mean", "std"),
                 "log-normal": ("mean", "std"), "exponential": ("rate",),
                 "integers": ("from_", "to"), "bernoulli": ("p",),
                 "dropout": ("p",), "permutation": ("n",),
                 "truncated-normal": ("mean", "std", "low", "high")}.get(
                     kind, ())
        for name, value in zip(names, a if isinstance(a, tuple) else (a, b)):
            whole = name in ("from_", "to")
            setattr(f, name, value % 2**64 if whole else value)
        return f

    def fill(self, kind, dtype, state, span, a=None, b=None, values=None,
             threads=1, shift=0):
        """The bits of a fill of a span (first, count, rows, row_stride).
        `shift` elements before the array change its alignment."""
        n = span[1] * max(span[2], 1)
        out = np.empty(n + shift, "u%d" % SIZES[dtype])[shift:]
        f = self.fill_desc(kind, dtype, span, out, a, b, values)
        self("state_fill", State(*state), byref(f), c_uint32(threads))
        return out

    def spans(self, dims):
        """Of the shard with dimensions (extent, cut, parts, part, block,
        bounds)."""
        shard = Shard(size=sizeof(Shard), n_dims=len(dims))
        kept = []
        for dim, (n, cut, parts, part, block, bounds) in zip(shard.dims, dims):
            dim.extent, dim.cut, dim.block = n, CUTS[cut], block
            dim.parts, dim.part = parts, part
            if bounds is not None:
                kept.append(np.array(bounds, np.uint64))
                dim.bounds = at(kept[-1])
        count = c_uint64()
        self("shard_spans", byref(shard), c_uint64(0), c_size_t(0), None,
             byref(count))
        spans = (Span * count.value)()
        self("shard_spans", byref(shard), c_uint64(0), c_size_t(count.value),
             spans, byref(count))
        return [(s.first, s.count, s.rows, s.row_stride) for s in spans]

    def sample(self, states, sample):
        array = (State * len(states))(*(State(*s) for s in states))
        self("sample_states", self.device, self.stream, array,
             c_uint32(len(states)), byref(sample))
        self.finish()

    def rows(self, name, count):
        rows = c_void_p()
        self("rows_create", self.context,
             byref(Rows(name=name, count=count)), byref(rows))
        return rows

    def set_rows(self, rows, states):
        array = (State * len(states))(*(State(*s) for s in states))
        self("rows_set", rows, self.stream, None, array,
             c_size_t(len(states)))

    def get_rows(self, rows, count):
        states = (State * count)()
        self("rows_get", rows, self.stream, c_uint32(0), c_uint32(count),
             states)
        self.finish()
        return [(s.seed, s.offset) for s in states]

    def accept(self, rows, target, draft, drafts, entries):
        """The tokens and counts; drafts has a row for each entry."""
        n = drafts.shape[1]
        tokens = np.empty((entries, n + 1), np.int32)
        counts = np.empty(entries, np.uint32)
        desc = Accept(target=ctypes.addressof(target),
                      draft=ctypes.addressof(draft) if draft else None,
                      drafts=at(drafts), tokens=at(tokens), counts=at(counts),
                      n_drafts=n)
        self("rows_accept", rows, self.stream, None, byref(desc))
        self.finish()
        return tokens, counts
