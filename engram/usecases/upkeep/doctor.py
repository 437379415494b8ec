"""Finding what is wrong with a store, and mending what can be mended without asking."""

from __future__ import annotations

import os

from engram.adapters.files import scan as walk
from engram.adapters.files.durable import atomic
from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.index.damage import DamagedIndexError
from engram.domain.errors import EngramError, SecretFoundError, SyncBlockedError
from engram.domain.sync.sync_plan import OTHER_VERSION
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.refresh import refresh
from engram.usecases.store.accepted_settings import ACCEPT
from engram.usecases.store.commit import commit_quietly, has_work, why_waiting
from engram.usecases.store.hints import MEND_LINK, NO_FIELDS
from engram.usecases.store.store import BRANCH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from engram.usecases.merge.repair import Repaired
    from engram.usecases.store.store import Store


DRIVER = "merge-driver"
VECTORS = "vectors"  # are still being made, which is no fault
LINK, CONFLICT, SYNC = "link", "conflict", "sync"
_SOON_SECONDS = 60  # by then what a command leaves to the background is committed
_UNMERGED = "two versions of this file were not merged"
_UNTOLD = {
    "attributes": "git does not know which files are lore",
    "command": "git does not know how Engram merges lore, so a plain `git pull` may leave conflicts",
}


class Finding(NamedTuple):
    """Something that is not as it should be: where, what, what to do, and whether it was mended just now."""

    kind: str
    where: str
    message: str
    hint: str = ""
    fixed: bool = False


def doctor(store: Store, *, fix: bool = False) -> list[Finding]:
    """Look at everything.

    With `fix`, merge files with conflict markers, rebuild a damaged index, sweep leftovers, complete what git
    has to know, and commit what waits.
    """
    with store.lock:
        found = [*_leftovers(store, fix), *_index(store, fix)]
        merges = _merges(store, fix)
        named = {one.where for one in merges}
        files = [*_files(store, named), *_entities(store, named), *_links(store)]
        told = [*_driver(store, fix), *_hidden_tree(store, fix), *_journal(store, fix), *_unsigned(store)]
        told += [*_agents(store), *_sync(store), *_beside(store)]
        return [*found, *merges, *files, *told, *_settings(store), *_degraded(store)]


def _merges(store: Store, fix: bool) -> list[Finding]:
    """Files with conflict markers, and those that git left unmerged."""
    from engram.usecases.graph.entities import read_entities
    from engram.usecases.merge import repair

    generation = store.index.look()
    paths = [problem.path for problem in generation.catalog.problems()] if generation is not None else []
    paths += [problem.path for problem in read_entities(store).problems]
    marked = repair.marked(store, paths)
    if not fix:
        return [Finding("file", path, _UNMERGED, "`engram doctor --fix` merges them.") for path in marked]
    found = [_mended(repair.repair(store, path), store.places.owns_branch) for path in marked]
    if any(one.fixed for one in found):
        refresh(store)
    return found


def _mended(done: Repaired, owns_branch: bool) -> Finding:
    if not done.source:
        return Finding("file", done.path, f"{_UNMERGED}: {done.trouble}")
    what = f"merged from {done.source}"
    if done.conflicts:
        what += f"; both versions of {', '.join(done.conflicts)} are in it, see `engram show`"
    if done.open_merge:
        what += "; end the merge with `git commit`" if owns_branch else "; `git add` it"
    return Finding("file", done.path, what, fixed=True)


def _driver(store: Store, fix: bool) -> list[Finding]:
    """Whether a plain `git pull` would merge lore by field; sync does so by itself."""
    from engram.usecases.merge.install_driver import complete, what_is_missing

    places = store.places
    if places.repository is None or not places.owns_branch:
        return []
    try:
        missing = what_is_missing(places.repository, places.folder, places.root)
        if missing and fix:
            complete(store, missing)
    except EngramError as error:
        return [
            Finding(
                DRIVER, "", f"the merge driver for lore cannot be configured: {error.message}", error.hint
            )
        ]
    hint = "`engram doctor --fix` sets it up."
    return [Finding(DRIVER, what, _UNTOLD[what], hint, fix) for what in missing]


def _hidden_tree(store: Store, fix: bool) -> list[Finding]:
    """Whether git knows where the hidden work tree is, and never to remove it."""
    if store.places.placement != BRANCH or store.places.repository is None:
        return []
    from engram.adapters.git.write import hidden_tree

    if hidden_tree.is_registered(store.places.repository):
        return []
    if fix:
        hidden_tree.register(store.places.repository)
    message = "this work tree is not registered in its git repository"
    return [Finding("worktree", store.places.root, message, "`engram doctor --fix` sets it up.", fix)]


def _files(store: Store, told: Collection[str]) -> list[Finding]:
    """Files that are no lore yet or cannot be recalled, but for those `told` of already."""
    generation = store.index.look()
    if generation is None:
        return []
    problems = [
        Finding("file", f"{p.path}:{p.line}" if p.line else p.path, p.message, p.hint)
        for p in generation.catalog.problems()
        if p.path not in told
    ]
    waiting = [Finding("adoption", hit.path, *NO_FIELDS) for hit in generation.catalog.select("adopted = 0")]
    return problems + waiting


def _entities(store: Store, told: Collection[str]) -> list[Finding]:
    """Files of entities that cannot be read, or hold two versions of something."""
    from engram.usecases.graph.entities import read_entities

    found = read_entities(store)
    wrong = [
        Finding("entity", f"{one.path}:{one.line}" if one.line else one.path, one.message, one.hint)
        for one in found.problems
        if one.path not in told
    ]
    return wrong + [Finding(CONFLICT, one.path, one.message, one.hint) for one in found.conflicts]


def _links(store: Store) -> list[Finding]:
    """Links of lore and entities that are broken or ambiguous, as `engram check` finds them."""
    from engram.usecases.graph.broken_links import all_bad_links

    generation = store.index.look()
    found = all_bad_links(store, generation) if generation is not None else []
    return [
        Finding(LINK, f"{one.path}:{one.line}" if one.line else one.path, one.message, MEND_LINK)
        for one in found
    ]


def _index(store: Store, fix: bool) -> list[Finding]:
    try:
        refresh(store)
        generation = store.index.look()
        damage = generation.verify() if generation is not None else ["there is none"]
    except (DamagedIndexError, EngramError) as error:
        damage = [str(error)]
    if damage and fix:
        refresh(store, rebuild="engram doctor found it damaged")
    hint = "`engram doctor --fix` rebuilds it."
    return [Finding("index", "", f"the search index is damaged: {what}", hint, fix) for what in damage]


def _leftovers(store: Store, fix: bool) -> list[Finding]:
    announced = {
        os.path.basename(str(name)) for operation in store.files.journal.waiting() for name in [operation.op]
    }
    names = walk.scan(store.places.root, store.places.folder).leftovers
    old = [path for path in _old(store, names) if not any(op in path for op in announced)]
    for path in old:
        if fix:
            atomic.discard(path)
    return [
        Finding(
            "leftover",
            path,
            "a killed process left this temporary file",
            "`engram doctor --fix` removes it.",
            fix,
        )
        for path in old
    ]


def _journal(store: Store, fix: bool) -> list[Finding]:
    if not has_work(store):
        return []
    trouble = commit_quietly(store) if fix else why_waiting(store)
    waiting = store.files.journal.waiting()
    soon = store.clock.now().timestamp() - _SOON_SECONDS
    if not trouble and (not waiting or waiting[0].moment > soon):
        return []  # the process that follows each command is at it
    are = "1 change is" if len(waiting) == 1 else f"{len(waiting):,} changes are"
    message = f"{are} not committed yet" + (f": {trouble}" if trouble else "")
    return [
        Finding(
            "git",
            store.places.root,
            message,
            "They are safe in the write journal; `engram doctor --fix` tries again.",
        )
    ]


def _unsigned(store: Store) -> list[Finding]:
    from engram.adapters.git.write.signing import trouble

    why = trouble(store.places.state)
    message = f"commits are not signed, although git is configured to sign them (commit.gpgsign): {why}"
    hint = "Load the key into an agent, or make `git commit -S` work without a prompt; the next commit tries again."
    return [Finding("signing", store.places.root, message, hint)] if why else []


def _agents(store: Store) -> list[Finding]:
    """Files of registered agents that cannot be read, or hold two versions of something."""
    from engram.usecases.graph.agent_profiles import find_problems
    from engram.usecases.graph.entities import TAKE_OVER, both_versions

    return [
        Finding(CONFLICT, path, both_versions(what), TAKE_OVER)
        if isinstance(what, tuple)
        else Finding("agent", path, what.message, what.hint)
        for path, what in find_problems(store)
    ]


def _sync(store: Store) -> list[Finding]:
    """Why the last sync stopped, where a person has to do something about it."""
    from engram.usecases.store.sync_state import last

    error = last(store)["error"]
    if not isinstance(error, dict) or error.get("code") not in (SyncBlockedError.code, SecretFoundError.code):
        return []
    return [Finding(SYNC, "", f"the last sync stopped: {error.get('message')}", str(error.get("hint") or ""))]


def _beside(store: Store) -> list[Finding]:
    """Versions that a sync put beside a file that is no lore, for a person to choose from."""
    places = store.places
    if places.repository is None or not places.owns_branch:
        return []
    from engram.adapters.git.read.snapshot import listed_files

    try:
        listed = listed_files(places.repository)
    except EngramError:
        return []  # what is wrong with git is told elsewhere
    found = [
        path
        for path in listed
        if OTHER_VERSION.search(path) and os.path.lexists(os.path.join(places.root, path))
    ]
    message = "a sync wrote this version next to the file, because both sides had changed it"
    hint = "Copy what you need from it to {0}, delete this version, and `git commit` your changes."
    return [Finding(CONFLICT, path, message, hint.format(OTHER_VERSION.sub("", path))) for path in found]


def _settings(store: Store) -> list[Finding]:
    """What of the store's own file does not count here."""
    hint = f"If this is intended: {ACCEPT}"
    broken = [Finding("settings", CONFIG_NAME, note, "Correct that line.") for note in store.notes]
    return broken + [Finding("settings", one.key, one.message, hint) for one in store.held_back]


def _degraded(store: Store) -> list[Finding]:
    _ = store.embedder
    behind = store.meaning.progress(store.index.generation)
    found = [Finding("embedding", "", note) for note in store.degraded if behind not in note or not behind]
    return [*found, Finding(VECTORS, "", behind)] if behind else found


def _old(store: Store, names: Iterable[str]) -> list[str]:
    """Temporaries that no journal line announces and that are older than ten minutes: of killed writers."""
    limit = store.clock.nanoseconds() - 600 * 1_000_000_000
    found = [os.path.join(store.places.root, *name.split("/")) for name in names]
    stamps = {path: walk.stamp(path) for path in found}
    return [path for path, stamp in stamps.items() if stamp is not None and stamp.mtime_ns < limit]
