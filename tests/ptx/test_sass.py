"""tests/ptx/sass.py on machine code that was written by hand."""
import sys

import sass

# A loop of four words with a rare call beside it, one of one word, and the
# code that is called, which jumps backwards, too
TEXT = """
	code for sm_90
		Function : philox_fill_x
        /*0000*/                   MOV R1, c[0x0][0x28] ;       /* 0x00 */
        /*0010*/                   IADD3 R2, R2, 0x1, RZ ;      /* 0x00 */
        /*0020*/              @!P0 BRA 0x50 ;                   /* 0x00 */
        /*0030*/                   CALL.REL.NOINC 0xc0 ;        /* 0x00 */
        /*0040*/                   BRA 0x70 ;                   /* 0x00 */
        /*0050*/                   FADD R2, R2, R3 ;            /* 0x00 */
        /*0060*/                   FMUL R2, R2, R3 ;            /* 0x00 */
        /*0070*/                   STG.E.128 desc[UR4][R4.64], R8 ; /* 0x00 */
        /*0080*/               @P1 BRA `(.L_x_1) ;              /* 0x00 */
        /*0090*/               @P2 BRA 0x10 ;                   /* 0x00 */
        /*00a0*/                   STG.E desc[UR4][R4.64], R8 ; /* 0x00 */
        /*00b0*/               @P2 BRA 0xa0 ;                   /* 0x00 */
        /*00b8*/                   EXIT ;                       /* 0x00 */
        /*00c0*/                   MUFU.RSQ R2, R2 ;            /* 0x00 */
        /*00d0*/                   BRA P3, 0xc0 ;               /* 0x00 */
        /*00e0*/                   RET.REL.NODEC R4 0x0 ;       /* 0x00 */
		Function : philox_fill_y
        /*0000*/                   STG.E.U16 desc[UR4][R4.64], R8 ; /* 0x00 */
        /*0010*/                   BRA 0x0 ;                    /* 0x00 */
"""


def seen(loops):
    return [(loop.start, loop.issued, loop.stored) for loop in loops]


def main():
    first, second = sass.functions(TEXT.splitlines())
    assert (first.name, first.arch) == ("philox_fill_x", "sm_90")
    assert len(first.code) == 16 and len(second.code) == 2
    # round the call: IADD3, BRA, FADD, FMUL, STG, BRA, BRA
    assert seen(sass.main_loops(first)) == [(0x10, 7, 16)], \
        sass.main_loops(first)
    assert seen(sass.main_loops(second)) == [(0, 2, 2)]
    # with the call in between, which goes on to the store
    calls = sass.loop_through(first, [lambda i: i.op == "CALL.REL.NOINC"])
    assert seen([calls]) == [(0x10, 7, 16)], calls
    adds = [lambda i: i.op == "IADD3", lambda i: i.op == "FMUL"]
    assert seen([sass.loop_through(first, adds)]) == [(0x10, 7, 16)]
    assert sass.loop_through(first, adds[::-1]) is None
    widths = {"STG.E": 4, "STG.E.U8": 1, "STG.E.64": 8, "ST.E.128": 16,
              "STS.128": 0, "STL": 0, "STG.E.EF.128.STRONG.GPU": 16}
    for op, width in widths.items():
        got = sass.stored(sass.Instruction(0, None, op, ""))
        assert got == width, (op, got)
    assert sass.loaded(sass.Instruction(0, None, "LDG.E.64.CONSTANT", "")) == 8
    assert sass.loaded(sass.Instruction(0, None, "LDGSTS.E.128", "")) == 0
    assert sass.loaded(first.code[7]) == 0


if __name__ == "__main__":
    sys.exit(main())
