"""What one side did to a lore that the other, which did not know, folded into another one meanwhile.

The lore stays gone, but what was said of it was said of what it now is part of: its votes go to the lore that took it
in, and so does what was folded into it, along all the folds of both sides. Each is counted once, however often it comes.
"""

from __future__ import annotations

from datetime import UTC, datetime

from engram.adapters.files.frontmatter import codec
from engram.domain.errors import LoreFileError
from engram.domain.similarity.deduplicate import carry_votes, fold_later
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.adapters.git.read.differences import Difference
    from engram.adapters.git.read.tree import Entry
    from engram.domain.entry.lore import Lore
    from engram.usecases.merge.tree_merge import Reader, Rules, Tree

    Changed = Mapping[str, Difference]


class Gone(NamedTuple):
    """A lore that one side deleted: its path, its bytes on the side that changed it, and what the other side changed.

    `stays` says that more was done than to vote for it: it is left for a person where none is found that took it in.
    """

    path: str
    raw: bytes
    deleted_by: Changed
    stays: bool = False


def follow_folds(
    rules: Rules, read: Reader, gone: Sequence[Gone], first: Changed, made: Tree
) -> dict[str, tuple[Entry, bytes | None]]:
    """What becomes of files for that, by path: the entry in the merged tree so far, and the new bytes (None: it goes).

    The merged tree is that of the side that changed `first`, with the edits of `made`.
    """
    return _Following(rules, read, gone, first, made).done() if gone else {}


class _Following:
    """The lore of one merge that go, and those that take them in."""

    def __init__(self, rules: Rules, read: Reader, gone: Sequence[Gone], first: Changed, made: Tree) -> None:
        self._rules, self._read, self._first, self._made = rules, read, first, made
        self._gone = {item.path: item for item in gone}
        self._hosts = {id(changed): self._taken_in(changed) for changed in (item.deleted_by for item in gone)}
        self._found: dict[str, tuple[Entry, bytes | None]] = {}

    def done(self) -> dict[str, tuple[Entry, bytes | None]]:
        """All of them."""
        for path, item in self._gone.items():
            lost, host = self._parsed(path, item.raw), self._last_host(path)
            file = self._parsed(host, self._bytes(host)) if lost and host else None
            if lost is None or file is None:
                continue
            after = fold_later(file.lore, lost.lore) if item.stays else _with(file.lore, lost.lore)
            if after is None:
                continue
            self._found[host] = self._entry(host), codec.rewrite(file, after, self._rules.categories)
            if item.stays:
                self._found[path] = self._entry(path), None
        return self._found

    def _last_host(self, path: str) -> str:
        """The lore that has this one in the end; "" where there is none, or they have each other."""
        seen = {path}
        while path in self._gone:
            item = self._gone[path]
            lost = self._parsed(path, item.raw)
            path = self._hosts[id(item.deleted_by)].get(lost.lore.id, "") if lost else ""
            if path in seen or not path:
                return ""
            seen.add(path)
        return path if self._entry_of(path) is not None else ""

    def _taken_in(self, changed: Changed) -> dict[str, str]:
        """Where the lore are, by the id of each that one side's changed lore say they took in."""
        paths = [path for path in sorted(changed) if sync_plan.is_lore(path, self._rules.folder)]
        entries = {
            path: entry
            for path in paths
            if (entry := changed[path].after) and entry.mode in sync_plan.REGULAR
        }
        held = self._read(entry.oid for entry in entries.values())
        found: dict[str, str] = {}
        for path, entry in entries.items():
            raw = held[entry.oid]
            file = self._parsed(path, raw) if b"merged_from" in raw else None
            for lore_id in file.lore.merged_from if file is not None else ():
                found.setdefault(lore_id, path)
        return found

    def _entry_of(self, path: str) -> Entry | None:
        if path in self._made.edits:
            return self._made.edits[path]
        return self._first[path].after if path in self._first else None

    def _entry(self, path: str) -> Entry:
        entry = self._entry_of(path)
        assert entry is not None
        return entry

    def _bytes(self, path: str) -> bytes:
        known = self._found[path][1] if path in self._found else self._made.contents.get(path)
        entry = self._entry(path)
        return known or self._read([entry.oid])[entry.oid]

    def _parsed(self, path: str, raw: bytes) -> LoreFile | None:
        try:
            return codec.read(raw, path, self._rules.categories, datetime.fromtimestamp(0, UTC))
        except LoreFileError:
            return None


def _with(host: Lore, lost: Lore) -> Lore:
    stamps = [stamp for stamp in (host.last_validated, lost.last_validated) if stamp is not None]
    return host._replace(
        votes=carry_votes(host.votes, lost.votes, lost.id),
        last_validated=max(stamps, default=None),
        updated_at=max(host.updated_at, lost.updated_at),
    )
