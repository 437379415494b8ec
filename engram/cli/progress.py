"""A progress bar on standard error for work that takes long; nothing in pipes and with --json."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engram.cli.output import Output

_PATIENCE_SECONDS = 0.5


@contextmanager
def progress(output: Output, what: str) -> Iterator[Callable[[int, int], None]]:
    """A function (done, total) to call along the way; the bar appears after half a second."""
    if output.json or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    began = time.monotonic()
    shown = 0

    def step(done: int, total: int) -> None:
        nonlocal shown
        percent = 100 * done // max(total, 1)
        if time.monotonic() - began > _PATIENCE_SECONDS and percent != shown:
            shown = percent
            print(
                f"\r{what} {'━' * (percent // 4):<25} {done:,} of {total:,}",
                end="",
                file=sys.stderr,
                flush=True,
            )

    try:
        yield step
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
