"""Files that nobody but their owner may read."""

from __future__ import annotations

import os
from contextlib import suppress


def keep_private(path: str) -> None:
    """Make the file if there is none, and take the rights of others from one that is there; where that fails, go on.

    A database is not opened for that: to close a second handle would give up the locks of the first.
    """
    with suppress(OSError):
        if path == ":memory:":
            return
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            if os.stat(path).st_mode & 0o077:
                os.chmod(path, 0o600)
