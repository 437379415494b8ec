"""Importing a package without those that it uses where they are installed, and that Engram has no use for there."""

from __future__ import annotations

import sys
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def without_packages(*names: str) -> Iterator[None]:
    """Let imports of these packages fail meanwhile, as if they were not installed; afterwards they can be imported.

    One that is imported already stays. Nothing else in the process may import them meanwhile.
    """
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type] # None: Python's own way to say that there is none
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
