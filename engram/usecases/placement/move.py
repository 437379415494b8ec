"""Move a store to another placement with its history; the old place stays valid until the new one is complete."""

from __future__ import annotations

import os

from engram.adapters.files import scan
from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.git.remote import history_copy
from engram.adapters.git.run import layout
from engram.adapters.git.write import lore_branch
from engram.domain.errors import UsageError
from engram.domain.scopes import USER
from engram.domain.text.counted_nouns import counted
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.opening.store_layout import describe, state_folder
from engram.usecases.placement import move_source as source
from engram.usecases.placement import move_target as target
from engram.usecases.store.store import BRANCH, DEDICATED, IN_TREE, Store

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository


class End(NamedTuple):
    """One end of a move: a store's root and how it is placed there."""

    path: str
    placement: str


class Plan(NamedTuple):
    """The plan of a move. `commits` counts the commits of history that are moved; `kept` says what stays at the old place.

    `left` is set if an earlier move was killed when only the old place had to be removed.
    """

    start: End
    end: End
    lore: int
    commits: int
    steps: tuple[str, ...]
    kept: str
    left: source.OldPlace | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the plan as JSON."""
        return {
            "from": self.start._asdict(),
            "to": self.end._asdict(),
            "lore_count": self.lore,
            "commits": self.commits,
            "steps": list(self.steps),
            "kept": self.kept,
        }


def plan(store: Store, placement: str, path: str = "") -> Plan:
    """Plan the move of the store to `placement`; change nothing.

    `path` is the folder of the new repository, or a folder in the code repository (default: the current folder). Raises
    UsageError, StoreError, GitError if the move is impossible.
    """
    places = store.places
    if places.scope == USER:
        raise UsageError(
            "The store selected here is your personal store, which cannot be moved.",
            "Name another with --store, or make one with `engram init`; `engram import` copies lore.",
        )
    if not places.folder:
        raise UsageError(
            f"All markdown of {places.root} is lore in place, so it cannot be moved.",
            "Copy it instead: make another store with `engram init`, and `engram import` this folder there.",
        )
    left = source.read_old_place(places.state) if places.placement == placement else None
    if left is not None:
        return _plan_removal(store, left, End(places.root, placement))
    if places.placement == placement:
        raise UsageError(f"{places.root} has the placement {placement} already.", "Nothing was moved.")
    source.check(store)
    end = _find_end(store, placement, os.path.abspath(path or os.getcwd()), named=bool(path))
    left = source.read_old_place(_state_at(end))
    if left == source.old_place_of(places) and (
        placement == BRANCH or os.path.isfile(os.path.join(end.path, CONFIG_NAME))
    ):
        return _plan_removal(store, left, end)
    _check(store, end)
    commits = source.count_commits(store)
    return Plan(
        End(places.root, places.placement),
        end,
        _count_entries(store),
        commits,
        _describe_steps(store, end, commits),
        _describe_kept(source.old_place_of(store.places)),
    )


def move(store: Store, wanted: Plan) -> Plan:
    """Carry out a plan. Close the store afterwards, as it is elsewhere then. Raises as `plan`."""
    if wanted.left is None:
        with source.commit_and_lock(store):
            _make(store, wanted.end)
            source.remove_left(source.old_place_of(store.places), wanted.end.path, _state_at(wanted.end))
    else:
        # If the earlier move was killed before it made the hidden work tree, this makes it.
        describe(wanted.end.path, "project")
        source.remove_left(wanted.left, wanted.end.path, _state_at(wanted.end))
    repo = layout.repository_at(wanted.end.path)
    if repo is not None:
        history_copy.forget(repo)
    return wanted


def _make(store: Store, end: End) -> None:
    if end.placement == DEDICATED:
        target.to_dedicated(store, end.path)
    elif end.placement == BRANCH:
        target.to_branch(store, _code_repository(_common_dir(end)))
    else:
        target.to_tree(store, end.path, _code_repository(end.path))


def _find_end(store: Store, placement: str, folder: str, *, named: bool) -> End:
    """Return the new place of the store, given the folder that the caller named or is in."""
    places = store.places
    if placement == DEDICATED:
        return End(folder if named else _default_path(store), DEDICATED)
    repo = layout.repository_at(folder)
    own = places.repository
    if repo is None or (
        places.placement == DEDICATED and own is not None and repo.common_dir == own.common_dir
    ):
        raise UsageError(
            f"{folder} is not in a code repository.", f"Name one: engram move --to {placement} PATH"
        )
    if placement == BRANCH:
        return End(lore_branch.root_in(repo.common_dir), BRANCH)
    if layout.find_repository(folder) is None:
        raise UsageError(f"{repo.worktree} has no work tree.", "Name a folder of a work tree.")
    return End(folder if named else repo.worktree, IN_TREE)


def _default_path(store: Store) -> str:
    """Return the path `<repository>-lore` next to the code repository."""
    repo = store.repository
    top = repo.worktree if store.places.placement == IN_TREE else lore_branch.top_of(repo)
    return f"{top.removesuffix('.git')}-lore"


def _check(store: Store, end: End) -> None:
    if end.placement == DEDICATED:
        target.check_folder(end.path)
    elif end.placement == BRANCH:
        target.check_branch(_code_repository(_common_dir(end)))
    else:
        target.check_tree(store, end.path, _code_repository(end.path))


def _common_dir(end: End) -> str:
    return os.path.dirname(os.path.dirname(end.path))


def _code_repository(folder: str) -> Repository:
    repo = layout.repository_at(folder)
    assert repo is not None
    return repo


def _state_at(end: End) -> str:
    if end.placement == BRANCH:
        return lore_branch.state_in(_common_dir(end))
    return state_folder(end.path, layout.find_repository(end.path))


def _plan_removal(store: Store, left: source.OldPlace, end: End) -> Plan:
    """Return the plan for a move whose new place is complete: only the old one has to be removed."""
    start = End(left.root, left.placement)
    steps = (f"end the move that was cut short: give up {left.root}",)
    return Plan(start, end, _count_entries(store), 0, steps, _describe_kept(left), left)


def _count_entries(store: Store) -> int:
    return len(scan.scan(store.places.root, store.places.folder).files)


def _describe_steps(store: Store, end: End, commits: int) -> tuple[str, ...]:
    """Return the steps in order, as phrases."""
    places = store.places
    if end.placement == IN_TREE:
        return (
            f"write the lore files and .engram.toml to {end.path}, as edits for you to commit",
            "remove the hidden work tree"
            if places.placement == BRANCH
            else f"leave {places.root} as a repository of its own",
        )
    create = (
        f"make the branch {lore_branch.BRANCH} in {_common_dir(end)}"
        if end.placement == BRANCH
        else f"make the repository {end.path}"
    )
    scope = "the lore folder's part of your history" if places.placement == IN_TREE else "its history"
    history = f"copy {scope}: {counted(commits, 'commit')}"
    first = (create, history if commits else "begin without history: nothing was committed yet")
    if places.placement == IN_TREE:
        return (
            *first,
            f"delete .engram.toml and the moved files in {places.root}, as edits for you to commit",
        )
    if places.placement == BRANCH:
        return (*first, "remove the hidden work tree")
    return (*first, f"leave {places.root} as it is, for you to delete")


def _describe_kept(left: source.OldPlace) -> str:
    if left.placement == BRANCH:
        return f"The branch {lore_branch.BRANCH} of {left.common_dir} stays with its history."
    if left.placement == DEDICATED:
        return (
            f"{left.root} stays with its history, as a clone of its own; delete it when you need it no more."
        )
    return "Your branches stay as they are; commit the removal, on each branch that has the old files."
