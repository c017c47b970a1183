"""Snapshots of pools, made and read by the rules in graph/pool/pool.h alone.

  pool_texts.py sign                        the lines read, and their checksum
  pool_texts.py make KIND BLOCKS TAGS SEED  a pool of as many live blocks
  pool_texts.py compare TEXT JSON SVG PART  all three must show the same pool, at
                                            most this part of its blocks, in
                                            percent, not one by one
"""
import json
import random
import re
import sys
import xml.etree.ElementTree as tree

UNIT = 512
SVG = "{http://www.w3.org/2000/svg}"
COLOURS = 11


def checksum(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def sign(text):
    data = text.encode()
    return text + f"checksum {checksum(data):016x} bytes {len(data)}\n"


# --- making -------------------------------------------------------------------

def round_up(size, unit=UNIT):
    return -(-size // unit) * unit


class Maker:
    def __init__(self, kind, blocks, tags, seed):
        self.random = random.Random(seed)
        self.odd = kind.endswith("-odd")
        self.expandable = kind.startswith("expandable")
        self.zones = seed % 2
        self.tags = [f"tag.{i}" for i in range(tags)]
        self.numbers = list(range(1, blocks + 1))
        self.random.shuffle(self.numbers)
        self.streams = {}
        self.segments = []  # of extents (offset, bytes) and of blocks

    def live(self):
        size = int(2 ** self.random.uniform(0, 30)) if self.odd \
            else self.random.randint(1, 20000)
        return {"number": self.numbers.pop(), "size": size,
                "bytes": round_up(size) + 2 * UNIT * self.zones,
                "tag": self.random.choice(self.tags)}

    def free(self, owner, size):
        if owner:
            owner = self.streams.setdefault(owner, len(self.streams) + 1)
        return {"bytes": size, "owner": owner}

    def pieces(self):
        """What lies side by side: up to 200 live blocks, free ones between."""
        made = []
        for _ in range(self.random.randint(1, 200)):
            if self.numbers:
                made.append(self.live())
            if self.random.random() < 0.4:
                owner = self.random.randint(0, 3)
                if "owner" not in made[-1] or not owner:
                    made.append(self.free(
                        owner, UNIT * self.random.randint(1, 60)))
            if not self.numbers:
                break
        return self.joined(made)

    @staticmethod
    def joined(blocks):
        """Free neighbours of one owner are one block."""
        made = []
        for block in blocks:
            if made and "owner" in block and \
                    made[-1].get("owner") == block["owner"]:
                made[-1]["bytes"] += block["bytes"]
            else:
                made.append(block)
        return made

    def fill(self, blocks, step):
        total = sum(block["bytes"] for block in blocks)
        rest = round_up(max(total, 1), step) - total
        return self.joined(blocks + ([self.free(0, rest)] if rest else []))

    def cut(self, offset, total):
        """Extents of a run of memory."""
        if not self.expandable:
            return [(0, total)]
        cuts = sorted({0, total, *(round_up(self.random.randrange(total))
                                   for _ in range(self.random.randint(0, 4)))})
        return [(offset + a, b - a) for a, b in zip(cuts, cuts[1:])]

    def add_run(self, offset):
        blocks = self.fill(self.pieces(), 65536 if self.expandable else 1 << 21)
        total = sum(block["bytes"] for block in blocks)
        extents = self.cut(offset, total)
        for block in blocks:
            block["offset"] = offset
            offset += block["bytes"]
        if self.expandable and self.segments:
            self.segments[0][0].extend(extents)
            self.segments[0][1].extend(blocks)
        else:
            self.segments.append((extents, blocks))
        return offset + 65536 * self.random.randint(1, 40)

    def make(self):
        offset = 0
        while self.numbers:
            next_offset = self.add_run(offset)
            offset = next_offset if self.expandable else 0
        return self.text()

    def text(self):
        blocks = [block for _, some in self.segments for block in some]
        live = [block for block in blocks if "number" in block]
        extents = [extent for some, _ in self.segments for extent in some]
        mapped = sum(size for _, size in extents)
        taken = sum(block["bytes"] for block in live)
        home = [block["bytes"] for block in blocks if block.get("owner") == 0]
        names = list(range(1, len(extents) + 1))
        self.random.shuffle(names)
        pins = len(extents) // 2
        sizes = dict(zip(names, (size for _, size in extents)))
        pinned = sum(sizes[name] for name in names if name <= pins)
        flags = self.expandable + 4 * self.zones
        kind = "expandable" if self.expandable else "plain"
        lines = [
            "philox pool 1",
            f'pool "made" {kind} flags {flags} unit 512 step 0 limit 0'
            + (" range 0" if self.expandable else ""),
            "session none graphs 1",
            f"mapped {mapped} peak {mapped} pinned {pinned}",
            f"live {taken} peak {taken} requested "
            f"{sum(block['size'] for block in live)} blocks {len(live)}",
            f"free {mapped - taken} largest {max(home, default=0)}",
            f"counts allocations {len(live)} frees 0 growths {len(extents)} "
            "trims 0 checkpoints 0 restores 0 rollbacks 0 waits 0"]
        for number, (some, inside) in enumerate(self.segments):
            lines.append(f"segment {number} extents {len(some)} "
                         f"bytes {sum(size for _, size in some)}")
            for offset, size in some:
                name = names.pop(0)
                word = "pinned" if name <= pins else "loose"
                lines.append(
                    f"extent {name} offset {offset} bytes {size} {word}")
            for block in inside:
                lines.append(self.line(block))
        return "\n".join(lines) + "\n"

    @staticmethod
    def line(block):
        start = f"block offset {block['offset']} bytes {block['bytes']} "
        if "number" in block:
            return start + f"live {block['number']} size {block['size']} " \
                f"tag \"{block['tag']}\""
        owner = f"stream {block['owner']}" if block["owner"] else "home"
        return start + f"free owner {owner}"


# --- reading ------------------------------------------------------------------

BLOCK = re.compile(
    r'block offset (\d+) bytes (\d+) '
    r'(?:live (\d+) size (\d+) tag "(.*)"|free owner (.*))')
EXTENT = re.compile(r"extent (\d+) offset (\d+) bytes (\d+) (pinned|loose)")


def read(path):
    segments = []
    for line in open(path):
        if line.startswith("segment "):
            segments.append({"segment": int(line.split()[1]),
                             "extents": [], "blocks": []})
        extent = EXTENT.match(line)
        if extent:
            number, offset, size = map(int, extent.groups()[:3])
            segments[-1]["extents"].append({
                "number": number, "offset": offset, "bytes": size,
                "pinned": extent[4] == "pinned"})
        block = BLOCK.match(line)
        if block:
            made = {"offset": int(block[1]), "bytes": int(block[2]),
                    "live": bool(block[3])}
            if block[3]:
                made.update(number=int(block[3]), size=int(block[4]),
                            tag=block[5])
            else:
                made["owner"] = block[6]
            segments[-1]["blocks"].append(made)
    return segments


def totals(blocks, key):
    made = {}
    for block in blocks:
        if key in block:
            made[block[key]] = made.get(block[key], 0) + block["bytes"]
    return made


def check_json(segments, pool):
    blocks = [block for segment in segments for block in segment["blocks"]]
    assert pool["segments"] == segments
    tags = totals(blocks, "tag")
    listed = [(tag["tag"], tag["bytes"]) for tag in pool["tags"]]
    assert listed == sorted(tags.items(), key=lambda tag: (-tag[1], tag[0]))
    assert {owner["owner"]: owner["bytes"] for owner in pool["owners"]} == \
        totals(blocks, "owner")
    free = [block["bytes"] for block in blocks if not block["live"]]
    assert pool["free"] == sum(free)
    assert pool["largest_free"] == max(free, default=0)
    expected = 1 - max(free) / sum(free) if free else 0
    assert abs(pool["fragmentation"] - expected) < 1e-9


class Picture:
    def __init__(self, path):
        self.root = tree.parse(path).getroot()
        assert self.root.tag == SVG + "svg"
        self.width = float(self.root.get("width"))
        self.height = float(self.root.get("height"))
        assert self.root.get("viewBox") == \
            f"0 0 {self.width:.0f} {self.height:.0f}"
        self.rects = [(rect, rect.find(SVG + "title").text)
                      for rect in self.root.findall(SVG + "rect")
                      if rect.find(SVG + "title") is not None]
        self.words = [text.text for text in self.root.findall(SVG + "text")]

    def check_places(self):
        rows = {}
        for rect in self.root.iter(SVG + "rect"):
            if not rect.get("x"):
                continue
            x, y = float(rect.get("x")), float(rect.get("y"))
            wide, high = float(rect.get("width")), float(rect.get("height"))
            assert 0 <= x and x + wide <= self.width, rect.attrib
            assert 0 <= y and y + high <= self.height, rect.attrib
            if rect.find(SVG + "title") is not None:
                assert wide > 0, rect.attrib
                rows.setdefault((y, high), []).append((x, x + wide))
        for row, spans in rows.items():
            spans.sort()
            for (_, end), (start, _) in zip(spans, spans[1:]):
                assert end <= start + 0.62, f"boxes overlap at {row}"

    def check_blocks(self, segments, ranks):
        """Each block has its words under the pointer, or is one of several."""
        seen, merged = set(), 0
        for rect, title in self.rects:
            look = rect.get("class").split()
            if look[0] != "b":
                continue
            several = re.match(r"(\d+) blocks\n", title)
            if several:
                merged += int(several[1])
                assert "many" in look and float(rect.get("width")) < 2.5
                continue
            seen.add((title, look[1]))
        missing = 0
        for segment in segments:
            for block in segment["blocks"]:
                place = f"\nsegment {segment['segment']}, " \
                    f"offset {block['offset']}"
                if block["live"]:
                    title = f"block {block['number']}, tag " \
                        f"\"{block['tag']}\"\n{block['bytes']} bytes, " \
                        f"{block['size']} asked for"
                    look = f"t{min(ranks[block['tag']], COLOURS)}"
                else:
                    title = f"free, owner {block['owner']}\n" \
                        f"{block['bytes']} bytes"
                    name = block["owner"].split()[-1]
                    look = "f0" if name == "home" else \
                        f"f{(int(name) - 1) % 4 + 1}"
                missing += (title + place, look) not in seen
        assert missing <= merged, f"{missing} missing, {merged} in others"
        return missing

    def check_extents(self, segments):
        seen = {(title.split("\n")[0], rect.get("class"))
                for rect, title in self.rects
                if rect.get("class").split()[0] == "e"}
        for segment in segments:
            for extent in segment["extents"]:
                word = "pinned" if extent["pinned"] else "not pinned"
                look = "e pinned" if extent["pinned"] else "e loose"
                assert (f"extent {extent['number']}, {word}", look) in seen

    def check_legend(self, tags):
        for tag in tags[:COLOURS]:
            assert any(word.startswith(tag + " ") for word in self.words), tag
        if len(tags) > COLOURS:
            assert any(word.startswith(f"{len(tags) - COLOURS} other tag")
                       for word in self.words)


def compare(text, json_path, svg, part):
    segments = read(text)
    blocks = [block for segment in segments for block in segment["blocks"]]
    pool = json.load(open(json_path))
    check_json(segments, pool)
    picture = Picture(svg)
    tags = [tag["tag"] for tag in pool["tags"]]
    picture.check_places()
    missing = picture.check_blocks(
        segments, {tag: rank for rank, tag in enumerate(tags)})
    picture.check_extents(segments)
    picture.check_legend(tags)
    print(f"{len(blocks)} blocks, {missing} of them drawn with others, "
          f"{picture.height:.0f} points high")
    assert missing <= len(blocks) * int(part) / 100
    # not too many lines for that
    lines = len(blocks) / 48 + 24 + 2 * len(segments)
    assert picture.height <= 24 * lines + 6 * len(segments) + 200


if __name__ == "__main__":
    if sys.argv[1] == "sign":
        sys.stdout.write(sign(sys.stdin.read()))
    elif sys.argv[1] == "make":
        maker = Maker(sys.argv[2], *map(int, sys.argv[3:6]))
        sys.stdout.write(sign(maker.make()))
    else:
        compare(*sys.argv[2:6])
