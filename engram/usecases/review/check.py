"""Check entries before they are merged or committed: unreadable files, secrets, bad links, duplicates, contradictions.

A check changes nothing and reuses existing rules: a file is unreadable if it cannot be indexed, secrets are those that
block a push, duplicates and contradictions are those of the review queue.
"""

from __future__ import annotations

import os

from engram.adapters.files import scan as walk
from engram.adapters.files.places import CONFIG_NAME
from engram.domain.errors import UsageError
from engram.domain.similarity.equivalence import CONTRADICTION, is_shown
from engram.domain.sync.sync_plan import REGULAR
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission.outgoing_secrets import LARGEST, new_secrets, secrets_of_commits
from engram.usecases.graph.broken_links import bad_links
from engram.usecases.graph.entities import read_entities
from engram.usecases.index.index_query import query_index
from engram.usecases.similarity.pairs import find_pairs
from engram.usecases.store.hints import MEND_LINK, NO_FIELDS
from engram.usecases.store.version_paths import git_prefix, read_lore, repository_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from engram.adapters.git.read.objects import Entry
    from engram.adapters.git.run.layout import Repository
    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

ERROR, WARNING = "error", "warning"
FILE = "file"
SECRET = "secret"  # noqa: S105 - a kind of remark
SETTINGS = "settings"
DUPLICATE = "duplicate"
CONTRADICTS = "contradiction"
LINK = "link"
ADOPTION = "adoption"
_ROTATE = "Rotate the secret and remove it, from history too; list a false positive in `secrets.allow`."


class Remark(NamedTuple):
    """A finding of a check.

    `level` is `error` (the entry cannot be recalled, or must not be merged) or `warning`; `path` is a store path, `line`
    counts from 1 (0: the whole file).
    """

    level: str
    kind: str
    path: str
    line: int
    message: str
    hint: str = ""


class CheckReport(NamedTuple):
    """The remarks of a check, errors first, and the number of files checked; `prefix` turns store paths into git paths."""

    remarks: tuple[Remark, ...]
    files: int
    prefix: str = ""

    def count(self, level: str) -> int:
        """Count the remarks of this level."""
        return sum(remark.level == level for remark in self.remarks)


def check(store: Store, paths: Sequence[str] = (), since: str = "") -> CheckReport:
    """Check the entries at or below `paths` (file system paths; none: the whole store).

    With `since` (a commit, branch or date), check only files that differ from the merge base with it. Raises UsageError,
    NotFoundError if there is no such commit, GitError, StoreError.
    """
    repository = store.places.repository
    if since and repository is None:
        raise UsageError("This store is not in a git repository, so it has no history.", "Leave out --since.")
    base = merge_base(repository, since) if repository is not None and since else ""
    checked = files_to_check(store, paths, base)
    with store.lock:
        remarks = query_index(
            store, lambda generation: _check_files(store, generation, checked, base), thorough=True
        )
        remarks += _check_pairs(store, set(checked.paths))
    remarks += _check_settings(store)
    if base and repository is not None:
        reported, is_chosen = {one.path for one in remarks if one.kind == SECRET}, path_filter(store, paths)
        in_commits = _check_commits(store, repository, base)
        remarks += [one for one in in_commits if one.path not in reported and is_chosen(one.path)]
    ordered = sorted(set(remarks), key=lambda remark: (remark.level, remark[2:]))
    return CheckReport(tuple(ordered), len(checked.paths), _prefix(store))


def merge_base(repository: Repository, since: str) -> str:
    """Return the merge base of the checked out branch and `since`; "" if nothing is committed yet.

    Raises NotFoundError, GitError.
    """
    from engram.adapters.git.read.revisions import resolve
    from engram.adapters.git.run import layout
    from engram.adapters.git.write import merge_commit

    head = layout.read_head(repository).oid
    if head is None:
        return ""
    other = resolve(repository, since)
    common = merge_commit.bases(repository, head, other)
    return common[0] if common else other


def _check_files(store: Store, generation: Generation, checked: Checked, base: str) -> list[Remark]:
    paths = set(checked.paths)
    hits = generation.catalog.select("1")
    secrets = list(_check_secrets(store, checked.paths, base))
    secret_paths = {one.path for one in secrets}
    problems = [
        Remark(ERROR, FILE, one.path, one.line, one.message, one.hint)
        for one in (*generation.catalog.problems(), *read_entities(store).problems)
        if one.path in paths and not (one.path in secret_paths and "looks like a secret" in one.message)
    ]
    links = [
        Remark(WARNING, LINK, one.path, one.line, one.message, MEND_LINK)
        for one in bad_links(store, generation, hits, paths, checked.deleted)
    ]
    unadopted = [
        Remark(WARNING, ADOPTION, hit.path, 0, *NO_FIELDS)
        for hit in generation.catalog.select("adopted = 0")
        if hit.path in paths
    ]
    return [*secrets, *problems, *_check_ids(generation, paths), *links, *unadopted]


def _prefix(store: Store) -> str:
    """Return the prefix that turns store paths into git paths."""
    repository = store.places.repository
    return git_prefix(store.places.root, repository) if repository is not None else ""


def _check_secrets(store: Store, paths: Sequence[str], base: str) -> Iterator[Remark]:
    prefix = _prefix(store)
    for path in paths:
        raw = read_regular_file(store, path)
        for found in new_secrets(store, base or None, prefix + path, raw) if raw else ():
            message = f"this looks like a secret ({found.rule} {found.preview})"
            yield Remark(ERROR, SECRET, path, found.line, message, _ROTATE)


def _check_ids(generation: Generation, paths: set[str]) -> Iterator[Remark]:
    """Find files that share an id, unless the index already reports them."""
    query = "SELECT id, path FROM files"
    paths_by_id: dict[str, list[str]] = {}
    for lore_id, path in generation.catalog.where_in(query, "id", generation.catalog.duplicate_ids()):
        paths_by_id.setdefault(lore_id, []).append(path)
    reported = {one.path for one in generation.catalog.problems()}
    for lore_id, claimants in paths_by_id.items():
        for path in sorted(paths.intersection(claimants) - reported):
            other = min({*claimants} - {path})
            message = f"{other} also has the id {lore_id}; only one of them can be recalled"
            yield Remark(ERROR, FILE, path, 0, message, "Delete one, or remove its id line.")


def _check_pairs(store: Store, paths: Collection[str]) -> list[Remark]:
    """Find entries that duplicate or contradict another; of two checked entries the newer gets the remark."""
    if not paths:
        return []
    found = [pair for pair in find_pairs(store) if is_shown(pair.kind, pair.strength, pair.cosine)]
    hits = {hit.id: hit for hit in query_index(store, lambda generation: generation.catalog.select("1"))}
    remarks = []
    for pair in found:
        ends = [hits[lore_id] for lore_id in (pair.other, pair.one) if lore_id in hits]
        checked = next((hit for hit in ends if hit.path in paths), None)
        if checked is None or len(ends) < 2:
            continue
        other = ends[1] if checked is ends[0] else ends[0]
        kind, verb = (
            (CONTRADICTS, "may contradict")
            if pair.kind == CONTRADICTION
            else (DUPLICATE, "may say the same as")
        )
        message = f"{verb} '{other.title}' in {other.path}: {pair.why} (strength {pair.strength:.2f})"
        hint = "Keep one of them. If both are right, relate them: name one's id in `relations:` of the other."
        remarks.append(Remark(WARNING, kind, checked.path, 0, message, hint))
    return remarks


def _check_settings(store: Store) -> list[Remark]:
    """Find settings in the store's file that are invalid, or that take effect only once a person accepts them."""
    invalid = [Remark(ERROR, SETTINGS, CONFIG_NAME, 0, note, "Fix that line.") for note in store.notes]
    hint = "Merging this change accepts the setting."
    return invalid + [Remark(ERROR, SETTINGS, CONFIG_NAME, 0, one.message, hint) for one in store.held_back]


def _check_commits(store: Store, repository: Repository, base: str) -> Iterator[Remark]:
    """Find secrets in any version since the base commit, even if a later commit removed them."""
    from engram.adapters.git.run import layout

    head, prefix = layout.read_head(repository).oid, git_prefix(store.places.root, repository)
    for path, secrets in secrets_of_commits(store, base, head, prefix + store.places.folder) if head else ():
        message = f"a commit since the base has what looks like a secret in this file ({secrets[0].rule})"
        yield Remark(ERROR, SECRET, path.removeprefix(prefix), 0, message, _ROTATE)


class Checked(NamedTuple):
    """The store paths of the files to check, sorted, and the ids of entries deleted since the base commit."""

    paths: tuple[str, ...]
    deleted: frozenset[str] = frozenset()


def files_to_check(store: Store, paths: Sequence[str], base: str) -> Checked:
    """List the files of the store at or below `paths` that differ from the commit `base` ("": all files).

    Raises UsageError for a path that does not exist, GitError.
    """
    found = walk.scan(store.places.root, store.places.folder, store.ignore_rules())
    entities = read_entities(store)
    existing = {
        *found.files, *found.problems,
        *entities.paths.values(), *(problem.path for problem in entities.problems),
    }  # fmt: skip
    chosen = sorted(filter(path_filter(store, paths), existing))
    if not base:
        return Checked(tuple(chosen))
    from engram.adapters.git.read.revisions import entries_at
    from engram.adapters.git.run import layout

    repository = repository_of(store)
    prefix = git_prefix(store.places.root, repository)
    before = {
        path.removeprefix(prefix): entry
        for path, entry in entries_at(repository, base, prefix + store.places.folder).items()
    }
    algorithm = layout.hash_name(repository)
    changed = tuple(path for path in chosen if not _is_unchanged(store, path, before.get(path), algorithm))
    deleted = [entry.oid for path, entry in before.items() if entry.mode in REGULAR and path not in existing]
    return Checked(changed, _read_ids(store, repository, deleted))


def path_filter(store: Store, paths: Sequence[str]) -> Callable[[str], bool]:
    """Return a test of whether a store path is at or below one of `paths` (none: every path is).

    Raises UsageError for a path that does not exist.
    """
    if not paths:
        return bool
    root = os.path.realpath(store.places.root)
    wanted = []
    for given in paths:
        full = os.path.abspath(os.path.expanduser(given))
        if not os.path.lexists(full):
            raise UsageError(f"{given[:200]} does not exist.", "Name files or folders of the store.")
        full = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
        below = os.path.relpath(full, root).replace(os.sep, "/")
        wanted.append("" if below == "." or _contains(full, root) else below)
    exact, folders = set(wanted), tuple(f"{path}/" for path in wanted if path)
    return lambda path: "" in exact or path in exact or path.startswith(folders)


def _contains(folder: str, root: str) -> bool:
    return root.startswith(folder.rstrip(os.sep) + os.sep)


def _is_unchanged(store: Store, path: str, before: Entry | None, algorithm: str) -> bool:
    """Whether a file is the same as in the commit, apart from line endings that git may have converted."""
    if before is None:
        return False
    if before.mode not in REGULAR:
        return os.path.islink(store.files.absolute(path))  # a symlink then and now; it is never followed
    raw = read_regular_file(store, path)
    if raw is None:
        return False
    from engram.adapters.git.read.objects import blob_oid

    return before.oid in (blob_oid(raw, algorithm), blob_oid(raw.replace(b"\r\n", b"\n"), algorithm))


def read_regular_file(store: Store, path: str) -> bytes | None:
    """Read a regular file; None if it is not regular, too large, or unreadable."""
    stamp = walk.stamp(store.files.absolute(path))
    if stamp is None or stamp.size > LARGEST:
        return None
    return store.files.read_if_possible(path)


def _read_ids(store: Store, repository: Repository, oids: Sequence[str]) -> frozenset[str]:
    """Return the ids of the entries in these blobs."""
    from engram.adapters.git.read.differences import blobs

    files = [read_lore(store, "gone.md", raw) for raw in blobs(repository, oids).values()] if oids else []
    return frozenset(file.lore.id for file in files if file is not None)
