"""A philox context and its sites, for all packages.

A *site* is a place in a program that draws, known by its name: a region of
philox with one operator, whose forwards are owed no backward. Its states are
data, pairs {seed, offset}.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Sequence

from philox import _library
from philox._library import OpDesc, RegionDesc, ReserveDesc, byref

#: 32-bit words by which a site moves for each reserved state.
ADVANCE = 4

#: An axis of a mesh: name, number of ranks, own coordinate.
Axis = tuple[str, int, int]


class Context:
    """A context on a device of its own, with sites that are made as needed.

    It ends when nothing refers to it any more, so never during a call.

    Args:
        device: as philox_device_open() takes it.
        seed: modulo 2**64.
        mesh: axes, if there are any.
        differs: the axes of it along which new sites differ.
    """

    def __init__(self, device: str = "host:sync", seed: int = 0,
                 mesh: Sequence[Axis] = (),
                 differs: Sequence[str] = ()) -> None:
        self._lock = threading.Lock()
        self._regions: dict[str, int] = {}
        self._differs = [name.encode() for name in differs]
        opened = _library.make("philox_device_open", device.encode())
        weakref.finalize(self, _library.end, "philox_device_close",
                         opened).atexit = False
        self.handle = _library.make("philox_context_create", opened)
        # The last one that is made runs first
        weakref.finalize(self, _library.end, "philox_context_destroy",
                         self.handle).atexit = False
        self.seed(seed)
        if mesh:
            self.set_mesh(mesh, differs)

    def seed(self, value: int) -> None:
        """Give the generator a seed; all sites begin again."""
        _library.call("philox_generator_seed", _library.generator(self.handle),
                      value % 2**64)

    def set_mesh(self, mesh: Sequence[Axis], differs: Sequence[str]) -> None:
        """Tell the place among ranks, before anything draws."""
        _library.call("philox_context_set_mesh", self.handle,
                      byref(_library.mesh_of(mesh)))
        self._differs = [name.encode() for name in differs]

    def reserve(self, sites: Sequence[str], counts: Sequence[int], states: int,
                stream: int = 0) -> None:
        """Reserve counts[i] states of sites[i]: all of them, or none.

        Args:
            states: address of an array of {seed, offset}: the first state of
                each site is written. Each other is ADVANCE further than the one
                before it.
            stream: that of the draws, which is not capturing.
        """
        for site, count in zip(sites, counts, strict=True):
            if not 1 <= count < 2**32:
                raise ValueError(f"philox: {site!r} reserves 1 to 2**32 - 1 "
                                 f"states, not {count}")
        n = len(sites)
        desc = ReserveDesc(
            size=ctypes.sizeof(ReserveDesc),
            regions=(ctypes.c_void_p * n)(*map(self._region, sites)),
            limits=(ctypes.c_uint32 * n)(*counts), n_regions=n, states=states,
            n_states=n, flags=_library.INFERENCE)
        status = _library.reserve(self.handle, stream, byref(desc))
        if status:
            _library.fail(status)

    def _region(self, site: str) -> int:
        region = self._regions.get(site)
        if region is None:
            with self._lock:
                region = self._regions.get(site) or self._make_region(site)
                self._regions[site] = region
        return region

    def _make_region(self, site: str) -> int:
        if "\0" in site:
            raise ValueError(f"philox: {site!r} is no name: it has a NUL")
        op = OpDesc()
        n = len(self._differs)
        options = RegionDesc(
            size=ctypes.sizeof(RegionDesc), name=site.encode(),
            ops=ctypes.pointer(op), n_ops=1, op_size=ctypes.sizeof(op),
            pending=1, n_differs=n,
            differs=(ctypes.c_char_p * max(n, 1))(*self._differs))
        return _library.make("philox_region_create", self.handle,
                             byref(options)).value

    def save_text(self) -> str:
        """Return all that decides later states."""
        return _library.save_text(self.handle)

    def load_text(self, text: str) -> None:
        """Continue where a text was saved; sites that are new begin there."""
        data = text.encode()
        _library.call("philox_context_load_text_flags", self.handle, data,
                      len(data), _library.LOAD_AHEAD)

    def unclaimed(self) -> list[str]:
        """Return the names of sites that were loaded and have not drawn yet."""
        return _library.unclaimed(self.handle)

    def digest(self) -> int:
        """Return 64 bits that contexts share if their later numbers are the same."""
        value = ctypes.c_uint64()
        _library.call("philox_context_digest", self.handle, byref(value))
        return value.value

    def check(self) -> None:
        """Raise Error if the device has seen a graph launched without philox."""
        report = _library.Report(size=ctypes.sizeof(_library.Report))
        _library.call("philox_context_check", self.handle, byref(report))
