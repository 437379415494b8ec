"""Git's lock files: hold one, wait for one, and remove those that a killed process left.

Git locks by creating `<file>.lock` exclusively (its api-lockfile); the file's existence is the lock, so a
killed process leaves it behind and every later git command refuses until somebody removes it.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress

from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STALE_SECONDS = 30.0
PAUSE_SECONDS = 0.02
# Followed by the process id; git's own lock files are empty or have the new content.
MARK = b"engram "


@contextmanager
def hold(lock: str, patience: float) -> Iterator[None]:
    """Hold a lock file, waiting up to `patience` seconds for it. Raises `GitError` if it stays locked."""
    _take(lock, patience)
    try:
        yield
    finally:
        _remove(lock)


def wait_free(locks: tuple[str, ...], patience: float) -> None:
    """Wait until none of the lock files exists, and remove stale ones. Raises `GitError` after `patience` seconds."""
    deadline = time.monotonic() + patience
    for lock in locks:
        while os.path.lexists(lock) and not _clear_if_stale(lock):
            _pause(lock, deadline)


def _clear_if_stale(lock: str) -> bool:
    """Remove the lock file if a dead process left it; return whether it no longer exists."""
    try:
        age = time.time() - os.lstat(lock).st_mtime
    except FileNotFoundError:
        return True
    if not _is_orphaned(lock) and (age <= STALE_SECONDS or _git_is_running_near(lock)):
        return False
    _remove(lock)
    return True


def _take(lock: str, patience: float) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            _create(lock)
        except FileExistsError:
            if not _clear_if_stale(lock):
                _pause(lock, deadline)
            continue
        except OSError as error:
            raise GitError(
                f"{lock} cannot be created: {error.strerror}.", "Check free space and permissions."
            ) from error
        return


def _create(lock: str) -> None:
    """Create the lock file with the mark already in it: without, a killed process would block others for 30 s."""
    content = MARK + b"%d\n" % os.getpid()
    draft = f"{lock}.{os.getpid()}"
    try:
        _write_new(draft, content)
        os.link(draft, lock)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        _write_new(lock, content)
    finally:
        with suppress(OSError):
            os.unlink(draft)


def _write_new(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)


def _pause(lock: str, deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise GitError(
            "Another git process is using the repository.",
            f"Wait for it to end, then try again. If none is running, delete {lock}.",
            stderr=f"{lock}: File exists",
        )
    time.sleep(PAUSE_SECONDS)  # nothing reports that git has removed a lock


def _remove(lock: str) -> None:
    try:
        os.unlink(lock)
    except FileNotFoundError:
        return
    except OSError as error:
        raise GitError(f"{lock} cannot be removed: {error.strerror}.", "Delete it by hand.") from error


def _is_orphaned(lock: str) -> bool:
    if os.name == "nt":  # os.kill(pid, 0) would end the process there
        return False
    try:
        with open(lock, "rb") as file:
            mark, _, process_id = file.read(32).partition(b" ")
        if mark + b" " != MARK:
            return False
        os.kill(int(process_id), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _git_is_running_near(lock: str) -> bool:
    # `git commit -a` holds index.lock while its editor is open, so an old lock may still be in use.
    try:
        processes = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return False  # no /proc on this system: age alone decides
    roots = _work_trees(lock)
    return any(_is_git_in(process, roots) for process in processes)


def _work_trees(lock: str) -> tuple[str, ...]:
    main = os.path.realpath(lock).partition(f"{os.sep}.git{os.sep}")[0]
    try:
        with open(os.path.join(os.path.dirname(lock), "gitdir"), encoding="utf-8") as file:
            return main, os.path.dirname(os.path.realpath(file.read().strip()))
    except (OSError, ValueError):
        return (main,)  # not a linked work tree


def _is_git_in(process: str, roots: tuple[str, ...]) -> bool:
    try:
        with open(f"/proc/{process}/comm", "rb") as file:
            if not file.read(16).startswith(b"git"):
                return False
        where = os.readlink(f"/proc/{process}/cwd")
    except OSError:
        return False
    return any(where == root or where.startswith(root + os.sep) for root in roots)
