"""Agent profiles: one file per registered agent below the lore folder, synced with it. Activity times stay local.

Registration is optional: any name may record, hand over and receive handoffs.
"""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.adapters.files.scan import stamp
from engram.domain.entry.lore import HUMAN, Conflict
from engram.domain.entry.named_files import AGENTS
from engram.domain.errors import EngramError, NotFoundError, UsageError
from engram.domain.graph.team import AgentProfile, check_id, normalize_profile
from engram.domain.scopes import check_scope
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.adapters.files.frontmatter.named_file import FileContents
    from engram.usecases.store.store import Store

_SUFFIX = ".md"
_STAMPS_FILE = "agents.json"  # the stamps of the files at the last sync


class KnownAgent(NamedTuple):
    """A registered agent, or one seen on this machine; `seen_at` in Unix seconds (0.0: never here)."""

    profile: AgentProfile
    registered: bool
    seen_at: float = 0.0


def register_agent(store: Store, profile: AgentProfile) -> AgentProfile:
    """Write an agent's profile as one commit; empty fields leave those of an existing profile unchanged.

    Setting a field resolves a merge conflict in it.

    Raises UsageError, SecretFoundError, NotAllowedError, StoreError.
    """
    from engram.adapters.files.frontmatter import agent_file
    from engram.usecases.store import entry_writer

    profile = normalize_profile(profile)
    if profile.default_scope:
        check_scope(store.settings, profile.default_scope)
    texts = [profile.name, profile.text, *profile.capabilities, *(value for _, value in profile.settings)]
    entry_writer.refuse_secrets(store, "the agent's profile", *texts)
    with store.lock:
        entry_writer.check_writable(store)
        entry_writer.check_allowed(store, "record")
        path = _path(store, profile.id)
        before = store.files.read_if_there(path)
        known = agent_file.read(before or b"", path)
        updated = _merge(known, profile)
        if updated != known or before is None:
            changed = updated.changed(updated.record, store.clock.now())
            content = agent_file.rewrite(before or b"", path, changed)
            written = Change(path, content, None if before is None else atomic.digest(before))
            subject = f"{'register' if before is None else 'change'} agent: {profile.id}"
            about = [("Engram-Profile", profile.id)]
            entry_writer.write(store, [entry_writer.operation(store, subject, [written], about)])
    return _profile(updated)


def list_agents(store: Store) -> list[KnownAgent]:
    """List registered agents by id, then others seen here, most recent first. Unreadable files are skipped."""
    seen = _read_last_seen(store)
    found = []
    for agent_id in _ids(store):
        try:
            found.append(KnownAgent(read_agent(store, agent_id), True, seen.pop(agent_id, 0.0)))
        except EngramError:
            continue
    others = sorted(seen.items(), key=lambda pair: (-pair[1], pair[0]))
    return found + [KnownAgent(AgentProfile(name, name), False, at) for name, at in others if name != HUMAN]


def find_problems(store: Store) -> list[tuple[str, EngramError | tuple[Conflict, ...]]]:
    """List the paths of unreadable profiles, each with its error, and of those with merge conflicts."""
    found: list[tuple[str, EngramError | tuple[Conflict, ...]]] = []
    for agent_id in _ids(store):
        path = _path(store, agent_id)
        try:
            file = _read_file(store, agent_id)
        except EngramError as error:
            found.append((path, error))
        else:
            found += [(path, file.conflicts)] if file.conflicts else []
    return found


def read_agent(store: Store, agent_id: str) -> AgentProfile:
    """Read the profile of a registered agent. Raises NotFoundError, UsageError, LoreFileError."""
    return _profile(_read_file(store, check_id(agent_id)))


def note_manual_edits(store: Store) -> None:
    """Queue manual edits of profiles for the next commit. Raises StoreError."""
    import json

    from engram.usecases.store.outside_changes import record_outside_changes

    if not store.files.journaled:
        return
    stamps_path = os.path.join(store.places.state, _STAMPS_FILE)
    try:
        before = dict(json.loads(atomic.read(stamps_path)))
    except (EngramError, ValueError, TypeError):
        before = {}  # every profile counts as changed
    stamps = {agent_id: _stamp(store, agent_id) for agent_id in _ids(store)}
    changed = sorted([name for name in {*before, *stamps} if before.get(name) != stamps.get(name)])
    if changed:
        record_outside_changes(store, [_path(store, agent_id) for agent_id in changed])
        atomic.write(stamps_path, json.dumps(stamps).encode(), "agents")


def _stamp(store: Store, agent_id: str) -> list[int]:
    """Return modification time and size of a profile; empty if there is no file."""
    found = stamp(store.files.absolute(_path(store, agent_id)))
    return [found.mtime_ns, found.size] if found else []


def last_seen(store: Store, agent_id: str) -> float:
    """Return when an agent was last active here (Unix seconds, 0.0: never or unknown)."""
    return _read_last_seen(store).get(agent_id, 0.0)


def store_of_agent(store: Store, agent_id: str, scope: str) -> Store:
    """Return the store that an agent writes to: that of the given scope, else of its default scope, else this one.

    There is no fallback to another scope. Raises UsageError, NotFoundError if the scope has no store here.
    """
    from engram.usecases.opening.scopes import open_scope_of

    return open_scope_of(store, scope or _default_scope(store, agent_id), make=True)


def stores_of_agent(store: Store, agent_id: str) -> list[Store]:
    """Return the stores that an agent reads: this one, and that of its default scope if it can be opened."""
    from engram.usecases.opening.scopes import TROUBLE, exists, open_scope_of

    try:
        name = _default_scope(store, agent_id)
        own = open_scope_of(store, name) if name and exists(store, name) else store
    except TROUBLE:
        own = store
    return [store] if own is store else [store, own]


def _default_scope(store: Store, agent_id: str) -> str:
    """Return the default scope of a registered agent, "" for any other. Raises LoreFileError."""
    try:
        return read_agent(store, agent_id).default_scope if agent_id else ""
    except (NotFoundError, UsageError):
        return ""


def _path(store: Store, agent_id: str) -> str:
    return f"{store.places.home}/{AGENTS}/{agent_id}{_SUFFIX}"


def _ids(store: Store) -> list[str]:
    try:
        names = sorted(os.listdir(store.files.absolute(f"{store.places.home}/{AGENTS}")))
    except OSError:
        return []
    return [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and name[0] != "."]


def _read_file(store: Store, agent_id: str) -> FileContents:
    from engram.adapters.files.frontmatter import agent_file

    path = _path(store, agent_id)
    raw = store.files.read_if_there(path)
    if raw is None:
        raise NotFoundError(
            f"No agent '{agent_id}' is registered here.", "`engram team` lists those that are."
        )
    return agent_file.read(raw, path)


def _profile(file: FileContents) -> AgentProfile:
    profile: AgentProfile = file.record
    return profile


def _merge(known: FileContents, new: AgentProfile) -> FileContents:
    """Update an existing profile with the non-empty fields of a new one. A name equal to the id counts as empty."""
    before = _profile(known)
    changed = {name: value for name, value in new._asdict().items() if value and name != "id"}
    if new.name == new.id:
        del changed["name"]
    remaining = tuple([conflict for conflict in known.conflicts if conflict.field not in changed])
    if new.settings:
        changed["settings"] = tuple((dict(before.settings) | dict(new.settings)).items())
    return known._replace(record=before._replace(**changed), conflicts=remaining)


def _read_last_seen(store: Store) -> dict[str, float]:
    """Return when each agent was last active, from the activity log of this machine."""
    return dict(store.session_state.live.last_by_agent())
