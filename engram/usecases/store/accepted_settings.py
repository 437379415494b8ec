"""The settings of a store in force: a file that came with a pull can neither move the store nor stop it.

What this clone has accepted is kept in the state folder. Where the file differs in the place of lore or the
allowed secrets, a person has to accept that here; what cannot be read in it keeps its last valid value.
"""

from __future__ import annotations

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
    """A key for which the store's file has another value than this clone has accepted."""

    key: str
    in_force: object
    wanted: object

    @property
    def message(self) -> str:
        """What is held back, in a sentence."""
        if self.key == ALLOWED:
            held, known = (set(map(str, _as_list(value))) for value in (self.wanted, self.in_force))
            new = sorted(held - known)
            shown = ", ".join(new)[:120]
            return f"{places.CONFIG_NAME} adds to {ALLOWED} what does not count here: {shown}"
        return f"{places.CONFIG_NAME} sets {self.key} to {self.wanted!r}; this clone keeps {self.in_force!r}."


class InForce(NamedTuple):
    """The settings in force, what of the store's file is held back, and what in it cannot be used (sentences)."""

    settings: Settings
    held_back: tuple[HeldBack, ...] = ()
    trouble: tuple[str, ...] = ()


class _Kept(NamedTuple):
    """What was accepted: the values, and the text of the file that says just that ("" if none does)."""

    text: str
    values: Mapping[str, object]


def in_force(root: str, state: str | None) -> InForce:
    """Return the settings of the store at `root`; `state` is its state folder (None: outside git, where nothing is pulled).

    Raises ConfigError for a broken file of the person's own, a linked lore folder, and outside git a broken
    file of the store.
    """
    if state is None:
        return InForce(config_file.load(root))
    kept = _read(state)
    try:
        raw = config_file.store_file(root)
        text = raw.decode("utf-8", "surrogateescape")
        if kept is not None and kept.text == text:
            return InForce(config_file.combine(root, dict(kept.values)))
        given, wrong = config_file.parse_kindly(raw, os.path.join(root, places.CONFIG_NAME))
    except ConfigError as error:
        last = {} if kept is None else dict(kept.values)
        return InForce(config_file.combine(root, last), (), (_sentence(error, kept),))
    before = {} if kept is None else dict(kept.values)
    given |= {name: before[name] for name in wrong if name in before}
    values, held_back = (given, ()) if kept is None else _weigh_changes(given, before)
    if not wrong:
        _keep(state, _Kept("" if held_back else text, values), kept)
    trouble = tuple(_sentence(error, kept) for error in wrong.values())
    return InForce(config_file.combine(root, values), held_back, trouble)


def accept(root: str, state: str, keys: Iterable[str] = GUARDED) -> tuple[HeldBack, ...]:
    """Let these keys of the store's file count in this clone; returns what was held back of them. Raises ConfigError."""
    raw = config_file.store_file(root)
    given = config_file.parse(raw, os.path.join(root, places.CONFIG_NAME))
    kept = _read(state)
    wanted = tuple(keys)
    before = dict(kept.values) if kept else dict(given)
    held_back = _weigh_changes(given, before)[1]
    after = {**given, **{key: before[key] for key in GUARDED if key in before}}
    for key in wanted:
        after.pop(key, None)
        after |= {key: given[key]} if key in given else {}
    _write(state, _Kept("" if _weigh_changes(given, after)[1] else raw.decode(), after))
    return tuple(one for one in held_back if one.key in wanted)


def accept_before(root: str, state: str, before: bytes | None) -> None:
    """Let count as accepted what the store's file said before a change; None: there was no file, so no secret is let through.

    What could not be read then counts as the defaults. Raises StoreError.
    """
    raw = config_file.store_file(root) if before is None else before
    try:
        values, _ = config_file.parse_kindly(raw, os.path.join(root, places.CONFIG_NAME))
    except ConfigError:
        values = {}
    if before is None:
        values.pop(ALLOWED, None)
    _write(state, _Kept("", values))


def carry(state: str, to: str, placement: str) -> None:
    """Take what was accepted along to the state folder of a store's new place. Raises StoreError."""
    kept = _read(state)
    if kept is not None:
        _write(to, _Kept("", {**kept.values, "store.placement": placement}))


def _weigh_changes(
    given: Mapping[str, object], before: Mapping[str, object]
) -> tuple[dict[str, object], tuple[HeldBack, ...]]:
    """Return the values that count where the file says `said`, and what of it does not."""
    values = dict(given)
    held_back = []
    for key in GUARDED:
        default = rules.key_named(key).default
        wanted, accepted = given.get(key, default), before.get(key, default)
        counts = (
            [item for item in _as_list(wanted) if item in _as_list(accepted)] if key == ALLOWED else accepted
        )
        values[key] = counts
        if counts != wanted:
            held_back.append(HeldBack(key, counts, wanted))
    return values, tuple(held_back)


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _sentence(error: ConfigError, kept: _Kept | None) -> str:
    instead = "its last valid settings count" if kept else "the defaults count"
    return f"{error.message} Until it is corrected, {instead}."


def _read(state: str) -> _Kept | None:
    try:
        found = json.loads(atomic.read(os.path.join(state, _NAME)))
        values = {name: rules.check(name, value, _NAME) for name, value in found["values"].items()}
        return _Kept(str(found["text"]), values)
    except (EngramError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _keep(state: str, now: _Kept, before: _Kept | None) -> None:
    """Note what is good; a state folder that cannot be written keeps what it has."""
    if now == before:
        return
    try:
        _write(state, now)
    except EngramError:
        return


def _write(state: str, kept: _Kept) -> None:
    atomic.write(
        os.path.join(state, _NAME), json.dumps(kept._asdict(), default=str).encode(), "settings", 0o600
    )
