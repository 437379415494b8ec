"""Read messages and changed files of many commits at once, for the table of the history."""

from __future__ import annotations

from engram.adapters.git.read.history import parse_trailers
from engram.adapters.git.run.runner import run
from engram.domain.sync.sync_plan import REGULAR
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.adapters.git.run.layout import Repository

SECONDS = 120.0
_FORMAT = "%H%x00%an <%ae>%x00%at%x00%s%x00%(trailers:only=true,unfold=true)"
_HEADER = 5  # fields of the format


class Listed(NamedTuple):
    """A commit and its parents; in the history of a folder, the last earlier commits that changed the folder."""

    oid: str
    parents: tuple[str, ...]


class FileChange(NamedTuple):
    """A file that a commit changed: its blob ids in each parent (None: no regular file) and afterwards.

    Of a merge, only files that differ from all parents.
    """

    path: str
    before: tuple[str | None, ...]
    after: str | None


class LoggedCommit(NamedTuple):
    """A commit with the files that it changed. `moment` is the author's time in Unix seconds."""

    oid: str
    author: str
    moment: int
    subject: str
    trailers: Mapping[str, tuple[str, ...]]
    changes: tuple[FileChange, ...]


def between(repo: Repository, old: str, new: str, folder: str = "") -> tuple[list[str], list[Listed]]:
    """Return the commits that only `old` has, and those that only `new` has, parents first; "" as `old` has none.

    With `folder`, only merges and commits that changed it. Raises GitError for an unknown commit.
    """
    words = ["rev-list", "--topo-order", "--reverse", "--parents", "--left-right"]
    words += ["--full-history"] if folder else []
    revisions = f"{old}...{new}" if old else new
    paths = ("--", folder) if folder else ("--",)
    lines = run(repo, *words, revisions, *paths, deadline=SECONDS).stdout.decode("ascii").splitlines()
    only_old = [line[1:].split(" ", 1)[0] for line in lines if line.startswith("<")]
    only_new = [line.lstrip(">").split(" ") for line in lines if not line.startswith("<")]
    return only_old, [Listed(oid, tuple(parents)) for oid, *parents in only_new]


def read_commits(repo: Repository, oids: Sequence[str], folder: str = "") -> Iterator[LoggedCommit]:
    """Yield these commits in order, with their changes (with `folder`: in it), except those without changes.

    Raises GitError.
    """
    words = ("diff-tree", "--stdin", "-r", "-c", "--root", "-z", "--raw", "--no-renames", "--no-abbrev",
             "--no-ext-diff", "--encoding=UTF-8", f"--format={_FORMAT}")  # fmt: skip
    paths = ("--", folder) if folder else ()
    names = "".join(f"{oid}\n" for oid in oids).encode()
    parts = run(repo, *words, *paths, stdin=names, deadline=SECONDS).stdout.split(b"\0")
    at = 0
    while at + _HEADER <= len(parts):
        header, at = parts[at : at + _HEADER], at + _HEADER
        at += not parts[at]  # an empty part follows the header of a merge
        changes = []
        while parts[at].lstrip(b"\n").startswith(b":"):
            changes.append(_parse_change(parts[at].lstrip(b"\n"), parts[at + 1]))
            at += 2
        yield _parse_commit(header, tuple(changes))


def _parse_commit(header: Sequence[bytes], changes: tuple[FileChange, ...]) -> LoggedCommit:
    oid, author, moment, subject, trailing = (part.decode("utf-8", "replace").lstrip("\n") for part in header)
    return LoggedCommit(oid, author, int(moment), subject, parse_trailers(trailing), changes)


def _parse_change(facts: bytes, path: bytes) -> FileChange:
    words = facts.decode("ascii").lstrip(":").split(" ")
    count = len(words) // 2  # modes, as many ids, and a word of status letters
    *before, after = (
        oid if mode in REGULAR else None
        for mode, oid in zip(words[:count], words[count : 2 * count], strict=True)
    )
    # The path is stored and displayed, never opened, so it need not round-trip.
    return FileChange(path.decode("utf-8", "backslashreplace"), tuple(before), after)
