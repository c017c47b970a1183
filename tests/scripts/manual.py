#!/usr/bin/env python3
"""What the headers and the help texts say, against what the pages say.

    manual.py words FOLDER HEADER...  every comment of each header, and every
                                      prototype, is in the text of its page
    manual.py help FOLDER HELP...     every word of each help text is in the
                                      text of its page
    manual.py sections FOLDER HEADER...  the page of each function has the parts
                                      of its comment, a section for each
    manual.py html FOLDER             tags are balanced, links lead somewhere
    manual.py text FROM TO            the texts of pages in HTML

The folders have a file for each page; HELP is named like its command.
Texts are compared by their letters and digits alone: line breaks, hyphens and
signs that a format adds do not matter. This reads headers in its own way, which
is not that of doc/headers.awk.
"""

import collections
import html.parser
import os
import re
import sys

VOID = {"meta", "link", "br", "hr", "img", "input"}


def letters(text):
    return "".join(c for c in text.lower() if c.isalnum())


def comments(source):
    """The comments of a header that are not within functions."""
    source = re.sub(r"\n\{\n.*?\n\}\n", "\n;\n", source, flags=re.S)
    for found in re.finditer(r"/\*(.*?)\*/", source, re.S):
        text = re.sub(r"^\s*\* ?", "", found.group(1), flags=re.M)
        title, rest = re.match(r"\s*(?:philox(?:/\w+)?\.h - (.*?)(?:\n\n|$))?"
                               r"(.*)$", text, re.S).groups()
        if title:
            yield title
        if rest and not rest.startswith("clang-format"):
            yield rest


def prototypes(source):
    """Functions, without what marks them as exported or inline."""
    source = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    marks = r"^(?:PHILOX_API|PHILOX_FN|PHILOX_RARE|static inline) "
    for found in re.finditer(marks + r"([^;{]*\))\s*(?:;|\n\{)", source,
                             re.M):
        yield found.group(1)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_page(path):
    """A page, with headers named as they are in comments."""
    return re.sub(r"philox_(\w+)\.h\(3\)", r"philox/\1.h", read(path))


def page_letters(path):
    return letters(read_page(path))


def page_of(header):
    name = os.path.basename(header)
    return "philox.7" if name == "philox.h" else "philox_%s.3" % name


def check_words(folder, *headers):
    lost = checked = 0
    for header in headers:
        source = read(header)
        page = page_letters(os.path.join(folder, page_of(header)))
        for text in list(comments(source)) + list(prototypes(source)):
            checked += 1
            if letters(text) not in page:
                print("%s: lost: %s" % (header, " ".join(text.split())[:200]))
                lost += 1
    print("%d comments and prototypes" % checked)
    return lost or checked < len(headers)


def check_help(folder, *helps):
    def words(text):
        return collections.Counter(re.findall(r"[a-z0-9]+", text.lower()))

    lost = collections.Counter()
    for path in helps:
        said = words(read(path).replace("usage:", "", 1))
        name = "philox-%s.1" % os.path.basename(path)
        lost += said - words(read(os.path.join(folder, name)))
        print("%s: %d words, lost: %s" % (path, sum(said.values()), dict(lost)))
    return sum(lost.values()) or not helps


PARTS = {"Returns": "RETURN VALUES", "Errors": "ERRORS",
         "During capture": "DURING CAPTURE", "Threads": "THREADS",
         "Source": "SOURCE"}
PARTS_AT = r"^(Returns(?= )|Errors(?=:)|During capture(?=:)|Threads(?=:)" \
           r"|Source(?=:))"


def marked_parts(text):
    """The text before the first mark, and what each mark begins."""
    split = re.split(PARTS_AT, text, flags=re.M)
    parts = {}
    for mark, said in zip(split[1::2], split[2::2]):
        parts[PARTS[mark]] = mark + said if mark == "Returns" else said
    return split[0], parts


def described(source):
    """Functions with comments in parts: name, comment, prototype."""
    pattern = (r"/\*((?:(?!\*/).)*)\*/\n((?:PHILOX_API|PHILOX_FN|PHILOX_RARE"
               r"|static inline) [^;{(]*\()")
    for found in re.finditer(pattern, source, re.S):
        text = re.sub(r"^\s*\* ?", "", found.group(1), flags=re.M).strip()
        name = re.search(r"(\w+)\($", found.group(2)).group(1)
        rest = source[found.start(2):]
        if re.match(r"[A-Z]", text) and (
                text.startswith("Return ") or
                re.search(PARTS_AT, text, re.M)):
            yield name, text, next(prototypes(rest))


def sections_of(path):
    sections, name = collections.defaultdict(str), ""
    for line in read_page(path).split("\n")[1:]:
        if re.match(r"[A-Z]", line):
            name = line.strip()
        else:
            sections[name] += line + "\n"
    return sections


def check_function(folder, name, text, prototype, common):
    """What is wrong with a function's page."""
    path = os.path.join(folder, name + ".3")
    if not os.path.exists(path):
        return ["no page"]
    sections = sections_of(path)
    before, parts = marked_parts(text)
    expected = {n: common[n] for n in ("DURING CAPTURE", "THREADS")
                if n in common}
    expected.update(parts)
    summary, *rest = re.split(r"\n\n", before)
    rows = rest.pop(0) if rest and rest[0].startswith("  ") else ""
    expected["DESCRIPTION"] = summary + "".join(rest)
    if rows:
        expected["PARAMETERS"] = rows
    wrong = [n for n, said in expected.items()
             if letters(sections[n]) != letters(said)]
    first = re.match(r".*?(?:\w\w\w[`\"()]*\.(?=\s)|$)", summary, re.S).group()
    if letters(name + first) not in letters(sections["NAME"]) and \
            not letters(sections["NAME"]).endswith(letters(first)):
        wrong.append("NAME")
    if letters(prototype) not in letters(sections["SYNOPSIS"]):
        wrong.append("SYNOPSIS")
    return wrong


def check_sections(folder, *headers):
    found = checked = 0
    for header in headers:
        source = read(header)
        first = re.sub(r"^\s*\* ?", "",
                       re.search(r"/\*(.*?)\*/", source, re.S).group(1),
                       flags=re.M)
        common = {n: said.split("\n\n")[0]
                  for n, said in marked_parts(first)[1].items()}
        for name, text, prototype in described(source):
            checked += 1
            for what in check_function(folder, name, text, prototype, common):
                print("%s: %s: %s" % (header, name, what))
                found += 1
    print("%d functions" % checked)
    return found


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.open, self.wrong, self.text = [], [], []
        self.names, self.links = set(), []
        self.feed(read(path))
        self.close()
        self.wrong += ["%s is not closed" % tag for tag in self.open]

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in attrs:
            if attrs["id"] in self.names:
                self.wrong.append("two places are called " + attrs["id"])
            self.names.add(attrs["id"])
        if "href" in attrs:
            self.links.append(attrs["href"])
        if tag == "p" and "p" in self.open[:-1]:
            self.wrong.append("a paragraph in a paragraph")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append("</%s> closes nothing" % tag)

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def check_html(folder):
    pages = {name: Page(os.path.join(folder, name))
             for name in sorted(os.listdir(folder))}
    wrong = links = 0
    for name, page in pages.items():
        for link in page.links:
            path, _, place = link.partition("#")
            target = pages.get(path or name)
            links += 1
            if not target or (place and place not in target.names):
                page.wrong.append("no " + link)
        for what in page.wrong:
            print("%s: %s" % (name, what))
            wrong += 1
    print("%d pages, %d links" % (len(pages), links))
    return wrong or links < 100


def write_texts(folder, to):
    for name in os.listdir(folder):
        page = "philox.7" if name == "index.html" else name[:-len(".html")]
        with open(os.path.join(to, page), "w", encoding="utf-8") as file:
            file.write("".join(Page(os.path.join(folder, name)).text))


MODES = {"words": check_words, "sections": check_sections,
         "help": check_help, "html": check_html,
         "text": write_texts}
sys.exit(1 if MODES[sys.argv[1]](*sys.argv[2:]) else 0)
