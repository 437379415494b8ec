"""The commits that touched a path, with the trailers that say which operation of Engram made them."""

from __future__ import annotations

import os

from engram.adapters.git.run import layout
from engram.adapters.git.run.runner import listing, run
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.git.run.layout import Repository

LOG_SECONDS = 60.0
PATHS_PER_CALL = 200  # under the 32 KiB that Windows allows for a command line
_MARK = "\x01"
FIELDS = ("%H", "%h", "%an <%ae>", "%at", "%s", "%P", "%(trailers:only=true,unfold=true)")


class LogEntry(NamedTuple):
    """One commit. `moment` is the author's time in unix seconds; a trailer's values keep their order.

    `parents` of the log of a path are the last commits before it that touched the path.
    """

    oid: str
    short: str
    author: str
    moment: int
    subject: str
    parents: tuple[str, ...]
    trailers: Mapping[str, tuple[str, ...]]


def log(repo: Repository, path: str, limit: int, *, tip: str = "HEAD") -> tuple[LogEntry, ...]:
    """Return the last `limit` commits of `tip` that touched `path` ("" for all), newest first.

    Renames are not followed, which would cost git about twice the time: lore files keep their names.
    """
    if layout.read_head(repo).oid is None:
        return ()
    of_path = ("--parents", "--topo-order") if path else ()
    return _entries(repo, f"-n{limit}", "--no-follow", *of_path, tip, *(("--", path) if path else ()))


def with_value(repo: Repository, tip: str, known: str, key: str, value: str) -> tuple[LogEntry, ...]:
    """Return the commits of `tip`, and not of `known` ("": of nothing), that have a trailer with this value, newest first."""
    words = ("--topo-order", "--fixed-strings", f"--grep={key}: {value}", tip)
    found = _entries(repo, *words, *(("--not", known) if known else ()), "--")
    return tuple(one for one in found if value in one.trailers.get(key, ()))


def commit_facts(repo: Repository, commit: str) -> LogEntry:
    """Return what a commit says. Raises GitError."""
    return _entries(repo, "-n1", commit, "--")[0]


def touching(
    repo: Repository, tip: str, known: str | None, paths: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """For each path the commits of `tip`, and not of `known`, in which it differs from all parents; the last first."""
    narrow = paths if len(paths) <= PATHS_PER_CALL else [os.path.commonpath(paths)]
    without = ("--not", known) if known else ()
    words = ("log", "--full-history", "--diff-merges=combined", "--name-only", "-z", "--no-renames", "--topo-order",
             "--no-show-signature", f"--format={_MARK}%H", tip, *without, "--", *narrow)  # fmt: skip
    wanted, found = set(paths), dict[str, list[str]]()
    commit = ""
    for line in os.fsdecode(listing(repo, *words, deadline=LOG_SECONDS)).split("\0"):
        name = line.removeprefix("\n")
        if name.startswith(_MARK):
            commit = name.removeprefix(_MARK)
        elif name in wanted:
            found.setdefault(name, []).append(commit)
    return {path: tuple(dict.fromkeys(commits)) for path, commits in found.items()}


def _entries(repo: Repository, *words: str) -> tuple[LogEntry, ...]:
    form = ("-z", "--no-show-signature", "--encoding=UTF-8", f"--format={'%x00'.join(FIELDS)}")
    fields = run(repo, "log", *form, *words, deadline=LOG_SECONDS).stdout.split(b"\0")
    step = len(FIELDS)
    return tuple(_entry(fields[at : at + step]) for at in range(0, len(fields) - step + 1, step))


def _entry(fields: list[bytes]) -> LogEntry:
    oid, short, author, moment, subject, parents, trailing = (
        field.decode("utf-8", "replace") for field in fields
    )
    return LogEntry(
        oid, short, author, int(moment), subject, tuple(parents.split()), parse_trailers(trailing)
    )


# Trailers: the `Key: value` lines at the end of a commit message.

OPERATION = "Engram-Op"  # the batch
ID = "Engram-Id"  # the operation, a ULID


def with_trailer(message: str, key: str, value: str) -> str:
    """Return the message with `key: value` among its trailers (once), ending in one line end."""
    message = message.rstrip()
    line = f"{key}: {value}"
    last_paragraph = message.rpartition("\n\n")[2].splitlines() if "\n\n" in message else []
    if line in last_paragraph:
        return message + "\n"
    joined = bool(last_paragraph) and all(_is_trailer(text) for text in last_paragraph)
    return f"{message}{chr(10) if joined else chr(10) * 2}{line}\n"


def parse_trailers(text: str) -> dict[str, tuple[str, ...]]:
    """Return each key with its values in order; lines that are no trailer are passed over."""
    found: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        if _is_trailer(line):
            key, _, value = line.partition(":")
            found[key] = (*found.get(key, ()), value.strip())
    return found


def _is_trailer(line: str) -> bool:
    key, colon, _ = line.partition(":")
    return bool(colon) and bool(key) and all(letter.isalnum() or letter == "-" for letter in key)
