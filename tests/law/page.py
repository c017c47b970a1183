"""The page's own functions, with exact arithmetic: slow, but as they stand.

tests/readme/law.py reads them; load() gives its module and their names.
"""

import importlib.util
import os
from types import SimpleNamespace

TREE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


def reader():
    spec = importlib.util.spec_from_file_location(
        "reader_of_the_page", os.path.join(TREE, "tests/readme/law.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


exact = reader()


def load():
    with open(os.path.join(TREE, "doc/law.md"), encoding="utf-8") as file:
        return SimpleNamespace(**exact.read(file.read()))
