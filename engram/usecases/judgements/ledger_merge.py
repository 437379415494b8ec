"""Merge two commits of the branch of judgements: the result has every line of both, and is the same on every machine.

That needs no common ancestor, and no line counts as deleted: one that a squash, a revert or a merge with `-s ours`
dropped returns with the next merge of a commit that has it. Only the file `erased` removes lines.
"""

from __future__ import annotations

from engram.adapters.git.read import objects
from engram.adapters.git.read.differences import Difference, differences, sizes
from engram.adapters.git.run import layout
from engram.adapters.git.write import ledger_branch, merge_commit
from engram.adapters.git.write.create import ATTRIBUTES
from engram.domain.errors import GitError
from engram.domain.judgements import erasure, ledger
from engram.domain.sync.sync_plan import REGULAR, find_clash
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.adapters.git.read.objects import Entry
    from engram.adapters.git.run.layout import Repository

LARGEST = 4 * ledger.LARGEST_FILE  # bytes; larger files, which Engram never writes, are not merged
_BATCH_BYTES = 64 * 1024 * 1024  # read by one git process


class _Tree(NamedTuple):
    """A tree as differences from a commit: entries by path (None: deleted), and new contents by path."""

    edits: dict[str, Entry | None]
    contents: dict[str, bytes]


def merge_tips(repo: Repository, branch: str, tips: Sequence[str]) -> bool:
    """Merge commits into the local branch of judgements; return whether it moved. Raises GitError."""
    if not tips:
        return False
    for _ in range(ledger_branch.ATTEMPTS):
        ours = ledger_branch.tip(repo, branch)
        new = ours
        for other in sorted(set(tips) - {ours}):
            if new is None:
                check_is_ledger(repo, other)
            new = other if new is None else merge_commits(repo, new, other)
        if new is None or new == ours:
            return False
        if ledger_branch.move(repo, branch, ours, new):
            return True
    raise ledger_branch.move_error()


def merge_commits(repo: Repository, one: str, other: str) -> str:
    """Return a commit with all lines of two commits: one of them, or a new one that is on no branch yet.

    Raises GitError, also if they share no history and one of them contains no judgements.
    """
    bases = merge_commit.bases(repo, one, other)
    if not bases:
        check_is_ledger(repo, one)
        check_is_ledger(repo, other)
    parents = [other] if one in bases else [one] if other in bases else sorted((one, other))
    upon = parents[0]
    merged = _merge_trees(repo, upon, other if upon == one else one, bases[0] if bases else None)
    if len(parents) == 1 and not merged.edits:
        return upon
    message = "" if len(parents) == 2 else f"{ledger.RESTORED}\n"
    moment = max(merge_commit.moments(repo, parents))
    return merge_commit.write_merge(repo, parents, merged.edits, merged.contents, moment, message, upon=upon)


def check_is_ledger(repo: Repository, commit: str) -> None:
    """Raise GitError if a commit has files but no judgements: the branch is then used for something else."""
    files = ledger_branch.files(repo, commit)
    if not files or any(erasure.source_of(path) is not None for path in files):
        return
    attributes = files.get(ATTRIBUTES)
    lines = ledger_branch.contents(repo, [attributes.oid])[attributes.oid] if attributes else b""
    if ledger_branch.UNION.encode() not in lines.splitlines():
        raise GitError(
            f"The commit {commit[:10]} is on the branch of judgements, but holds none; nothing was changed.",
            "Keep judgements on a branch for nothing else: engram config judgements.branch NAME",
        )


def _merge_trees(repo: Repository, upon: str, rest: str, base: str | None) -> _Tree:
    found = differences(repo, upon, rest)
    ledgers = {path: change for path, change in found.items() if ledger.source_of(path) is not None}
    merged = _Tree({}, {})
    _unite_ledgers(repo, ledgers, merged)
    others = {path: change for path, change in found.items() if path not in ledgers and path != ledger.ERASED}
    _choose_versions(repo, others, base, merged)
    erased = _read_erased(repo, upon, found.get(ledger.ERASED))
    is_list_changed = ledger.ERASED in found
    if is_list_changed:
        merged.edits[ledger.ERASED] = objects.Entry(objects.PLAIN, "")
        merged.contents[ledger.ERASED] = erasure.render(erased)
    _erase(repo, upon, erased, merged, everywhere=is_list_changed)
    _remove_clashing(found, merged)
    return _without_unchanged(repo, upon, found, merged)


def _unite_ledgers(repo: Repository, ledgers: Mapping[str, Difference], merged: _Tree) -> None:
    """Unite the versions of each ledger that differs."""
    both: dict[str, tuple[Entry, ...]] = {}
    for path, (before, after) in ledgers.items():
        if before and after and before.mode in REGULAR and after.mode in REGULAR:
            both[path] = (before, after)
        elif after and (before is None or after.mode in REGULAR):
            merged.edits[path] = after
    for contents in _read_in_batches(repo, both):
        for path, (one, other) in contents.items():
            merged.edits[path] = both[path][0]
            merged.contents[path] = ledger.unite(one, other)
    for path in both.keys() - merged.edits.keys():  # too large to be read
        merged.edits[path] = max(both[path])


def _choose_versions(
    repo: Repository, found: Mapping[str, Difference], base: str | None, merged: _Tree
) -> None:
    """Take the version that changed since the base, or the one with the larger id, of files that are no ledgers."""
    before = objects.entries(repo, base, found) if found else {}
    for path, (one, other) in found.items():
        if before.get(path) == one:
            merged.edits[path] = other
        elif before.get(path) != other:
            merged.edits[path] = max(one, other, key=lambda entry: entry or ("", ""))


def _read_erased(repo: Repository, commit: str, lists: Difference | None) -> frozenset[str]:
    """Return the ids that a commit lists as erased, or that at least one of two differing lists has."""
    found = lists or (objects.entries(repo, commit, [ledger.ERASED]).get(ledger.ERASED),)
    oids = dict.fromkeys(entry.oid for entry in found if entry and entry.mode in REGULAR)
    return frozenset().union(*(erasure.parse(raw) for raw in ledger_branch.contents(repo, oids).values()))


def _erase(repo: Repository, upon: str, erased: frozenset[str], merged: _Tree, *, everywhere: bool) -> None:
    """Remove erased lines from the files that changed, or `everywhere`."""
    if not erased:
        return
    files = ledger_branch.files(repo, upon) if everywhere else {}
    files |= {path: entry for path, entry in merged.edits.items() if entry}
    months = erasure.months(erased)
    candidates = {path: entry for path, entry in files.items() if erasure.may_hold(path, erased, months)}
    for path in candidates.keys() & merged.contents.keys():
        _set_content(merged, path, erasure.without(path, merged.contents[path], erased))
    unread = {path: (entry,) for path, entry in candidates.items() if path not in merged.contents}
    for contents in _read_in_batches(repo, unread):
        for path, (raw,) in contents.items():
            left = erasure.without(path, raw, erased)
            if left != raw:
                _set_content(merged, path, left)


def _set_content(merged: _Tree, path: str, content: bytes) -> None:
    """Set the content of a file; delete it if it is empty."""
    merged.edits[path] = objects.Entry(objects.PLAIN, "") if content else None
    merged.contents.pop(path, None)
    if content:
        merged.contents[path] = content


def _remove_clashing(found: Mapping[str, Difference], merged: _Tree) -> None:
    """Remove files with the name of a folder: they are no ledgers, whose names never clash."""
    present = {path for path, change in found.items() if merged.edits.get(path, change.before)}
    while blocking := find_clash(present):
        present.discard(blocking)
        _set_content(merged, blocking, b"")


def _without_unchanged(repo: Repository, upon: str, found: Mapping[str, Difference], merged: _Tree) -> _Tree:
    """Return the tree without edits that change nothing in `upon`."""
    algorithm = layout.hash_name(repo)
    unknown = [path for path in merged.edits if path not in found]
    before = objects.entries(repo, upon, unknown) if unknown else {}
    before |= {path: change.before for path, change in found.items() if change.before}
    edits: dict[str, Entry | None] = {}
    for path, entry in merged.edits.items():
        new = entry
        if path in merged.contents:
            new = objects.Entry(objects.PLAIN, objects.blob_oid(merged.contents[path], algorithm))
        if new != before.get(path):
            edits[path] = new
    return _Tree(edits, {path: raw for path, raw in merged.contents.items() if path in edits})


def _read_in_batches(
    repo: Repository, files: Mapping[str, tuple[Entry, ...]]
) -> Iterator[dict[str, tuple[bytes, ...]]]:
    """Yield the contents of files by path in batches, without files that are too large."""
    if not files:
        return
    size_of = sizes(repo, (entry.oid for entries in files.values() for entry in entries))
    batch: dict[str, tuple[Entry, ...]] = {}
    size = 0
    for path, entries in files.items():
        largest = max(size_of.get(entry.oid, 0) for entry in entries)
        if largest > LARGEST:
            continue
        if batch and size + largest * len(entries) > _BATCH_BYTES:
            yield _read(repo, batch)
            batch, size = {}, 0
        batch[path] = entries
        size += sum(size_of.get(entry.oid, 0) for entry in entries)
    yield _read(repo, batch)


def _read(repo: Repository, files: Mapping[str, tuple[Entry, ...]]) -> dict[str, tuple[bytes, ...]]:
    raws = ledger_branch.contents(repo, (entry.oid for entries in files.values() for entry in entries))
    return {path: tuple([raws[entry.oid] for entry in entries]) for path, entries in files.items()}
