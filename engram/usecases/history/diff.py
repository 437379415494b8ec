"""Differences of one entry or all: between commits, since a commit, or in the last change."""

from __future__ import annotations

from engram.domain.entry.named_files import WHOLE, below
from engram.domain.errors import NotFoundError, UsageError
from engram.domain.sync.sync_plan import is_merged_by_field
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.history import past_versions
from engram.usecases.lookup.resolve import store_of_entry
from engram.usecases.store.commit import commit_quietly
from engram.usecases.store.version_paths import in_git, in_store, read_lore, repository_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

FILES = ""  # instead of a commit: the present files


class Difference(NamedTuple):
    """One file before and after: store paths and bytes ("" and None if it does not exist), and the parsed entries."""

    path_before: str
    path_after: str
    before: bytes | None
    after: bytes | None
    lore_before: Lore | None
    lore_after: Lore | None

    @property
    def lore(self) -> Lore | None:
        """The entry after the change, else before it."""
        return self.lore_after or self.lore_before

    @property
    def fields(self) -> list[str]:
        """The names of the fields that differ."""
        if self.lore_before is None or self.lore_after is None:
            return []
        pairs = zip(self.lore_before._asdict().items(), self.lore_after._asdict().items(), strict=True)
        return [name for (name, one), (_, other) in pairs if one != other]


class Diff(NamedTuple):
    """The differences between two states; `start` and `end` are commit ids, `end` is "" for the present files."""

    start: str
    end: str
    differences: tuple[Difference, ...]


def diff(store: Store, names: Sequence[str]) -> Diff:
    """Compare `[REF] [REV [REV]]`.

    With one revision: from it to the present files. With none: uncommitted changes, or if there are none, the last
    commit. Raises NotFoundError, AmbiguousError, UsageError, GitError, StoreError.
    """
    from engram.adapters.git.read.revisions import resolve as resolve_revision

    store = store_of_entry(store, names[0]) if names else store
    repository = repository_of(store)
    with store.lock:
        commit_quietly(store)
        lore, words = _split_arguments(store, names)
        if len(words) > 2:
            raise UsageError("At most two revisions can be compared.", "engram diff [REF] [REV [REV]]")
        commits = [resolve_revision(repository, word) for word in words]
        if commits:
            return _compare_states(store, commits[0], commits[1] if len(commits) == 2 else FILES, lore)
        return _latest(store, lore)


def _split_arguments(
    store: Store, names: Sequence[str]
) -> tuple[past_versions.Located | None, Sequence[str]]:
    """Split the arguments into the entry, if the first word names one, and the revisions."""
    from engram.adapters.git.read.revisions import resolve as resolve_revision

    if not names:
        return None, names
    repository = repository_of(store)
    start = "HEAD" if len(names) < 2 else names[1]
    try:
        return past_versions.locate(store, names[0], resolve_revision(repository, start)), names[1:]
    except NotFoundError as error:
        try:
            resolve_revision(repository, names[0])
        except NotFoundError:
            if len(names) < 2:
                message = f"'{names[0][:60]}' names neither an entry nor a commit."
                raise NotFoundError(message, error.hint) from None
            raise error from None
        return None, names


def _latest(store: Store, lore: past_versions.Located | None) -> Diff:
    from engram.adapters.git.read.history import log

    repository = repository_of(store)
    uncommitted = _compare_states(store, "HEAD", FILES, lore)
    name = in_git(store, store.places.folder) if lore is None or not lore.path else in_git(store, lore.path)
    last = log(repository, name, 1)
    if uncommitted.differences or not last:
        return uncommitted
    return _compare_states(store, f"{last[0].oid}^", last[0].oid, lore)


def _compare_states(store: Store, start: str, end: str, lore: past_versions.Located | None) -> Diff:
    """Compare two states. A `start` that does not exist (before the first commit) is empty."""
    from engram.adapters.git.read.versions import changed_paths, commit_id, read_objects

    repository = repository_of(store)
    start, stop = commit_id(repository, start), commit_id(repository, end or "HEAD")
    folder = in_git(store, store.places.folder)
    if lore is not None:
        current = in_git(store, lore.path) if lore.path else ""
        found = [past_versions.path_at(store, commit, lore.id, current) for commit in (start, stop) if commit]
        paths = [path for path in dict.fromkeys([*found, current]) if path]
    else:
        paths = [path for path in changed_paths(repository, start, stop) if _is_inside(store, path, folder)]
        paths = list(dict.fromkeys([*paths, *(_uncommitted_paths(store) if end == FILES else ())]))
    old = read_objects(repository, [f"{start}:{path}" for path in paths]) if start else [None] * len(paths)
    new = (
        [_file(store, path) for path in paths]
        if end == FILES
        else read_objects(repository, [f"{stop}:{path}" for path in paths])
    )
    changed = [
        _difference(store, path, old_content, new_content)
        for path, old_content, new_content in zip(paths, old, new, strict=True)
        if old_content != new_content
    ]
    return Diff(start, end, tuple(_join_moves(changed)))


def _is_inside(store: Store, name: str, folder: str) -> bool:
    """Whether a git path is below the lore folder; if that is the whole store, whether it is an entry."""
    inside = name.startswith(below("" if folder == WHOLE else folder))
    return inside and (bool(store.places.folder) or is_merged_by_field(in_store(store, name), ""))


def _uncommitted_paths(store: Store) -> list[str]:
    from engram.adapters.git.read.snapshot import outside_changes

    folder = in_git(store, store.places.folder)
    found = [change.path for change in outside_changes(repository_of(store), folder)]
    return [name for name in found if _is_inside(store, name, folder)]


def _file(store: Store, name: str) -> bytes | None:
    return store.files.read_if_possible(in_store(store, name))


def _difference(store: Store, name: str, before: bytes | None, after: bytes | None) -> Difference:
    path = in_store(store, name)
    files = [read_lore(store, path, raw) for raw in (before, after)]
    lore = [file.lore if file else None for file in files]
    path_before, path_after = (path if raw is not None else "" for raw in (before, after))
    return Difference(path_before, path_after, before, after, lore[0], lore[1])


def _join_moves(found: list[Difference]) -> Iterable[Difference]:
    """Join the removal and the addition of a moved entry to one difference."""
    removed = {d.lore_before.id: d for d in found if d.after is None and d.lore_before is not None}
    moved = {
        d.lore_after.id: removed[d.lore_after.id]
        for d in found
        if d.before is None and d.lore_after is not None and d.lore_after.id in removed
    }
    for one in sorted(found, key=lambda d: d.path_after or d.path_before):
        lore_id = one.lore.id if one.lore else ""
        if lore_id in moved and one.after is None:
            continue
        old = moved.get(lore_id) if one.before is None else None
        if old is None:
            yield one
        else:
            yield one._replace(path_before=old.path_before, before=old.before, lore_before=old.lore_before)
