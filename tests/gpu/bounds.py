"""The bounds of tests/ptx beside what philox bench measured on a GPU.

A bound follows from the kernel's instructions, in the table of sizes, and from
the GPU's figures, in the table of GPUs: no run can be faster. It is given to
fills, and to draws of rows and tokens whose arrays have 1 MiB or more, since
those below are launches, mostly. Arrays below 256 MiB may lie in caches, so
memory does not bound them.
"""

import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ptx"))
import pipes  # noqa: E402
import sizes  # noqa: E402

LEAST, UNCACHED = 1 << 20, 256 << 20
NEAR = 0.8
SHOWN = 5

# A bound in GB/s, what limits it, and what was measured, as a fraction of it
Bound = collections.namedtuple("Bound", "what rate limit fraction")

KERNELS = {"rounding": "round"}
DTYPES = {"i32": "u32", "i64": "u64"}


def bytes_of(size):
    number = size.rstrip("KMGiB")
    return int(number) << {"K": 10, "M": 20, "G": 30}.get(size[len(number) :][:1], 0)


def of_fill(name):
    """(kernel, bytes of output) of fill/KIND/DTYPE/SIZE."""
    _, kind, dtype, size = name.split("/")
    kernel = KERNELS.get(kind, kind.replace("-", "_"))
    return f"{kernel}_{DTYPES.get(dtype, dtype)}", bytes_of(size)


def of_rows(name):
    """(kernel, bytes drawn or read), or None: rows/draw/ROWSxCOLUMNS, in f32."""
    match = re.fullmatch(r"rows/(draw|token)/(\d+)x(\d+)", name)
    if not match:
        return None
    count = 4 * int(match[2]) * int(match[3])
    kernel = {"draw": "kernel_rows_uniform_f32", "token": "kernel_sample_f32"}
    return (kernel[match[1]], count) if count >= LEAST else None


def measured(row, count):
    """GB/s of a row: its value, or bytes by its ns."""
    return row["value"] if row["unit"] == "GB/s" else count / row["value"]


class Bounds:
    """Those of the GPU that a run's line "machine" describes."""

    def __init__(self, machine, nvcc="", table=sizes.TABLE):
        self.notes, self.asked = [], False
        self.gpu, self.found = None, {}
        description = machine.get("description") or ""
        if not str(machine.get("device")).startswith("cuda"):
            return
        self.gpu = pipes.find_gpu(description)
        if not self.gpu:
            name = description.split(",")[0]
            self.notes.append(f"no bounds: {name} is not in tests/ptx/gpus.txt")
            return
        table = sizes.read(pathlib.Path(table))
        versions = {version for version, _, _ in table}
        self.version = nvcc if nvcc in versions else max(
            versions, key=sizes.version_number
        )
        self.sizes = {
            name: size
            for (version, arch, name), size in table.items()
            if (version, arch) == (self.version, self.gpu.arch)
        }
        self.notes.append(
            f"bounds: by calculation, of {self.gpu.name}, from the code that nvcc "
            f"{self.version} makes (tests/ptx); in brackets what was measured, as "
            "a fraction"
        )
        if nvcc != self.version:
            self.notes.append(
                f"nvcc {nvcc or '(no version)'} is not in tests/ptx/sizes.txt: "
                f"bounds are by the counts of {self.version}"
            )

    def find(self, row):
        """The row's bound, or None; it is remembered for the summary."""
        is_fill = row["name"].startswith("fill/")
        place = of_fill(row["name"]) if is_fill else of_rows(row["name"])
        self.asked |= bool(place)
        if not self.gpu or not place or not row["value"]:
            return None
        kernel, count = place
        size = self.sizes.get(kernel)
        rates = size and sizes.bounds(
            size, self.gpu.arch, kernel, self.gpu, in_caches=count < UNCACHED
        )
        if not rates:
            return None
        # of two loops the faster one: which of them ran is not known
        rate, limit = max(rates)
        what = row["name"].split("/", 1)[1] if is_fill else row["name"]
        bound = Bound(what, rate, limit, measured(row, count) / rate)
        self.found[row["name"]] = bound
        return bound

    def summary(self):
        """Lines for the report: what is past its bound, and what is far below."""
        if not self.asked:
            return []
        found = sorted(self.found.values(), key=lambda bound: bound.fraction)
        past = [bound for bound in reversed(found) if bound.fraction > 1]
        far = [bound for bound in found if bound.fraction < NEAR][:SHOWN]
        lines = list(self.notes)
        if past:
            lines.append(
                "past its bound, so that a count or a figure of the GPU is wrong: "
                + named(past)
            )
        if far:
            lines.append(f"furthest below {NEAR} of their bounds: " + named(far))
        return lines


def named(bounds):
    return ", ".join(f"{bound.what} {bound.fraction:.2f}" for bound in bounds)


def cell(bound, unit=""):
    if not bound:
        return ""
    return f"{bound.rate:,.0f}{unit} {bound.limit} ({bound.fraction:.2f})"
