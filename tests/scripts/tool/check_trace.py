#!/usr/bin/env python3
"""Checks a trace against the published Trace Event Format, and counts it.

    check_trace.py [--cut] TRACE [NAME=COUNT]...

--cut allows a file that ends anywhere, as a crash leaves it; complete lines
count. Each NAME is one of the things counted: passes, eager, captured,
launched, captures, launches, arrows, marks. Written from the format's document
alone ("Trace Event Format", Google), which is also what Perfetto and Chrome
read: required keys for each phase; B and E nest on each thread, and X lies
within; s and f come in pairs of one category, name and id, in order of time,
each on a slice that begins at its time.
"""
import collections
import json
import sys

# Marks that journals lack, since equal runs have other times
TIMES = {"capture-times", "function-times", "plan-load"}


def fail(what, event=None):
    sys.exit(f"{what}: {json.dumps(event)}" if event else what)


def load(path, cut):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if cut:
        if not text.startswith("[\n"):
            fail("a trace that was cut is an array")
        lines = [line.rstrip(",") for line in text[2:].split("\n")[:-1]]
        return [json.loads(line) for line in lines if line not in ("", "]")]
    whole = json.loads(text)
    if isinstance(whole, dict):
        if whole.get("displayTimeUnit") not in ("ms", "ns"):
            fail("displayTimeUnit")
        if not isinstance(whole.get("otherData"), dict):
            fail("no otherData")
        whole = whole["traceEvents"]
    return whole


NEEDS = {
    "B": ("name", "cat", "ts", "pid", "tid"),
    "E": ("ts", "pid", "tid"),
    "X": ("name", "cat", "ts", "dur", "pid", "tid"),
    "i": ("name", "ts", "pid", "tid", "s"),
    "s": ("name", "cat", "ts", "pid", "tid", "id"),
    "f": ("name", "cat", "ts", "pid", "tid", "id"),
    "M": ("name", "pid", "args"),
}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_keys(event):
    needs = NEEDS.get(event.get("ph"))
    if needs is None:
        fail("an unknown phase", event)
    for key in needs:
        if key not in event:
            fail(f"no {key}", event)
    for key in ("ts", "dur"):
        if key in event and (not is_number(event[key]) or event[key] < 0):
            fail(f"{key} is not a time", event)
    for key in ("pid", "tid"):
        if key in event and not isinstance(event[key], int):
            fail(f"{key} is not a number", event)
    if event["pid"] == 0:
        fail("process 0 is the idle one", event)
    if event["ph"] == "i" and event["s"] not in "gpt":
        fail("the scope of an instant", event)
    if not isinstance(event.get("args", {}), dict):
        fail("args is no object", event)


def nanoseconds(time):
    return round(time * 1000)


def end_of(event):
    return nanoseconds(event["ts"]) + nanoseconds(event["dur"])


def check_threads(events, cut):
    """Returns where slices begin: (pid, tid, time)."""
    stacks = collections.defaultdict(list)
    begins = set()
    order = sorted((e for e in events if e["ph"] in "BEX"),
                   key=lambda event: nanoseconds(event["ts"]))
    for event in order:
        thread = event["pid"], event["tid"]
        time = nanoseconds(event["ts"])
        stack = stacks[thread]
        while stack and stack[-1]["ph"] == "X" and end_of(stack[-1]) <= time:
            stack.pop()
        if event["ph"] == "E":
            if not stack or stack[-1]["ph"] == "X":
                fail("an end without a begin", event)
            begin = stack.pop()
            for name in event.get("args", {}):
                if name in begin.get("args", {}):
                    fail(f"begin and end both have {name}", event)
            continue
        if stack:
            fail("slices overlap on one lane", event)
        begins.add((*thread, time))
        stack.append(event)
    for thread, stack in stacks.items():
        if any(event["ph"] == "B" for event in stack) and not cut:
            fail(f"a begin without an end on thread {thread}")
    return begins


def check_arrows(events, begins, cut):
    starts = {}
    arrows = 0
    for event in events:
        if event["ph"] not in "sf":
            continue
        key = event["cat"], event["name"], event["id"]
        if (event["pid"], event["tid"],
                nanoseconds(event["ts"])) not in begins:
            fail("an arrow that is on no slice", event)
        if event["ph"] == "s":
            if key[2] in starts:
                fail("two arrows of one id", event)
            starts[key[2]] = event, key
            continue
        if key[2] not in starts:
            fail("an arrow that comes from nowhere", event)
        start, of_start = starts[key[2]]
        if of_start != key:
            fail("the ends of an arrow differ", event)
        if start["ts"] > event["ts"] or start is event:
            fail("an arrow back in time", event)
        if event.get("bp") != "e":
            fail("an arrow to the next slice", event)
        arrows += 1
    if arrows != len(starts) and not cut:
        fail(f"{len(starts)} arrows begin, {arrows} end")
    return arrows


def check_names(events):
    """Every process and thread has one name, told once."""
    named = collections.Counter()
    used = set()
    for event in events:
        if event["ph"] != "M":
            used.add((event["pid"], event["tid"]))
        elif event["name"] == "thread_name":
            named[event["pid"], event["tid"]] += 1
        elif event["name"] == "process_name":
            named[event["pid"]] += 1
    for pid, tid in used:
        if named[pid] != 1 or named[pid, tid] != 1:
            fail(f"no name, or two, of process {pid}, thread {tid}")
    tids = [key[1] for key in named if isinstance(key, tuple)]
    if len(tids) != len(set(tids)):
        fail("two processes have a thread of one number")


def main():
    arguments = sys.argv[1:]
    cut = arguments[0] == "--cut"
    if cut:
        del arguments[0]
    events = load(arguments[0], cut)
    for event in events:
        check_keys(event)
    if not any(event["ph"] in "BX" for event in events):
        fail("nothing happens")
    begins = check_threads(events, cut)
    counts = collections.Counter(arrows=check_arrows(events, begins, cut))
    check_names(events)
    for event in events:
        categories = event.get("cat", "").split(",")
        if event["ph"] in "BX":
            counts["passes"] += categories[0] == "pass"
            counts[categories[-1]] += categories[0] == "pass"
            counts["captures"] += categories[0] == "capture"
            counts["launches"] += categories[0] == "launch"
        counts["marks"] += event["ph"] == "i" and event["name"] not in TIMES
    print(" ".join(f"{name}={count}" for name, count in counts.items()))
    for argument in arguments[1:]:
        name, _, count = argument.partition("=")
        if counts[name] != int(count):
            fail(f"{name}: {counts[name]}, not {count}")


main()
