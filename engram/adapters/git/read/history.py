"""Read the commits that changed a path, with the trailers that name the operation of Engram."""

from __future__ import annotations

import os

from engram.adapters.git.run import layout
from engram.adapters.git.run.runner import run, run_limited
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.git.run.layout import Repository

LOG_SECONDS = 60.0
PATHS_PER_CALL = 200  # under the 32 KiB that Windows allows for a command line
_MARK = "\x01"
FIELDS = ("%H", "%h", "%an <%ae>", "%at", "%s", "%P", "%(trailers:only=true,unfold=true)")


class LogEntry(NamedTuple):
    """A commit. `moment` is the author's time in Unix seconds; a trailer's values keep their order.

    In the log of a path, `parents` are the last earlier commits that changed the path.
    """

    oid: str
    short: str
    author: str
    moment: int
    subject: str
    parents: tuple[str, ...]
    trailers: Mapping[str, tuple[str, ...]]


def log(repo: Repository, path: str, limit: int, *, tip: str = "HEAD") -> tuple[LogEntry, ...]:
    """Return the last `limit` commits of `tip` that changed `path` ("" for all), newest first.

    Renames are not followed, which would take git about twice as long: lore files keep their names.
    """
    if layout.read_head(repo).oid is None:
        return ()
    of_path = ("--parents", "--topo-order") if path else ()
    return _read_log(repo, f"-n{limit}", "--no-follow", *of_path, tip, *(("--", path) if path else ()))


def with_value(repo: Repository, tip: str, known: str, key: str, value: str) -> tuple[LogEntry, ...]:
    """Return the commits of `tip`, but not of `known` ("": none), that have a trailer with this value, newest first."""
    words = ("--topo-order", "--fixed-strings", f"--grep={key}: {value}", tip)
    found = _read_log(repo, *words, *(("--not", known) if known else ()), "--")
    return tuple(entry for entry in found if value in entry.trailers.get(key, ()))


def commit_facts(repo: Repository, commit: str) -> LogEntry:
    """Return the log entry of a commit. Raises GitError."""
    return _read_log(repo, "-n1", commit, "--")[0]


def touching(
    repo: Repository, tip: str, known: str | None, paths: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return by path the commits of `tip`, but not of `known`, in which it differs from all parents, newest first."""
    pathspecs = paths if len(paths) <= PATHS_PER_CALL else [os.path.commonpath(paths)]
    exclude = ("--not", known) if known else ()
    words = ("log", "--full-history", "--diff-merges=combined", "--name-only", "-z", "--no-renames", "--topo-order",
             "--no-show-signature", f"--format={_MARK}%H", tip, *exclude, "--", *pathspecs)  # fmt: skip
    wanted, found = set(paths), dict[str, list[str]]()
    commit = ""
    for line in os.fsdecode(run_limited(repo, *words, deadline=LOG_SECONDS)).split("\0"):
        name = line.removeprefix("\n")
        if name.startswith(_MARK):
            commit = name.removeprefix(_MARK)
        elif name in wanted:
            found.setdefault(name, []).append(commit)
    return {path: tuple(dict.fromkeys(commits)) for path, commits in found.items()}


def _read_log(repo: Repository, *words: str) -> tuple[LogEntry, ...]:
    form = ("-z", "--no-show-signature", "--encoding=UTF-8", f"--format={'%x00'.join(FIELDS)}")
    fields = run(repo, "log", *form, *words, deadline=LOG_SECONDS).stdout.split(b"\0")
    step = len(FIELDS)
    return tuple(_parse_entry(fields[at : at + step]) for at in range(0, len(fields) - step + 1, step))


def _parse_entry(fields: list[bytes]) -> LogEntry:
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
    """Return the message with `key: value` among its trailers, once, and one line end."""
    message = message.rstrip()
    line = f"{key}: {value}"
    last_paragraph = message.rpartition("\n\n")[2].splitlines() if "\n\n" in message else []
    if line in last_paragraph:
        return message + "\n"
    has_trailers = bool(last_paragraph) and all(_is_trailer(text) for text in last_paragraph)
    return f"{message}{chr(10) if has_trailers else chr(10) * 2}{line}\n"


def parse_trailers(text: str) -> dict[str, tuple[str, ...]]:
    """Return the values of each key in order; lines that are not trailers are ignored."""
    found: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        if _is_trailer(line):
            key, _, value = line.partition(":")
            found[key] = (*found.get(key, ()), value.strip())
    return found


def _is_trailer(line: str) -> bool:
    key, colon, _ = line.partition(":")
    return bool(colon) and bool(key) and all(char.isalnum() or char == "-" for char in key)
