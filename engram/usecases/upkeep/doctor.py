"""Diagnose a store, and repair what can be repaired without asking."""

from __future__ import annotations

import contextlib
import os

from engram.adapters.files import http_token
from engram.adapters.files import scan as walk
from engram.adapters.files.durable import atomic
from engram.adapters.files.places import CONFIG_NAME, connections_file, user_store
from engram.adapters.index.damage import IndexUnavailableError
from engram.domain.errors import EngramError, SecretFoundError, StoreError, SyncBlockedError
from engram.domain.scopes import USER
from engram.domain.sync.sync_plan import OTHER_VERSION
from engram.domain.text.counted_nouns import counted
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import look_up
from engram.usecases.index.refresh import refresh
from engram.usecases.opening.store_layout import locate_root
from engram.usecases.store import damaged_ledgers, entry_writer
from engram.usecases.store.accepted_settings import ACCEPT
from engram.usecases.store.commit import commit_quietly, has_work, why_waiting
from engram.usecases.store.hints import MEND_LINK, NO_FIELDS
from engram.usecases.store.store import BRANCH, Store

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from engram.adapters.index.catalog import Problem
    from engram.usecases.merge.repair import Repaired


DRIVER = "merge-driver"
VECTORS = "vectors"  # still being computed, which is not a fault
LINK, CONFLICT, SYNC, HOOK = "link", "conflict", "sync", "hook"
PRIVATE = "private"
_NO_STATE = {"worktree", "lore", "as-of"}  # folders in a private one that hold files of other kinds
_EXTENSIONS = (".db", ".json", ".jsonl", ".lock", ".md", ".npz")
# Of private files without an extension.
_NAMES = {
    "author", "dedicated", "folded-up-to", "http-token", "ignored", "lock", "merges-looked-at", "outside",
    "outside.taken", "source", "sync-consent", "sync-under-way", "sync-waits", "unsigned", "used", "weighed-up-to",
}  # fmt: skip
_DAMAGED = ".damaged"
_ASIDE = "`engram doctor --fix` renames it; the file is made anew."
_ALLOW = "`engram doctor --fix` allows that to its owner."
_BACKGROUND_SECONDS = 60  # by then the background process has committed
_UNMERGED = "two versions of this file were not merged"
_MISSING = {
    "attributes": "git has no attributes that mark the files of lore",
    "command": "git has no merge driver for lore that starts this Engram, so a plain `git pull` may leave conflicts",
}


class Finding(NamedTuple):
    """A problem: its place, description, what to do, and whether it was just repaired."""

    kind: str
    where: str
    message: str
    hint: str = ""
    fixed: bool = False


def doctor(store: Store, *, fix: bool = False) -> list[Finding]:
    """Check everything.

    With `fix`, merge files with conflict markers, rebuild a damaged index, delete leftovers, complete the git
    configuration, and commit pending changes.
    """
    with store.lock:
        private = [*_source(store, fix), *_private_files(store, fix), *_token(store, fix)]
        private += _ledgers(store, fix)
        found = [*private, *_leftovers(store, fix), *_index(store, fix)]
        merges = _merges(store, fix)
        reported = {one.where for one in merges}
        files = [*_files(store, reported), *_entities(store, reported), *_links(store)]
        others = [
            *_driver(store, fix),
            *_hidden_tree(store, fix),
            *_journal(store, fix),
            *_check_signing(store),
        ]
        others += [
            *_agents(store),
            *_sync(store),
            *_kept_versions(store),
            *_disputes(store),
            *_check_left_out(store),
            *_hooks(store),
        ]
        return [*found, *merges, *files, *others, *_settings(store), *_check_degraded(store, private)]


def _check_left_out(store: Store) -> list[Finding]:
    """Find files that stay behind here, and files of the branch that stay out of the work tree."""
    from engram.usecases.store import excluded_files

    behind = [
        Finding(
            "stays",
            excluded_files.display_path(path),
            f"it is not sent to others: it {why}",
            "Mend or rename it; the next sync takes it.",
        )
        for path, why in sorted(excluded_files.stays(store).items())
    ]
    out = [
        Finding(
            "left out",
            excluded_files.display_path(path),
            f"it is in the branch and not written here: it {why}",
            "Whoever added it can rename it; then it comes in.",
        )
        for path, why in sorted(excluded_files.read_left_out(store.places.state).items())
    ]
    return behind + out


def _hooks(store: Store) -> list[Finding]:
    """Report what hooks failed of in the last day, each kind of them once with its last error."""
    from engram.usecases.agents import hook_failures

    try:
        failed = hook_failures.of_last_day(store)
    except StoreError:  # another process uses the activity log
        return []
    by_hook: dict[str, list[str]] = {}
    for one in failed:
        by_hook.setdefault(f"{one.via}, {one.agent}" if one.agent else one.via, []).append(one.query)
    hint = "`engram live` shows when; with ENGRAM_TRACEBACK=1 the hook itself says where."
    return [
        Finding(
            HOOK,
            hook,
            f"failed {counted(len(errors), 'time')} in the last day, the last by {errors[0]}",
            hint,
        )
        for hook, errors in by_hook.items()
    ]


def _disputes(store: Store) -> list[Finding]:
    """Find entries of which two people or clones wrote different versions."""
    from engram.domain.entry.disputes import describe_dispute

    found = []
    for hit in look_up(store, lambda index: index.catalog.select("conflicts > 0", (), "ORDER BY path")):
        with contextlib.suppress(EngramError):
            lore = entry_writer.load(store, hit.path).lore
            if lore.conflicts:
                dispute = describe_dispute(lore, store.clock.now())
                found.append(
                    Finding(CONFLICT, hit.path, dispute, "`engram review --kind conflict` settles it.")
                )
    return found


def _merges(store: Store, fix: bool) -> list[Finding]:
    """Find files with conflict markers, and those that git left unmerged."""
    from engram.usecases.graph.entities import read_entities
    from engram.usecases.merge import repair

    problems = [*look_up(store, lambda index: index.catalog.problems()), *read_entities(store).problems]
    marked = repair.marked_files(store, [problem.path for problem in problems])
    if not fix:
        return [Finding("file", path, _UNMERGED, "`engram doctor --fix` merges them.") for path in marked]
    found = [_describe_repair(repair.repair(store, path), store.places.owns_branch) for path in marked]
    if any(one.fixed for one in found):
        refresh(store)
    return found


def _describe_repair(done: Repaired, owns_branch: bool) -> Finding:
    if not done.source:
        return Finding("file", done.path, f"{_UNMERGED}: {done.trouble}")
    what = f"merged from {done.source}"
    if done.conflicts:
        what += f"; it has both versions of {', '.join(done.conflicts)}; see `engram show`"
    if done.open_merge:
        what += "; finish the merge with `git commit`" if owns_branch else "; stage it with `git add`"
    return Finding("file", done.path, what, fixed=True)


def _driver(store: Store, fix: bool) -> list[Finding]:
    """Check whether a plain `git pull` merges lore by field, as sync always does."""
    from engram.usecases.merge.install_driver import complete, what_is_missing

    places = store.places
    if places.repository is None or not (places.owns_branch or not places.folder):
        return []
    try:
        missing = what_is_missing(places.repository, places.folder, places.root)
        if missing and fix:
            complete(store, missing)
    except EngramError as error:
        return [Finding(DRIVER, "", f"the merge driver cannot be configured: {error.message}", error.hint)]
    hint = "`engram doctor --fix` configures it."
    return [Finding(DRIVER, what, _MISSING[what], hint, fix) for what in missing]


def _hidden_tree(store: Store, fix: bool) -> list[Finding]:
    """Check whether the hidden work tree is registered and locked in git."""
    if store.places.placement != BRANCH or store.places.repository is None:
        return []
    from engram.adapters.git.write import hidden_tree

    if hidden_tree.is_registered(store.places.repository):
        return []
    if fix:
        hidden_tree.register(store.places.repository)
    message = "git may prune this work tree, since it is not registered and locked"
    return [Finding("worktree", store.places.root, message, "`engram doctor --fix` registers it.", fix)]


def _files(store: Store, reported: Collection[str]) -> list[Finding]:
    """Find files that are not adopted yet or cannot be recalled, except those already `reported`."""
    problems = look_up(store, lambda index: index.catalog.problems())
    unadopted = "adopted = 0" if store.places.folder else "0"  # in place notes stay as they are
    waiting = look_up(store, lambda index: index.catalog.select(unadopted))
    return _wrong("file", problems, reported) + [Finding("adoption", hit.path, *NO_FIELDS) for hit in waiting]


def _entities(store: Store, reported: Collection[str]) -> list[Finding]:
    """Find entity files that are unreadable or have merge conflicts."""
    from engram.usecases.graph.entities import read_entities

    found = read_entities(store)
    conflicts = [Finding(CONFLICT, one.path, one.message, one.hint) for one in found.conflicts]
    return _wrong("entity", found.problems, reported) + conflicts


def _wrong(kind: str, problems: Iterable[Problem], reported: Collection[str]) -> list[Finding]:
    return [
        Finding(kind, f"{one.path}:{one.line}" if one.line else one.path, one.message, one.hint)
        for one in problems
        if one.path not in reported
    ]


def _links(store: Store) -> list[Finding]:
    """Find broken and ambiguous links, as `engram check` does."""
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
        damage = generation.verify() if generation is not None else ["there is no index"]
    except IndexUnavailableError as error:  # a rebuild has no more room
        return [Finding("index", "", error.message, error.hint)]
    except EngramError as error:
        damage = [str(error)]
    if damage and fix:
        refresh(store, rebuild="engram doctor found it damaged")
    hint = "`engram doctor --fix` rebuilds it."
    return [Finding("index", "", f"the search index is damaged: {what}", hint, fix) for what in damage]


def _private_files(store: Store, fix: bool) -> list[Finding]:
    """Find private files that may not be read or written, and folders that somebody put where such a file belongs.

    Those of the user's own store are among them, which commands use from everywhere.
    """
    states = [store.places.state]
    if os.path.isfile(os.path.join(user_store(), CONFIG_NAME)):
        with contextlib.suppress(EngramError):
            states.append(locate_root(user_store(), USER).places.state)
    found = _private_file(store, connections_file(), fix)
    for state in dict.fromkeys(states):
        for at, folders, files in os.walk(state):
            folders[:] = [name for name in folders if name not in _NO_STATE and not name.endswith(_DAMAGED)]
            misplaced = [name for name in folders if _is_file_name(name)]
            folders[:] = [name for name in folders if name not in misplaced]
            for name in [*misplaced, *files]:
                found += _private_file(store, os.path.join(at, name), fix)
    return found


def _private_file(store: Store, path: str, fix: bool) -> list[Finding]:
    """Check that a private file is one, which may be read and written."""
    if os.path.islink(path) or not os.path.lexists(path):
        return []
    if os.path.isdir(path):
        fixed = fix and _put_aside(path, store.clock.new_id())
        return [Finding(PRIVATE, path, "a folder stands where a private file belongs", _ASIDE, fixed)]
    if os.access(path, os.R_OK | os.W_OK):
        return []
    return [
        Finding(PRIVATE, path, "this private file may not be read and written", _ALLOW, fix and _allow(path))
    ]


def _source(store: Store, fix: bool) -> list[Finding]:
    """Check this clone's id: its own ledgers have it too."""
    path, writers = store.source_path, store.ledgers.writers()
    if not writers or not os.path.lexists(path) or store.read_source() in writers:
        return []
    if not fix and os.path.isdir(path):
        return []  # reported as a folder
    if fix:
        store.write_source(writers[-1])
    message = "the id of this clone is damaged; its own judgements have it too"
    return [Finding(PRIVATE, path, message, "`engram doctor --fix` takes it from there.", fix)]


def _ledgers(store: Store, fix: bool) -> list[Finding]:
    """Check this clone's own judgements."""
    try:
        damaged = damaged_ledgers.find_damaged(store)
        if fix:
            for path in damaged:
                damaged_ledgers.mend(store, path)
    except StoreError:  # reported as a private file
        return []
    message = "lines of this clone's judgements cannot be read"
    hint = f"`engram doctor --fix` leaves those that can, and copies the file to ….jsonl{_DAMAGED}."
    return [Finding(PRIVATE, path, message, hint, fix) for path in damaged]


def _token(store: Store, fix: bool) -> list[Finding]:
    """Check the token that clients of a server must send."""
    path = os.path.join(store.places.state, http_token.NAME)
    try:
        if not http_token.is_damaged(path):
            return []
    except OSError:  # there is none, or it is reported as a private file
        return []
    fixed = fix and _put_aside(path, store.clock.new_id())
    message = (
        "this is no token for clients of a server; the next `engram serve` makes a new one, which they need"
    )
    return [Finding(PRIVATE, path, message, f"{_ASIDE} Give clients the new token.", fixed)]


def _is_file_name(name: str) -> bool:
    if name.endswith(_DAMAGED):
        return False
    return name in _NAMES or name.endswith(_EXTENSIONS) or name.startswith("own-moves-")


def _put_aside(path: str, token: str) -> bool:
    """Rename what stands in the way; return whether that was possible."""
    target = path + _DAMAGED
    try:
        os.rename(path, f"{path}.{token}{_DAMAGED}" if os.path.lexists(target) else target)
    except OSError:
        return False
    return True


def _allow(path: str) -> bool:
    """Let the owner read and write a file; return whether that was possible."""
    try:
        os.chmod(path, 0o600)
    except OSError:
        return False
    return True


def _leftovers(store: Store, fix: bool) -> list[Finding]:
    try:
        announced = {os.path.basename(operation.op) for operation in store.files.journal.waiting()}
    except StoreError:  # reported as a private file; then nobody knows what is left over
        return []
    names = walk.scan(store.places.root, store.places.folder).leftovers
    old = [path for path in _abandoned_files(store, names) if not any(op in path for op in announced)]
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
    try:
        waiting = store.files.journal.waiting()
    except StoreError:  # reported as a private file
        return []
    soon = store.clock.now().timestamp() - _BACKGROUND_SECONDS
    if not trouble and (not waiting or waiting[0].moment > soon):
        return []  # the background process is about to commit
    text = counted(len(waiting), "change waits", "changes wait")
    message = f"{text} to be committed" + (f": {trouble}" if trouble else "")
    are = "It is" if len(waiting) == 1 else "They are"
    hint = f"{are} safe in the write journal; `engram doctor --fix` tries again."
    return [Finding("git", store.places.root, message, hint)]


def _check_signing(store: Store) -> list[Finding]:
    from engram.adapters.git.write.signing import trouble

    why = trouble(store.places.state)
    message = f"commits are not signed although commit.gpgsign is set: {why}"
    hint = "Load the key into an agent, so that `git commit -S` works without a prompt; the next commit tries again."
    return [Finding("signing", store.places.root, message, hint)] if why else []


def _agents(store: Store) -> list[Finding]:
    """Find agent profiles that are unreadable or have merge conflicts."""
    from engram.usecases.graph.agent_profiles import find_problems
    from engram.usecases.graph.entities import TAKE_OVER, both_versions

    return [
        Finding(CONFLICT, path, both_versions(what), TAKE_OVER)
        if isinstance(what, tuple)
        else Finding("agent", path, what.message, what.hint)
        for path, what in find_problems(store)
    ]


def _sync(store: Store) -> list[Finding]:
    """Report why the last sync stopped, if a person has to act, or failed."""
    from engram.usecases.store.sync_state import last

    found = last(store)
    error = found["error"]
    if not isinstance(error, dict):
        return []
    stopped = error.get("code") in (SyncBlockedError.code, SecretFoundError.code)
    failures = found["failures"]
    failed = "the last sync failed" if failures == 1 else f"the last {failures} syncs failed"
    how = "the last sync stopped" if stopped else failed
    return [Finding(SYNC, "", f"{how}: {error.get('message')}", str(error.get("hint") or ""))]


def _kept_versions(store: Store) -> list[Finding]:
    """Find versions of other files that sync kept for a person to choose from."""
    places = store.places
    if places.repository is None or not places.owns_branch:
        return []
    from engram.adapters.git.read.snapshot import list_files

    try:
        listed = list_files(places.repository)
    except EngramError:
        return []  # git errors are reported elsewhere
    found = [
        path
        for path in listed
        if OTHER_VERSION.search(path) and os.path.lexists(os.path.join(places.root, path))
    ]
    message = "sync kept this version, as the file was changed both here and on the remote"
    hint = "Copy what you need from it into {0}, delete this version, then `git commit`."
    return [Finding(CONFLICT, path, message, hint.format(OTHER_VERSION.sub("", path))) for path in found]


def _settings(store: Store) -> list[Finding]:
    """Report settings of the store's file that have no effect here."""
    hint = f"To accept it: {ACCEPT}"
    broken = [Finding("settings", CONFIG_NAME, note, "Fix that line.") for note in store.notes]
    return broken + [Finding("settings", one.key, one.message, hint) for one in store.held_back]


def _check_degraded(store: Store, reported: Iterable[Finding]) -> list[Finding]:
    """Report what works less well than it could, but for what is `reported` with a file."""
    _ = store.embedder
    behind = store.meaning.progress(store.index.generation)
    known = [behind] if behind else []
    known += [one.where for one in reported]
    notes = [note for note in store.degraded if not any(text in note for text in known)]
    found = [Finding("embedding", "", note) for note in notes]
    return [*found, Finding(VECTORS, "", behind)] if behind else found


def _abandoned_files(store: Store, names: Iterable[str]) -> list[str]:
    """Choose temporary files older than ten minutes: killed writers left them."""
    limit = store.clock.nanoseconds() - 600 * 1_000_000_000
    found = [os.path.join(store.places.root, *name.split("/")) for name in names]
    stamps = {path: walk.stamp(path) for path in found}
    return [path for path, stamp in stamps.items() if stamp is not None and stamp.mtime_ns < limit]
