"""The build backend of the package (PEP 517): make builds it, and this packs it.

    pip install --no-build-isolation .
    pip install --no-build-isolation -C make="CUDA=0 CXX=clang++" .

The environment has PyTorch 2.12 or newer, whose headers the operators are
compiled with; so isolation, which hides it, has to be off. The wheel serves
PyTorch from 2.9 on, and every Python from 3.10 on. Kernels for GPUs are in it
where nvcc is. Settings: `make` has variables of the Makefile, and `build` the folder
that is built in, build/wheel by default.
"""

import base64
import hashlib
import importlib.util
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

TOP = pathlib.Path(__file__).resolve().parents[2]
OLDEST = "2.9"  # that can load the operators
OLDEST_HEADERS = "2.12"  # that can compile them
MADE_AT = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say


class BuildError(Exception):
    """What keeps the package from being built, in one sentence."""


def _version():
    text = (TOP / "include/philox/status.h").read_text()
    words = [line.split() for line in text.splitlines()]
    number = {w[1]: w[2] for w in words
              if len(w) == 3 and w[1].startswith("PHILOX_VERSION_")}
    return ".".join(number[f"PHILOX_VERSION_{part}"]
                    for part in ("MAJOR", "MINOR", "PATCH"))


def _name():
    return f"philox-{_version()}"


def _metadata():
    description = (TOP / "doc/python.md").read_text()
    return f"""Metadata-Version: 2.4
Name: philox
Version: {_version()}
Summary: Randomness that is safe in captured CUDA graphs and exactly repeatable in the backward pass
License-File: LICENSE
Requires-Python: >=3.10
Requires-Dist: torch>={OLDEST}
Description-Content-Type: text/markdown

{description}"""


def _tag():
    return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(
        ".", "_")


def _require_torch():
    torch = importlib.util.find_spec("torch")
    if torch is None:
        raise BuildError(
            "philox: its operators are compiled with the headers of PyTorch, and "
            f"{sys.executable} has no torch. Install torch {OLDEST_HEADERS} or "
            "newer, and then build without isolation: pip install "
            "--no-build-isolation .")
    folder = pathlib.Path(torch.submodule_search_locations[0])
    header = folder / "include/torch/csrc/stable/library.h"
    if not header.exists() or "TORCH_BOX" not in header.read_text():
        raise BuildError(
            f"philox: the torch in {folder} has no headers of the stable ABI as "
            f"PyTorch {OLDEST_HEADERS} has them: build with that or a newer one")


def _make(settings):
    """Build the package; return its folder."""
    _require_torch()
    settings = settings or {}
    build = settings.get("build", "build/wheel")
    # What an earlier build has left there is not of this one
    shutil.rmtree(TOP / build / "python", ignore_errors=True)
    command = ["make", f"-j{os.cpu_count() or 1}", f"BUILD={build}",
               f"PYTHON={sys.executable}",
               *shlex.split(settings.get("make", "")), "python",
               *(["python-jax"] if importlib.util.find_spec("jax") else [])]
    try:
        subprocess.run(command, cwd=TOP, check=True)
    except FileNotFoundError:
        raise BuildError("philox: there is no make") from None
    except subprocess.CalledProcessError as error:
        raise BuildError(
            f"philox: `{shlex.join(command)}` failed, see above") from error
    return TOP / build / "python"


# --- a wheel ------------------------------------------------------------------


class _Wheel:
    """A zip with a list of what is in it; the same bytes for the same files."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, MADE_AT)
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        self.record.append(
            f"{name},sha256={digest.rstrip(b'=').decode()},{len(data)}")

    def close(self, folder):
        name = f"{folder}/RECORD"
        text = "\n".join([*self.record, f"{name},,", ""])
        self.add(name, text.encode())
        self.zip.close()


def _info():
    """The files of the folder .dist-info, but for RECORD."""
    return {
        "METADATA": _metadata(),
        "WHEEL": "Wheel-Version: 1.0\nGenerator: philox\nRoot-Is-Purelib: false\n"
                 f"Tag: {_tag()}\n",
        "licenses/LICENSE": (TOP / "LICENSE").read_text()}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Build the package and pack it; return the wheel's name (PEP 517)."""
    made = _make(config_settings)
    name = f"{_name()}-{_tag()}.whl"
    wheel = _Wheel(pathlib.Path(wheel_directory, name))
    for path in sorted((made / "philox").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            mode = 0o755 if ".so" in path.name else 0o644
            wheel.add(path.relative_to(made).as_posix(), path.read_bytes(), mode)
    for file, text in _info().items():
        wheel.add(f"{_name()}.dist-info/{file}", text.encode())
    wheel.close(f"{_name()}.dist-info")
    return name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Write the metadata without building (PEP 517)."""
    folder = f"{_name()}.dist-info"
    path = pathlib.Path(metadata_directory, folder)
    (path / "licenses").mkdir(parents=True)
    for file, text in _info().items():
        (path / file).write_text(text)
    return folder


# --- the source ---------------------------------------------------------------


def _source_files():
    """Yield the files of git or, of an unpacked source, all but what is built."""
    if (TOP / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, check=True,
                                capture_output=True).stdout.decode()
        yield from (name for name in sorted(listed.split("\0"))
                    if name and (TOP / name).exists())
        return
    for path in sorted(TOP.rglob("*")):
        name = path.relative_to(TOP)
        if path.is_file() and name.parts[0] not in ("build", "dist") and \
                "__pycache__" not in name.parts and name.name != "PKG-INFO":
            yield name.as_posix()


def build_sdist(sdist_directory, config_settings=None):
    """Pack the source; return the archive's name (PEP 517)."""
    name = f"{_name()}.tar.gz"
    with tarfile.open(pathlib.Path(sdist_directory, name), "w:gz") as tar:
        for file in _source_files():
            tar.add(TOP / file, f"{_name()}/{file}", recursive=False)
        info = pathlib.Path(sdist_directory, "PKG-INFO")
        info.write_text(_metadata())
        tar.add(info, f"{_name()}/PKG-INFO")
        info.unlink()
    return name
