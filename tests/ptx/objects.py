"""What the objects of a build hold: kernels, their registers, machine code."""
import os
import pathlib
import re
import subprocess

import sass


def dump(*arguments):
    """What cuobjdump says, which takes seconds, is kept in the folder $DUMPS."""
    kept = os.environ.get("DUMPS")
    if not kept:
        return run_cuobjdump(*arguments)
    path = pathlib.Path(kept, re.sub(r"\W", "_", " ".join(arguments)))
    if not path.exists():
        path.write_text(run_cuobjdump(*arguments))
    return path.read_text()


def run_cuobjdump(*arguments):
    tool = os.environ.get("CUOBJDUMP", "cuobjdump")
    # it calls nvdisasm, which lies beside it
    path = os.pathsep.join([str(pathlib.Path(tool).parent),
                            os.environ.get("PATH", "")])
    return subprocess.run([tool, *arguments], check=True, text=True,
                          stdout=subprocess.PIPE,
                          env={**os.environ, "PATH": path}).stdout


def resources(path):
    """{(architecture, function): (registers, bytes of local memory)}"""
    arch, name, found = None, None, {}
    for line in dump("--dump-resource-usage", path).splitlines():
        if match := re.search(r"\barch = (sm_\w+)", line):
            arch = match[1]
        elif match := re.match(r"\s*Function (\S+):", line):
            name = match[1]
        elif match := re.match(r"\s*REG:(\d+) STACK:(\d+).*LOCAL:(\d+)", line):
            found[arch, name] = (int(match[1]), int(match[2]) + int(match[3]))
    return found


def functions(path):
    return list(sass.functions(dump("-sass", path).splitlines()))
