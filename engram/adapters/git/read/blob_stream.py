"""Stream the bytes of any number of blobs, for more than should be in memory at once."""

from __future__ import annotations

import threading

from engram.adapters.git.run import failures, process
from engram.adapters.git.run.runner import limit_error
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence

    from engram.adapters.git.run.layout import Repository
    from engram.domain.errors import GitError

SECONDS = 120.0
# Blobs are stored as deltas against others. If these do not fit into git's cache, git rebuilds them for each blob: ten
# times the work for a thousand ledgers.
_WORDS = ("-c", "core.deltaBaseCacheLimit=256m", "cat-file", "--batch", "--buffer")


def stream(repo: Repository, oids: Sequence[str], deadline: float = SECONDS) -> Iterator[bytes]:
    """Yield the bytes of blobs in order, from one git process.

    Raises GitError if a blob is missing or damaged, and after `deadline` seconds.
    """
    if not oids:
        return
    with process.start(repo.worktree, _WORDS, True, process.safe_environment()) as git:
        assert git.stdout is not None
        is_late = threading.Event()

        def stop() -> None:
            is_late.set()
            process.stop(git)

        timer = threading.Timer(deadline, stop)
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
                    if is_late.is_set():
                        raise limit_error(
                            _WORDS, f"git cat-file was stopped at its time limit of {deadline:g} s"
                        )
                    raise missing_blob_error(repo, oid)
                yield content[:-1]
        finally:
            timer.cancel()
            process.stop(git)
            feeder.join()


def missing_blob_error(repo: Repository, oid: str) -> GitError:
    """Return the error for a blob that is missing or damaged."""
    return failures.damage(repo.worktree, f"it lacks the file contents {oid[:10]}", "missing blob")


def _feed(git: subprocess.Popen[bytes], data: bytes) -> None:
    assert git.stdin is not None
    try:
        git.stdin.write(data)
        git.stdin.close()
    except OSError:  # git has ended, which the reader notices
        return
