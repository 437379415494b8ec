"""Clones of a whole store in memory: commits, branches and a remote, merged by the same function as real ones.

Git's data are in dictionaries, so that ten thousand histories take minutes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha1
from typing import TYPE_CHECKING, NamedTuple

from codec_strategies import CATEGORIES
from merge_kit import judge

from engram.adapters.files.frontmatter import codec
from engram.adapters.git.read.differences import Difference
from engram.adapters.git.read.objects import PLAIN, Entry, blob_oid
from engram.domain.entry import times, ulid
from engram.domain.entry.confidence import Vote, larger
from engram.domain.entry.lore import Lore
from engram.usecases.merge.tree_merge import Rules, Side, merge_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Files = dict[str, Entry]
    Edit = Callable[[Lore], Lore]

FOLDER = "lore"
START = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
NAMES = ("AAAAAAAA", "BBBBBBBB", "CCCCCCCC")
SKEWS = (timedelta(), timedelta(days=1), timedelta(days=-1))


class Commit(NamedTuple):
    """A commit as in git, and whether it is an automatic merge."""

    parents: tuple[str, ...]
    moment: int
    files: Files


class Repository:
    """All objects of all clones; the heads decide which clone can see which."""

    def __init__(self) -> None:
        self.commits: dict[str, Commit] = {}
        self.blobs: dict[str, bytes] = {}
        self._ancestors: dict[str, frozenset[str]] = {}

    def commit(self, parents: Iterable[str], moment: int, files: Files) -> str:
        found = Commit(tuple(parents), moment, files)
        name = sha1(repr((found.parents, moment, sorted(files.items()))).encode()).hexdigest()
        if name not in self.commits:
            self.commits[name] = found
            before = [self._ancestors[parent] for parent in found.parents]
            self._ancestors[name] = frozenset({name}).union(*before)
        return name

    def entry(self, raw: bytes) -> Entry:
        oid = blob_oid(raw, "sha1")
        self.blobs[oid] = raw
        return Entry(PLAIN, oid)

    def raw(self, commit: str, path: str) -> bytes:
        return self.blobs[self.commits[commit].files[path].oid]

    def has(self, commit: str, other: str) -> bool:
        """Return whether a commit equals or descends from another."""
        return other in self._ancestors[commit]

    def bases(self, one: str, other: str) -> list[str]:
        shared = self._ancestors[one] & self._ancestors[other]
        return sorted(name for name in shared if not any(name != at and self.has(at, name) for at in shared))

    def changed(self, base: str | None, commit: str) -> dict[str, Difference]:
        old = self.commits[base].files if base else {}
        new = self.commits[commit].files
        paths = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        return {path: Difference(old.get(path), new.get(path)) for path in paths}

    def merged(self, one: str, other: str, now: datetime, base: str | None = None) -> Files:
        """Return the files of a merge by Engram's rules, made at the time `now`."""
        base = base or self._base(self.bases(one, other), now)
        sides = [
            Side(name, self.commits[name].moment, self.changed(base, name)) for name in sorted((one, other))
        ]
        rules = Rules(FOLDER, CATEGORIES, "sha1", now)
        made = merge_trees(rules, *sides, lambda oids: {oid: self.blobs[oid] for oid in oids})
        self.accounts = made.accounts  # of format 1, for the ledger
        for raw in made.contents.values():
            self.entry(raw)
        files = {**self.commits[sides[0].commit].files, **made.edits}
        return {path: entry for path, entry in files.items() if entry}

    def merge(self, one: str, other: str, now: datetime) -> str:
        """Return the head after merging another: fast-forward, unchanged, or a merge commit."""
        if self.has(other, one):
            return other
        if self.has(one, other):
            return one
        moment = max(self.commits[name].moment for name in (one, other))
        return self.commit(sorted((one, other)), moment, self.merged(one, other, now))

    def _base(self, shared: list[str], now: datetime) -> str | None:
        base = shared[0] if shared else None
        for other in shared[1:]:
            assert base is not None
            base = self.merge(base, other, now)
        return base


class Clone:
    """A clone: its branches, the current one, its clock, and its votes outside git."""

    def __init__(self, repository: Repository, number: int, head: str, skew: timedelta) -> None:
        self.repository, self.name, self.skew = repository, NAMES[number], skew
        self.branches = {"main": head}
        self.branch = "main"
        self.votes: dict[str, Vote] = {}

    @property
    def head(self) -> str:
        return self.branches[self.branch]

    def take(self, head: str) -> None:
        self.branches[self.branch] = head

    def files(self) -> Files:
        return self.repository.commits[self.head].files

    def path(self, lore_id: str) -> str | None:
        """Return the current path of an entry in this clone."""
        for path, entry in sorted(self.files().items()):
            if id_of(self.repository.blobs[entry.oid]) == lore_id:
                return path
        return None

    def commit(self, moment: datetime, changes: dict[str, bytes | None]) -> None:
        """Commit these files, dated by this clone's clock."""
        files = dict(self.files())
        for path, raw in changes.items():
            if raw is None:
                del files[path]
            else:
                files[path] = self.repository.entry(raw)
        if files != self.files():
            self.take(self.repository.commit((self.head,), int((moment + self.skew).timestamp()), files))

    def edit(self, moment: datetime, path: str, edit: Edit) -> bool:
        """Change an entry as Engram does."""
        file = parsed(self.repository.raw(self.head, path))
        after = edit(file.lore)
        if after == file.lore:
            return False
        after = after._replace(updated_at=times.after(moment + self.skew, file.lore.updated_at))
        self.commit(moment, {path: codec.rewrite(file, after, CATEGORIES)})
        return True

    def vote(self, moment: datetime, path: str, kind: str) -> None:
        """Judge an entry, as `engram.usecases.recording.feedback` does."""

        def edit(lore: Lore) -> Lore:
            mine = larger([lore.votes.get(self.name, Vote()), self.votes.get(lore.id, Vote())])
            known = lore._replace(votes={**lore.votes, self.name: mine})
            self.votes[lore.id] = judge(mine, known.thousandths, kind)
            return known._replace(votes={**known.votes, self.name: self.votes[lore.id]})

        self.edit(moment, path, edit)


@cache
def parsed(raw: bytes) -> codec.LoreFile:
    """Read an entry's file, each version once per history."""
    return codec.read(raw, "lore/x.md", CATEGORIES, START)


def id_of(raw: bytes) -> str:
    return parsed(raw).lore.id


def new_lore(number: int, moment: datetime, text: str) -> tuple[str, bytes]:
    """Return the path and file of a new entry."""
    lore_id = ulid.encode(int(moment.timestamp() * 1000), number << 40 | number)
    lore = Lore(lore_id, text, "FACT", moment, moment, tags=("a", "b"))
    return f"{FOLDER}/n{number}--{lore_id}.md", codec.write_new(lore, CATEGORIES)
