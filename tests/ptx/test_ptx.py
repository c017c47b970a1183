"""tests/ptx/ptx.py on PTX that was written by hand."""
import sys

import ptx

REFUSED = [
    "div.approx.f32 %f1, %f2, %f3;",
    "div.full.f32 %f1, %f2, %f3;",
    "sqrt.approx.f32 %f1, %f2;",
    "@%p1 rsqrt.approx.f32 %f1, %f2;",
    "rsqrt.approx.ftz.f32 %f1, %f2;",
    "rcp.approx.ftz.f32 %f1, %f2;",
    "ex2.approx.f32 %f1, %f2;",
    "lg2.approx.f32 %f1, %f2;",
    "$L__1: sin.approx.f32 %f1, %f2;",
    "cos.approx.f32 %f1, %f2;",
    "tanh.approx.f32 %f1, %f2;",
    "add.ftz.f32 %f1, %f2, %f3;",
    "fma.rn.ftz.f32 %f1, %f2, %f3, %f4;",
    "fma.rz.f32 %f1, %f2, %f3, %f4;",
    "fma.rm.f32 %f1, %f2, %f3, %f4;",
    "fma.rm.f32x2 %rd1, %rd2, %rd3, %rd4;",
    "fma.rn.sat.f32 %f1, %f2, %f3, %f4;",
    "fma.rn.ftz.f32x2 %rd1, %rd2, %rd3, %rd4;",
    "mul.f32x2 %rd1, %rd2, %rd3;",
    "mul.rn.sat.f32 %f1, %f2, %f3;",
    "mul.f32 %f1, %f2, %f3;",
    "mul.f32 %f1, %f2, 0f3F800001;",
    "mul.f64 %f1, %f2, 0d3FF8000000000000;",
    "mul.f16x2 %r1, %r2, %r3;",
    "max.ftz.f16x2 %r1, %r2, %r3;",
    "fma.rn.relu.bf16x2 %r1, %r2, %r3, %r4;",
    "mad.f32 %f1, %f2, %f3, %f4;",
    "add.f32 %f1, %f2, %f3;\n.local .align 4 .b8 depot[24];",
    "add.f32 %f1, %f2, %f3;\nst.local.f32 [%r1], %f1;",
]

ACCEPTED = [
    "mul.f32 %f1, %f2, 0fC0000000;\nadd.f32 %f1, %f1, %f2;",
    "mul.f64 %f1, %f2, 0d3CA0000000000000;",
    "mul.rn.f32 %f1, %f2, %f3;",
    "{ .reg .pred p; setp.lt.f32 p, %f1, %f2; selp.f32 %f3, %f1, %f2, p; }",
    "sqrt.rn.f32 %f1, %f2;",
    "cvt.rn.bf16x2.f32 %r1, %f1, %f2;",
    "min.NaN.bf16x2 %r1, %r2, %r2;",
    "max.f16x2 %r1, %r2, %r3;",
    "fma.rn.bf16x2 %r1, %r2, %r3, %r4;",
    "fma.rn.f32x2 %rd1, %rd2, %rd3, %rd4;",
    "add.rn.f32x2 %rd1, %rd2, %rd3;",
]

# philox_mend_roots() of %f1
ROOT = """\
mov.f32 %f20, 0f3F000000;
mov.f32 %f21, 0f00000000;
rsqrt.approx.ftz.f32 %f2, %f1;
neg.f32 %f3, %f1;
fma.rm.f32 %f4, %f1, %f2, %f21;
fma.rn.f32 %f5, %f4, %f4, %f3;
fma.rm.f32 %f6, %f5, %f2, %f21;
fma.rm.f32 %f7, %f6, 0fBA800000, %f20;
neg.f32 %f8, %f6;
fma.rn.sat.f32 %f9, %f8, %f7, %f4;
""".splitlines()

# of the two numbers of %rd1
ROOTS = """\
mov.f32 %f20, 0f3F000000;
mov.b64 %rd20, {%f20, %f20};
mov.f32 %f21, 0f00000000;
mov.b64 %rd21, {%f21, %f21};
mov.f32 %f22, 0fBA800000;
mov.b64 %rd22, {%f22, %f22};
{.reg .f32 b; mov.b64 {%f1, b}, %rd1;}
{.reg .f32 b; mov.b64 {b, %f2}, %rd1;}
rsqrt.approx.ftz.f32 %f3, %f1;
rsqrt.approx.ftz.f32 %f4, %f2;
mov.b64 %rd2, {%f3, %f4};
neg.f32 %f5, %f1;
neg.f32 %f6, %f2;
mov.b64 %rd3, {%f5, %f6};
fma.rm.f32x2 %rd4, %rd1, %rd2, %rd21;
fma.rn.f32x2 %rd5, %rd4, %rd4, %rd3;
fma.rm.f32x2 %rd6, %rd5, %rd2, %rd21;
fma.rm.f32x2 %rd7, %rd6, %rd22, %rd20;
{.reg .f32 b; mov.b64 {%f7, b}, %rd4;}
{.reg .f32 b; mov.b64 {b, %f8}, %rd4;}
{.reg .f32 b; mov.b64 {%f9, b}, %rd6;}
{.reg .f32 b; mov.b64 {b, %f10}, %rd6;}
{.reg .f32 b; mov.b64 {%f11, b}, %rd7;}
{.reg .f32 b; mov.b64 {b, %f12}, %rd7;}
neg.f32 %f13, %f9;
neg.f32 %f14, %f10;
fma.rn.sat.f32 %f15, %f13, %f11, %f7;
fma.rn.sat.f32 %f16, %f14, %f12, %f8;
""".splitlines()


def faults(*statements, target="sm_80"):
    """Of a kernel."""
    return list(ptx.faults("\n".join(
        ["//", f".target {target}", ".visible .entry k(.param .u64 p)", "{",
         "\t.reg .f32 %f<9>;", *statements, "ret;", "}"])))


def check_roots():
    for root in ROOT, ROOTS:
        assert not faults(*root), faults(*root)
        for i, step in enumerate(root):
            if "rsqrt" not in step:
                assert faults(*root[:i], *root[i + 1:]), f"without {step}"
    swapped = [step.replace("%f6, %f5, %f2,", "%f6, %f2, %f5,")
               for step in ROOT]
    assert swapped != ROOT and not faults(*swapped)
    assert faults(*ROOT, "add.f32 %f13, %f2, %f1;"), "another use"
    assert faults(*ROOTS, "add.rn.f32x2 %rd13, %rd2, %rd1;"), "another use"
    assert faults(*ROOT[:-1], "fma.rn.sat.f32 %f9, %f8, %f20, %f4;")
    # the numbers of two roots are mixed up
    assert faults(*[step.replace("{%f5, %f6}", "{%f6, %f5}")
                    for step in ROOTS])
    assert faults(*[step.replace("%f14, %f12, %f8", "%f14, %f11, %f8")
                    for step in ROOTS])
    # the second of two
    assert len(faults(*ROOT, "rsqrt.approx.ftz.f32 %f14, %f19;")) == 1
    # what only a root may have
    assert len(faults(*ROOT, "fma.rm.f32 %f14, %f1, %f3, %f21;")) == 1
    assert faults(*ROOT, "fma.rm.f32x2 %rd4, %rd1, %rd2, %rd3;")


def check_waits():
    wait, read = "griddepcontrol.wait;", "ld.relaxed.gpu.b128 pair, [%rd1];"
    assert not faults(read)
    for target in ("sm_90", "sm_90a", "sm_120"):
        assert len(faults(read, target=target)) == 1
        assert not faults(wait, read, read, target=target)
        assert len(faults(read, wait, read, target=target)) == 1


def main():
    for text in REFUSED:
        found = faults(text)
        assert len(found) == 1, (text, found)
        assert "line 6, k: " in found[0] or "local" in found[0], found
    for text in ACCEPTED:
        assert not faults(text), (text, faults(text))
    check_roots()
    check_waits()


if __name__ == "__main__":
    sys.exit(main())
