"""Which pipe of a multiprocessor does an instruction, and how fast a pipe is.

    count(instructions)              what they take of each pipe
    bound(counts, moved, arch, gpu)  the most bytes per second that those allow
    gpus()                           those of tests/ptx/gpus.txt

A multiprocessor has four schedulers, and each issues one instruction of a warp
(32 lanes) in a clock: 128 lanes. The instruction then takes turns of its pipe,
which has fewer lanes. A loop cannot take less time than its busiest pipe does,
nor than the memory does; it may take much more, where it waits.

Sources. P: CUDA C++ Programming Guide, 13.0, "Throughput of Native Arithmetic
Instructions", results per clock and multiprocessor for 8.0, 9.0 and 10.0, as
remembered and as others quote it; we could not open it, so P is an assumption,
too. G: an engineer of NVIDIA on the pipes of GA100 and GH100,
https://forums.developer.nvidia.com/t/separate-cuda-core-pipeline-for-fp16-and-fp32/302018/7
and on which are shared by the four schedulers,
https://forums.developer.nvidia.com/t/mapping-of-pipelines-to-functional-units/315200/2
A: an assumption without any source.
"""
import collections
import fnmatch
import pathlib

# What is counted, in this order in tests/ptx/sizes.txt:
#   issue    all instructions
#   alu      integers without products, comparisons, selections, moves
#   fma      f32 sums and products
#   imad     integer products, and moves and sums that are made of them
#   wide     those of them that have 64 bits of a product, or the upper 32
#   half     f16 and bf16 sums and products
#   f64      f64 sums, products, comparisons
#   xu       approximations, conversions, counts of bits
#   lsu      loads, stores, atomics, shuffles
#   uniform  what a warp does once, beside the others
#   other    branches, barriers, special registers, constants
Counts = collections.namedtuple(
    "Counts", "issue alu fma imad wide half f64 xu lsu uniform other")

# The first part of an instruction's name. One that is not here fails the check
# of sizes: find out its pipe.
OPCODES = {
    # P: 64 a clock, with shifts
    "alu": "IADD3 IADD LOP3 PLOP3 ISETP LEA SHF SEL FSEL FSETP FSET MOV PRMT "
           "VIADD IMNMX VIMNMX VIMNMX3 VIADDMNMX FMNMX FMNMX3 HMNMX2 R2P P2R "
           "I2FP F2FP IABS SGXT BMSK",
    "fma": "FFMA FADD FMUL FFMA2 FADD2 FMUL2",
    "imad": "IMAD IDP IMUL",
    "half": "HFMA2 HADD2 HMUL2 HSETP2 HSET2",
    "f64": "DFMA DADD DMUL DSETP",
    # P: 16 a clock
    "xu": "MUFU I2F F2I F2F FRND POPC FLO BREV FCHK",
    # G: shared by the four schedulers
    "lsu": "LD ST LDG STG LDL STL LDS STS ATOM ATOMG ATOMS RED REDG SHFL CCTL "
           "MATCH REDUX CREDUX QSPC",
    "uniform": "ULDC LDCU UMOV UIADD3 ULOP3 USHF ULEA UIMAD UISETP USEL "
               "UPLOP3 UPRMT UPOPC UFLO UBREV UP2UR USGXT VOTEU R2UR S2UR "
               "UCGABAR_ARV UCGABAR_WAIT UVIADD UVIMNMX",
    "other": "BRA EXIT RET BRX JMX JMP KILL BPT CALL NOP BSSY BSYNC BREAK "
             "BMOV WARPSYNC ENDCOLLECTIVE YIELD NANOSLEEP BAR DEPBAR MEMBAR "
             "ERRBAR CGAERRBAR ACQBULK PREEXIT LDC S2R CS2R VOTE LEPC",
}
PIPES = {op: pipe for pipe, ops in OPCODES.items() for op in ops.split()}

# A: 8.0, 9.0 and 10.0 take two turns for these. Others have measured it on 8.9
# and 12.0.
WIDE = ("IMAD.WIDE*", "IMAD.HI*")

# Of an architecture: the lanes of a limit, and the counts that share them. P,
# but for the pipes that share lanes: G. That imad has half of fma's from 9.0 on
# is P and G; that 10.0 is as 9.0 there, that FCHK is one of xu and the packing
# conversions (F2FP, I2FP) are not, is A. Uniform instructions and others have
# no limit of their own: nothing is known, and they are issued.
TURNS = {
    "sm_80": {
        "issue": (128, ("issue",)),
        "ALU": (64, ("alu",)),
        "FMA": (64, ("fma", "imad", "wide")),
        "half": (128, ("half",)),
        "f64": (32, ("f64",)),
        "XU": (16, ("xu",)),
        "LSU": (32, ("lsu",)),
    },
    "sm_90": {
        "issue": (128, ("issue",)),
        "ALU": (64, ("alu",)),
        "FMA": (128, ("fma", "imad", "wide", "half")),
        "IMAD": (64, ("imad", "wide")),
        "f64": (64, ("f64",)),
        "XU": (16, ("xu",)),
        "LSU": (32, ("lsu",)),
    },
}
TURNS["sm_100"] = TURNS["sm_90"]

Gpu = collections.namedtuple("Gpu", "name arch processors mhz gbps known source")


def gpus():
    """Those of the table, in its order."""
    text = pathlib.Path(__file__).with_name("gpus.txt").read_text()
    rows = [[cell.strip() for cell in line.split("|")]
            for line in text.splitlines() if line and line[0] != "#"]
    return [Gpu(name, arch, int(processors), float(mhz), float(gbps), *rest)
            for name, arch, processors, mhz, gbps, *rest in rows]


def find_gpu(description):
    """That of the table which a device describes so ("NAME, ..."), or None."""
    name = description.split(",")[0]
    return next((gpu for gpu in gpus()
                 if fnmatch.fnmatchcase(name, gpu.known)), None)


class UnknownOpcode(Exception):
    pass


def pipe(op):
    name = op.split(".")[0]
    if name not in PIPES:
        raise UnknownOpcode(f"{name}: which pipe? (tests/ptx/pipes.py)")
    return PIPES[name]


def count(instructions):
    found = collections.Counter(issue=len(instructions))
    for instruction in instructions:
        found[pipe(instruction.op)] += 1
        found["wide"] += any(fnmatch.fnmatchcase(instruction.op, wide)
                             for wide in WIDE)
    return Counts(*(found[name] for name in Counts._fields))


def clocks(counts, arch):
    """{limit: clocks of a multiprocessor for a thread's share of counts}"""
    return {name: float(sum(getattr(counts, part) for part in parts)) / lanes
            for name, (lanes, parts) in TURNS[arch].items()}


def bound(counts, moved, arch, gpu):
    """(GB/s, the limit): for 16 bytes counted, of which `moved` go to memory.

    `moved` counts what is read beside them, too; 0: nothing has to.
    """
    rates = {name: 16 * gpu.processors * gpu.mhz / 1000 / least
             for name, least in clocks(counts, arch).items() if least}
    if moved:
        rates["memory"] = 16 * gpu.gbps / float(moved)
    limit = min(rates, key=rates.get)
    return rates[limit], limit
