"""Differences between two commits, file by file, and the bytes of many files at once."""

from __future__ import annotations

import hashlib
import os

from engram.adapters.git.read import objects
from engram.adapters.git.read.blob_stream import lacking
from engram.adapters.git.read.objects import Entry
from engram.adapters.git.run import layout
from engram.adapters.git.run.runner import MOST_MEMORY, limits_memory, listing, listing_error, run
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engram.adapters.git.run.layout import Repository

SECONDS = 120.0
DEEPEST = 8192  # bytes of a path; far beyond that git itself breaks
FOLDERS_PER_CALL = 100
FAR_FROM_MANY = 200_000  # files; about half of what `listing` takes
AT_ONCE = 4000  # objects read by one git process
_NO_FILE, _FOLDER = "000000", "040000"  # modes
_RAW = ("-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff")
_LITTLE_MEMORY = 128 * 1024 * 1024  # bytes: git takes some 400 for each file that differs
# Answers about pairs of commits, which never change; a sync asks for the same few again and again.
_REMEMBERED = 12
_LARGEST_REMEMBERED = 5000  # paths or commits


class Difference(NamedTuple):
    """What two commits have at one path; None is nothing. Links and submodules have modes of their own."""

    before: Entry | None
    after: Entry | None


def empty_tree(repo: Repository) -> str:
    """Return the id of the empty tree, which git knows without having it."""
    return hashlib.new(layout.hash_name(repo), b"tree 0\0", usedforsecurity=False).hexdigest()


_known: dict[tuple[str, str | None, str], dict[str, Difference]] = {}
_countable: set[tuple[str, str]] = set()
_measured: dict[tuple[str, str | None, str], dict[str, int]] = {}
_outgoing: dict[tuple[str, str | None, str], list[str]] = {}


def differences(
    repo: Repository, before: str | None, after: str, memory: int = MOST_MEMORY
) -> dict[str, Difference]:
    """Return each path that differs between two commits or trees; without `before`, all that `after` holds.

    Both are full ids, so that the answer can be cached. Raises GitError, also for more files than can be listed, and than
    fit into so many bytes of `memory`.
    """
    if before == after:
        return {}
    asked = (repo.common_dir, before, after)
    found = _known.get(asked)
    if found is None:
        words = ("diff-tree", "-r", *_RAW, before or empty_tree(repo), after)
        found = dict(_parse(listing(repo, *words, deadline=SECONDS, memory=memory)))
        learn(repo, before, after, found)
    return dict(found)


def differences_and_folders(
    repo: Repository, before: str, after: str
) -> tuple[dict[str, Difference], dict[str, str]]:
    """Return the differences, and by path the ids of the folders of `after` on the way to them, but for the top one.

    For commits of this clone's own: how deep the folders of others may be is not checked here. Raises GitError.
    """
    if before == after:
        return {}, {}
    listed = listing(repo, "diff-tree", "-r", "-t", *_RAW, before, after, deadline=SECONDS)
    files, folders = dict[str, Difference](), dict[str, str]()
    for path, found in _parse(listed):
        if _FOLDER not in (entry.mode for entry in found if entry):
            files[path] = found
        elif found.after:
            folders[path] = found.after.oid
    learn(repo, before, after, files)
    return files, folders


def between(one: dict[str, Difference], other: dict[str, Difference]) -> dict[str, Difference]:
    """Return the differences between two commits from their differences from the same third."""
    found: dict[str, Difference] = {}
    for path in sorted(one.keys() | other.keys()):
        base = (one if path in one else other)[path].before
        before = one[path].after if path in one else base
        after = other[path].after if path in other else base
        if before != after:
            found[path] = Difference(before, after)
    return found


def learn(repo: Repository, before: str | None, after: str, found: dict[str, Difference]) -> None:
    """Cache an answer of `differences` that is known without asking git."""
    if len(found) > _LARGEST_REMEMBERED:
        return
    while len(_known) >= _REMEMBERED:
        _known.pop(next(iter(_known)), None)
    _known[repo.common_dir, before, after] = found


def _parse(listed: bytes) -> Iterator[tuple[str, Difference]]:
    parts = os.fsdecode(listed).split("\0")
    for facts, path in zip(parts[0::2], parts[1::2], strict=False):
        old_mode, mode, old, new, kind = facts[1:].split(" ")
        is_new, is_gone = kind == "A", kind == "D"
        yield (
            path,
            Difference(None if is_new else Entry(old_mode, old), None if is_gone else Entry(mode, new)),
        )


def check_countable(repo: Repository, commit: str, since: str | None = None) -> None:
    """Raise GitError where a commit holds more files, or deeper folders, than can be listed.

    `since` is a commit of this clone's own history, which was checked before: then only the differences are checked.
    """
    if (repo.common_dir, commit) in _countable:
        return
    if since is None or not _adds_few(repo, since, commit):
        # Unlike diff-tree, ls-tree prints what it finds at once, so that it can be stopped.
        listed = listing(repo, "ls-tree", "-r", "-z", "--name-only", commit, deadline=SECONDS)
        if max(map(len, listed.split(b"\0"))) > DEEPEST:
            raise listing_error((), "The folders of a commit are nested too deeply to be listed")
    if len(_countable) >= _REMEMBERED:
        _countable.clear()
    _countable.add((repo.common_dir, commit))


def _adds_few(repo: Repository, since: str, commit: str) -> bool:
    """Return whether all differences can be listed, and are far below the limit together with the files that are here."""
    if not limits_memory():
        return False
    try:
        paths = differences(repo, since, commit, _LITTLE_MEMORY)
    except GitError:  # listing the files will raise the right error
        return False
    deepest = max((len(os.fsencode(path)) for path in paths), default=0)
    return deepest <= DEEPEST and layout.staged_files(repo) + len(paths) <= FAR_FROM_MANY


def commit_sizes(repo: Repository, ours: str | None, theirs: str) -> dict[str, int]:
    """Return how many bytes each commit has (message, signature and all) that `theirs` has and `ours` has not."""
    asked = (repo.common_dir, ours, theirs)
    if ours == theirs:
        return {}
    found = _measured.get(asked)
    if found is None:
        found = _commit_sizes(repo, ours, theirs)
        if len(_measured) >= _REMEMBERED:
            _measured.clear()
        _measured[asked] = found
    return found


def _commit_sizes(repo: Repository, ours: str | None, theirs: str) -> dict[str, int]:
    without = ("--not", ours) if ours else ()
    oids = listing(repo, "rev-list", theirs, *without, deadline=SECONDS)
    if not oids:
        return {}
    found = run(repo, "cat-file", "--batch-check", "--buffer", stdin=oids, deadline=SECONDS).stdout
    lines = (line.split(" ") for line in found.decode().splitlines())
    return {line[0]: int(line[2]) for line in lines if len(line) == 3}


def outgoing(repo: Repository, known: str | None, tip: str) -> list[str]:
    """Return the commits of `tip` that `known` has not, parents first. Both are full ids, so the answer can be cached."""
    found = _outgoing.get((repo.common_dir, known, tip))
    if found is None:
        without = ("--not", known) if known else ()
        listed = run(repo, "rev-list", "--topo-order", "--reverse", tip, *without, deadline=SECONDS).stdout
        found = listed.decode().split()
        learn_outgoing(repo, known, tip, found)
    return list(found)


def learn_outgoing(repo: Repository, known: str | None, tip: str, commits: list[str]) -> None:
    """Cache an answer of `outgoing` that is known without asking git."""
    if len(_outgoing) >= _REMEMBERED:
        _outgoing.clear()
    if len(commits) <= _LARGEST_REMEMBERED and not layout.is_shallow(repo):
        _outgoing[repo.common_dir, known, tip] = commits


class Introduced(NamedTuple):
    """What is new with commits: a path of each blob, and of each path the first commit that has it, by these."""

    blobs: dict[str, str]
    paths: dict[str, str]


def introduced_by_one(changed: Mapping[str, Difference], commit: str) -> Introduced:
    """Return what is new with the only commit between two that differ so."""
    old = {found.before.oid for found in changed.values() if found.before}
    new = {found.after.oid: path for path, found in changed.items() if found.after}
    return Introduced(
        {oid: path for oid, path in new.items() if oid not in old},
        {path: commit for path, found in changed.items() if found.before is None},
    )


def introduced(repo: Repository, listed: Sequence[str]) -> Introduced:
    """Return what is new with each of these commits, parents first.

    `git rev-list --objects` would read every folder of the commits before them for that.
    """
    found = Introduced({}, {})
    if not listed:
        return found
    commits = "".join(f"{oid}\n" for oid in listed).encode()
    words = ("diff-tree", "--stdin", "-r", "-c", "--root", *_RAW)
    answer = run(repo, *words, stdin=commits, deadline=SECONDS).stdout
    commit, old, new = "", set[str](), dict[str, str]()
    parts = iter(os.fsdecode(answer).split("\0"))
    for facts in parts:
        if facts.startswith(":"):
            parents = len(facts) - len(facts.lstrip(":"))
            modes_and_oids = facts[parents:].split(" ")
            path = next(parts)
            old.update(modes_and_oids[parents + 1 : 2 * parents + 1])
            new[modes_and_oids[2 * parents + 1]] = path
            if set(modes_and_oids[:parents]) == {_NO_FILE}:
                found.paths.setdefault(path, commit)
        else:  # the id of the next commit, or the end
            more = {oid: path for oid, path in new.items() if oid not in old and oid not in found.blobs}
            found.blobs.update(more)
            old -= found.blobs.keys()
            commit, new = facts, {}
    return found


def introducing(repo: Repository, listed: Sequence[str], oid: str) -> str:
    """Return the first of these commits, parents first, that brought a blob; "" for none."""
    if not listed:
        return ""
    words = (
        "log",
        "--no-walk=unsorted",
        "--stdin",
        "-m",
        "--no-show-signature",
        "--format=%H",
        f"--find-object={oid}",
    )
    commits = "".join(f"{one}\n" for one in listed).encode()
    found = run(repo, *words, "--no-patch", stdin=commits, deadline=SECONDS).stdout.decode().split()
    return found[0] if found else ""


def names_in(repo: Repository, commit: str, folders: Iterable[str]) -> dict[str, set[str]]:
    """Return what each of the folders ("" is the top) of a commit holds, by name."""
    wanted = set(folders)
    narrow = sorted(f"{folder}/" for folder in wanted - {""})
    if len(narrow) > FOLDERS_PER_CALL:
        listed = listing(repo, "ls-tree", "-r", "-t", "-z", "--name-only", commit, deadline=SECONDS)
    else:
        listed = listing(repo, "ls-tree", "-z", "--name-only", commit, deadline=SECONDS)
        if narrow:
            listed += listing(
                repo, "ls-tree", "-t", "-z", "--name-only", commit, "--", *narrow, deadline=SECONDS
            )
    found: dict[str, set[str]] = {folder: set() for folder in wanted}
    for path in os.fsdecode(listed).split("\0"):
        folder, _, name = path.rpartition("/")
        if name and folder in found:
            found[folder].add(name)
    return found


def sizes(repo: Repository, oids: Iterable[str], known: Mapping[str, bytes] | None = None) -> dict[str, int]:
    """Return the sizes of blobs in bytes, with those of `known` contents; what is missing or no blob is left out."""
    every, known = dict.fromkeys(oids), known or {}
    found = {oid: len(known[oid]) for oid in every if oid in known}
    wanted = [oid for oid in every if oid not in found]
    if not wanted:
        return found
    asked = "".join(f"{oid}\n" for oid in wanted).encode()
    listed = run(repo, "cat-file", "--batch-check", "--buffer", stdin=asked, deadline=SECONDS).stdout
    lines = (line.split(" ") for line in listed.decode().splitlines())
    return found | {line[0]: int(line[2]) for line in lines if len(line) == 3 and line[1] == "blob"}


def blobs(
    repo: Repository, oids: Iterable[str], known: Mapping[str, bytes] | None = None
) -> dict[str, bytes]:
    """Return the bytes of blobs, of those that are not `known` already. Raises GitError where one is missing or damaged."""
    asked = dict.fromkeys(oids)
    found = {oid: known[oid] for oid in asked if oid in known} if known else {}
    wanted = [oid for oid in asked if oid not in found]
    for start in range(0, len(wanted), AT_ONCE):
        found.update(_batch(repo, wanted[start : start + AT_ONCE]))
    return found


def _batch(repo: Repository, oids: Sequence[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for oid, one in zip(oids, objects.read(repo, [oid.encode() for oid in oids]), strict=True):
        if one is None or one.kind != objects.BLOB:
            raise lacking(repo, oid)
        found[oid] = one.content
    return found
