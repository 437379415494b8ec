"""The bytes of any number of blobs, one after the other: for more than should be in memory at once."""

from __future__ import annotations

import threading

from engram.adapters.git.run import failures, process
from engram.adapters.git.run.runner import listing_error
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence

    from engram.adapters.git.run.layout import Repository
    from engram.domain.errors import GitError

SECONDS = 120.0
# Blobs are stored as differences from others. Where git has no room for those, it makes them anew for each: ten times the
# work for a thousand ledgers.
_WORDS = ("-c", "core.deltaBaseCacheLimit=256m", "cat-file", "--batch", "--buffer")


def stream(repo: Repository, oids: Sequence[str], deadline: float = SECONDS) -> Iterator[bytes]:
    """Yield the bytes of blobs in this order, all from one git process.

    Raises GitError where one is missing or damaged, and after `deadline` seconds.
    """
    if not oids:
        return
    with process.start(repo.worktree, _WORDS, True, process.safe_environment()) as git:
        assert git.stdout is not None
        late = threading.Event()

        def stop_late() -> None:
            late.set()
            process.stop(git)

        timer = threading.Timer(deadline, stop_late)
        feeder = threading.Thread(target=_feed, args=(git, "".join(f"{oid}\n" for oid in oids).encode()))
        timer.start()
        feeder.start()
        try:
            for oid in oids:
                words = git.stdout.readline().split(b" ")
                is_blob = len(words) == 3 and words[1] == b"blob"
                length = int(words[2]) + 1 if is_blob else 0  # with a line end
                content = git.stdout.read(length)
                if not content or len(content) < length:
                    if late.is_set():
                        raise listing_error(
                            _WORDS, f"git cat-file was stopped at its time limit of {deadline:g} s"
                        )
                    raise lacking(repo, oid)
                yield content[:-1]
        finally:
            timer.cancel()
            process.stop(git)
            feeder.join()


def lacking(repo: Repository, oid: str) -> GitError:
    """Return the error for a blob that is missing or damaged."""
    return failures.damage(repo.worktree, f"it lacks the file contents {oid[:10]}", "missing blob")


def _feed(git: subprocess.Popen[bytes], asked: bytes) -> None:
    assert git.stdin is not None
    try:
        git.stdin.write(asked)
        git.stdin.close()
    except OSError:  # it ended: whoever reads notices
        return
