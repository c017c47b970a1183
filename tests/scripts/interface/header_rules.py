#!/usr/bin/env python3
"""The rules of the public headers: each break is printed as header:line.

    header_rules.py FOLDER             FOLDER has philox.h and philox/
    header_rules.py names FOLDER FILE...  functions and constants of philox that
                                       the files name are in those headers, and
                                       meanings in tables have at most 25 words

Comments: a function's comment stands directly before its prototype. It begins
with an imperative sentence without the function's name, lists all parameters
and no others, and ends with Returns, Errors:, During capture: and Threads:, in
this order. The header's first comment may have the last two for all functions.
A sentence "Return ..." is enough of a Returns. Functions of one comment differ
in the last part of their names.

Names: a function's first parameter is the object that its name begins with, a
stream comes second. Structs that callers describe things in end in _desc, those
that functions answer in end in _info or _stats. Enumerators in structs are
uint32_t. Bytes are called bytes, and `size` is a struct's sizeof and its first
member. A count has a noun: `n_blocks`, or `count`; a lone `n` is for
arithmetic, where it stands for a formula's n.
"""

import glob
import os
import re
import sys

MOST_HEADERS = 29
MARKS = ["Returns ", "Errors:", "During capture:", "Threads:"]
# Beginnings of functions that are not called by their first parameter, and why
HANDLE = "its handle is plain data, and the first parameter owns it"
OTHER_NAMES = {
    "philox_memory_": HANDLE, "philox_stream_": HANDLE,
    "philox_event_": HANDLE, "philox_native_": HANDLE,
    "philox_output_": HANDLE, "philox_ticket_": HANDLE,
    "philox_capture_": "a capture has no object: it is a state of a stream",
    "philox_graph_adopt": "makes a graph of the context",
    "philox_region_create_named": "makes a region of the context",
    "philox_generator_create_flags": "makes a generator of the context",
    "philox_conditional_begin": "makes a conditional node of the context",
    "philox_param_write": "writes a parameter, which is plain data",
    "philox_forward_begin": "makes a pass of the region",
    "philox_backward_begin": "makes a pass of the region",
    "philox_plan_": "the plan is a text that a runner writes and reads",
    "philox_outputs_": "all outputs of a runner, and the file of them",
    "philox_rng_": "the generator of numbers is a value, third",
    "philox_tensor_scale": "the tensor is plain memory, fourth",
    "philox_history_": "the history is a value, third",
    "philox_sample_": "the sampler has no object; the suffix says its states",
}
# Functions with a stream elsewhere, and why
OTHER_STREAMS = {
    "philox_conditional_body": "the body's number is a part of the object",
}
# Structs without the ending of their role, and why
VALUE = "a value that callers build and pass on"
OTHER_STRUCTS = {
    "philox_mesh": VALUE, "philox_row_list": VALUE, "philox_seed_list": VALUE,
    "philox_history": VALUE, "philox_token_list": VALUE,
    "philox_call": "what goes in and what comes out of one call",
    "philox_nested_call": "the same, of a call within a body",
    "philox_context_report": "findings, not counts",
    "philox_rows_report": "findings, not counts",
}
# Structs with a member, functions with a parameter `n` or `size`, and why
OTHER_WORDS = {
    "philox_interval": "arithmetic: a formula's n",
    "philox_permutation": "arithmetic: a formula's n",
    "philox_fill_desc": "arithmetic: the n of philox_permute()",
    "philox_pass_permutation": "arithmetic: the n of philox_permute()",
    "philox_pass_categorical": "the n of struct philox_fill_desc",
    "philox_rank_digest": "its bytes are sent: a size_t could leave padding",
}
ARITHMETIC = {"draw.h", "real.h", "values.h", "kernel.h", "state.h",
              "round.h", "permute.h", "truncated.h", "mixture.h",
              "weights.h"}
FUNCTION = re.compile(
    r"^(?:PHILOX_(?:API|FN|RARE)|static inline)[ \n]([^;{}=]*?\b(philox_\w+)"
    r"\((.*?)\))\s*(?:;|\n\{)", re.M | re.S)


def blank_comments(source):
    return re.sub(r"/\*.*?\*/",
                  lambda m: re.sub(r"[^\n]", " ", m.group()), source,
                  flags=re.S)


def split_parameters(text):
    depth, out = 0, [""]
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            out.append("")
        else:
            out[-1] += c
    return [" ".join(p.split()) for p in out if p.strip() not in ("", "void")]


def name_of(parameter):
    pointer = re.search(r"\(\*(\w+)\)", parameter)
    if pointer:
        return pointer.group(1)
    return re.search(r"(\w+)(?:\[[^]]*\])*$", parameter).group(1)


class Function:
    def __init__(self, found, line):
        self.line = line
        self.name = found.group(2)
        self.type = found.group(1).split(self.name)[0].strip()
        self.parameters = split_parameters(found.group(3))
        self.names = [name_of(p) for p in self.parameters]


class Header:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.source = file.read()
        self.path = path
        self.base = os.path.basename(path)
        self.code = blank_comments(self.source)
        self.breaks = []
        self.first = self.text(re.search(r"/\*(.*?)\*/", self.source, re.S))
        self.groups = []
        self.read_functions()

    @staticmethod
    def text(found):
        return re.sub(r"^[ \t]*\* ?", "", found.group(1), flags=re.M).strip() \
            if found else ""

    def say(self, line, what):
        self.breaks.append("%s:%d: %s" % (self.base, line, what))

    def line(self, at):
        return self.source.count("\n", 0, at) + 1

    def comment_before(self, at):
        found = re.search(r"/\*((?:(?!\*/).)*)\*/\n(?:#if[^\n]*\n)?\Z",
                          self.source[:at], re.S)
        return self.text(found) if found else ""

    def read_functions(self):
        end = None
        for found in FUNCTION.finditer(self.code):
            function = Function(found, self.line(found.start()))
            between = self.source[end:found.start()] if end else "no"
            if end and not between.strip() and "\n\n" not in between:
                self.groups[-1][1].append(function)
            else:
                self.groups.append((self.comment_before(found.start()),
                                    [function]))
            end = found.end()
            if self.source[found.end() - 1] == "{":
                end = self.code.index("\n}", found.end()) + 2

    def functions(self):
        return [f for _, group in self.groups for f in group]


# --- comments -----------------------------------------------------------------

def check_first_line(header, text, group):
    f = group[0]
    first = re.split(r"\n\s*\n|\n  ", text)[0]
    if not re.match(r"[A-Z][a-z]+\b", first) or \
            re.match(r"(The|A|An|This|It|What|How|%s)\b" % f.name, first) or \
            re.match(r"[A-Z][a-z]+s\b(?<!ss)(?<!Bias) ", first):
        header.say(f.line, "%s: the comment does not begin with an imperative"
                   % f.name)
    if "." not in first:
        header.say(f.line, "%s: its first line is no sentence" % f.name)


def listed_parameters(text):
    listed = []
    before = re.split(r"^(?:Returns |Errors:|During|Threads:)", text,
                      flags=re.M)[0]
    for row in re.findall(r"^  ((?:\w+|\.\.\.)(?:, (?:\w+|\.\.\.))*)(?:  +|$)",
                          before, re.M):
        listed += row.split(", ")
    return listed


def check_parameters(header, text, group):
    listed = listed_parameters(text)
    wanted = {n for f in group for n in f.names}
    arithmetic = header.base in ARITHMETIC
    if arithmetic and not listed:
        return
    for n in sorted(wanted - set(listed)):
        header.say(group[0].line, "%s: parameter %s is not listed"
                   % (group[0].name, n))
    for n in sorted(set(listed) - wanted):
        header.say(group[0].line, "%s: %s is listed and no parameter"
                   % (group[0].name, n))


def check_marks(header, text, group):
    f = group[0]
    found = [m.group() for m in re.finditer(
        r"^(Returns |Errors:|During capture:|Threads:)", text, re.M)]
    if found != [m for m in MARKS if m in found]:
        header.say(f.line, "%s: Returns, Errors, During capture, Threads are "
                   "not in this order, once each" % f.name)
    for mark in MARKS:
        common = mark[-1] == ":" and mark != "Errors:" and \
            re.search("^" + mark, header.first, re.M)
        if mark == "Errors:" and f.type != "enum philox_status":
            continue
        if mark == "Returns " and (f.type == "void" or
                                   text.startswith("Return ")):
            continue
        if mark not in found and not common:
            header.say(f.line, "%s: no line '%s'" % (f.name, mark.strip()))


def check_comments(header):
    for text, group in header.groups:
        if not text:
            header.say(group[0].line, "%s: no comment directly before it"
                       % group[0].name)
            continue
        check_first_line(header, text, group)
        check_parameters(header, text, group)
        check_marks(header, text, group)


# --- names --------------------------------------------------------------------

def opaque_types(headers):
    declared, shown = set(), set()
    for header in headers:
        declared |= set(re.findall(r"^struct (philox_\w+);", header.code,
                                   re.M))
        shown |= set(re.findall(r"^struct (philox_\w+) \{", header.code,
                                re.M))
    return declared - shown


def check_function(header, f, opaque):
    if not f.parameters:
        return
    first = re.match(r"(?:const )?struct (philox_\w+) \*\w+$", f.parameters[0])
    is_made = f.name.endswith("_create") or f.name.endswith("_open")
    if first and first.group(1) in opaque and not is_made and \
            not f.name.startswith(first.group(1) + "_") and \
            not f.name.startswith(tuple(OTHER_NAMES)):
        header.say(f.line, "%s: its first parameter is a %s"
                   % (f.name, first.group(1)))
    streams = [i for i, p in enumerate(f.parameters)
               if re.match(r"philox_stream \w+$", p)]
    if streams and streams[0] > 1 and f.name not in OTHER_STREAMS:
        header.say(f.line, "%s: its stream is not the second parameter"
                   % f.name)
    if re.search(r"_(destroy|close)$", f.name) and \
            f.type != "enum philox_status":
        header.say(f.line, "%s: a destroy returns enum philox_status" % f.name)
    for n in f.names:
        if f.name in OTHER_WORDS:
            continue
        if n == "size" or (n == "n" and header.base not in ARITHMETIC):
            header.say(f.line, "%s: a parameter is called '%s'" % (f.name, n))


def struct_bodies(header):
    for found in re.finditer(r"^struct (philox_\w+) \{\n(.*?)^\}", header.code,
                             re.M | re.S):
        yield found.group(1), found.group(2), found.start(2)


def check_struct(header, name, body, at):
    for found in re.finditer(r"^[ \t]*([^;]+);", body, re.M):
        member = " ".join(found.group(1).split())
        line = header.line(at + found.start(1))
        if re.match(r"(const )?enum philox_\w+ \w+(\[|$)", member):
            header.say(line, "struct %s: %s: an enumerator is a uint32_t"
                       % (name, member))
        ends = re.search(r"\b(size|n)(\[.*)?$", member)
        if not ends or name in OTHER_WORDS:
            continue
        first = not body[:found.start(1)].strip()
        if not (ends.group(1) == "size" and member == "size_t size" and first):
            header.say(line, "struct %s: a member is called '%s'"
                       % (name, ends.group(1)))


def check_roles(header, sized):
    for f in header.functions():
        for p in f.parameters:
            found = re.match(r"(const )?struct (philox_\w+) \*\w+$", p)
            if not found or found.group(2) not in sized or \
                    found.group(2) in OTHER_STRUCTS:
                continue
            ends = "_desc" if found.group(1) else "_info or _stats"
            if not re.search("_desc$" if found.group(1) else "_(info|stats)$",
                             found.group(2)):
                header.say(f.line, "struct %s: its name does not end in %s"
                           % (found.group(2), ends))


# --- all ----------------------------------------------------------------------

def check_umbrella(folder, headers):
    with open(os.path.join(folder, "philox.h"), encoding="utf-8") as file:
        umbrella = file.read()
    for header in headers:
        if "#include <philox/%s>" % header.base in umbrella:
            umbrella += header.source
    for header in headers:
        if "#include <philox/%s>" % header.base in umbrella:
            umbrella += header.source
    for header in headers:
        if "#include <philox/%s>" % header.base not in umbrella:
            header.say(1, "philox.h does not include it")
    if len(headers) > MOST_HEADERS:
        headers[0].say(1, "%d headers are more than %d"
                       % (len(headers), MOST_HEADERS))


def read_all(folder):
    return [Header(p)
            for p in sorted(glob.glob(os.path.join(folder, "philox", "*.h")))]


def main(folder):
    headers = read_all(folder)
    opaque = opaque_types(headers)
    sized = {name for h in headers for name, body, _ in struct_bodies(h)
             if re.match(r"\s*size_t size;", body)}
    for header in headers:
        check_comments(header)
        for f in header.functions():
            check_function(header, f, opaque)
        for name, body, at in struct_bodies(header):
            check_struct(header, name, body, at)
        check_roles(header, sized)
    check_umbrella(folder, headers)
    breaks = [b for h in headers for b in h.breaks]
    print("\n".join(breaks))
    print("%d headers, %d functions, %d breaks" % (
        len(headers), sum(len(h.functions()) for h in headers), len(breaks)))
    return bool(breaks)


def long_meanings(path):
    """Rows of a table of terms: a meaning of at most 25 words, and a name."""
    wrong = 0
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            cells = [c.strip() for c in line.split("|")]
            if len(cells) != 5 or cells[2] in ("meaning", "---"):
                continue
            words = len(re.sub("philox's words?( for|:)?", "",
                               cells[2]).split())
            if words > 25 or "`" not in cells[3]:
                print("%s:%d: %s: %d words, %s" % (path, number, cells[1],
                                                   words, cells[3]))
                wrong += 1
    return wrong


def check_names(folder, *files):
    known = ""
    for path in glob.glob(os.path.join(folder, "philox", "*.h")):
        with open(path, encoding="utf-8") as file:
            known += file.read()
    known = set(re.findall(r"\b(?:philox|PHILOX)_\w+", known))
    missing = 0
    for path in files:
        missing += long_meanings(path)
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                for n in re.findall(r"\b(?:philox|PHILOX)_\w+", line):
                    if n not in known:
                        print("%s:%d: no %s" % (path, number, n))
                        missing += 1
    return missing > 0


if sys.argv[1] == "names":
    sys.exit(check_names(*sys.argv[2:]))
sys.exit(main(sys.argv[1]))
