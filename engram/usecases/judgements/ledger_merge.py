"""Merge two commits of the branch of judgements: the result has every line of both, and is the same on every machine.

No common ancestor is needed for that, and no line is taken for deleted: one that a squash, a revert or a merge by
`-s ours` dropped is there again after the next merge with a commit that has it. Only the file `erased` takes lines away.
"""

from __future__ import annotations

from engram.adapters.git.read import objects
from engram.adapters.git.read.differences import Difference, differences, sizes
from engram.adapters.git.run import layout
from engram.adapters.git.write import ledger_branch, merge_commit
from engram.adapters.git.write.create import ATTRIBUTES
from engram.domain.errors import GitError
from engram.domain.judgements import erasure, ledger
from engram.domain.sync.sync_plan import REGULAR, clash
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.adapters.git.read.objects import Entry
    from engram.adapters.git.run.layout import Repository

LARGEST = 4 * ledger.LARGEST_FILE  # bytes of a file that is read to be merged: no clone of ours writes such
AT_ONCE = 64 * 1024 * 1024  # bytes read by one git process


class _Tree(NamedTuple):
    """A tree as differences from a commit: entries by path (None: nothing), and the bytes of new contents by path."""

    edits: dict[str, Entry | None]
    contents: dict[str, bytes]


def merge_tips(repo: Repository, branch: str, tips: Sequence[str]) -> bool:
    """Merge commits into the local branch of judgements; whether it moved. Raises GitError."""
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
    """Return the commit with all that two commits have: one of them, or a new one that no branch has yet.

    Raises GitError, also where one of two that share no history holds no judgements.
    """
    bases = merge_commit.bases(repo, one, other)
    if not bases:
        check_is_ledger(repo, one)
        check_is_ledger(repo, other)
    parents = [other] if one in bases else [one] if other in bases else sorted((one, other))
    upon = parents[0]
    rest = other if upon == one else one
    made = _merge_trees(repo, upon, rest, bases[0] if bases else None)
    if len(parents) == 1 and not made.edits:
        return upon
    message = "" if len(parents) == 2 else f"{ledger.RESTORED}\n"
    moment = max(merge_commit.moments(repo, parents))
    return merge_commit.write_merge(repo, parents, made.edits, made.contents, moment, message, upon=upon)


def check_is_ledger(repo: Repository, commit: str) -> None:
    """Raise GitError where a commit has files, but no judgements: then the branch belongs to somebody else."""
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
    lists = [path for path in found if path == ledger.ERASED]
    ledgers = [path for path in found if ledger.source_of(path) is not None]
    made = _Tree({}, {})
    _unite(repo, {path: found[path] for path in ledgers}, made)
    others = {path: one for path, one in found.items() if path not in {*ledgers, *lists}}
    _choose(repo, others, base, made)
    erased = _read_erased(repo, upon, found.get(ledger.ERASED))
    if lists:
        made.edits[ledger.ERASED] = objects.Entry(objects.PLAIN, "")
        made.contents[ledger.ERASED] = erasure.render(erased)
    _erase(repo, upon, erased, made, everywhere=bool(lists))
    _make_room(found, made)
    return _without_what_is_there(repo, upon, found, made)


def _unite(repo: Repository, found: Mapping[str, Difference], made: _Tree) -> None:
    """Unite each ledger that differs."""
    both: dict[str, tuple[Entry, ...]] = {}
    for path, (before, after) in found.items():
        if before and after and before.mode in REGULAR and after.mode in REGULAR:
            both[path] = (before, after)
        elif after and (before is None or after.mode in REGULAR):
            made.edits[path] = after
    for read in _read(repo, both):
        for path, (one, other) in read.items():
            made.edits[path] = both[path][0]
            made.contents[path] = ledger.unite(one, other)
    for path in both.keys() - made.edits.keys():  # too large to be read
        made.edits[path] = max(both[path])


def _choose(repo: Repository, found: Mapping[str, Difference], base: str | None, made: _Tree) -> None:
    """Take the version that changed since the base, of every file that is no ledger; of two changed ones the larger id."""
    before = objects.entries(repo, base, found) if found else {}
    for path, (one, other) in found.items():
        if before.get(path) == one:
            made.edits[path] = other
        elif before.get(path) != other:
            made.edits[path] = max(one, other, key=lambda entry: entry or ("", ""))


def _read_erased(repo: Repository, commit: str, lists: Difference | None) -> frozenset[str]:
    """Return what a commit lists as erased, or, where two differ in that, what at least one of them does."""
    found = lists or (objects.entries(repo, commit, [ledger.ERASED]).get(ledger.ERASED),)
    oids = dict.fromkeys(one.oid for one in found if one and one.mode in REGULAR)
    return frozenset().union(*(erasure.parse(raw) for raw in ledger_branch.contents(repo, oids).values()))


def _erase(repo: Repository, upon: str, erased: frozenset[str], made: _Tree, *, everywhere: bool) -> None:
    """Take what is erased out of the files that are new, or `everywhere`."""
    if not erased:
        return
    files = ledger_branch.files(repo, upon) if everywhere else {}
    files |= {path: entry for path, entry in made.edits.items() if entry}
    months = erasure.months(erased)
    concerned = {path: one for path, one in files.items() if erasure.may_hold(path, erased, months)}
    for path in concerned.keys() & made.contents.keys():
        _keep(made, path, erasure.without(path, made.contents[path], erased))
    for read in _read(repo, {path: (one,) for path, one in concerned.items() if path not in made.contents}):
        for path, (raw,) in read.items():
            left = erasure.without(path, raw, erased)
            if left != raw:
                _keep(made, path, left)


def _keep(made: _Tree, path: str, left: bytes) -> None:
    made.edits[path] = objects.Entry(objects.PLAIN, "") if left else None
    made.contents.pop(path, None)
    if left:
        made.contents[path] = left


def _make_room(found: Mapping[str, Difference], made: _Tree) -> None:
    """Leave out a file that has the name of a folder: no ledger is in the way of another one, so it is none."""
    present = {path for path, one in found.items() if made.edits.get(path, one.before)}
    while blocking := clash(present):
        present.discard(blocking)
        made.edits[blocking] = None
        made.contents.pop(blocking, None)


def _without_what_is_there(
    repo: Repository, upon: str, found: Mapping[str, Difference], made: _Tree
) -> _Tree:
    """Return the edits without those that change nothing in `upon`."""
    algorithm = layout.hash_name(repo)
    unknown = [path for path in made.edits if path not in found]
    before = objects.entries(repo, upon, unknown) if unknown else {}
    before |= {path: one.before for path, one in found.items() if one.before}
    edits: dict[str, Entry | None] = {}
    for path, entry in made.edits.items():
        new = entry
        if path in made.contents:
            new = objects.Entry(objects.PLAIN, objects.blob_oid(made.contents[path], algorithm))
        if new != before.get(path):
            edits[path] = new
    return _Tree(edits, {path: raw for path, raw in made.contents.items() if path in edits})


def _read(
    repo: Repository, wanted: Mapping[str, tuple[Entry, ...]]
) -> Iterator[dict[str, tuple[bytes, ...]]]:
    """Yield the contents of files by path, some at a time; one that is too large is left out."""
    if not wanted:
        return
    known = sizes(repo, (entry.oid for entries in wanted.values() for entry in entries))
    some: dict[str, tuple[Entry, ...]] = {}
    size = 0
    for path, entries in wanted.items():
        largest = max(known.get(entry.oid, 0) for entry in entries)
        if largest > LARGEST:
            continue
        if some and size + largest * len(entries) > AT_ONCE:
            yield _contents(repo, some)
            some, size = {}, 0
        some[path] = entries
        size += sum(known.get(entry.oid, 0) for entry in entries)
    yield _contents(repo, some)


def _contents(repo: Repository, some: Mapping[str, tuple[Entry, ...]]) -> dict[str, tuple[bytes, ...]]:
    raws = ledger_branch.contents(repo, (entry.oid for entries in some.values() for entry in entries))
    return {path: tuple([raws[entry.oid] for entry in entries]) for path, entries in some.items()}
