"""Registered agents: a file for each below the lore folder, which travels with the lore. When they were seen is local.

Nobody has to be registered: whoever says a name may record, hand over and be handed to.
"""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.journal import Change, Operation
from engram.adapters.files.scan import stamp
from engram.domain.entry import times
from engram.domain.entry.lore import HUMAN
from engram.domain.entry.named_files import AGENTS
from engram.domain.errors import EngramError, NotFoundError, UsageError
from engram.domain.graph.team import AgentProfile, checked_id, checked_profile
from engram.domain.scopes import checked_scope
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.adapters.files.frontmatter.named_file import FileContents
    from engram.domain.entry.lore import Conflict
    from engram.usecases.store.store import Store

_SUFFIX = ".md"
_LOOKED_AT = "agents.json"  # what shows a change of each file, as of the last sync


class KnownAgent(NamedTuple):
    """An agent that is registered or was seen here; `seen_at` in Unix seconds (0.0: not on this machine)."""

    profile: AgentProfile
    registered: bool
    seen_at: float = 0.0


def register_agent(store: Store, profile: AgentProfile) -> AgentProfile:
    """Write what an agent is, as one commit; again: what differs. Fields that are left empty stay as they are.

    Where a merge left two versions of a field, saying it anew settles that.

    Raises UsageError, SecretFoundError, NotAllowedError, StoreError.
    """
    from engram.adapters.files.frontmatter import agent_file
    from engram.domain.merge.merge import NEVER
    from engram.usecases.store import entry_writer

    profile = checked_profile(profile)
    if profile.default_scope:
        checked_scope(store.settings, profile.default_scope)
    _refuse_secrets(store, profile)
    with store.lock:
        entry_writer.check_writable(store)
        entry_writer.check_allowed(store, "record")
        before, path = _raw(store, profile.id), _path(store, profile.id)
        known = agent_file.read(before or b"", path)
        wanted = _over(known, profile)
        if wanted != known or before is None:
            stamp = times.after(store.clock.now(), known.updated_at or NEVER)
            content = agent_file.rewrite(before or b"", path, wanted._replace(updated_at=stamp))
            written = Change(path, content, None if before is None else atomic.digest(before))
            entry_writer.write(store, [_operation(store, wanted.record, written, new=before is None)])
    return _profile(wanted)


def agents(store: Store) -> list[KnownAgent]:
    """All registered agents by id, then others that were seen here, the latest first. Unreadable files are left out."""
    seen = _seen(store)
    found = []
    for agent_id in _ids(store):
        try:
            found.append(KnownAgent(agent(store, agent_id), True, seen.pop(agent_id, 0.0)))
        except EngramError:
            continue
    others = sorted(seen.items(), key=lambda one: (-one[1], one[0]))
    return found + [KnownAgent(AgentProfile(name, name), False, at) for name, at in others if name != HUMAN]


def troubled(store: Store) -> list[tuple[str, EngramError | tuple[Conflict, ...]]]:
    """Files in the place of agents that cannot be read as such, or hold two versions of something: the path, and what it is."""
    found: list[tuple[str, EngramError | tuple[Conflict, ...]]] = []
    for agent_id in _ids(store):
        path = _path(store, agent_id)
        try:
            said = _said(store, agent_id)
        except EngramError as error:
            found.append((path, error))
        else:
            found += [(path, said.conflicts)] if said.conflicts else []
    return found


def agent(store: Store, agent_id: str) -> AgentProfile:
    """A registered agent. Raises NotFoundError, UsageError, LoreFileError."""
    return _profile(_said(store, checked_id(agent_id)))


def note_by_hand(store: Store) -> None:
    """Have what people changed in files of agents committed with what else waits. Raises StoreError."""
    import json

    from engram.usecases.store.outside_changes import record_outside_changes

    if not store.files.journaled:
        return
    kept = os.path.join(store.places.state, _LOOKED_AT)
    try:
        before = json.loads(atomic.read(kept))
    except (NotFoundError, ValueError):
        before = {}
    stamps = {agent_id: _stamp(store, agent_id) for agent_id in _ids(store)}
    changed = sorted([one for one in {*before, *stamps} if before.get(one) != stamps.get(one)])
    if changed:
        record_outside_changes(store, [_path(store, agent_id) for agent_id in changed])
        atomic.write(kept, json.dumps(stamps).encode(), "agents")


def _stamp(store: Store, agent_id: str) -> list[int]:
    """What shows a change of a file."""
    found = stamp(store.files.absolute(_path(store, agent_id)))
    return [found.mtime_ns, found.size] if found else []


def seen_at(store: Store, agent_id: str) -> float:
    """When an agent did something here last (Unix seconds, 0.0: never, or that is not known)."""
    return _seen(store).get(agent_id, 0.0)


def home_of(store: Store, agent_id: str, scope: str) -> Store:
    """The store that an agent writes to: of the named scope, else of its default scope, else this one.

    What was meant for a scope goes into no other. Raises UsageError, NotFoundError where it is not here.
    """
    from engram.usecases.opening.scopes import reach

    return reach(store, scope or _default_scope(store, agent_id), make=True)


def homes_of(store: Store, agent_id: str) -> list[Store]:
    """The stores that are read for an agent: this one, and that of its default scope where it can be opened."""
    from engram.usecases.opening.scopes import TROUBLE, exists, reach

    try:
        name = _default_scope(store, agent_id)
        own = reach(store, name) if name and exists(store, name) else store
    except TROUBLE:
        own = store
    return [store] if own is store else [store, own]


def _default_scope(store: Store, agent_id: str) -> str:
    """The default scope of a registered agent; "" for any other. Raises LoreFileError."""
    try:
        return agent(store, agent_id).default_scope if agent_id else ""
    except (NotFoundError, UsageError):
        return ""


def _path(store: Store, agent_id: str) -> str:
    return f"{store.places.folder}/{AGENTS}/{agent_id}{_SUFFIX}"


def _raw(store: Store, agent_id: str) -> bytes | None:
    try:
        return store.files.read(_path(store, agent_id))
    except NotFoundError:
        return None


def _ids(store: Store) -> list[str]:
    try:
        names = sorted(os.listdir(store.files.absolute(f"{store.places.folder}/{AGENTS}")))
    except OSError:
        return []
    return [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and name[0] != "."]


def _said(store: Store, agent_id: str) -> FileContents:
    from engram.adapters.files.frontmatter import agent_file

    raw, path = _raw(store, agent_id), _path(store, agent_id)
    if raw is None:
        raise NotFoundError(
            f"No agent '{agent_id}' is registered here.", "`engram team` lists those that are."
        )
    return agent_file.read(raw, path)


def _profile(said: FileContents) -> AgentProfile:
    found: AgentProfile = said.record
    return found


def _over(known: FileContents, said: AgentProfile) -> FileContents:
    """What was known, with what is said now; a name that was not given is the id."""
    before = _profile(known)
    told = {name: value for name, value in said._asdict().items() if value and name != "id"}
    if said.name == said.id:
        del told["name"]
    left = tuple([one for one in known.conflicts if one.field not in told])
    if said.settings:
        told["settings"] = tuple((dict(before.settings) | dict(said.settings)).items())
    return known._replace(record=before._replace(**told), conflicts=left)


def _operation(store: Store, profile: AgentProfile, written: Change, *, new: bool) -> Operation:
    said = [("Engram-Profile", profile.id), ("Engram-Agent", store.caller.who)]
    said += [("Engram-Session", store.caller.session), ("Engram-Source", store.source)]
    trailers = tuple((key, value) for key, value in said if value)
    subject = f"{'register' if new else 'change'} agent: {profile.id}"
    return Operation(store.clock.new_id(), int(store.clock.now().timestamp()), subject, trailers, (written,))


def _refuse_secrets(store: Store, profile: AgentProfile) -> None:
    from engram.domain.admission.secrets import find_secrets, refuse

    said = [profile.name, profile.text, *profile.capabilities, *(value for _, value in profile.settings)]
    for text in said:
        findings = find_secrets(text, store.allowed_secrets)
        if findings:
            raise refuse(findings, "the agent's profile")


def _seen(store: Store) -> dict[str, float]:
    """When each agent did something last, from the live record of this machine."""
    return dict(store.session_state.live.last_by_agent())
