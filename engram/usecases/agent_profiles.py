"""Registered agents: a file for each below the lore folder, which travels with the lore. When they were seen is local.

Nobody has to be registered: whoever says a name may record, hand over and be handed to.
"""

from __future__ import annotations

import os

from engram.adapters.files import atomic
from engram.adapters.files.journal import Change, Operation
from engram.domain.errors import EngramError, NotFoundError
from engram.domain.lore import HUMAN
from engram.domain.scopes import checked_scope
from engram.domain.team import AgentProfile, checked_id, checked_profile
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.adapters.files.further_keys import Wanted
    from engram.usecases.store import Store

FOLDER = "agents"
_SUFFIX = ".md"


class KnownAgent(NamedTuple):
    """An agent that is registered or was seen here; `seen_at` in Unix seconds (0.0: not on this machine)."""

    profile: AgentProfile
    registered: bool
    seen_at: float = 0.0


def register_agent(store: Store, profile: AgentProfile) -> AgentProfile:
    """Write what an agent is, as one commit; again: what differs. Fields that are left empty stay as they are.

    Raises UsageError, SecretFoundError, StoreError.
    """
    from engram.usecases import change

    profile = checked_profile(profile)
    if profile.default_scope:
        checked_scope(store.settings, profile.default_scope)
    _refuse_secrets(store, profile)
    with store.lock:
        change.check_writable(store)
        before = _raw(store, profile.id)
        if before is not None:
            profile = _over(_parsed(profile.id, before, _path(store, profile.id)), profile)
        content = _written(before or b"", profile)
        if content != before:
            written = Change(_path(store, profile.id), content, atomic.digest(before) if before else None)
            change.write(store, [_operation(store, profile, written, new=before is None)])
    return profile


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


def unreadable(store: Store) -> list[EngramError]:
    """Why files in the place of agents cannot be read as such."""
    found = []
    for agent_id in _ids(store):
        try:
            agent(store, agent_id)
        except EngramError as error:
            found.append(error)
    return found


def agent(store: Store, agent_id: str) -> AgentProfile:
    """A registered agent. Raises NotFoundError, UsageError, LoreFileError."""
    raw = _raw(store, checked_id(agent_id))
    if raw is None:
        raise NotFoundError(
            f"No agent '{agent_id}' is registered here.", "`engram team` lists those that are."
        )
    return _parsed(agent_id, raw, _path(store, agent_id))


def seen_at(store: Store, agent_id: str) -> float:
    """When an agent did something here last (Unix seconds, 0.0: never, or that is not known)."""
    return _seen(store).get(agent_id, 0.0)


def home_of(store: Store, agent_id: str, scope: str) -> Store:
    """The store that an agent means: of the named scope, else of its default scope where that is here, else this one.

    Raises UsageError, NotFoundError for a named one.
    """
    from engram.usecases.scopes import TROUBLE, exists, reach

    if scope:
        return reach(store, scope)
    try:
        name = agent(store, agent_id).default_scope if agent_id else ""
        return reach(store, name) if name and exists(store, name) else store
    except TROUBLE:
        return store


def _path(store: Store, agent_id: str) -> str:
    return f"{store.places.folder}/{FOLDER}/{agent_id}{_SUFFIX}"


def _raw(store: Store, agent_id: str) -> bytes | None:
    try:
        return store.files.read(_path(store, agent_id))
    except NotFoundError:
        return None


def _ids(store: Store) -> list[str]:
    try:
        names = sorted(os.listdir(store.files.absolute(f"{store.places.folder}/{FOLDER}")))
    except OSError:
        return []
    return [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and name[0] != "."]


def _parsed(agent_id: str, raw: bytes, path: str) -> AgentProfile:
    from engram.adapters.files import further_keys

    keys, text = further_keys.read(raw, path)
    return AgentProfile(
        agent_id,
        further_keys.text_of(keys.get("name")) or agent_id,
        further_keys.words_of(keys.get("capabilities", "")),
        further_keys.text_of(keys.get("default_scope")),
        further_keys.table_of(keys.get("settings")),
        text,
    )


def _over(known: AgentProfile, said: AgentProfile) -> AgentProfile:
    """What was known, with what is said now; a name that was not given is the id."""
    return AgentProfile(
        said.id,
        known.name if said.name == said.id else said.name,
        said.capabilities or known.capabilities,
        said.default_scope or known.default_scope,
        tuple((dict(known.settings) | dict(said.settings)).items()),
        said.text or known.text,
    )


def _written(before: bytes, profile: AgentProfile) -> bytes:
    from engram.adapters.files.further_keys import with_keys

    wanted: dict[str, Wanted] = {
        "name": profile.name,
        "capabilities": profile.capabilities,
        "default_scope": profile.default_scope,
        "settings": dict(profile.settings),
    }
    return with_keys(before, wanted, profile.text or None)


def _operation(store: Store, profile: AgentProfile, written: Change, *, new: bool) -> Operation:
    trailers = (("Engram-Agent", store.caller.who), ("Engram-Source", store.source))
    subject = f"{'register' if new else 'change'} agent: {profile.id}"
    return Operation(store.clock.new_id(), int(store.clock.now().timestamp()), subject, trailers, (written,))


def _refuse_secrets(store: Store, profile: AgentProfile) -> None:
    from engram.domain.secrets import find_secrets, refuse

    said = [profile.name, profile.text, *profile.capabilities, *(value for _, value in profile.settings)]
    for text in said:
        findings = find_secrets(text, store.allowed_secrets)
        if findings:
            raise refuse(findings, "the agent's profile")


def _seen(store: Store) -> dict[str, float]:
    """When each agent did something last, from the live record of this machine."""
    return dict(store.session_state.live.last_by_agent())
