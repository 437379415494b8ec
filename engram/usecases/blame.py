"""Which commit gave each field and each line of a lore."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.adapters.files import frontmatter
from engram.adapters.files.tree import Problem
from engram.domain.text_merge import common
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.commit import commit_quietly
from engram.usecases.history import first
from engram.usecases.lineage import Version, repository_of, versions
from engram.usecases.resolve import resolve
from engram.usecases.signature_state import signatures_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.adapters.git.history import LogEntry
    from engram.domain.trust import Signature
    from engram.usecases.store import Store

_LIMIT = 10_000


class Blamed(NamedTuple):
    """A field (`field` is its key) or a line of the text (`field` is ""), as it stands in the file, and where it is from.

    `commit` is "" for what is not committed yet; `at` is then None. `signature` is the state of the commit's.
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
    """A version taken apart: the text of each key, and the lines of the body."""

    fields: dict[str, str]
    lines: list[str]


class _Origins(NamedTuple):
    """For each part of a version the commit that gave it (None: not committed)."""

    parts: _Parts
    fields: dict[str, LogEntry | None]
    lines: list[LogEntry | None]


def blame(store: Store, name: str) -> tuple[str, list[Blamed]]:
    """The id of the named lore, and its fields and lines in the order of the file with their origins.

    Raises NotFoundError, AmbiguousError, GitError, StoreError.
    """
    repository_of(store)
    with store.lock:
        commit_quietly(store)
        found = resolve(store, name)
        raw = store.files.read(found.path)
    known: dict[str, _Origins] = {}
    newest: _Origins | None = None
    for version in reversed(versions(store, found.path, found.id, _LIMIT)):
        before = [known[parent] for parent in version.entry.parents if parent in known]
        newest = known[version.entry.oid] = _origins(version, before)
    now = _parts(raw)
    last = _step(now, None, [newest] if newest else [])
    origins = [entry for entry in (*last.fields.values(), *last.lines) if entry is not None]
    signatures = signatures_of(store, [entry.oid for entry in origins])
    return found.id, list(_rows(last, signatures))


def _origins(version: Version, before: list[_Origins]) -> _Origins:
    if version.raw is None:  # deleted here: what comes back later is as old as it was
        return before[0] if before else _Origins(_Parts({}, []), {}, [])
    return _step(_parts(version.raw), version.entry, before)


def _step(parts: _Parts, entry: LogEntry | None, before: list[_Origins]) -> _Origins:
    """What a version has from those before it keeps its origin; the rest is from `entry`."""
    fields: dict[str, LogEntry | None] = {key: entry for key in parts.fields}  # noqa: C420 - its type
    lines: list[LogEntry | None] = [entry] * len(parts.lines)
    for older in reversed(before):
        for key, text in parts.fields.items():
            if older.parts.fields.get(key) == text:
                fields[key] = older.fields[key]
        for there, here in common(older.parts.lines, parts.lines):
            lines[here] = older.lines[there]
    return _Origins(parts, fields, lines)


def _parts(raw: bytes) -> _Parts:
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n")
    try:
        document, entries = frontmatter.load(text)
    except Problem:
        return _Parts({}, text.split("\n"))
    block = document.block.split("\n")
    fields = {entry.key: "\n".join(block[entry.start : entry.end]) for entry in entries}
    return _Parts(fields, frontmatter.normalise(document.body).split("\n"))


def _rows(origins: _Origins, signatures: Mapping[str, Signature]) -> Iterable[Blamed]:
    for key, text in origins.parts.fields.items():
        yield _row(key, text, origins.fields[key], signatures)
    for text, entry in zip(origins.parts.lines, origins.lines, strict=True):
        yield _row("", text, entry, signatures)


def _row(field: str, text: str, entry: LogEntry | None, signatures: Mapping[str, Signature]) -> Blamed:
    if entry is None:
        return Blamed(field, text, "", None, "", "", "", "")
    agent = first(entry.trailers.get("Engram-Agent", ()))
    at = datetime.fromtimestamp(entry.moment, UTC)
    state = signatures[entry.oid].state
    return Blamed(field, text, entry.short, at, agent, entry.author, entry.subject, state)
