"""Apply proposed settings to a configuration file, and restore that file byte for byte."""

from __future__ import annotations

import base64
import json
import os
import stat

from engram.adapters.files import config_file, places
from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.domain.errors import ConflictError, NotFoundError, UsageError
from engram.domain.scopes import scope_named
from engram.domain.tuning.evolution import Evolution, Proposal, format_steps, is_of_scope
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store.accepted_settings import in_force
from engram.usecases.store.entry_writer import check_allowed, check_writable, operation
from engram.usecases.tuning.evolve import evolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store

_NAME = "evolutions.json"


class Applied(NamedTuple):
    """One application of proposals: the file, its bytes before (None: no file), and the digest of its bytes after."""

    file: str
    before: bytes | None
    after: str
    keys: tuple[str, ...]


def evolve_store(store: Store, *, apply: bool = False, revert: bool = False, user: bool = False) -> Evolution:
    """Propose settings, and apply them on request; or revert the last application.

    Raises UsageError, NotFoundError, ConflictError, StoreError, ConfigError.
    """
    if revert:
        if apply or user:
            raise UsageError(
                "--revert cannot be combined with --apply or --user.", "Use it alone: engram evolve --revert"
            )
        with store.lock:
            return _revert(store)
    if apply and not user:
        check_writable(store)
        check_allowed(store, "record")
    with store.lock:
        found = evolve(store)
        proposals = [proposal for proposal in found.proposals if user or not is_of_scope(proposal.key)]
        if not (apply and proposals):
            return found
        file = apply_proposals(store, proposals, user=user)
        return found._replace(file=file, applied=tuple([proposal.key for proposal in proposals]))


def apply_proposals(store: Store, proposals: Sequence[Proposal], *, user: bool) -> str:
    """Write proposals to the store's file or the user's; return its path. Raises UsageError, StoreError."""
    own = os.path.realpath(places.user_config_file())  # people symlink it from their dotfiles
    values: dict[str, object] = {proposal.key: proposal.after for proposal in proposals}
    overridden = [] if user else sorted(values.keys() & config_file.read(own).keys())
    if overridden:
        raise UsageError(
            f"Your own {own} sets {', '.join(overridden)}, which overrides the store's file.",
            "Change it there: engram evolve --apply --user",
        )
    path = own if user else os.path.join(store.places.root, places.CONFIG_NAME)
    before = _read_bytes(path)
    after = config_file.set_values(before or b"", values, path)
    _save(store, [*_read_applied(store), Applied(path, before, atomic.digest(after), tuple(values))])
    _write(store, path, before, after, f"evolve: {format_steps(proposals)}")
    return path


def _revert(store: Store) -> Evolution:
    applied = _read_applied(store)
    if not applied:
        raise NotFoundError(
            "No applied proposals to revert.", "To remove a setting: engram config KEY --unset"
        )
    last = applied[-1]
    current = _read_bytes(last.file)
    if current != last.before:  # otherwise it was never written, or has been restored
        if current is None or atomic.digest(current) != last.after:
            raise ConflictError(
                f"{last.file} was changed since.",
                f"Remove the settings yourself: engram config {last.keys[0]} --unset",
            )
        _write(store, last.file, current, last.before, f"revert: evolve {', '.join(last.keys)}")
    _save(store, applied[:-1])
    return Evolution(0, 0, (), file=last.file, reverted=True)


def _write(store: Store, path: str, before: bytes | None, after: bytes | None, subject: str) -> None:
    """Write the bytes (None: delete the file); a store file goes through the journal, so Engram commits it."""
    if os.path.dirname(path) == store.places.root:
        check_writable(store)
        check_allowed(store, "record")
        change = Change(places.CONFIG_NAME, after, None if before is None else atomic.digest(before))
        store.files.apply([operation(store, subject, [change])])
    elif after is None:
        atomic.remove(path)
    else:
        mode = stat.S_IMODE(os.stat(path).st_mode) if before is not None else 0o644
        os.makedirs(os.path.dirname(path), exist_ok=True)
        atomic.write(path, after, "config", mode)
    outside = store.places.repository is None
    store.settings = in_force(store.places.root, None if outside else store.places.state).settings
    for affected in (store, *store.others.values()):
        affected.scope = scope_named(store.settings, affected.places.scope)


def _read_bytes(path: str) -> bytes | None:
    try:
        return atomic.read(path)
    except NotFoundError:
        return None


def _read_applied(store: Store) -> list[Applied]:
    """Read the applications that were not reverted, oldest first."""
    try:
        lines = json.loads(atomic.read(os.path.join(store.places.state, _NAME)))
        return [
            Applied(line["file"], _decode(line["before"]), line["after"], tuple(line["keys"]))
            for line in lines
        ]
    except (NotFoundError, ValueError, KeyError, TypeError):
        return []


def _save(store: Store, applied: Sequence[Applied]) -> None:
    lines = [
        {**item._asdict(), "before": None if item.before is None else base64.b64encode(item.before).decode()}
        for item in applied
    ]
    atomic.write(os.path.join(store.places.state, _NAME), json.dumps(lines).encode(), "evolutions", 0o600)


def _decode(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
