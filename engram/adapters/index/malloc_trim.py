"""Giving memory back to the system once a large piece of work is done.

The C library keeps what was freed in case it is wanted again; a server that builds an index once never wants it.
"""

from __future__ import annotations

import contextlib


def give_back() -> None:
    """Hand freed memory to the system, where the C library is one that can (glibc); else nothing happens."""
    with contextlib.suppress(ImportError, OSError, AttributeError, TypeError):
        import ctypes  # 4 ms of start-up that only who built a large index pays

        ctypes.CDLL(None).malloc_trim(0)
