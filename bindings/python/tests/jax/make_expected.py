"""Print the table expected.json: numbers of philox.torch, as bits.

    PYTHONPATH=build/python python make_expected.py >expected.json

Python has torch, and the package is built by ``make python``.
"""

import json

import torch

import philox.torch as ph

SEED = 0x123456789ABCDEF0
STATES = ((0, 0), (42, 4), (SEED, 2**32 - 4), (-1, 2**33))
DTYPES = {"float32": torch.int32, "bfloat16": torch.int16,
          "float16": torch.int16, "float64": torch.int64}
SAMPLERS = ({}, {"temperature": 0.0}, {"temperature": 0.7, "top_k": 5},
            {"top_p": 0.6}, {"min_p": 0.2}, {"temperature": 1.5, "top_k": 20,
                                             "top_p": 0.9, "min_p": 0.05})


def bits(x):
    kind = DTYPES[str(x.dtype).removeprefix("torch.")]
    return [v % 2**(8 * x.element_size()) for v in x.view(kind).tolist()]


def draws():
    for seed, offset in STATES:
        states = torch.tensor([[seed, offset]])
        for name in DTYPES:
            dtype = getattr(torch, name)
            x = torch.arange(-8, 11).to(dtype)
            numbers = {
                "uniform": ph.uniform((19,), -2, 3, dtype=dtype, states=states),
                "normal": ph.normal((19,), 1, 2.5, dtype=dtype, states=states),
                "dropout": ph.dropout(x, 0.3, states=states)}
            for function, values in numbers.items():
                yield {"function": function, "seed": seed % 2**64,
                       "offset": offset, "dtype": name, "bits": bits(values)}


def samples():
    # Multiples of 1/8, exact in every dtype
    logits = ((torch.arange(6 * 97) * 7919) % 61).reshape(6, 97) / 8
    states = torch.tensor([[SEED, 4 * i] for i in range(6)])
    for parameters in SAMPLERS:
        for name in ("float32", "bfloat16", "float16"):
            tokens = ph.sample(logits.to(getattr(torch, name)), states=states,
                               **parameters)
            yield {"parameters": parameters, "dtype": name,
                   "seed": SEED, "tokens": tokens.tolist()}


def reserved(calls):
    return [{"site": site, "n": n,
             "states": [[v % 2**64 for v in row]
                        for row in ph.reserve(site, n).tolist()]}
            for site, n in calls]


def ledger():
    ph.seed(42)
    first = reserved([("a", 1), ("b", 3), ("a", 2), ("ä/1", 1)])
    saved = ph.state_dict()
    return {"seed": 42, "reserved": first, "saved": saved,
            "then": reserved([("b", 1), ("a", 2), ("c", 1)])}


if __name__ == "__main__":
    print(json.dumps({"torch": torch.__version__.split("+")[0],
                      "draws": list(draws()), "samples": list(samples()),
                      "ledger": ledger()}, indent=None))
