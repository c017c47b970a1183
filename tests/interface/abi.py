"""The binary interface of the public headers, and what a change of it breaks.

    abi.py program <HEADERS C that prints it: sizes, members, values. HEADERS
                            are those of philox, preprocessed
    abi.py compare OLD NEW  what is different, and which promise of
                            doc/compatibility.md that breaks

A line is `struct NAME SIZE`, `member NAME.MEMBER OFFSET SIZE` or `value NAME
N`. It is the same on every machine that philox is for: all have 64 bits, and
the headers' types have sizes.
"""
import re
import sys


def name_of(declarator):
    """A member's name: of a pointer to a function, an array or anything."""
    function = re.search(r"\(\s*\*\s*(\w+)\s*\)", declarator)
    if function:
        return function.group(1)
    return re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", declarator).group(1)


def members_of(body):
    for declaration in body.split(";"):
        if not declaration.strip():
            continue
        # several of one type; commas within a parameter list are not such
        for part in re.sub(r"\([^()]*\)\s*$", "()", declaration).split(","):
            if "(*" in declaration:
                part = declaration
            yield name_of(part.strip())
            if "(*" in declaration:
                break


def structs(code):
    return re.findall(
        r"\bstruct\s+(philox_\w+)\s*\{([^{}]*)\}\s*;", code)


def values(code):
    for body in re.findall(r"\benum\s+philox_\w+\s*\{([^{}]*)\}\s*;", code):
        for item in body.split(","):
            if item.strip():
                yield item.split("=")[0].strip()


def program():
    code = sys.stdin.read()
    print("#include <stddef.h>\n#include <stdio.h>\n#include <philox.h>\n"
          "#include <philox/interop.h>\n"
          "#define S(s) printf(\"struct %s %zu\\n\", #s, sizeof(struct s));\n"
          "#define M(s, m) printf(\"member %s.%s %zu %zu\\n\", #s, #m, \\\n"
          "\toffsetof(struct s, m), sizeof(((struct s *)0)->m));\n"
          "#define V(v) printf(\"value %s %lld\\n\", #v, (long long)v);\n"
          "int main(void)\n{")
    for name, body in structs(code):
        print("\tS(%s)" % name)
        for member in members_of(body):
            print("\tM(%s, %s)" % (name, member))
    for value in values(code):
        print("\tV(%s)" % value)
    print("\treturn 0;\n}")


def read(path):
    with open(path, encoding="utf-8") as file:
        return {tuple(line.split()[:2]): line.split()[2:] for line in file}


PROGRAMS = "a program that was built before does not run with it (Programs)"
GROWS = "members are added at the end of structs with a size alone (Structs)"


def compare(old, new):
    """Lines of what is different and breaks something."""
    sized = {name for kind, name in new if kind == "member"
             and name.endswith(".size") and new[kind, name][0] == "0"}
    for key in old:
        kind, name = key
        if key not in new:
            yield "%s %s is gone: %s" % (kind, name, PROGRAMS)
        elif kind == "struct" and old[key] != new[key]:
            if (name + ".size" not in sized
                    or int(new[key][0]) < int(old[key][0])):
                yield "struct %s has %s bytes, not %s: %s" % (
                    name, new[key][0], old[key][0], GROWS)
        elif old[key] != new[key]:
            yield "%s %s is at %s, not %s: %s" % (
                kind, name, " ".join(new[key]), " ".join(old[key]), PROGRAMS)
    for key in new:
        kind, name = key
        owner = ("struct", name.split(".")[0])
        if kind == "member" and key not in old and owner in old and (
                int(new[key][0]) < int(old[owner][0])):
            yield "member %s is before the end: %s" % (name, GROWS)


def main():
    if sys.argv[1:] == ["program"]:
        program()
        return 0
    old, new = read(sys.argv[2]), read(sys.argv[3])
    said = list(compare(old, new))
    print("\n".join(said))
    missing = [key for key in new if key not in old]
    if missing and not said:
        print("new, and not in the table: " + ", ".join(
            name for _, name in missing))
    return 1 if said or missing or not old else 0


if __name__ == "__main__":
    sys.exit(main())
