"""How much memory the C library keeps to itself: a server runs as long as its agent, and several do.

With glibc each thread takes from a heap of its own, and what building an index took stays with the process.
"""

from __future__ import annotations

import contextlib
import sys

_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h


def limit_arenas() -> None:
    """One heap for all threads, which mostly wait for one another anyway; nothing where the C library is another one."""
    _call("mallopt", _ARENA_MAX, 1)


def trim() -> None:
    """What is free goes back to the system."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(AttributeError, OSError):
            getattr(ctypes.CDLL(None), name)(*arguments)
