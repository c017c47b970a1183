"""The C library, as ctypes sees it: only what the package calls.

Structs and functions are those of the public headers, which say what they do.
ctypes releases the GIL during each call.
"""

from __future__ import annotations

import ctypes
import pathlib
from ctypes import POINTER, Structure, byref, c_char_p, c_size_t, c_uint32
from ctypes import c_uint64, c_void_p

PATH = pathlib.Path(__file__).parent / "libphilox.so.0.1"

INFERENCE = 1
LOAD_AHEAD = 1
MESH_AXES = 8
AXIS_STAGES = 1


class Error(RuntimeError):
    """A call of the library failed. Its text is the library's sentence."""

    #: The status as C spells it, ``"PHILOX_ERROR_LIMIT"`` for example.
    status: str

    def __init__(self, status: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class State(Structure):
    _fields_ = [("seed", c_uint64), ("offset", c_uint64)]


class OpDesc(Structure):
    _fields_ = [("name", c_char_p), ("calls", c_uint32), ("advance", c_uint64)]


class RegionDesc(Structure):
    _fields_ = [
        ("size", c_size_t), ("name", c_char_p), ("ops", POINTER(OpDesc)),
        ("n_ops", c_size_t), ("op_size", c_size_t), ("generator", c_void_p),
        ("pending", c_uint32), ("flags", c_uint32),
        ("differs", POINTER(c_char_p)), ("n_differs", c_size_t)]


class ReserveDesc(Structure):
    _fields_ = [
        ("size", c_size_t), ("regions", POINTER(c_void_p)),
        ("limits", POINTER(c_uint32)), ("n_regions", c_size_t),
        ("states", c_void_p), ("n_states", c_size_t), ("tickets", c_void_p),
        ("flags", c_uint32), ("reserved", c_uint32)]


class Axis(Structure):
    _fields_ = [("name", c_char_p), ("n_ranks", c_uint32),
                ("coordinate", c_uint32), ("flags", c_uint32),
                ("reserved", c_uint32)]


class Mesh(Structure):
    _fields_ = [("size", c_size_t), ("n_axes", c_uint32),
                ("reserved", c_uint32), ("axes", Axis * MESH_AXES)]


class Report(Structure):
    _fields_ = [("size", c_size_t), ("launches", c_uint64),
                ("graphs", c_uint64), ("sequence", c_uint64),
                ("graph", ctypes.c_char * 64), ("regions", ctypes.c_char * 192),
                ("beyond", c_uint64), ("cut", c_uint64)]


_library = ctypes.CDLL(str(PATH))
_HANDLE = POINTER(c_void_p)

#: Functions that return a status, and the types of their arguments.
_CALLS = {
    "philox_device_open": [c_char_p, _HANDLE],
    "philox_device_close": [c_void_p],
    "philox_context_create": [c_void_p, _HANDLE],
    "philox_context_destroy": [c_void_p],
    "philox_context_check": [c_void_p, POINTER(Report)],
    "philox_context_digest": [c_void_p, POINTER(c_uint64)],
    "philox_context_set_mesh": [c_void_p, POINTER(Mesh)],
    "philox_context_reserve": [c_void_p, c_void_p, POINTER(ReserveDesc)],
    "philox_context_write_states": [c_void_p, c_void_p, c_void_p, c_void_p,
                                    c_size_t],
    "philox_context_save_text": [c_void_p, POINTER(c_void_p),
                                 POINTER(c_size_t)],
    "philox_context_load_text_flags": [c_void_p, c_char_p, c_size_t, c_uint32],
    "philox_context_unclaimed": [c_void_p, POINTER(c_char_p), c_size_t,
                                 POINTER(c_size_t)],
    "philox_generator_seed": [c_void_p, c_uint64],
    "philox_generator_get_state": [c_void_p, POINTER(State)],
    "philox_region_create": [c_void_p, POINTER(RegionDesc), _HANDLE],
}

_library.philox_version.restype = c_char_p
_library.philox_build.restype = c_char_p
_library.philox_error_message.restype = c_char_p
_library.philox_status_name.restype = c_char_p
_library.philox_context_generator.argtypes = [c_void_p]
_library.philox_context_generator.restype = c_void_p
for _name, _types in _CALLS.items():
    getattr(_library, _name).argtypes = _types

_libc = ctypes.CDLL(None)
_libc.free.argtypes = [c_void_p]
_libc.free.restype = None

reserve = _library.philox_context_reserve


def version() -> str:
    """Return the version of the library, "0.1.0" for example."""
    return _library.philox_version().decode()


def build() -> str:
    """Return one line on how the library was built."""
    return _library.philox_build().decode()


def fail(status: int) -> None:
    """Raise the error of a call on this thread that returned a status."""
    name = _library.philox_status_name(status).decode()
    raise Error(name, _library.philox_error_message().decode("utf-8", "replace"))


def call(name: str, *arguments: object) -> None:
    """Call a function that returns a status; raise Error if it fails."""
    status = getattr(_library, name)(*arguments)
    if status:
        fail(status)


def make(name: str, *arguments: object) -> c_void_p:
    """Call a function that creates an object, and return the handle."""
    handle = c_void_p()
    call(name, *arguments, byref(handle))
    return handle


def end(name: str, handle: c_void_p) -> None:
    """End an object. In a child of fork() that is refused, and does no harm."""
    getattr(_library, name)(handle)


def generator(context: c_void_p) -> int:
    """Return the default generator of a context."""
    return _library.philox_context_generator(context)


def save_text(context: c_void_p) -> str:
    """Return the text of a context."""
    text, size = c_void_p(), c_size_t()
    call("philox_context_save_text", context, byref(text), byref(size))
    try:
        return ctypes.string_at(text, size.value).decode()
    finally:
        _libc.free(text)


def unclaimed(context: c_void_p) -> list[str]:
    """Return the names of regions that were loaded and do not exist yet."""
    n = c_size_t()
    call("philox_context_unclaimed", context, None, 0, byref(n))
    names = (c_char_p * max(n.value, 1))()
    call("philox_context_unclaimed", context, names, n.value, byref(n))
    return [names[i].decode() for i in range(n.value)]


def mesh_of(axes: list[tuple[str, int, int]]) -> Mesh:
    """Return a mesh of axes (name, number of ranks, own coordinate)."""
    mesh = Mesh(size=ctypes.sizeof(Mesh), n_axes=len(axes))
    if len(axes) > MESH_AXES:
        raise ValueError(f"a mesh has at most {MESH_AXES} axes, not {len(axes)}")
    for i, (name, n_ranks, coordinate) in enumerate(axes):
        mesh.axes[i] = Axis(name=name.encode(), n_ranks=n_ranks,
                            coordinate=coordinate)
    return mesh
