"""Tally the judgements of many entries for a rebuild of the index: reads hundreds at a time, and caches the sums.

Cached sums are valid while the entry has no new judgement, its text is unchanged, and this clone trusts the same sources.
"""

from __future__ import annotations

import contextlib
import sqlite3

from engram.domain.entry import ulid
from engram.domain.errors import EngramError
from engram.domain.judgements import ledger
from engram.domain.judgements import tally as tallies
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import judgements, trusted_judges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.state.judgement_cache import Packed
    from engram.domain.entry.lore import Lore
    from engram.domain.judgements.tally import Belief, Sums
    from engram.usecases.store.store import Store

AT_ONCE = 400  # files
_MIN_CACHED = 100  # sums; computing fewer again is faster than writing them
_ID = slice(-ulid.LENGTH - 3, -3)  # the id in the path of an entry, if Engram chose its name


class BulkTallies:
    """Tallies for the entries of the latest `prepare`; call `keep` at the end to cache the sums."""

    def __init__(self, store: Store, owners: Mapping[str, str]) -> None:
        """Set up without reading anything; `owners` is that of `judgements.with_tally`."""
        self._store, self._owners = store, owners
        self._today = tallies.day_of(store.clock.now())
        self._cached: dict[str, tuple[str, Sums]] = {}
        self._lines: dict[str, Packed] = {}
        self._times: dict[str, dict[str, int]] = {}  # corrected times by entry and line id
        self._computed: list[tuple[str, str, Sums]] = []
        self._version, self._belief = "", ""
        self._by_signature = bool(trusted_judges.signature_rule(store))

    def prepare(self, paths: Sequence[str]) -> None:
        """Read cached sums and ledger lines of the entries in the next files."""
        if not self._store.judged_mark or self._by_signature:
            return
        ids = [path[_ID] for path in paths]
        self._cached, self._lines, self._times = {}, {}, {}
        with contextlib.suppress(EngramError, OSError, sqlite3.Error):
            if not self._belief:
                self._version = self._store.judgements.version()
                self._belief = _digest(trusted_judges.of_clone(self._store))
            self._cached = self._store.judgements.sums(ids)
            for line_id, entry, at in self._store.judgements.times_of(ids):
                self._times.setdefault(entry, {})[line_id] = at
            needed = [lore_id for lore_id in ids if lore_id not in self._cached or lore_id in self._times]
            self._lines = self._store.judgements.by_entry(needed)

    def of(self, lore: Lore) -> Lore:
        """Return the entry with its tally, but without who judged what."""
        if not self._store.judged_mark or lore.votes or lore.merged_from or self._by_signature:
            return judgements.with_tally(self._store, lore, owners=self._owners)
        words = ledger.words_digest(lore)
        key = f"{lore.prior} {lore.source_id or ''} {words} {self._belief}"
        cached_key, sums = self._cached.get(lore.id, ("", None))
        lines = self._lines.get(lore.id)
        if sums is None or key != cached_key:
            if lines is None:
                return judgements.with_tally(self._store, lore, owners=self._owners)
            if not lines:
                return judgements.with_decay_only(lore, self._today)
            sums = tallies.sums_of(lore, *lines.unpack(), words, trusted_judges.of_clone(self._store))
            if self._version:
                self._computed.append((lore.id, key, sums))
        times = self._times.get(lore.id, {})
        if not times and sums.last <= tallies.end_of(self._today):
            found = tallies.tally_from_sums(lore, sums, self._today)
        elif lines is not None:  # a clock was wrong
            found = tallies.tally(
                lore, *lines.unpack(), self._today, words, trusted_judges.of_clone(self._store), times
            )
        else:
            return judgements.with_tally(self._store, lore, owners=self._owners)
        return lore._replace(tally=found, last_validated=found.last_validated)

    def keep(self) -> None:
        """Cache the sums that were computed."""
        with contextlib.suppress(EngramError, OSError, sqlite3.Error):
            if len(self._computed) > _MIN_CACHED:
                self._store.judgements.keep_sums(self._computed, self._version)


def _digest(belief: Belief) -> str:
    """Return a digest of whose judgements a clone trusts."""
    from hashlib import blake2b  # takes 2 ms, and queries do not need it

    names = sorted(belief.names.items())
    text = repr([*map(sorted, (belief.own, belief.ignored, belief.forged)), names])
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
