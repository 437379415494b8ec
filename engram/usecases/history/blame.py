"""The commit that each field and line of an entry comes from."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.adapters.files.frontmatter import frontmatter, keys
from engram.adapters.files.frontmatter.frontmatter import Problem
from engram.adapters.git.run.layout import hash_name
from engram.domain.merge.text_merge import common
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.history.history_feed import events_of
from engram.usecases.history.log import SHORT, WAIT_SECONDS
from engram.usecases.lookup.resolve import resolve, store_of_entry
from engram.usecases.store.commit import commit_quietly
from engram.usecases.store.signature_state import signatures_of
from engram.usecases.store.version_paths import repository_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.adapters.state.history_table import CommitRow, EventRow
    from engram.domain.admission.trust import Signature
    from engram.usecases.history.history_feed import Step
    from engram.usecases.store.store import Store

_LIMIT = 10_000


class Blamed(NamedTuple):
    """A field (`field` is its key) or a line of the text (`field` is "") of the file, and the commit it comes from.

    If it is not committed, `commit` is "" and `at` None. `signature` is the state of the commit's signature.
    """

    field: str
    text: str
    commit: str
    at: datetime | None
    agent: str
    author: str
    subject: str
    signature: str


class _Parts(NamedTuple):
    """A parsed version: the text of each key, and the lines of the body."""

    fields: dict[str, str]
    lines: list[str]


class _Origins(NamedTuple):
    """The commit of each part of a version (None: not committed)."""

    parts: _Parts
    fields: dict[str, CommitRow | None]
    lines: list[CommitRow | None]


def blame(store: Store, name: str, step: Step | None = None) -> tuple[str, list[Blamed]]:
    """Return an entry's id, and its fields and lines in the order of the file with their origins.

    `step` gets the progress of the history table. Raises NotFoundError, AmbiguousError, GitError, StoreError.
    """
    from engram.adapters.git.read.objects import blob_oid

    store = store_of_entry(store, name)
    repository = repository_of(store)
    with store.lock:
        commit_quietly(store, wait=WAIT_SECONDS)
        found = resolve(store, name)
        raw = store.files.read(found.path)
    rows = events_of(store, found.id, found.path, _LIMIT, step)
    known, newest = _origins(store, rows)
    before = known.get(blob_oid(raw, hash_name(repository)), newest)
    attributed = _attribute(_parse(raw), None, [before] if before else [])
    commits = [commit for commit in (*attributed.fields.values(), *attributed.lines) if commit is not None]
    return found.id, list(_rows(attributed, signatures_of(store, [commit.oid for commit in commits])))


def _origins(
    store: Store, rows: Sequence[tuple[CommitRow, EventRow]]
) -> tuple[dict[str, _Origins], _Origins | None]:
    """Compute the origins of each version, by blob id, and those of the newest; `rows` are newest first."""
    from engram.adapters.git.read.versions import read_objects

    oids = list(dict.fromkeys(event.after for _, event in rows if event.after))
    contents = dict(zip(oids, read_objects(repository_of(store), oids), strict=True))
    known: dict[str, _Origins] = {}
    newest: _Origins | None = None
    for commit, event in reversed(rows):
        raw = contents.get(event.after)
        if raw is None:  # deleted: parts that are restored later keep their origin
            continue
        before = [known[oid] for oid in event.before if oid in known] or ([newest] if newest else [])
        newest = known[event.after] = _attribute(_parse(raw), commit, before)
    return known, newest


def _attribute(parts: _Parts, commit: CommitRow | None, previous: list[_Origins]) -> _Origins:
    """Attribute parts that previous versions have as these do, the rest to `commit`."""
    fields: dict[str, CommitRow | None] = {key: commit for key in parts.fields}  # noqa: C420 - its type
    lines: list[CommitRow | None] = [commit] * len(parts.lines)
    for older in reversed(previous):
        for key, text in parts.fields.items():
            if older.parts.fields.get(key) == text:
                fields[key] = older.fields[key]
        for old, new in common(older.parts.lines, parts.lines):
            lines[new] = older.lines[old]
    return _Origins(parts, fields, lines)


def _parse(raw: bytes) -> _Parts:
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n")
    try:
        document, entries = keys.load(text)
    except Problem:
        return _Parts({}, text.split("\n"))
    block = document.block.split("\n")
    fields = {entry.key: "\n".join(block[entry.start : entry.end]) for entry in entries}
    return _Parts(fields, frontmatter.normalise(document.body).split("\n"))


def _rows(origins: _Origins, signatures: Mapping[str, Signature]) -> Iterable[Blamed]:
    for key, text in origins.parts.fields.items():
        yield _row(key, text, origins.fields[key], signatures)
    for text, commit in zip(origins.parts.lines, origins.lines, strict=True):
        yield _row("", text, commit, signatures)


def _row(field: str, text: str, commit: CommitRow | None, signatures: Mapping[str, Signature]) -> Blamed:
    if commit is None:
        return Blamed(field, text, "", None, "", "", "", "")
    at = datetime.fromtimestamp(commit.moment, UTC)
    state = signatures[commit.oid].state
    return Blamed(field, text, commit.oid[:SHORT], at, commit.agent, commit.author, commit.subject, state)
