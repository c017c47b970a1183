"""The rules for PTX: every number is rounded once, as on the host.

faults(text) tells what breaks them, operations(text) which operations each
kernel has, those of the functions that it calls included.

A floating-point instruction must be one of ALLOWED. ptxas may fuse a product
and a sum of them that do not say .rn, so a product without must be by a power
of two, which rounds nothing (unless the result is a denormal, and none is).
rsqrt.approx is allowed in one form, as the start of philox_mend_root(), whose
steps make the rounded root of every approximation that is as good as the PTX
manual says (tests/numbers/normal.c), and only with all of these steps. It
flushes denormals, and is given none.

From sm_90 on a kernel may begin before those it depends on have ended, so it
waits for them before it reads a cell that they may write.
"""
import collections
import re

FLOAT = r"(?:f16x2|bf16x2|f16|bf16|f32|f64|tf32)"
SEED = "rsqrt.approx.ftz.f32"
ALLOWED = re.compile(
    r"(?:(?:fma|mul|add|sub|sqrt|rcp|div)\.rn\.(?:f32|f64)"   # rounded by itself
    r"|fma\.rn\.bf16x2"
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


HALF = "0f3F000000"
# philox_mend_root(): result = operation(operands); "half" and "root" change
STEPS = [("root", "mul.rn.f32", "x start"),
         ("half", "mul.rn.f32", "start 1/2"),
         ("-root", "neg.f32", "root"),
         ("rest", "fma.rn.f32", "-root half 1/2"),
         ("half2", "fma.rn.f32", "half rest half"),
         ("root2", "fma.rn.f32", "root rest root"),
         ("-root2", "neg.f32", "root2"),
         ("rest2", "fma.rn.f32", "-root2 root2 x"),
         ("result", "fma.rn.f32", "rest2 half2 root2")]


def is_step(operands, wanted, names):
    """Whether registers are those of a step; the first factors may be swapped."""
    got = [names.get(operand, operand) for operand in operands]
    return wanted in (got, got[1::-1] + got[2:])


def is_mended(start, after):
    """Whether the approximation `start` is used by all STEPS and by no others.

    after: operation and operands of the instructions after it.
    """
    names, steps, used = {start: "start", HALF: "1/2"}, list(STEPS), 0
    for operation, (result, *operands) in after:
        if operation == "mov.f32":
            names[result] = "1/2" if operands == [HALF] else "another"
        used += start in operands
        for step in steps:
            wanted = step[2].split()
            if operation != step[1] or len(operands) != len(wanted):
                continue
            if step[0] == "root" and start in operands:
                names[operands[operands[0] == start]] = "x"
            if is_step(operands, wanted, names):
                names[result] = step[0]
                steps.remove(step)
                break
    return not steps and used == 2


def parts(operands):
    return [operand.strip() for operand in operands.split(",")]


def unmended(text):
    """The first instructions of roots that have not all of STEPS."""
    found = collections.defaultdict(list)
    for line, function, operation, operands in instructions(text):
        found[function].append((line, operation, parts(operands)))
    for function, code in found.items():
        halves = [(operation, operands) for _, operation, operands in code
                  if operands[1:] == [HALF]]
        for i, (line, operation, operands) in enumerate(code):
            if operation == SEED and not is_mended(operands[0], halves + [
                    (o, p) for _, o, p in code[i + 1:i + 200]]):
                yield f"line {line}, {function}: a root that is not mended"


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
    for line, function, operation, operands in instructions(text):
        if wrong := fault(operation, operands):
            yield f"line {line}, {function}: {wrong}: {operation} {operands}"
    yield from unmended(text)
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
