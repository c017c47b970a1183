"""The rules for PTX: every number is rounded once, as on the host.

faults(text) tells what breaks them, operations(text) which operations each
kernel has, those of the functions that it calls included.

A floating-point instruction must be one of ALLOWED. ptxas may fuse a product
and a sum of them that do not say .rn, so a product without must be by a power
of two, which rounds nothing (unless the result is a denormal, and none is).
rsqrt.approx is allowed in one form, as the start of philox_mend_roots(), whose
steps make the rounded root of every approximation that is as good as the PTX
manual says (tests/numbers/normal.c), and only with all of these steps. It
flushes denormals, and is given none. Rounding down and clipping is allowed in
those steps alone. Two roots may be made at a time, by operations of f32x2.

From sm_90 on a kernel may begin before those it depends on have ended, so it
waits for them before it reads a cell that they may write.
"""
import collections
import re

FLOAT = r"(?:f16x2|bf16x2|f32x2|f16|bf16|f32|f64|tf32)"
SEED = "rsqrt.approx.ftz.f32"
ALLOWED = re.compile(
    r"(?:(?:fma|mul|add|sub|sqrt|rcp|div)\.rn\.(?:f32|f64)"   # rounded by itself
    r"|fma\.rn\.bf16x2|(?:fma|mul|add)\.rn\.f32x2"
    r"|(?:add|sub|neg|abs|min|max)\.(?:f32|f64)"       # has no product to fuse
    r"|(?:min|max)(?:\.NaN)?\.(?:f16x2|bf16x2)"
    r"|setp\.\w+(?:\.(?:and|or|xor))?\.(?:f32|f64)|selp\.(?:f32|f64)"
    r"|testp\.\w+\.(?:f32|f64)"
    r"|cvt\.r[nzmp]\.(?:f32|f64|f16|bf16|f16x2|bf16x2)\.\w+"
    r"|cvt\.(?:f32|f64)\.(?:f16|f32)|cvt\.r[nzmp]i\.\w+\.\w+"
    r"|(?:mov|ld|st|ldu)\.[\w.:]+)$")
PRODUCT = re.compile(r"mul\.(f32|f64)$")
# 1.m 2^e with m = 0, and neither 0 nor infinity
POWER_OF_TWO = re.compile(r"0f[0-9A-F]{8}$|0d[0-9A-F]{16}$", re.IGNORECASE)


def is_power_of_two(operand):
    if not POWER_OF_TWO.match(operand):
        return False
    bits, digits = int(operand[2:], 16), 23 if operand[1] in "fF" else 52
    exponent = bits >> digits & ((1 << (8 if digits == 23 else 11)) - 1)
    return bits % (1 << digits) == 0 and 0 < exponent < (
        255 if digits == 23 else 2047)


def instructions(text):
    """(line, function, operation, operands) of each instruction."""
    function, line = None, 1
    for statement in re.sub(r"//[^\n]*", "", text).split(";"):
        match = re.search(r"\.(?:entry|func)\b\s*(?:\([^)]*\)\s*)?([\w$]+)",
                          statement)
        if match:
            function = match[1]
        line += statement.count("\n")
        # without a brace, labels and a predicate before it
        match = re.match(r"[\s{}]*(?:[\w$]+:[\s{}]*)*(?:@!?%\w+\s+)?"
                         r"([a-z][\w.:]*)\s*(.*)$", statement, re.DOTALL)
        if match:
            yield line, function, match[1], match[2]


def fault(operation, operands):
    """What is wrong with one instruction, or None."""
    if ".local" in operation:
        return "local memory"
    if operation == SEED or not re.search(rf"\.{FLOAT}\b", operation):
        return None
    if ".ftz" in operation or ".sat" in operation:
        return "flushes or clips"
    if PRODUCT.match(operation):
        factors = [factor.strip() for factor in operands.split(",")[1:]]
        if not any(map(is_power_of_two, factors)):
            return "a product that a sum may absorb"
        return None
    return None if ALLOWED.match(operation) else "not one of those allowed"


# philox_mend_roots(): result = operation(operands), in any order
STEPS = [("root", "fma.rm.f32", "x start 0"),
         ("-x", "neg.f32", "x"),
         ("rest", "fma.rn.f32", "root root -x"),
         ("twice", "fma.rm.f32", "rest start 0"),
         ("half", "fma.rm.f32", "twice little 1/2"),
         ("-twice", "neg.f32", "twice"),
         ("result", "fma.rn.sat.f32", "-twice half root")]
CONSTANTS = {"0f00000000": "0", "0f3F000000": "1/2", "0fBA800000": "little"}


def parts(operands):
    return [operand.strip("{} ") for operand in operands.split(",")]


def is_pack(operation, operands):
    """Two numbers are put into a register of 64 bits, or taken from it."""
    return operation == "mov.b64" and len(operands) == 3


def origins(code):
    """What a number of a register is, which (register, 0 or 1) tells.

    That is a name of CONSTANTS, or the (register, 0 or 1) that it came from.
    """
    found = {}
    for _, operation, operands in code:
        if operation == "mov.f32" and operands[1] in CONSTANTS:
            found[operands[0], 0] = CONSTANTS[operands[1]]
        elif is_pack(operation, operands) and operands[2].startswith("%rd"):
            for i, single in enumerate(operands[:2]):
                found[single, 0] = found.get((operands[2], i), (operands[2], i))
        elif is_pack(operation, operands):
            for i, single in enumerate(operands[1:]):
                found[operands[0], i] = found.get((single, 0), (single, 0))
    return found


def find_step(steps, operation, operands):
    """Which of the steps this is, or None; the first factors may be swapped."""
    return next((step for step in steps if step[1] == operation and
                 step[2].split() in (operands, operands[1::-1] + operands[2:])),
                None)


def mended(start, after, of):
    """The lines of STEPS, if all are after an approximation and nothing else
    uses it.

    start: operands of the approximation; after: line, operation and operands
    of the instructions after it; of: origins().
    """
    def name(operand, i):
        origin = of.get((operand, i), (operand, i))
        return names.get(origin, CONSTANTS.get(operand, origin))

    names = {of.get((start[0], 0), (start[0], 0)): "start",
             of.get((start[1], 0), (start[1], 0)): "x"}
    steps, used, lines = list(STEPS), 0, set()
    for line, operation, (result, *operands) in after:
        if is_pack(operation, [result, *operands]):
            continue
        for i in range(2):
            known = [name(operand, i) for operand in operands]
            used += "start" in known
            step = find_step(steps, operation.removesuffix("x2"), known)
            if step and (i == 0 or operation.endswith("x2")):
                names[result, i] = step[0]
                steps.remove(step)
                lines.add(line)
    return lines if not steps and used == 2 else set()


def roots(text):
    """The lines of mended roots, and what is wrong with the others."""
    found, lines, wrong = collections.defaultdict(list), set(), []
    for line, function, operation, operands in instructions(text):
        found[function].append((line, operation, parts(operands)))
    for function, code in found.items():
        of = origins(code)
        for i, (line, operation, operands) in enumerate(code):
            if operation == SEED:
                steps = mended(operands, code[i + 1:i + 400], of)
                lines |= steps
                if not steps:
                    wrong.append(f"line {line}, {function}: a root that is "
                                 "not mended")
    return lines, wrong


CELL, WAIT = "ld.relaxed.gpu.b128", "griddepcontrol.wait"


def early(text):
    """Cells that are read without a wait in the same function before."""
    target = re.search(r"^\s*\.target\s+sm_(\d+)", text, re.MULTILINE)
    if int(target[1]) < 90:
        return
    waits = set()
    for line, function, operation, _ in instructions(text):
        if operation == WAIT:
            waits.add(function)
        elif operation == CELL and function not in waits:
            yield f"line {line}, {function}: a cell is read without a wait"


def faults(text):
    for line in re.findall(r"^\s*\.local\b.*", text, re.MULTILINE):
        yield f"local memory: {line.strip()}"
    steps, unmended = roots(text)
    for line, function, operation, operands in instructions(text):
        wrong = fault(operation, operands)
        if wrong and line not in steps:
            yield f"line {line}, {function}: {wrong}: {operation} {operands}"
    yield from unmended
    yield from early(text)


def operations(text):
    """A set of operations for each function, with those that it calls."""
    own, calls = collections.defaultdict(set), collections.defaultdict(set)
    for _, function, operation, operands in instructions(text):
        own[function].add(operation)
        if operation.startswith("call"):
            calls[function].update(re.findall(r"[A-Za-z_$][\w$]*", operands))
    before = None
    while before != (size := {name: len(own[name]) for name in own}):
        before = size
        for caller, callees in calls.items():
            own[caller] |= set().union(*(own.get(name, set())
                                         for name in callees))
    return own
