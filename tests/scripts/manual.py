#!/usr/bin/env python3
"""What the headers and the help texts say, against what the pages say.

    manual.py words FOLDER HEADER...  every comment of each header, and every
                                      prototype, is in the text of its page
    manual.py help FOLDER HELP...     every word of each help text is in the
                                      text of its page
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


def page_letters(path):
    text = re.sub(r"philox_(\w+)\.h\(3\)", r"philox/\1.h", read(path))
    return letters(text)


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


MODES = {"words": check_words, "help": check_help, "html": check_html,
         "text": write_texts}
sys.exit(1 if MODES[sys.argv[1]](*sys.argv[2:]) else 0)
