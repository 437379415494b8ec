"""Read the differences between two commits, file by file, and the bytes of many files at once."""

from __future__ import annotations

import hashlib
import os

from engram.adapters.git.read import objects
from engram.adapters.git.read.blob_stream import missing_blob_error
from engram.adapters.git.read.objects import Entry
from engram.adapters.git.run import layout
from engram.adapters.git.run.runner import MAX_MEMORY, can_limit_memory, limit_error, run, run_limited
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engram.adapters.git.run.layout import Repository

SECONDS = 120.0
MAX_PATH_BYTES = 8192  # git itself breaks far beyond that
FOLDERS_PER_CALL = 100
SAFE_FILE_COUNT = 200_000  # about half of what `run_limited` accepts
AT_ONCE = 4000  # objects read by one git process
_NO_FILE, _FOLDER = "000000", "040000"  # modes
_RAW = ("-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff")
_LITTLE_MEMORY = 128 * 1024 * 1024  # bytes; git needs some 400 for each file that differs
# Results for pairs of commits never change, and a sync needs the same few repeatedly.
_MAX_CACHED = 12
_MAX_CACHED_SIZE = 5000  # paths or commits


class Difference(NamedTuple):
    """The entries of two commits at a path; None: no file. Links and submodules have modes of their own."""

    before: Entry | None
    after: Entry | None


def empty_tree(repo: Repository) -> str:
    """Return the id of the empty tree, which git knows even if it is not stored."""
    return hashlib.new(layout.hash_name(repo), b"tree 0\0", usedforsecurity=False).hexdigest()


_difference_cache: dict[tuple[str, str | None, str], dict[str, Difference]] = {}
_checked: set[tuple[str, str]] = set()
_commit_size_cache: dict[tuple[str, str | None, str], dict[str, int]] = {}
_outgoing_cache: dict[tuple[str, str | None, str], list[str]] = {}


def differences(
    repo: Repository, before: str | None, after: str, memory: int = MAX_MEMORY
) -> dict[str, Difference]:
    """Return the paths that differ between two commits or trees; without `before`, all paths of `after`.

    Both are full ids, so that the result can be cached. Raises GitError, also for more files than can be listed or fit
    into `memory` (bytes).
    """
    if before == after:
        return {}
    found = _difference_cache.get((repo.common_dir, before, after))
    if found is None:
        words = ("diff-tree", "-r", *_RAW, before or empty_tree(repo), after)
        found = dict(_parse(run_limited(repo, *words, deadline=SECONDS, memory=memory)))
        learn(repo, before, after, found)
    return dict(found)


def differences_and_folders(
    repo: Repository, before: str, after: str
) -> tuple[dict[str, Difference], dict[str, str]]:
    """Return the differences, and the ids of the folders of `after` that contain them, by path, without the root.

    Only for this clone's own commits, since the depth of folders is not checked. Raises GitError.
    """
    if before == after:
        return {}, {}
    listed = run_limited(repo, "diff-tree", "-r", "-t", *_RAW, before, after, deadline=SECONDS)
    files, folders = dict[str, Difference](), dict[str, str]()
    for path, found in _parse(listed):
        if _FOLDER not in (entry.mode for entry in found if entry):
            files[path] = found
        elif found.after:
            folders[path] = found.after.oid
    learn(repo, before, after, files)
    return files, folders


def between(one: dict[str, Difference], other: dict[str, Difference]) -> dict[str, Difference]:
    """Compute the differences between two commits from their differences from a common third."""
    found: dict[str, Difference] = {}
    for path in sorted(one.keys() | other.keys()):
        base = (one if path in one else other)[path].before
        before = one[path].after if path in one else base
        after = other[path].after if path in other else base
        if before != after:
            found[path] = Difference(before, after)
    return found


def learn(repo: Repository, before: str | None, after: str, found: dict[str, Difference]) -> None:
    """Cache a result of `differences` that is known without git."""
    if len(found) > _MAX_CACHED_SIZE:
        return
    while len(_difference_cache) >= _MAX_CACHED:
        _difference_cache.pop(next(iter(_difference_cache)), None)
    _difference_cache[repo.common_dir, before, after] = found


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
    """Raise GitError if a commit has more files, or deeper folders, than can be listed.

    With `since`, a commit of this clone's own history, which was checked before, only the differences are checked.
    """
    if (repo.common_dir, commit) in _checked:
        return
    if since is None or not _adds_few(repo, since, commit):
        # Unlike diff-tree, ls-tree prints results immediately, so that it can be stopped.
        listed = run_limited(repo, "ls-tree", "-r", "-z", "--name-only", commit, deadline=SECONDS)
        if max(map(len, listed.split(b"\0"))) > MAX_PATH_BYTES:
            raise limit_error((), "The folders of a commit are nested too deeply to be listed")
    if len(_checked) >= _MAX_CACHED:
        _checked.clear()
    _checked.add((repo.common_dir, commit))


def _adds_few(repo: Repository, since: str, commit: str) -> bool:
    """Return whether the differences can be listed and, with the files in the index, are far below the limit."""
    if not can_limit_memory():
        return False
    try:
        paths = differences(repo, since, commit, _LITTLE_MEMORY)
    except GitError:  # listing the files will raise the right error
        return False
    longest = max((len(os.fsencode(path)) for path in paths), default=0)
    return longest <= MAX_PATH_BYTES and layout.count_index_entries(repo) + len(paths) <= SAFE_FILE_COUNT


def commit_sizes(repo: Repository, ours: str | None, theirs: str) -> dict[str, int]:
    """Return the size in bytes (with message and signature) of each commit that `theirs` has and `ours` lacks."""
    if ours == theirs:
        return {}
    key = (repo.common_dir, ours, theirs)
    found = _commit_size_cache.get(key)
    if found is None:
        found = _commit_sizes(repo, ours, theirs)
        if len(_commit_size_cache) >= _MAX_CACHED:
            _commit_size_cache.clear()
        _commit_size_cache[key] = found
    return found


def _commit_sizes(repo: Repository, ours: str | None, theirs: str) -> dict[str, int]:
    exclude = ("--not", ours) if ours else ()
    oids = run_limited(repo, "rev-list", theirs, *exclude, deadline=SECONDS)
    if not oids:
        return {}
    found = run(repo, "cat-file", "--batch-check", "--buffer", stdin=oids, deadline=SECONDS).stdout
    lines = (line.split(" ") for line in found.decode().splitlines())
    return {line[0]: int(line[2]) for line in lines if len(line) == 3}


def outgoing(repo: Repository, known: str | None, tip: str) -> list[str]:
    """Return the commits of `tip` that `known` lacks, parents first. Both are full ids, so that the result can be cached."""
    found = _outgoing_cache.get((repo.common_dir, known, tip))
    if found is None:
        exclude = ("--not", known) if known else ()
        listed = run(repo, "rev-list", "--topo-order", "--reverse", tip, *exclude, deadline=SECONDS).stdout
        found = listed.decode().split()
        learn_outgoing(repo, known, tip, found)
    return list(found)


def learn_outgoing(repo: Repository, known: str | None, tip: str, commits: list[str]) -> None:
    """Cache a result of `outgoing` that is known without git."""
    if len(_outgoing_cache) >= _MAX_CACHED:
        _outgoing_cache.clear()
    if len(commits) <= _MAX_CACHED_SIZE and not layout.is_shallow(repo):
        _outgoing_cache[repo.common_dir, known, tip] = commits


class Introduced(NamedTuple):
    """New objects in commits: for each new blob a path, and for each new path the first commit that has it."""

    blobs: dict[str, str]
    paths: dict[str, str]


def introduced_by_one(changed: Mapping[str, Difference], commit: str) -> Introduced:
    """Return what is new in `commit`, given its differences from its only parent."""
    old = {found.before.oid for found in changed.values() if found.before}
    new = {found.after.oid: path for path, found in changed.items() if found.after}
    return Introduced(
        {oid: path for oid, path in new.items() if oid not in old},
        {path: commit for path, found in changed.items() if found.before is None},
    )


def introduced(repo: Repository, listed: Sequence[str]) -> Introduced:
    """Return what is new in these commits, given parents first.

    `git rev-list --objects` would read every folder of earlier commits for that.
    """
    found = Introduced({}, {})
    if not listed:
        return found
    commits = "".join(f"{oid}\n" for oid in listed).encode()
    words = ("diff-tree", "--stdin", "-r", "-c", "--root", *_RAW)
    output = run(repo, *words, stdin=commits, deadline=SECONDS).stdout
    commit, old, new = "", set[str](), dict[str, str]()
    parts = iter(os.fsdecode(output).split("\0"))
    for facts in parts:
        if facts.startswith(":"):
            parents = len(facts) - len(facts.lstrip(":"))
            modes_and_oids = facts[parents:].split(" ")
            path = next(parts)
            old.update(modes_and_oids[parents + 1 : 2 * parents + 1])
            new[modes_and_oids[2 * parents + 1]] = path
            if set(modes_and_oids[:parents]) == {_NO_FILE}:
                found.paths.setdefault(path, commit)
        else:  # the id of the next commit, or the end of the output
            found.blobs.update(
                {oid: path for oid, path in new.items() if oid not in old and oid not in found.blobs}
            )
            old -= found.blobs.keys()
            commit, new = facts, {}
    return found


def introducing(repo: Repository, listed: Sequence[str], oid: str) -> str:
    """Return the first of these commits (given parents first) that added a blob; "" if none did."""
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
    """Return the names in each of these folders ("": the root) of a commit."""
    wanted = set(folders)
    paths = sorted(f"{folder}/" for folder in wanted - {""})
    if len(paths) > FOLDERS_PER_CALL:
        listed = run_limited(repo, "ls-tree", "-r", "-t", "-z", "--name-only", commit, deadline=SECONDS)
    else:
        listed = run_limited(repo, "ls-tree", "-z", "--name-only", commit, deadline=SECONDS)
        if paths:
            listed += run_limited(
                repo, "ls-tree", "-t", "-z", "--name-only", commit, "--", *paths, deadline=SECONDS
            )
    found: dict[str, set[str]] = {folder: set() for folder in wanted}
    for path in os.fsdecode(listed).split("\0"):
        folder, _, name = path.rpartition("/")
        if name and folder in found:
            found[folder].add(name)
    return found


def sizes(repo: Repository, oids: Iterable[str], known: Mapping[str, bytes] | None = None) -> dict[str, int]:
    """Return the sizes of blobs in bytes, except for missing ones and other objects; `known` are contents by id."""
    every, known = dict.fromkeys(oids), known or {}
    found = {oid: len(known[oid]) for oid in every if oid in known}
    wanted = [oid for oid in every if oid not in found]
    if not wanted:
        return found
    names = "".join(f"{oid}\n" for oid in wanted).encode()
    listed = run(repo, "cat-file", "--batch-check", "--buffer", stdin=names, deadline=SECONDS).stdout
    lines = (line.split(" ") for line in listed.decode().splitlines())
    return found | {line[0]: int(line[2]) for line in lines if len(line) == 3 and line[1] == "blob"}


def blobs(
    repo: Repository, oids: Iterable[str], known: Mapping[str, bytes] | None = None
) -> dict[str, bytes]:
    """Return the bytes of blobs by id; `known` ones are not read. Raises GitError if one is missing or damaged."""
    every = dict.fromkeys(oids)
    found = {oid: known[oid] for oid in every if oid in known} if known else {}
    wanted = [oid for oid in every if oid not in found]
    for start in range(0, len(wanted), AT_ONCE):
        found.update(_read_blobs(repo, wanted[start : start + AT_ONCE]))
    return found


def _read_blobs(repo: Repository, oids: Sequence[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for oid, blob in zip(oids, objects.read(repo, [oid.encode() for oid in oids]), strict=True):
        if blob is None or blob.kind != objects.BLOB:
            raise missing_blob_error(repo, oid)
        found[oid] = blob.content
    return found
