"""The effective settings of a store: a settings file that came with a pull can neither move the store nor break it.

The settings that this clone has accepted are kept in the state folder. A change to the place of lore or the allowed
secrets counts only after a person has accepted it here; an invalid setting keeps its last valid value.
"""

from __future__ import annotations

import contextlib
import json
import os

from engram.adapters.files import config_file, places
from engram.adapters.files.durable import atomic
from engram.domain import settings as rules
from engram.domain.errors import ConfigError, EngramError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.domain.settings import Settings

ALLOWED = "secrets.allow"
GUARDED = ("store.folder", "store.placement", ALLOWED)
ACCEPT = "engram config --accept"
_NAME = "settings.json"


class HeldBack(NamedTuple):
    """A key whose value in the store's file differs from the one this clone has accepted."""

    key: str
    in_force: object
    wanted: object

    @property
    def message(self) -> str:
        """A sentence that says what is held back."""
        if self.key == ALLOWED:
            wanted, known = (set(map(str, _as_list(value))) for value in (self.wanted, self.in_force))
            shown = ", ".join(sorted(wanted - known))[:120]
            return f"{places.CONFIG_NAME} adds to {ALLOWED} what does not count here: {shown}"
        return f"{places.CONFIG_NAME} sets {self.key} to {self.wanted!r}; this clone keeps {self.in_force!r}."


class InForce(NamedTuple):
    """The settings in force, those of the store's file that are held back, and what is wrong with it, in sentences."""

    settings: Settings
    held_back: tuple[HeldBack, ...] = ()
    trouble: tuple[str, ...] = ()


class _Accepted(NamedTuple):
    """The accepted values, and the text of the store's file if it sets exactly those, else ""."""

    text: str
    values: Mapping[str, object]


def in_force(root: str, state: str | None) -> InForce:
    """Return the settings of the store at `root` with the state folder `state` (None outside git, where nothing is pulled).

    Raises ConfigError for an invalid file of the user, a linked lore folder, and, outside git, an invalid file of
    the store.
    """
    if state is None:
        return InForce(config_file.load(root))
    kept = _read(state)
    before = {} if kept is None else dict(kept.values)
    try:
        raw = config_file.store_file(root)
        text = raw.decode("utf-8", "surrogateescape")
        if kept is not None and kept.text == text:
            return InForce(config_file.combine(root, before))
        given, invalid = config_file.parse_leniently(raw, os.path.join(root, places.CONFIG_NAME))
    except ConfigError as error:
        return InForce(config_file.combine(root, before), (), (_explain(error, kept),))
    given |= {name: before[name] for name in invalid if name in before}
    values, held_back = (given, ()) if kept is None else _hold_back(given, before)
    if not invalid:
        _write_if_changed(state, _Accepted("" if held_back else text, values), kept)
    trouble = tuple(_explain(error, kept) for error in invalid.values())
    return InForce(config_file.combine(root, values), held_back, trouble)


def accept(root: str, state: str, keys: Iterable[str] = GUARDED) -> tuple[HeldBack, ...]:
    """Accept the values of these keys from the store's file; return those that were held back. Raises ConfigError."""
    raw = config_file.store_file(root)
    given = config_file.parse(raw, os.path.join(root, places.CONFIG_NAME))
    kept = _read(state)
    chosen = tuple(keys)
    before = dict(kept.values) if kept else dict(given)
    held_back = _hold_back(given, before)[1]
    after = {**given, **{key: before[key] for key in GUARDED if key in before}}
    for key in chosen:
        after.pop(key, None)
        after |= {key: given[key]} if key in given else {}
    _write(state, _Accepted("" if _hold_back(given, after)[1] else raw.decode(), after))
    return tuple(held for held in held_back if held.key in chosen)


def accept_before(root: str, state: str, before: bytes | None) -> None:
    """Accept the content of the store's file before a change; None if there was no file, so that no secret is allowed.

    If it is invalid, accept the defaults. Raises StoreError.
    """
    raw = config_file.store_file(root) if before is None else before
    try:
        values, _ = config_file.parse_leniently(raw, os.path.join(root, places.CONFIG_NAME))
    except ConfigError:
        values = {}
    if before is None:
        values.pop(ALLOWED, None)
    _write(state, _Accepted("", values))


def carry(state: str, to: str, placement: str) -> None:
    """Copy the accepted settings to the state folder of a store's new place. Raises StoreError."""
    kept = _read(state)
    if kept is not None:
        _write(to, _Accepted("", {**kept.values, "store.placement": placement}))


def _hold_back(
    given: Mapping[str, object], before: Mapping[str, object]
) -> tuple[dict[str, object], tuple[HeldBack, ...]]:
    """Return the values in force if the file has those `given`, and the ones that are held back."""
    values = dict(given)
    held_back = []
    for key in GUARDED:
        default = rules.key_named(key).default
        wanted, accepted = given.get(key, default), before.get(key, default)
        if key == ALLOWED:
            accepted = [item for item in _as_list(wanted) if item in _as_list(accepted)]
        values[key] = accepted
        if accepted != wanted:
            held_back.append(HeldBack(key, accepted, wanted))
    return values, tuple(held_back)


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _explain(error: ConfigError, kept: _Accepted | None) -> str:
    instead = "its last valid settings count" if kept else "the defaults count"
    return f"{error.message} Until it is corrected, {instead}."


def _read(state: str) -> _Accepted | None:
    try:
        found = json.loads(atomic.read(os.path.join(state, _NAME)))
        values = {name: rules.check(name, value, _NAME) for name, value in found["values"].items()}
        return _Accepted(str(found["text"]), values)
    except (EngramError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write_if_changed(state: str, new: _Accepted, before: _Accepted | None) -> None:
    """Write the accepted settings if they changed; ignore a state folder that cannot be written."""
    if new != before:
        with contextlib.suppress(EngramError):
            _write(state, new)


def _write(state: str, kept: _Accepted) -> None:
    atomic.write(
        os.path.join(state, _NAME), json.dumps(kept._asdict(), default=str).encode(), "settings", 0o600
    )
