"""Snapshots of runners, made and read by the rules in graph/runner/snapshot/snapshot.h alone.

  runner_texts.py sign                     the lines read, and their checksum
  runner_texts.py make SHAPE N FUNCTIONS SEED
                                           a runner of N recordings; SHAPE is
                                           chain, flat, layers or random
  runner_texts.py compare TEXT JSON DOT SVG
                                           all four must show the same runner
"""
import json
import random
import re
import sys
import xml.etree.ElementTree as tree

from pool_texts import sign

SVG = "{http://www.w3.org/2000/svg}"
MOST = 200
COUNTS = ["calls eager 1 warm-up 2 record {0} replay {1} failed 0",
          "bodies {0} dry 0 checking 0 prepared 0",
          "misses new 1 moved 2 live 0 stale 0 evicted 0 bound 0 refused 0 "
          "eager 0 agreed 0",
          "verified 0 differed 0 unverified 0",
          "kept dropped 0 evicted 0 unplayed 0 bytes {2} pool 0 copies 0"]
POLICY = ("policy refused eager recordings 64 warm-ups 1 dry 0 "
          "retry 16 keys 0 verify 0 differs error bytes 0")
POOL = """begin pool
philox pool 1
pool "runner" plain flags 0 unit 512 step 0 limit 0
session none graphs 0
mapped 0 peak 0 pinned 0
live 0 peak 0 requested 0 blocks 0
free 0 largest 0
counts allocations 0 frees 0 growths 0 trims 0 checkpoints 0 restores 0 \
rollbacks 0 waits 0
end pool
"""
ODD = r"\x01\xc3\xa9\xff<&>\x22 \x5c"


def quoted(name):
    return '"' + name + '"'


# --- making -------------------------------------------------------------------

class Maker:
    def __init__(self, shape, n, functions, seed):
        self.random = random.Random(seed)
        self.shape = shape
        self.n = n
        self.functions = functions
        self.odd = shape == "random"

    def function_of(self, number):
        """In layers the first half of a step goes up, the second down."""
        if self.shape == "layers":
            return (number - 1) % self.functions
        if self.shape == "chain":
            return (number - 1) * self.functions // max(self.n, 1)
        return self.random.randrange(self.functions)

    def parents(self, number):
        """Of both inputs: (function, recording), or None for other memory."""
        if self.shape == "flat":
            return [None, None]
        if self.shape in ("chain", "layers"):
            first = number % self.functions == 1 and self.shape == "layers"
            return [self.recordings[number - 1] if number > 1 and not first
                    else None, None]
        made = []
        for _ in range(2):
            choice = self.random.random()
            if choice < 0.3:
                made.append(None)
            elif choice < 0.4:
                made.append((self.random.randrange(self.functions), 0))
            elif choice < 0.5 or number == 1:
                made.append((self.random.randrange(self.functions),
                             self.random.randrange(number)))
                if made[-1][1] in self.recordings:
                    made[-1] = self.recordings[made[-1][1]]
            else:
                made.append(self.recordings[self.random.choice(
                    list(self.recordings))])
        return made

    def recording(self, number):
        lines = [f"recording {number} key {1 + number % 3} "
                 f"replays {self.random.randrange(4)} by call bytes 2048 "
                 f"passes 1 writes 1536 ranges 2"]
        for parent in self.parents(number):
            lines.append("from memory 7 static" if parent is None else
                         f"from function {parent[0] + 1} output 1 recording "
                         f"{parent[1]} static")
        lines += ["range segment 0 offset 0 bytes 1024",
                  "range segment 1 offset 512 bytes 512"]
        return lines

    def function(self, index, recordings):
        name = f"function {index + 1}" + (ODD if self.odd else "")
        n = len(recordings)
        counts = "\n".join(COUNTS).format(n, 3 * n, 2048 * n)
        lines = [f"function {index + 1} {quoted(name)} there forward flags 0 "
                 f"inputs 2 outputs 1 values 1 keys 3 recordings {n}",
                 POLICY, *counts.split("\n"),
                 f'reason "its inputs moved: input \'x\' from 0x.."',
                 'input "x" static flags 1 alignment 16 elements 3 origin "a:1"',
                 'input "y" automatic flags 0 alignment 1 elements 0 origin ""',
                 f'output "out{ODD if self.odd else ""}" elements 3 origin "a:2"',
                 'value "rate" bytes 4',
                 f'key 1 size 0 calls {n} warm-ups 1 dry 0 wait never refused "no"',
                 f'key 2 size 2 0a00 calls {n} warm-ups 0 dry 0 wait 3 refused "x"',
                 f"key 3 size 40 {'ab' * 40} calls {n} warm-ups 0 dry 0 wait 0 "
                 'refused ""']
        for _, text in recordings:
            lines += text
        return lines

    def make(self):
        self.recordings = {}
        of = [[] for _ in range(self.functions)]
        number = 0
        while len(self.recordings) < self.n:
            number += 1
            if self.odd and number > 1 and self.random.random() < 0.1:
                continue  # one that is gone
            index = self.function_of(number)
            text = self.recording(number)
            self.recordings[number] = (index, number)
            of[index].append((number, text))
        lines = ["philox runner 2",
                 f'runner "runner" mode plain calls {4 * number} made {number} '
                 f"functions {self.functions} live {min(number, 2)}"]
        for index, recordings in enumerate(of):
            lines += self.function(index, recordings)
        for i in range(min(number, 2)):
            function = self.recordings[1][0] + 1
            lines.append(f"live function {function} output 1 recording "
                         f"{1 - i} block 0 size 12 call 1 untied")
        return sign("\n".join(lines) + "\n" + POOL)


# --- reading ------------------------------------------------------------------

def read(path):
    """Functions with recordings, and edges between them, of a text."""
    functions, recordings = [], {}
    for line in open(path, encoding="ascii"):
        words = line.split()
        if words[0] == "function":
            functions.append({"name": re.search('"([^"]*)"', line)[1],
                              "keys": [], "recordings": []})
        elif words[0] == "key":
            size = int(words[3])
            functions[-1]["keys"].append(words[4] if size else "")
        elif words[0] == "recording":
            made = {"number": int(words[1]), "key": int(words[3]),
                    "replays": int(words[5]), "from": [],
                    "function": len(functions)}
            functions[-1]["recordings"].append(made)
            recordings[made["number"]] = made
        elif words[0] == "from":
            made["from"].append(None if words[1] == "memory" else
                                (int(words[2]), int(words[6])))
        elif words[0] == "live":
            break
    return functions, recordings


def plain(name):
    """As it is in JSON."""
    data = re.sub(rb"\\x(..)", lambda m: bytes.fromhex(m[1].decode()),
                  name.encode())
    made = ""
    while data:
        for length in 1, 2, 3, 4:
            try:
                made += data[:length].decode()
                break
            except UnicodeDecodeError:
                if length == 4:
                    made += "\ufffd"
                    length = 1
                    break
        data = data[length:]
    return made


def level(functions, recordings):
    if len(recordings) <= MOST:
        return "each"
    keys = sum(len({r["key"] for r in f["recordings"]}) for f in functions)
    return "key" if keys <= MOST else "function"


def graph(functions, recordings):
    """The nodes and edges that must be drawn, by name."""
    how = level(functions, recordings)

    def node(recording):
        if how == "each":
            return recording["number"]
        return (recording["function"],
                recording["key"] if how == "key" else 0)

    nodes = {node(r) for r in recordings.values()}
    edges = set()
    for index, function in enumerate(functions):
        if not function["recordings"]:
            nodes.add(("calls", index + 1))
    for r in recordings.values():
        for source in r["from"]:
            if source is None:
                continue
            if source[1] in recordings:
                parent = node(recordings[source[1]])
            else:
                parent = ("gone" if source[1] else "calls", source[0])
                nodes.add(parent)
            if parent != node(r):
                edges.add((parent, node(r)))
    return nodes, edges


# --- comparing ----------------------------------------------------------------

def compare_json(path, functions):
    made = json.load(open(path))
    assert made["kind"] == "runner" and made["pool"]["kind"] == "pool"
    assert [f["name"] for f in made["functions"]] == \
        [plain(f["name"]) for f in functions]
    for got, function in zip(made["functions"], functions):
        assert [k["hex"] for k in got["keys"]] == function["keys"]
        assert [(r["number"], r["key"], r["replays"])
                for r in got["recordings"]] == \
            [(r["number"], r["key"], r["replays"])
             for r in function["recordings"]]
        for r, wanted in zip(got["recordings"], function["recordings"]):
            assert [(i["function"], i["recording"]) if "function" in i else None
                    for i in r["inputs"]] == wanted["from"]
            assert sum(g["bytes"] for g in r["ranges"]) == r["writes"]


QUOTED = r'"(?:[^"\\\n]|\\[n"\\])*"'
ATTRIBUTES = rf'\[(?:[a-z]+=(?:{QUOTED}|[\w.]+) ?)*\]'
LINES = [rf"digraph runner \{{", rf"\s*subgraph cluster_\d+ \{{", r"\s*\}",
         rf"\s*\w+={QUOTED};", r"\s*\w+=\w+;",
         rf"\s*(?:node|edge|graph) {ATTRIBUTES};",
         rf"\s*n\d+ {ATTRIBUTES};", rf"\s*n\d+ -> n\d+ {ATTRIBUTES};"]


def compare_dot(path, nodes, edges):
    text = open(path, encoding="utf-8").read()
    depth = 0
    for line in text.splitlines():
        assert any(re.fullmatch(form, line) for form in LINES), line
        depth += line.endswith("{") - (line.strip() == "}")
        assert depth >= 0
    assert depth == 0
    made = re.findall(r"^ *(n\d+) \[label", text, re.M)
    drawn = re.findall(r"^ *(n\d+) -> (n\d+) ", text, re.M)
    assert len(made) == len(set(made)) == len(nodes), (len(made), len(nodes))
    assert {end for edge in drawn for end in edge} <= set(made)
    assert len({e for e in drawn if e[0] != e[1]}) == len(edges)


def place(rect):
    return [float(rect.get(name)) for name in ("x", "y", "width", "height")]


def meet(one, other):
    return one[0] < other[0] + other[2] and other[0] < one[0] + one[2] and \
        one[1] < other[1] + other[3] and other[1] < one[1] + one[3]


def within(inner, outer):
    return outer[0] <= inner[0] and outer[1] <= inner[1] and \
        inner[0] + inner[2] <= outer[0] + outer[2] + .11 and \
        inner[1] + inner[3] <= outer[1] + outer[3] + .11


def compare_svg(path, functions, nodes, edges):
    root = tree.parse(path).getroot()
    page = [0, 0, float(root.get("width")), float(root.get("height"))]
    boxes, frames = [], []
    for rect in root.iter(SVG + "rect"):
        if rect.get("class") == "frame":
            frames.append(place(rect))
        elif rect.find(SVG + "title") is not None:
            boxes.append(place(rect))
    paths = [p for p in root.iter(SVG + "path") if "edge" in p.get("class")]
    assert len(boxes) == len(nodes), (len(boxes), len(nodes))
    assert len(paths) == len(edges), (len(paths), len(edges))
    assert len(frames) <= len(functions)
    for i, box in enumerate(boxes):
        assert any(within(box, frame) for frame in frames), box
        assert not any(meet(box, other) for other in boxes[:i]), box
    for i, frame in enumerate(frames):
        assert within(frame, page), frame
        assert not any(meet(frame, other) for other in frames[:i]), frame


def main():
    if sys.argv[1] == "sign":
        sys.stdout.write(sign(sys.stdin.read()))
    elif sys.argv[1] == "make":
        sys.stdout.write(Maker(sys.argv[2], *map(int, sys.argv[3:6])).make())
    else:
        text, as_json, dot, svg = sys.argv[2:]
        functions, recordings = read(text)
        nodes, edges = graph(functions, recordings)
        compare_json(as_json, functions)
        compare_dot(dot, nodes, edges)
        compare_svg(svg, functions, nodes, edges)
        print(f"{len(nodes)} nodes, {len(edges)} edges")


if __name__ == "__main__":
    main()
