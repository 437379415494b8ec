"""How much memory the C library keeps to itself: a server runs as long as its agent, and several do.

With glibc each thread takes from a heap of its own, and what building an index took stays with the process, which never
needs it again.
"""

from __future__ import annotations

import contextlib
import sys

_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h


def limit_arenas() -> None:
    """Give all threads one heap, as they mostly wait for one another anyway; nothing where the C library is another one."""
    _call("mallopt", _ARENA_MAX, 1)


def trim() -> None:
    """Return what is free to the system; nothing where the C library is another one."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(ImportError, AttributeError, OSError):
            import ctypes  # 4 ms of start-up

            getattr(ctypes.CDLL(None), name)(*arguments)
