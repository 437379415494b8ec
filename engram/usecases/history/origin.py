"""The origin of an entry: the clone and agent that recorded it, its last commit, and that commit's signature."""

from __future__ import annotations

import sqlite3

from engram.domain.admission.credit import HELD, EarnedTier, EffectiveValues
from engram.domain.admission.tiers import Tier, tier_of
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.store import people
from engram.usecases.store.quarantine import is_quarantined

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.domain.admission.trust import Signature
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store


class Origin(NamedTuple):
    """The origin of an entry and the resulting trust.

    `author` is git's name of the person where the entry was recorded; if the entry has none, the author of the commit that
    added it, if the history table has that commit. `machine` is the name of that clone's machine ("" unless looked up).
    `foreign`: another clone recorded it. `commit` and `signature` are None if unknown. `held`: it is in quarantine here.
    `trust` is its tier, `counted` the part of its claims that counts.
    """

    source_id: str
    agent: str
    foreign: bool
    commit: str | None
    signature: Signature | None
    held: bool
    trust: Tier
    counted: EffectiveValues
    author: str = ""
    machine: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return the origin as JSON."""
        signature = self.signature._asdict() if self.signature else None
        found = {**self._asdict(), "signature": signature, "trust": self.trust._asdict()}
        del found["counted"]  # JSON has the figures of the file instead
        return found


def origin(store: Store, lore: Lore, path: str) -> Origin:
    """Look up the origin of the entry at `path` in git. Raises GitError."""
    commit = _last_commit(store, path)
    signature = None
    if commit:
        from engram.usecases.store.signature_state import signatures_of

        signature = signatures_of(store, [commit])[commit]
    arrived = bool(store.state.trust.arrivals([lore.id]))
    found = _origin(store, lore, commit or None, signature, credit.of(store, lore), arrived=arrived)
    [credited] = people.with_authors(store, [lore])
    return found._replace(machine=people.machine_name(store, lore.source_id), author=credited.author)


def known_origins(store: Store, lore: Iterable[Lore]) -> list[Origin]:
    """Return the origin of each entry, as stored on arrival, without running git."""
    entries = list(lore)
    commits = store.state.trust.arrivals([entry.id for entry in entries])
    signatures = store.state.trust.signatures(list(commits.values()), store.clock.now().timestamp())
    return [
        _origin(store, entry, commit, signatures.get(commit or ""), counted, arrived=commit is not None)
        for entry, counted in zip(entries, credit.of_many(store, entries), strict=True)
        for commit in [commits.get(entry.id)]
    ]


def effective_entry(store: Store, lore: Lore) -> tuple[Lore, Tier, EffectiveValues]:
    """Return an entry with its tier and the claims that count, from local state; never runs git or raises."""
    try:
        found = known_origins(store, [lore])[0]
    except (EngramError, OSError, sqlite3.Error):
        tier = tier_of(lore, store.source_id, held=is_quarantined(store, lore))
        return lore, tier, credit.of(store, lore)
    return lore, found.trust, found.counted


def _origin(
    store: Store,
    lore: Lore,
    commit: str | None,
    signature: Signature | None,
    counted: EffectiveValues,
    *,
    arrived: bool,
) -> Origin:
    foreign, held = bool(lore.source_id) and lore.source_id != store.source_id, is_quarantined(store, lore)
    trust = tier_of(
        lore, store.source_id, signature=signature, arrived=arrived, held=held, confirmed=counted.is_confirmed
    )
    if held:
        counted = counted._replace(earned=EarnedTier(HELD))
    return Origin(lore.source_id, lore.agent, foreign, commit, signature, held, trust, counted, lore.author)


def _last_commit(store: Store, path: str) -> str:
    repository = store.places.repository
    if repository is None:
        return ""
    from engram.adapters.git.read.history import log
    from engram.usecases.store.version_paths import in_git

    entries = log(repository, in_git(store, path), 1)
    return entries[0].oid if entries else ""
