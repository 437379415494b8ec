"""Diagnose a store, and make the repairs that need no decision."""

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
from engram.usecases.index.index_query import query_without_refresh
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
VECTORS = "vectors"  # still being computed, which is not a problem
LINK, CONFLICT, SYNC, HOOK = "link", "conflict", "sync", "hook"
PRIVATE = "private"
_OTHER_FOLDERS = {"worktree", "lore", "as-of"}  # folders in the private folder that have other files
_EXTENSIONS = (".db", ".json", ".jsonl", ".lock", ".md", ".npz")
# Names of private files without an extension.
_NAMES = {
    "author", "dedicated", "folded-up-to", "http-token", "ignored", "lock", "merges-looked-at", "outside",
    "outside.taken", "source", "sync-consent", "sync-under-way", "sync-waits", "unsigned", "used", "weighed-up-to",
}  # fmt: skip
_DAMAGED = ".damaged"
_RENAME = "`engram doctor --fix` renames it; Engram then creates the file again."
_PERMIT = "`engram doctor --fix` gives its owner that permission."
_BACKGROUND_SECONDS = 60  # after which the background process should have committed
_UNMERGED = "two versions of this file were not merged"
_MISSING = {
    "attributes": "no git attributes assign lore files to Engram's merge driver",
    "command": "git's merge driver for lore is missing, or starts another Engram, so a plain `git pull` may leave conflicts",
}


class Finding(NamedTuple):
    """A problem: its kind, place, description and remedy, and whether it was just repaired."""

    kind: str
    where: str
    message: str
    hint: str = ""
    fixed: bool = False


def doctor(store: Store, *, fix: bool = False) -> list[Finding]:
    """Check everything; return the problems found.

    With `fix`, merge files with conflict markers, rebuild a damaged index, delete leftovers, complete the git
    configuration, and commit pending changes.
    """
    with store.lock:
        private = [*_check_source(store, fix), *_check_private_files(store, fix), *_check_token(store, fix)]
        private += _check_ledgers(store, fix)
        found = [*private, *_check_leftovers(store, fix), *_check_index(store, fix)]
        merges = _check_merges(store, fix)
        reported = {one.where for one in merges}
        return [
            *found,
            *merges,
            *_check_files(store, reported),
            *_check_entities(store, reported),
            *_check_links(store),
            *_check_driver(store, fix),
            *_check_hidden_tree(store, fix),
            *_check_journal(store, fix),
            *_check_signing(store),
            *_check_agents(store),
            *_check_sync(store),
            *_check_other_versions(store),
            *_check_disputes(store),
            *_check_excluded(store),
            *_check_hooks(store),
            *_check_settings(store),
            *_check_degraded(store, private),
        ]


def _check_excluded(store: Store) -> list[Finding]:
    """Find files here that are not sent, and files of the branch that are not written here."""
    from engram.usecases.store import excluded_files

    display, found = excluded_files.display_path, list[Finding]()
    for path, why in sorted(excluded_files.uncommitted_files(store).items()):
        message = f"it is not sent to others: it {why}"
        found.append(Finding("stays", display(path), message, "Fix or rename it; the next sync sends it."))
    for path, why in sorted(excluded_files.read_left_out(store.places.state).items()):
        message = f"it is on the branch, but not checked out here: it {why}"
        hint = "Ask whoever added it to rename it; the next sync then writes it."
        found.append(Finding("left out", display(path), message, hint))
    return found


def _check_hooks(store: Store) -> list[Finding]:
    """Report hooks that failed in the last day, each once, with its last error."""
    from engram.usecases.agents import hook_failures

    try:
        failed = hook_failures.failures_of_last_day(store)
    except StoreError:  # another process uses the activity log
        return []
    by_hook: dict[str, list[str]] = {}
    for event in failed:
        hook = f"{event.via}, {event.agent}" if event.agent else event.via
        by_hook.setdefault(hook, []).append(event.query)
    hint = "`engram live` shows when; with ENGRAM_TRACEBACK=1 the hook itself says where."
    message = "failed {} in the last day, most recently with {}"
    return [
        Finding(HOOK, hook, message.format(counted(len(errors), "time"), errors[0]), hint)
        for hook, errors in by_hook.items()
    ]


def _check_disputes(store: Store) -> list[Finding]:
    """Find entries with different versions by two people or clones."""
    from engram.domain.entry.disputes import describe_dispute

    found = []
    for hit in query_without_refresh(
        store, lambda index: index.catalog.select("conflicts > 0", (), "ORDER BY path")
    ):
        with contextlib.suppress(EngramError):
            lore = entry_writer.load(store, hit.path).lore
            if lore.conflicts:
                dispute = describe_dispute(lore, store.clock.now())
                found.append(
                    Finding(CONFLICT, hit.path, dispute, "`engram review --kind conflict` settles it.")
                )
    return found


def _check_merges(store: Store, fix: bool) -> list[Finding]:
    """Find files with conflict markers, and those that git left unmerged."""
    from engram.usecases.graph.entities import read_entities
    from engram.usecases.merge import repair

    problems = [
        *query_without_refresh(store, lambda index: index.catalog.problems()),
        *read_entities(store).problems,
    ]
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


def _check_driver(store: Store, fix: bool) -> list[Finding]:
    """Check whether a plain `git pull` merges lore by field, as sync does."""
    from engram.usecases.merge.install_driver import complete, missing_parts

    places = store.places
    if places.repository is None or not (places.owns_branch or not places.folder):
        return []
    try:
        missing = missing_parts(places.repository, places.folder, places.root)
        if missing and fix:
            complete(store, missing)
    except EngramError as error:
        return [Finding(DRIVER, "", f"the merge driver cannot be configured: {error.message}", error.hint)]
    hint = "`engram doctor --fix` configures it."
    return [Finding(DRIVER, what, _MISSING[what], hint, fix) for what in missing]


def _check_hidden_tree(store: Store, fix: bool) -> list[Finding]:
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


def _check_files(store: Store, reported: Collection[str]) -> list[Finding]:
    """Find files that are not adopted yet or cannot be recalled, except those already `reported`."""
    problems = query_without_refresh(store, lambda index: index.catalog.problems())
    unadopted = "adopted = 0" if store.places.folder else "0"  # notes in place are not adopted
    hits = query_without_refresh(store, lambda index: index.catalog.select(unadopted))
    return _describe_problems("file", problems, reported) + [
        Finding("adoption", hit.path, *NO_FIELDS) for hit in hits
    ]


def _check_entities(store: Store, reported: Collection[str]) -> list[Finding]:
    """Find entity files that are unreadable or have merge conflicts."""
    from engram.usecases.graph.entities import read_entities

    found = read_entities(store)
    conflicts = [Finding(CONFLICT, one.path, one.message, one.hint) for one in found.conflicts]
    return _describe_problems("entity", found.problems, reported) + conflicts


def _describe_problems(kind: str, problems: Iterable[Problem], reported: Collection[str]) -> list[Finding]:
    return [
        Finding(kind, f"{one.path}:{one.line}" if one.line else one.path, one.message, one.hint)
        for one in problems
        if one.path not in reported
    ]


def _check_links(store: Store) -> list[Finding]:
    """Find broken and ambiguous links, as `engram check` does."""
    from engram.usecases.graph.broken_links import all_bad_links

    generation = store.index.look()
    found = all_bad_links(store, generation) if generation is not None else []
    return [
        Finding(LINK, f"{one.path}:{one.line}" if one.line else one.path, one.message, MEND_LINK)
        for one in found
    ]


def _check_index(store: Store, fix: bool) -> list[Finding]:
    try:
        refresh(store)
        generation = store.index.look()
        damage = generation.verify() if generation is not None else ["there is no index"]
    except IndexUnavailableError as error:  # a rebuild would fail, too
        return [Finding("index", "", error.message, error.hint)]
    except EngramError as error:
        damage = [str(error)]
    if damage and fix:
        refresh(store, rebuild="engram doctor found it damaged")
    hint = "`engram doctor --fix` rebuilds it."
    return [Finding("index", "", f"the search index is damaged: {what}", hint, fix) for what in damage]


def _check_private_files(store: Store, fix: bool) -> list[Finding]:
    """Find private files that may not be read or written, and folders where such a file belongs.

    Includes those of the user's own store, which commands use from everywhere.
    """
    states = [store.places.state]
    if os.path.isfile(os.path.join(user_store(), CONFIG_NAME)):
        with contextlib.suppress(EngramError):
            states.append(locate_root(user_store(), USER).places.state)
    found = _check_private_file(store, connections_file(), fix)
    for state in dict.fromkeys(states):
        for parent, folders, files in os.walk(state):
            folders[:] = [
                name for name in folders if name not in _OTHER_FOLDERS and not name.endswith(_DAMAGED)
            ]
            misplaced = [name for name in folders if _is_file_name(name)]
            folders[:] = [name for name in folders if name not in misplaced]
            for name in [*misplaced, *files]:
                found += _check_private_file(store, os.path.join(parent, name), fix)
    return found


def _check_private_file(store: Store, path: str, fix: bool) -> list[Finding]:
    """Check that a private file is a file, and may be read and written."""
    if os.path.islink(path) or not os.path.lexists(path):
        return []
    if os.path.isdir(path):
        fixed = fix and _rename(path, store.clock.new_id())
        return [Finding(PRIVATE, path, "a folder is where a private file should be", _RENAME, fixed)]
    if os.access(path, os.R_OK | os.W_OK):
        return []
    fixed = fix and _permit(path)
    return [
        Finding(PRIVATE, path, "Engram has no permission to read and write this private file", _PERMIT, fixed)
    ]


def _check_source(store: Store, fix: bool) -> list[Finding]:
    """Check this clone's id, which its own ledgers also have."""
    path, writers = store.source_path, store.ledgers.writers()
    if not writers or not os.path.lexists(path) or store.read_source() in writers:
        return []
    if not fix and os.path.isdir(path):
        return []  # reported as a folder
    if fix:
        store.write_source(writers[-1])
    message = "the id of this clone is damaged; the files of its judgements still contain it"
    return [Finding(PRIVATE, path, message, "`engram doctor --fix` restores it from them.", fix)]


def _check_ledgers(store: Store, fix: bool) -> list[Finding]:
    """Check this clone's own judgements."""
    try:
        damaged = damaged_ledgers.find_damaged(store)
        if fix:
            for path in damaged:
                damaged_ledgers.mend(store, path)
    except StoreError:  # reported as a private file
        return []
    message = "some lines of this clone's judgements cannot be read"
    hint = f"`engram doctor --fix` copies the file to ….jsonl{_DAMAGED} and keeps the readable lines."
    return [Finding(PRIVATE, path, message, hint, fix) for path in damaged]


def _check_token(store: Store, fix: bool) -> list[Finding]:
    """Check the token that clients of a server must send."""
    path = os.path.join(store.places.state, http_token.NAME)
    try:
        if not http_token.is_damaged(path):
            return []
    except OSError:  # it does not exist, or is reported as a private file
        return []
    fixed = fix and _rename(path, store.clock.new_id())
    message = "this file holds no valid server token; the next `engram serve` creates one"
    return [Finding(PRIVATE, path, message, f"{_RENAME} Give clients the new token.", fixed)]


def _is_file_name(name: str) -> bool:
    if name.endswith(_DAMAGED):
        return False
    return name in _NAMES or name.endswith(_EXTENSIONS) or name.startswith("own-moves-")


def _rename(path: str, token: str) -> bool:
    """Rename a damaged file or misplaced folder; return whether that succeeded."""
    target = path + _DAMAGED
    try:
        os.rename(path, f"{path}.{token}{_DAMAGED}" if os.path.lexists(target) else target)
    except OSError:
        return False
    return True


def _permit(path: str) -> bool:
    """Let the owner read and write a file; return whether that succeeded."""
    try:
        os.chmod(path, 0o600)
    except OSError:
        return False
    return True


def _check_leftovers(store: Store, fix: bool) -> list[Finding]:
    try:
        announced = {os.path.basename(operation.op) for operation in store.files.journal.waiting()}
    except StoreError:  # reported as a private file; without the journal, leftovers are unknown
        return []
    names = walk.scan(store.places.root, store.places.folder).leftovers
    old = [path for path in _abandoned_files(store, names) if not any(op in path for op in announced)]
    for path in old:
        if fix:
            atomic.discard(path)
    message, hint = "a killed process left this temporary file", "`engram doctor --fix` removes it."
    return [Finding("leftover", path, message, hint, fix) for path in old]


def _check_journal(store: Store, fix: bool) -> list[Finding]:
    if not has_work(store):
        return []
    reason = commit_quietly(store) if fix else why_waiting(store)
    try:
        waiting = store.files.journal.waiting()
    except StoreError:  # reported as a private file
        return []
    recent = store.clock.now().timestamp() - _BACKGROUND_SECONDS
    if not reason and (not waiting or waiting[0].moment > recent):
        return []  # the background process is about to commit
    text = counted(len(waiting), "change waits", "changes wait")
    message = f"{text} to be committed" + (f": {reason}" if reason else "")
    subject = "It is" if len(waiting) == 1 else "They are"
    hint = f"{subject} safe in the write journal; `engram doctor --fix` tries again."
    return [Finding("git", store.places.root, message, hint)]


def _check_signing(store: Store) -> list[Finding]:
    from engram.adapters.git.write.signing import read_failure_reason

    why = read_failure_reason(store.places.state)
    message = f"commits are not signed although commit.gpgsign is set: {why}"
    hint = "Make `git commit -S` work without a prompt, e.g. with gpg-agent or ssh-agent; the next commit tries again."
    return [Finding("signing", store.places.root, message, hint)] if why else []


def _check_agents(store: Store) -> list[Finding]:
    """Find agent profiles that are unreadable or have merge conflicts."""
    from engram.usecases.graph.agent_profiles import find_problems
    from engram.usecases.graph.entities import CONFLICT_HINT, describe_conflicts

    return [
        Finding(CONFLICT, path, describe_conflicts(problem), CONFLICT_HINT)
        if isinstance(problem, tuple)
        else Finding("agent", path, problem.message, problem.hint)
        for path, problem in find_problems(store)
    ]


def _check_sync(store: Store) -> list[Finding]:
    """Report why the last sync failed, or stopped for a person to act."""
    from engram.usecases.store.sync_state import last

    found = last(store)
    error = found["error"]
    if not isinstance(error, dict):
        return []
    stopped = error.get("code") in (SyncBlockedError.code, SecretFoundError.code)
    failures = found["failures"]
    failed = "the last sync failed" if failures == 1 else f"the last {failures} syncs failed"
    outcome = "the last sync stopped" if stopped else failed
    return [Finding(SYNC, "", f"{outcome}: {error.get('message')}", str(error.get("hint") or ""))]


def _check_other_versions(store: Store) -> list[Finding]:
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


def _check_settings(store: Store) -> list[Finding]:
    """Report settings in the store's file that have no effect here."""
    hint = f"To accept it: {ACCEPT}"
    invalid = [Finding("settings", CONFIG_NAME, note, "Fix that line.") for note in store.notes]
    return invalid + [Finding("settings", one.key, one.message, hint) for one in store.held_back]


def _check_degraded(store: Store, reported: Iterable[Finding]) -> list[Finding]:
    """Report degraded features, without those `reported` already with a file."""
    _ = store.embedder  # adds its own note
    behind = store.meaning.progress(store.index.generation)
    known = [behind] if behind else []
    known += [one.where for one in reported]
    notes = [note for note in store.degraded if not any(text in note for text in known)]
    found = [Finding("embedding", "", note) for note in notes]
    return [*found, Finding(VECTORS, "", behind)] if behind else found


def _abandoned_files(store: Store, names: Iterable[str]) -> list[str]:
    """Return the temporary files older than ten minutes, which killed writers left."""
    limit = store.clock.nanoseconds() - 600 * 1_000_000_000
    paths = [os.path.join(store.places.root, *name.split("/")) for name in names]
    stamps = {path: walk.stamp(path) for path in paths}
    return [path for path, stamp in stamps.items() if stamp is not None and stamp.mtime_ns < limit]
