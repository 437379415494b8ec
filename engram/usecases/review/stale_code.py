"""Lore whose ground in code has changed: what they name in a code repository, compared with how it was.

A lore counts as true when it was recorded, last found helpful or confirmed. What changed since is told; what was
already otherwise then is not. The repository is read by a few git processes for all lore together, from HEAD: what
is not committed does not count, and no file of the work tree is opened.
"""

from __future__ import annotations

import posixpath
from functools import cached_property

from engram.adapters.git.read import code_history
from engram.domain.entry import times
from engram.domain.errors import EngramError
from engram.domain.review import code_changes as changes
from engram.domain.review.anchors import first_words, identifiers, may_name, version_claims
from engram.domain.review.manifests import is_lock, is_manifest, versions
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store.code_repository import code_repository, prefix_of, spellings
from engram.usecases.store.store import IN_TREE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.git.read.code_history import Commit, Touch
    from engram.adapters.git.run.layout import Repository
    from engram.adapters.index.catalog import Hit
    from engram.domain.review.code_changes import Finding
    from engram.usecases.store.store import Store

MOST_LORE = 10_000
_MOST_MANIFESTS = 40
_DEEPEST = 2  # folders above a manifest that is looked at
_MOST_MOVES = 8
_SUBJECT = 80  # characters of a commit's first line


class Stale(NamedTuple):
    """A lore and what changed of that which it names, the gravest first; `since` in Unix seconds."""

    hit: Hit
    since: float
    findings: tuple[Finding, ...]


def stale_code(store: Store, hits: Sequence[Hit]) -> list[Stale]:
    """Those of the lore whose ground changed, the gravest first; none where no repository can be read."""
    repository = code_repository(store)
    if repository is None or not hits:
        return []
    try:
        looked = _Code(store, repository, hits[:MOST_LORE])
        found = [
            Stale(hit, looked.since(hit), findings) for hit in looked.hits if (findings := looked.check(hit))
        ]
    except EngramError:
        return []
    return sorted(found, key=lambda one: (one.findings[0].grade, -one.findings[0].lines, one.hit.id))


class _Code:
    """A code repository, as far as it has to be read for these lore."""

    def __init__(self, store: Store, repository: Repository, hits: Sequence[Hit]) -> None:
        self._store, self._repository, self.hits = store, repository, hits
        self._now = code_history.files_now(repository)
        self._manifests = [p for p in self._now if p.count("/") <= _DEEPEST and is_manifest(p)][
            :_MOST_MANIFESTS
        ]
        self._prefix = prefix_of(store, repository)
        self._named = {hit.id: self._paths(hit) for hit in hits if hit.files}
        self._later: dict[tuple[str, str], list[Touch]] = {}
        self._read_history()
        self._texts = self._read_texts()
        self._parsed: dict[tuple[str, str], dict[str, str]] = {}

    def since(self, hit: Hit) -> float:
        """When a lore was last known to be true."""
        return max(hit.created_at, hit.last_validated or 0)

    def check(self, hit: Hit) -> tuple[Finding, ...]:
        """What changed of that which a lore names, the gravest first."""
        found = [one for path in self._named.get(hit.id, ()) for one in self._file(hit, path)]
        said = (
            self._said(hit) if self._manifests or any(one.grade == changes.CHANGED for one in found) else ""
        )
        found += self._symbols(hit, said) + self._versions(hit, said)
        return tuple(sorted(found, key=lambda one: (one.grade, -one.lines)))

    def _paths(self, hit: Hit) -> list[str]:
        files = hit.files.split("\n")
        return [path for file in files for path in spellings(self._repository, self._prefix, file)]

    def _read_history(self) -> None:
        """The changes of every path that some lore names or manifest has, and of those files where these went."""
        wanted = {path for paths in self._named.values() for path in paths} | set(self._manifests)
        own = {}
        if self._store.places.placement == IN_TREE:
            own = {posixpath.join(self._prefix, hit.path): hit.id for hit in self.hits}
        self._touches: dict[str, list[Touch]] = {}
        self._gone: dict[str, Commit] = {}
        self._recorded: dict[str, int] = {}
        for touch in code_history.touches(self._repository, min(map(self.since, self.hits))):
            if touch.after is None:
                self._gone.setdefault(touch.path, touch.commit)
            if touch.path in own and touch.before is None:
                self._recorded[own[touch.path]] = touch.commit.number
            folder = touch.path
            while folder:  # a lore may name a folder
                if folder in wanted:
                    self._touches.setdefault(folder, []).append(touch)
                folder = folder.rpartition("/")[0]

    def _since_then(self, hit: Hit, path: str) -> list[Touch]:
        """The changes of a path since a lore was known to be true, the last first.

        In a tree that the lore is part of, what was committed together with it is not later than it. A file that
        was not there yet counts from when it came.
        """
        key = (hit.id, path)
        if key not in self._later:
            since, recorded = self.since(hit), self._recorded.get(hit.id, code_history.MOST_COMMITS)
            touched = self._touches.get(path, ())
            found = [one for one in touched if one.commit.at > since and one.commit.number < recorded]
            while found and found[-1].before is None and found[-1].path == path:
                found.pop()
            self._later[key] = found
        return self._later[key]

    def _file(self, hit: Hit, path: str) -> list[Finding]:
        found = self._since_then(hit, path)
        if not found:
            return []
        last = _words(found[0].commit)
        if found[0].path == path and path not in self._now:
            return [changes.file_gone(path, self._where(path), last)]
        commits = len({one.commit.oid for one in found})
        return [changes.file_changed(path, commits, self._lines(found), last)] if self._differs(found) else []

    def _differs(self, found: Sequence[Touch]) -> bool:
        return any(self._now.get(one.path) != one.before for one in _first_of_each(found))

    def _lines(self, found: Sequence[Touch]) -> tuple[int, int] | None:
        """Lines added and removed since; None where a file is no text or too large."""
        added = removed = 0
        for one in _first_of_each(found):
            ends = (one.before, self._now.get(one.path))
            if any(oid is not None and oid not in self._texts for oid in ends):
                return None
            before, after = (self._texts[oid] if oid else "" for oid in ends)
            more, less = changes.changed_lines(before, after)
            added, removed = added + more, removed + less
        return added, removed

    def _symbols(self, hit: Hit, said: str) -> list[Finding]:
        """Names that were in a file when the lore was true, and are in none of its files now."""
        pairs = [
            (p, t) for p in self._named.get(hit.id, ()) if p in self._now and (t := self._since_then(hit, p))
        ]
        if not pairs:
            return []
        now = "\n".join(self._texts.get(self._now[p], "") for p in self._named[hit.id] if p in self._now)
        found = []
        for name in identifiers(said):
            for path, touched in pairs:
                before = self._texts.get(touched[-1].before or "", "")
                if (
                    changes.is_named(name, before)
                    and not changes.is_named(name, now)
                    and self._now[path] in self._texts
                ):
                    found.append(changes.symbol_gone(name, path, before, _words(touched[0].commit)))
                    break
        return found

    def _versions(self, hit: Hit, said: str) -> list[Finding]:
        """What the lore says of versions that was so by a lock or manifest file, and by none any more."""
        found = {}
        if not said or not may_name(said, self._first_words):
            return []
        for claim in version_claims(said, self._known):
            then = [(path, self._at(hit, path).get(claim.name, "")) for path in self._manifests]
            now = {path: self._in(path, self._now[path]).get(claim.name, "") for path in self._manifests}
            true = [path for path, version in then if claim.holds_for(version)]
            if true and not any(claim.holds_for(version) for version in now.values()):
                path = min(true, key=lambda one: (not is_lock(one), one))
                found[claim] = changes.version_moved(claim.text, dict(then)[path], now[path], path)
        return list(found.values())

    @cached_property
    def _known(self) -> set[str]:
        """Every dependency that a manifest names now, or named."""
        found = {name for path in self._manifests for name in self._in(path, self._now[path])}
        for path in self._manifests:
            for touch in self._touches.get(path, ()):
                found.update(self._in(path, touch.before or ""))
        return found

    @cached_property
    def _first_words(self) -> frozenset[str]:
        return first_words(self._known)

    def _at(self, hit: Hit, path: str) -> dict[str, str]:
        """What a manifest said when the lore was known to be true."""
        touched = self._since_then(hit, path)
        return self._in(path, (touched[-1].before if touched else self._now[path]) or "")

    def _in(self, path: str, oid: str) -> dict[str, str]:
        if (path, oid) not in self._parsed:
            self._parsed[path, oid] = versions(path, self._texts[oid]) if oid in self._texts else {}
        return self._parsed[path, oid]

    def _read_texts(self) -> dict[str, str]:
        """The texts that are compared: of the manifests whenever they changed, of files then and now."""
        wanted = [self._now[path] for path in self._manifests]
        wanted += [one.before or "" for path in self._manifests for one in self._touches.get(path, ())]
        for hit in self.hits:
            for path in self._named.get(hit.id, ()):
                touched = _first_of_each(self._since_then(hit, path))
                wanted += [one.before or "" for one in touched] + [
                    self._now.get(one.path, "") for one in touched
                ]
                if touched:
                    wanted += [self._now.get(other, "") for other in self._named[hit.id]]
        return code_history.texts(self._repository, [oid for oid in wanted if oid])

    @cached_property
    def _moves(self) -> dict[tuple[str, str], str]:
        """Where files went that lore name, and those that became of them, from step to step."""
        found: dict[tuple[str, str], str] = {}
        asked = {path for paths in self._named.values() for path in paths if path not in self._now}
        for _ in range(_MOST_MOVES):
            commits = {self._gone[path].oid: self._gone[path] for path in asked if path in self._gone}
            new = code_history.moved(self._repository, list(commits.values()))
            found |= new
            asked = {after for after in new.values() if after not in self._now}
            if not asked:
                break
        return found

    def _where(self, path: str) -> str:
        """Where a file is now that is gone from `path`; "" where git does not see it."""
        for _ in range(_MOST_MOVES):
            gone = self._gone.get(path)
            path = self._moves.get((gone.oid, path), "") if gone else ""
            if not path or path in self._now:
                break
        return path if path in self._now else ""

    def _said(self, hit: Hit) -> str:
        """The text of a lore, as its file says now."""
        try:
            raw = self._store.files.read(hit.path)
        except EngramError:
            return ""
        if raw.startswith(b"---"):
            raw = raw[max(0, raw.find(b"\n---", 3) + 4) :]
        return raw.decode("utf-8", "replace")


def _first_of_each(found: Sequence[Touch]) -> list[Touch]:
    """Of each path the earliest of these changes, which knows what stood there before."""
    return list({one.path: one for one in found}.values())


def _words(commit: Commit) -> str:
    from datetime import UTC, datetime

    day = times.render(datetime.fromtimestamp(commit.at, UTC))[:10]
    subject = commit.subject if len(commit.subject) <= _SUBJECT else f"{commit.subject[: _SUBJECT - 1]}…"
    return f"{commit.oid[:10]} of {day}, {subject}"
