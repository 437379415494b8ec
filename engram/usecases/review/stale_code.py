"""Find entries whose code changed: compare the files, names and versions they mention with the code repository.

An entry counts as valid when it was recorded, last found helpful or confirmed; only later changes are reported. A few
git processes read HEAD's history for all entries together: uncommitted changes do not count, and no file of the work
tree is opened.
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
from engram.usecases.store.code_repository import candidate_paths, code_repository, prefix_of
from engram.usecases.store.store import IN_TREE, Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.git.read.code_history import Commit, Touch
    from engram.adapters.git.run.layout import Repository
    from engram.adapters.index.catalog import Hit
    from engram.domain.review.code_changes import Finding

MOST_LORE = 10_000
_MOST_MANIFESTS = 40
_MOST_LEVELS = 2  # of folders above a manifest
_MOST_MOVES = 8
_MOST_SUBJECT = 80  # characters of a commit subject


class Stale(NamedTuple):
    """An entry and the changes of the code it mentions, most severe first; `since` in Unix seconds."""

    hit: Hit
    since: float
    findings: tuple[Finding, ...]


def stale_code(store: Store, hits: Sequence[Hit]) -> list[Stale]:
    """Find entries whose code changed, most severe first; none if no repository can be read."""
    repository = code_repository(store)
    if repository is None or not hits:
        return []
    try:
        code = _Code(store, repository, hits[:MOST_LORE])
        found = [Stale(hit, code.since(hit), findings) for hit in code.hits if (findings := code.check(hit))]
    except EngramError:
        return []
    return sorted(found, key=lambda one: (one.findings[0].grade, -one.findings[0].lines, one.hit.id))


class _Code:
    """The parts of a code repository that these entries mention."""

    def __init__(self, store: Store, repository: Repository, hits: Sequence[Hit]) -> None:
        self._store, self._repository, self.hits = store, repository, hits
        self._now = code_history.files_now(repository)
        manifests = [path for path in self._now if path.count("/") <= _MOST_LEVELS and is_manifest(path)]
        self._manifests = manifests[:_MOST_MANIFESTS]
        self._prefix = prefix_of(store, repository)
        self._mentioned = {hit.id: self._paths(hit) for hit in hits if hit.files}
        self._later: dict[tuple[str, str], list[Touch]] = {}
        self._read_history()
        self._texts = self._read_texts()
        self._parsed: dict[tuple[str, str], dict[str, str]] = {}

    def since(self, hit: Hit) -> float:
        """Return when an entry was last known to be valid."""
        return max(hit.created_at, hit.last_validated or 0)

    def check(self, hit: Hit) -> tuple[Finding, ...]:
        """List the changes of the code that an entry mentions, most severe first."""
        paths = self._mentioned.get(hit.id, ())
        found = [finding for path in paths for finding in self._check_file(hit, path)]
        needs_text = self._manifests or any(self._later_touches(hit, path) for path in paths)
        text = self._read_text(hit) if needs_text else ""
        found += self._check_symbols(hit, text) + self._check_versions(hit, text)
        return tuple(sorted(found, key=lambda finding: (finding.grade, -finding.lines)))

    def _paths(self, hit: Hit) -> list[str]:
        files = hit.files.split("\n")
        return [path for file in files for path in candidate_paths(self._repository, self._prefix, file)]

    def _read_history(self) -> None:
        """Collect the commits that touched mentioned paths and manifests, and the commits that deleted files."""
        wanted = {path for paths in self._mentioned.values() for path in paths} | set(self._manifests)
        own = {}
        if self._store.places.placement == IN_TREE:
            own = {posixpath.join(self._prefix, hit.path): hit.id for hit in self.hits}
        self._touches: dict[str, list[Touch]] = {}
        self._deleted: dict[str, Commit] = {}
        self._recorded: dict[str, int] = {}
        for touch in code_history.touches(self._repository, min(map(self.since, self.hits))):
            if touch.after is None:
                self._deleted.setdefault(touch.path, touch.commit)
            if touch.path in own and touch.before is None:
                self._recorded[own[touch.path]] = touch.commit.number
            folder = touch.path
            while folder:  # an entry may name a folder
                if folder in wanted:
                    self._touches.setdefault(folder, []).append(touch)
                folder = folder.rpartition("/")[0]

    def _later_touches(self, hit: Hit, path: str) -> list[Touch]:
        """Return the changes of a path since an entry was known to be valid, last first.

        If the entry is in the same repository, changes committed with it do not count. A file that did not exist yet
        counts from its first version.
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

    def _check_file(self, hit: Hit, path: str) -> list[Finding]:
        found = self._later_touches(hit, path)
        if not found:
            return []
        last = _format_commit(found[0].commit)
        if found[0].path == path and path not in self._now:
            return [changes.file_gone(path, self._find_moved(path), last)]
        lines = self._count_lines(found) if self._differs(found) else changes.Lines(0, 0, 0)
        if lines is not None and not changes.is_substantial(lines):
            return []
        return [changes.file_changed(path, len({one.commit.oid for one in found}), lines, last)]

    def _differs(self, found: Sequence[Touch]) -> bool:
        return any(self._now.get(one.path) != one.before for one in _first_of_each(found))

    def _count_lines(self, found: Sequence[Touch]) -> changes.Lines | None:
        """Count the lines added, removed and present before; None if a file is not text or too large."""
        added = removed = total = 0
        for touch in _first_of_each(found):
            oids = (touch.before, self._now.get(touch.path))
            if any(oid is not None and oid not in self._texts for oid in oids):
                return None
            before, after = (self._texts[oid] if oid else "" for oid in oids)
            more, less = changes.changed_lines(before, after)
            added, removed, total = added + more, removed + less, total + before.count("\n")
        return changes.Lines(added, removed, total)

    def _check_symbols(self, hit: Hit, text: str) -> list[Finding]:
        """Find identifiers that were in a file when the entry was valid, and are in none of its files now."""
        existing = [path for path in self._mentioned.get(hit.id, ()) if path in self._now]
        changed = [(path, touched) for path in existing if (touched := self._later_touches(hit, path))]
        if not changed:
            return []
        now = "\n".join(self._texts.get(self._now[path], "") for path in existing)
        found = []
        for name in identifiers(text):
            for path, touched in changed:
                before = self._texts.get(touched[-1].before or "", "")
                if (
                    changes.is_named(name, before)
                    and not changes.is_named(name, now)
                    and self._now[path] in self._texts
                ):
                    found.append(changes.symbol_gone(name, path, before, _format_commit(touched[0].commit)))
                    break
        return found

    def _check_versions(self, hit: Hit, text: str) -> list[Finding]:
        """Find versions in the text that matched a lock or manifest file then, and match none now."""
        found = {}
        if not text or not may_name(text, self._first_words):
            return []
        for claim in version_claims(text, self._dependencies):
            then = {path: self._versions_then(hit, path).get(claim.name, "") for path in self._manifests}
            now = {
                path: self._versions(path, self._now[path]).get(claim.name, "") for path in self._manifests
            }
            matching = [path for path, version in then.items() if claim.holds_for(version)]
            if matching and not any(claim.holds_for(version) for version in now.values()):
                path = min(matching, key=lambda path: (not is_lock(path), path))
                found[claim] = changes.version_changed(claim.text, then[path], now[path], path)
        return list(found.values())

    @cached_property
    def _dependencies(self) -> set[str]:
        """The dependencies that a manifest names or named."""
        found = {name for path in self._manifests for name in self._versions(path, self._now[path])}
        for path in self._manifests:
            for touch in self._touches.get(path, ()):
                found.update(self._versions(path, touch.before or ""))
        return found

    @cached_property
    def _first_words(self) -> frozenset[str]:
        return first_words(self._dependencies)

    def _versions_then(self, hit: Hit, path: str) -> dict[str, str]:
        """Return the versions in a manifest when the entry was last known to be valid."""
        touched = self._later_touches(hit, path)
        return self._versions(path, (touched[-1].before if touched else self._now[path]) or "")

    def _versions(self, path: str, oid: str) -> dict[str, str]:
        if (path, oid) not in self._parsed:
            self._parsed[path, oid] = versions(path, self._texts[oid]) if oid in self._texts else {}
        return self._parsed[path, oid]

    def _read_texts(self) -> dict[str, str]:
        """Read the texts to compare: all versions of manifests, and files then and now."""
        oids = [self._now[path] for path in self._manifests]
        oids += [touch.before or "" for path in self._manifests for touch in self._touches.get(path, ())]
        for hit in self.hits:
            for path in self._mentioned.get(hit.id, ()):
                touched = _first_of_each(self._later_touches(hit, path))
                oids += [touch.before or "" for touch in touched]
                oids += [self._now.get(touch.path, "") for touch in touched]
                if touched:
                    oids += [self._now.get(other, "") for other in self._mentioned[hit.id]]
        return code_history.texts(self._repository, [oid for oid in oids if oid])

    @cached_property
    def _moves(self) -> dict[tuple[str, str], str]:
        """The renames of mentioned files, followed from commit to commit."""
        found: dict[tuple[str, str], str] = {}
        missing = {path for paths in self._mentioned.values() for path in paths if path not in self._now}
        for _ in range(_MOST_MOVES):
            commits = {
                self._deleted[path].oid: self._deleted[path] for path in missing if path in self._deleted
            }
            moves = code_history.find_moves(self._repository, list(commits.values()))
            found |= moves
            missing = {after for after in moves.values() if after not in self._now}
            if not missing:
                break
        return found

    def _find_moved(self, path: str) -> str:
        """Return the present path of a file that was moved from `path`; "" if git does not detect a rename."""
        for _ in range(_MOST_MOVES):
            commit = self._deleted.get(path)
            path = self._moves.get((commit.oid, path), "") if commit else ""
            if not path or path in self._now:
                break
        return path if path in self._now else ""

    def _read_text(self, hit: Hit) -> str:
        """Read the text of an entry from its file."""
        raw = self._store.files.read_if_possible(hit.path) or b""
        if raw.startswith(b"---"):
            raw = raw[max(0, raw.find(b"\n---", 3) + 4) :]
        return raw.decode("utf-8", "replace")


def _first_of_each(found: Sequence[Touch]) -> list[Touch]:
    """Return the earliest change of each path: it has the content from before all of them."""
    return list({touch.path: touch for touch in found}.values())


def _format_commit(commit: Commit) -> str:
    from datetime import UTC, datetime

    day = times.render(datetime.fromtimestamp(commit.at, UTC))[:10]
    subject = (
        commit.subject if len(commit.subject) <= _MOST_SUBJECT else f"{commit.subject[: _MOST_SUBJECT - 1]}…"
    )
    return f"{commit.oid[:10]} of {day}, {subject}"
