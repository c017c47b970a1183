"""A context on the host and its sites, for packages without PyTorch.

A *site* is a place in a program that draws, known by its name: a region of
philox with one operator. The sites are those that ``philox.torch`` would make
for a CPU, and so are their states.
"""

from __future__ import annotations

import ctypes
import threading

from philox import _library
from philox._library import Error, OpDesc, RegionDesc, ReserveDesc, State, byref


class Context:
    """A philox context on the host, seeded, and its sites."""

    def __init__(self, seed: int) -> None:
        self._lock = threading.Lock()
        self._regions: dict[str, int] = {}
        self._opened = _library.make("philox_device_open", b"host:sync")
        try:
            self._handle = _library.make("philox_context_create", self._opened)
        except Error:
            _library.call("philox_device_close", self._opened)
            raise
        self.seed(seed)

    def seed(self, value: int) -> None:
        """Give the generator a seed; all sites begin again."""
        _library.call("philox_generator_seed",
                      _library.generator(self._handle), value % 2**64)

    def reserve(self, site: str, n: int) -> tuple[int, int]:
        """Reserve n states of a site; return {seed, offset} of the first.

        Each is 4 words further than the one before it.
        """
        state = State()
        desc = ReserveDesc(
            size=ctypes.sizeof(ReserveDesc),
            regions=(ctypes.c_void_p * 1)(self._region(site)),
            limits=(ctypes.c_uint32 * 1)(n), n_regions=1,
            states=ctypes.addressof(state), n_states=1,
            flags=_library.INFERENCE)
        _library.call("philox_context_reserve", self._handle, None, byref(desc))
        return state.seed, state.offset

    def _region(self, site: str) -> int:
        with self._lock:
            if site not in self._regions:
                op = OpDesc()
                options = RegionDesc(
                    size=ctypes.sizeof(RegionDesc), name=site.encode(),
                    ops=ctypes.pointer(op), n_ops=1,
                    op_size=ctypes.sizeof(op), pending=1)
                self._regions[site] = _library.make(
                    "philox_region_create", self._handle, byref(options)).value
            return self._regions[site]

    def save_text(self) -> str:
        """Return all that decides later states."""
        return _library.save_text(self._handle)

    def load_text(self, text: str) -> None:
        """Continue where a text was saved; sites that are new begin there."""
        data = text.encode()
        _library.call("philox_context_load_text_flags", self._handle, data,
                      len(data), _library.LOAD_AHEAD)

    def close(self) -> None:
        """End the context. No call may use it any more."""
        _library.call("philox_context_destroy", self._handle)
        _library.call("philox_device_close", self._opened)
