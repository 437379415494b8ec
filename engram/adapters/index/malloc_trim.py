"""Freed memory returned to the system after a large piece of work.

The C library keeps freed memory for reuse; a server that builds an index once never reuses it.
"""

from __future__ import annotations

import contextlib


def trim() -> None:
    """Return freed memory to the system with glibc; do nothing with other C libraries."""
    with contextlib.suppress(ImportError, OSError, AttributeError, TypeError):
        import ctypes  # 4 ms of start-up, only after building a large index

        ctypes.CDLL(None).malloc_trim(0)
