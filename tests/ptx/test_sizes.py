"""tests/ptx/sizes.py and pipes.py on machine code that nvcc made, and on such
that is worse: excerpts.sass, whose counts were made by hand."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
from fractions import Fraction

import pipes
import report
import sass
import show
import sizes

TEXT = pathlib.Path(__file__).with_name("excerpts.sass").read_text()

# issue alu fma imad wide half f64 xu lsu uniform other, all around the loop, and
# by how many stores of 16 bytes they are divided
BY_HAND = {
    ("sm_80", "simple"): ([8, 4, 0, 2, 1, 0, 0, 0, 1, 0, 1], 1),
    ("sm_90", "simple"): ([8, 5, 0, 1, 1, 0, 0, 0, 1, 0, 1], 1),
    ("sm_100", "simple"): ([8, 5, 0, 1, 1, 0, 0, 0, 1, 0, 1], 1),
    ("sm_80", "mixed"): ([21, 5, 3, 3, 3, 2, 1, 3, 2, 1, 1], 1),
    ("sm_90", "mixed"): ([21, 5, 3, 3, 3, 1, 1, 3, 2, 2, 1], 1),
    ("sm_100", "mixed"): ([21, 5, 3, 3, 3, 1, 1, 3, 2, 2, 1], 1),
    ("sm_80", "unrolled"): ([23, 9, 0, 9, 4, 0, 0, 0, 4, 0, 1], 4),
    ("sm_90", "unrolled"): ([23, 10, 0, 8, 4, 0, 0, 0, 4, 0, 1], 4),
    ("sm_100", "unrolled"): ([21, 10, 0, 6, 0, 0, 0, 0, 4, 0, 1], 4),
    # of the loop within; the one around it stores 16 bytes, too
    ("sm_80", "nested"): ([9, 6, 0, 1, 0, 0, 0, 0, 1, 0, 1], 1),
    ("sm_90", "nested"): ([9, 6, 0, 1, 0, 0, 0, 0, 1, 0, 1], 1),
    ("sm_100", "nested"): ([10, 6, 0, 2, 1, 0, 0, 0, 1, 0, 1], 1),
}
WIDTHS = {"simple": ("16x1/-", "16x1/-"), "mixed": ("16x1/16x1", "16x1/16x1"),
          "unrolled": ("16x5/-", "16x4/-"), "nested": ("16x2,4x1/-", "16x1/-")}
VERSION, REGISTERS = "1.0", 20


def measure(text):
    """{(VERSION, architecture, name): Size}, as sizes.measure() of objects."""
    return {(VERSION, function.arch, function.name.removeprefix("philox_fill_")):
            sizes.size_of(function, REGISTERS)
            for function in sass.functions(text.splitlines())}


def only(arch, name):
    """The excerpt's text of one kernel."""
    text = TEXT.split(f"code for {arch}\n")[1].split("code for ")[0]
    text = text.split(f"Function : philox_fill_{name}\n")[1]
    return (f"code for {arch}\n\t\tFunction : philox_fill_{name}\n" +
            text.split("\t\tFunction")[0])


def refused(table, found):
    """The faults, after none was found with what is in the table."""
    with contextlib.redirect_stdout(io.StringIO()):
        assert not list(sizes.compare(table, table, VERSION))
        return list(sizes.compare(table, found, VERSION))


# --- counts -------------------------------------------------------------------

def test_counts():
    found = measure(TEXT)
    assert len(found) == len(BY_HAND) == 12
    for (arch, name), (counts, stores) in BY_HAND.items():
        size = found[VERSION, arch, name]
        assert size.counts == [tuple(Fraction(n, stores) for n in counts)], \
            (arch, name, size)
        assert (size.code, size.loop) == WIDTHS[name], (arch, name, size)


def test_whole_code():
    """A kernel that has no main loop, without what fills up its end."""
    text = only("sm_80", "simple").replace("philox_fill_simple", "philox_head_1")
    (size,) = measure(text).values()
    assert size.loop == "-" and size.code == "16x1/-"
    assert size.counts == [(19, 6, 0, 6, 1, 0, 0, 0, 1, 1, 5)], size
    gpu = pipes.gpus()[0]
    assert sizes.bounds(size, "sm_80", "head_1", gpu) == []


def test_unknown():
    text = only("sm_90", "simple").replace("LOP3.LUT", "NEW3.LUT")
    try:
        measure(text)
    except pipes.UnknownOpcode as error:
        assert "NEW3" in str(error)
    else:
        assert False, "an unknown opcode was counted"
    try:
        measure(only("sm_90", "simple").replace("BRA 0xa0", "BRA 0x120"))
    except sizes.NoMainLoop as error:
        assert "no main loop" in str(error)
    else:
        assert False, "a fill without a loop was counted"


# --- what is worse, and what is not -------------------------------------------

def test_worse_code():
    """Worse machine code is refused, by the name of what is worse."""
    text = only("sm_90", "mixed")
    before = measure(text)
    store = "/*01c0*/ STG.E.128 desc[UR6][R10.64], R4 ;\n"
    load = "/*00c0*/ LDG.E.128 R8, desc[UR6][R10.64] ;\n"
    add = "/*0180*/ IADD3 R17, R17, 0x100, RZ ;\n"
    assert store in text and load in text and add in text
    for old, new, fault in [
            (store, store.replace("128", "64"), "stores/loads of the loop 8x1/"),
            (load, load.replace("128", "64") +
             load.replace("128", "64").replace("00c0", "00c8"),
             "stores/loads of the loop 16x1/8x2, were 16x1/16x1"),
            (load, load + load.replace("00c0", "00c8"), "lsu 3, was 2"),
            (add, add + "/*0188*/ MUFU.RSQ R4, R8 ;\n", "xu 4, was 3"),
            (add, add + "/*0188*/ IMAD.HI.U32 R4, R8, R8, RZ ;\n",
             "wide 4, was 3"),
            (add, add + "/*0188*/ MOV R4, R8 ;\n", "alu 6, was 5"),
            (add, add + "/*0188*/ FADD R4, R8, R8 ;\n", "fma 4, was 3"),
            (add, add + "/*0188*/ S2R R4, SR_TID.X ;\n", "issue 22, was 21")]:
        faults = refused(before, measure(text.replace(old, new)))
        assert any(fault in told for told in faults), (new, faults)
    # uniform instructions are issued, too
    faults = refused(before, measure(text.replace(
        add, add + "/*0188*/ UMOV UR9, URZ ;\n")))
    assert faults == ["sm_90 mixed: issue 22, was 21"], faults


def with_counts(size, **changed):
    return size._replace(counts=[size.counts[0]._replace(**changed)])


def test_limits():
    """Two registers and two percent more, narrow stores in their number."""
    key = VERSION, "sm_90", "x"
    before = sizes.Size(40, "16x4,4x2/-", "16x4/-", [pipes.Counts(
        *map(Fraction, [100, 50, 30, 10, 5, 0, 0, 4, 1, 5, 0]))])
    table = {key: before}
    fine = [before._replace(registers=42), before._replace(registers=30),
            with_counts(before, issue=Fraction(102), alu=Fraction(51)),
            with_counts(before, uniform=Fraction(9)),
            before._replace(code="16x5,4x2/-"), before._replace(code="16x4/-")]
    for size in fine:
        assert not refused(table, {key: size}), size
    for size, fault in [
            (before._replace(registers=43), "43 registers, were 40"),
            (with_counts(before, issue=Fraction("102.01")), "issue 102.01"),
            (with_counts(before, half=Fraction(1, 4)), "half 0.25, was 0"),
            (with_counts(before, other=Fraction(1)), "other 1, was 0"),
            (before._replace(code="16x4,4x3/-"), "of the code 16x4,4x3/-"),
            (before._replace(loop="8x8/-"), "of the loop 8x8/-, were 16x4/-"),
            (before._replace(loop="-"), "of the loop -"),
            (before._replace(counts=before.counts * 2), "2 main loops, were 1")]:
        faults = refused(table, {key: size})
        assert len(faults) == 1 and fault in faults[0], (size, faults)
    other = VERSION, "sm_90", "y"
    assert refused(table, {other: before}) == [
        "sm_90 y: not in the table", "sm_90 x: in the table only"]
    assert not refused({**table, (VERSION, "sm_80", "x"): before}, table)
    assert not refused({**table, ("0.9", "sm_90", "y"): before}, table)


def test_table():
    """What is written is read again, in one order."""
    found = measure(TEXT)
    older = {("9.10.0", *key[1:]): size for key, size in found.items()}
    newer = {("13.0.88", *key[1:]): size for key, size in found.items()}
    with tempfile.TemporaryDirectory() as folder:
        first, second = pathlib.Path(folder, "1"), pathlib.Path(folder, "2")
        sizes.write({**newer, **older}, first)
        sizes.write(dict(reversed({**older, **newer}.items())), second)
        assert first.read_text() == second.read_text()
        assert sizes.read(first) == {**older, **newer}
        lines = [line for line in first.read_text().splitlines()
                 if line[0] != "#"]
    assert lines[0].startswith("9.10.0 sm_80 mixed 20 16x1/16x1 16x1/16x1 "
                               "21,5,3,3,3,2,1,3,2,1,1"), lines[0]
    assert lines[7].startswith("9.10.0 sm_90 unrolled 20 16x5/- 16x4/- "
                               "5.75,2.50,0,2,1,0,0,0,1,0,0.25"), lines[7]
    assert lines[-1].startswith("13.0.88 sm_100 unrolled"), lines[-1]


# --- bounds -------------------------------------------------------------------

def near(found, rate, limit):
    assert abs(found[0] - rate) < 0.01 and found[1] == limit, found


def test_bounds():
    a100 = pipes.Gpu("a", "sm_80", 108, 1410.0, 2039.0, "", "")
    h200 = pipes.Gpu("h", "sm_90", 132, 1980.0, 4800.0, "", "")
    found = measure(TEXT)

    def bound(name, gpu, **how):
        (one,) = sizes.bounds(found[VERSION, gpu.arch, name], gpu.arch, name, gpu,
                              **how)
        return one

    # 16 bytes are written and 16 read
    near(bound("mixed", h200), 2400, "memory")
    near(bound("mixed", a100), 1019.5, "memory")
    # 16 bytes x 132 x 1.98 GHz = 4181.76 GB in a clock of each; 3 of xu in
    # 3 / 16 of a clock
    near(bound("mixed", h200, in_caches=True), 4181.76 / 0.1875, "XU")
    # 16 x 108 x 1.41 = 2436.48
    near(bound("mixed", a100, in_caches=True), 2436.48 / 0.1875, "XU")
    near(bound("simple", h200), 4800, "memory")
    # ALU: 5 / 64; issue 8 / 128
    near(bound("simple", h200, in_caches=True), 4181.76 / 0.078125, "ALU")

    def of(gpu, **counts):
        zero = dict.fromkeys(pipes.Counts._fields, 0)
        return pipes.bound(pipes.Counts(**{**zero, **counts}), 0, gpu.arch, gpu)

    # all products are one pipe's of 8.0, half of one's of 9.0
    near(of(a100, issue=10, fma=6, imad=3, wide=1), 2436.48 * 6.4, "FMA")
    near(of(h200, issue=10, fma=6, imad=3, wide=1), 4181.76 * 12.8, "issue")
    near(of(h200, issue=10, imad=4, wide=4), 4181.76 * 8, "IMAD")
    near(of(h200, issue=10, fma=4, half=4, imad=2, wide=1), 4181.76 * 128 / 11,
         "FMA")
    near(of(h200, issue=10, f64=10), 4181.76 * 6.4, "f64")
    near(of(a100, issue=10, f64=10), 2436.48 * 3.2, "f64")
    near(of(a100, issue=4, lsu=4), 2436.48 * 8, "LSU")


def test_reads():
    """Samples read what they are counted by."""
    h200 = pipes.Gpu("h", "sm_90", 132, 1980.0, 4800.0, "", "")
    size = sizes.Size(40, "8x1/16x2", "-/16x1", [pipes.Counts(
        *map(Fraction, [130, 47, 0, 38, 19, 0, 0, 0, 1, 20, 20]))])
    (found,) = sizes.bounds(size, "sm_90", "kernel_sample_f32", h200)
    near(found, 4181.76 * 128 / 130, "issue")
    (found,) = sizes.bounds(size, "sm_90", "compare",
                            h200._replace(gbps=1000.0))
    near(found, 1000, "memory")


def test_gpus():
    names = {"NVIDIA H200, compute capability 9.0, 139.8 GiB": "H200",
             "NVIDIA H200 NVL, compute capability 9.0": None,
             "NVIDIA A100-SXM4-80GB, compute capability 8.0": "A100 80GB",
             "NVIDIA A100-SXM4-40GB": None,
             "NVIDIA H100 80GB HBM3, compute capability 9.0": "H100 SXM",
             "NVIDIA B200": "B200", "simulated GPU": None, "": None}
    for description, name in names.items():
        gpu = pipes.find_gpu(description)
        assert (gpu and gpu.name) == name, (description, gpu)
    assert all(gpu.arch in pipes.TURNS and len(gpu.source) > 20
               for gpu in pipes.gpus())


# --- make sass ----------------------------------------------------------------

def test_show():
    size = measure(only("sm_90", "unrolled"))[VERSION, "sm_90", "unrolled"]
    h200 = pipes.find_gpu("NVIDIA H200")
    two = size._replace(counts=size.counts * 2)
    counts = ["5.75", "2.50", "0", "2", "1", "0", "0", "0", "1", "0", "0.25"]
    assert list(show.rows_of("unrolled", two, "sm_90", [h200])) == [
        ["unrolled", "20", "16x5/-", "16x4/-", *counts, "4,800 memory"],
        ["  other parameters", "", "", "", *counts, "4,800 memory"]]
    whole = size._replace(loop="-")
    (row,) = show.rows_of("head_1", whole, "sm_90", [h200])
    assert row[-1] == "-"
    os.environ["KERNELS"] = "normal_* head_1"
    chosen = [show.is_chosen(name) for name in
              ("normal_f32", "head_1", "head_16", "log_normal_f32")]
    assert chosen == [True, True, False, False]
    os.environ["KERNELS"] = ""
    assert show.is_chosen("anything")


# --- BENCHMARKS.md ------------------------------------------------------------

def test_report():
    """The table is made anew, by the newest version; what was measured stays."""
    size = measure(only("sm_90", "mixed"))[VERSION, "sm_90", "mixed"]
    old = size._replace(registers=99)
    table = {("9.0", "sm_90", "mixed"): old, ("10.0", "sm_90", "mixed"): size,
             ("10.0", "sm_80", "mixed"): old,
             ("10.0", "sm_90", "head_1"): size._replace(loop="-"),
             ("10.0", "sm_90", "another"): size}
    text = ("above\n\n| kernel, nvcc 9.0, sm_90 | x | measured |\n|---|---|---|\n"
            "| mixed | | 1,200 (0.9) |\n| gone | | 7 |\n\nbelow\n")
    counts = "20 | 21 | 5 | 3 | 3 | 3 | 1 | 3 | 2 | 2,400 memory"
    made = report.rewrite(text, table)
    assert made == (
        "above\n\n| kernel, nvcc 10.0, sm_90 | registers | issue | alu | fma | imad"
        " | wide | f64 | xu | lsu | H200, GB/s at most | measured |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n"
        f"| another | {counts} | |\n| mixed | {counts} | 1,200 (0.50) |\n\n"
        "below\n"), made
    assert report.rewrite(made, table) == made


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()


if __name__ == "__main__":
    sys.exit(main())
