"""Reads machine code (SASS) of NVIDIA's GPUs, as cuobjdump -sass prints it.

functions(lines) gives every kernel, with its architecture and instructions.
main_loops(function, moved) finds the loops that do most of the work, with what
a thread issues each time around one; loop_through(function, steps) the shortest
loop that has instructions of some kinds.

Which loops do most of the work: kernels treat whole units of 16 bytes in a loop
of their own, several of them at a time, and have others for the ends of a row,
for rows that are not aligned, and around all of these. So of all loops count
those that have the widest store (or load: `moved`), of these the innermost,
which have no other such loop between their ends, and of these again those which
store most each time around. Two are left where one is for plain parameters.

Nothing here knows what an instruction does, but for three things: a branch has
a target, a store to global memory has a width, and what follows an
unconditional branch, a return or an exit is reached by other branches only.
"""
import collections
import heapq
import re

Instruction = collections.namedtuple("Instruction", "address guard op operands")
Function = collections.namedtuple("Function", "name arch code")


class Loop(collections.namedtuple("Loop", "code")):
    """The instructions of one way round a loop, from its start to its end."""
    __slots__ = ()
    start = property(lambda self: self.code[0].address)
    end = property(lambda self: self.code[-1].address)
    issued = property(lambda self: len(self.code))
    stored = property(lambda self: sum(map(stored, self.code)))
    loaded = property(lambda self: sum(map(loaded, self.code)))

    def is_around(self, other):
        return (self.start <= other.start and other.end <= self.end and
                (self.start, self.end) != (other.start, other.end))


LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)"
                  r"\s*([^;]*);")


def functions(lines):
    """Every function of a text of `cuobjdump -sass`, in its order."""
    arch = function = None
    for line in lines:
        if match := re.match(r"\s*(?:code for|\.target)\s+(sm_\w+)", line):
            arch = match[1]
        elif match := re.match(r"\s*Function : (\S+)", line):
            if function:
                yield function
            function = Function(match[1], arch, [])
        elif function and (match := LINE.search(line)):
            function.code.append(Instruction(int(match[1], 16), match[2],
                                             match[3], match[4].strip()))
    if function:
        yield function


# --- loops --------------------------------------------------------------------

ENDS = ("BRA", "EXIT", "RET", "BRX", "JMX", "JMP", "KILL", "BPT")


def base(instruction):
    return instruction.op.split(".")[0]


def target(instruction):
    """Where a branch goes, or None."""
    if base(instruction) not in ("BRA", "JMP"):
        return None
    match = re.search(r"(?:^|[\s`(])(0x[0-9a-f]+)\)?$", instruction.operands)
    return int(match[1], 16) if match else None


def is_conditional(instruction):
    """A branch may have its condition as an operand, too: BRA P0, 0x120."""
    return bool(instruction.guard) or bool(
        re.search(r"(^|[ ,!])U?P\d", instruction.operands))


def ways(code):
    """The edges of the control flow: a list of successors' indices for each.

    A call comes back: the called code's instructions are not counted, and it
    is no part of a loop.
    """
    index = {instruction.address: i for i, instruction in enumerate(code)}
    result = []
    for i, instruction in enumerate(code):
        to = index.get(target(instruction))
        follows = is_conditional(instruction) or base(instruction) not in ENDS
        result.append(([i + 1] if follows and i + 1 < len(code) else []) +
                      ([to] if to is not None else []))
    return result


def stored(instruction):
    """Bytes that an instruction stores to global memory."""
    return width(instruction) if base(instruction) in ("STG", "ST") else 0


def loaded(instruction):
    """Bytes that an instruction loads from global memory."""
    return width(instruction) if base(instruction) in ("LDG", "LD") else 0


def width(instruction):
    """Bytes that a thread moves with an instruction."""
    match = re.search(r"\.(8|16|U8|U16|S8|S16|64|128|256)\b", instruction.op)
    width = {"8": 8, "16": 16}.get(match[1].strip("US"),
                                   int(match[1].strip("US"))) if match else 32
    return width // 8


def shortest(code, successors, start, end, steps=()):
    """The instructions of the shortest way from start to end, both counted.

    A way round a call is shorter than one with it: who knows how long that is.
    On the way each of the `steps`, functions of an instruction, is true once,
    one after the other.
    """
    def place(node, done):
        return node, done + (done < len(steps) and bool(steps[done](code[node])))

    best, queue = {}, [(1, place(start, 0), None)]
    while queue:
        length, at, before = heapq.heappop(queue)
        if at in best:
            continue
        best[at] = before
        node, done = at
        if node == end and done == len(steps):
            path = []
            while at is not None:
                path.append(at[0])
                at = best[at]
            return path[::-1]
        for successor in successors[node] if node != end else []:
            cost = 10000 if base(code[successor]) == "CALL" else 1
            heapq.heappush(queue, (length + cost, place(successor, done), at))
    return None


def loops(function, steps=()):
    """A loop for each branch backwards: the shortest way round it.

    What is rare in our loops is beside that way: the slow ends of a square
    root, drawing a rejected number again.
    """
    successors = ways(function.code)
    for i, instruction in enumerate(function.code):
        for start in successors[i]:
            if start > i or target(instruction) is None:
                continue
            path = shortest(function.code, successors, start, i, steps)
            if path:
                yield Loop(tuple(function.code[n] for n in path))


def loop_through(function, steps):
    """The shortest loop that has the steps, in this order; None: there is none."""
    return min(loops(function, steps), key=lambda loop: loop.issued,
               default=None)


def main_loops(function, moved=stored):
    """Those that do most of the work, the shortest first; moved: by what."""
    def widest(loop):
        return max(map(moved, loop.code))

    def all_of(loop):
        return sum(map(moved, loop.code))

    found = list(loops(function))
    width = max(map(widest, found), default=0)
    wide = [loop for loop in found if widest(loop) == width and width]
    inner = [loop for loop in wide
             if not any(loop.is_around(other) for other in wide)]
    most = max(map(all_of, inner), default=0)
    return sorted((loop for loop in inner if all_of(loop) == most),
                  key=lambda loop: loop.issued)
