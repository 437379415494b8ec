"""What judgements make of many entries, for an index that is built anew: read some hundreds at a time, and kept for the next.

What is kept of an entry holds while nothing more is said of it, its words are the same, and so is whom this clone believes.
"""

from __future__ import annotations

import contextlib
import sqlite3
from hashlib import blake2b

from engram.domain.entry import ulid
from engram.domain.errors import EngramError
from engram.domain.judgements import ledger
from engram.domain.judgements import tally as tallies
from engram.domain.judgements.ledger import Said
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import judgements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entry.lore import Lore
    from engram.domain.judgements.tally import Sums
    from engram.usecases.store.store import Store

AT_ONCE = 400  # files
_ID = slice(-ulid.LENGTH - 3, -3)  # where the path of an entry has its id, if Engram chose its name


class JudgedInBulk:
    """What an index needs of entries that are asked for in the order of `prepare`; `keep` when all are done."""

    def __init__(self, store: Store) -> None:
        """Nothing is read before `prepare`."""
        self._store = store
        self._today = tallies.day_of(store.clock.now())
        self._known: dict[str, tuple[str, Sums]] = {}
        self._said: dict[str, Said] = {}
        self._found: list[tuple[str, str, Sums]] = []
        self._version, self._belief = "", ""
        self._is_judged = False
        with contextlib.suppress(EngramError, OSError, sqlite3.Error):
            self._is_judged = bool(store.judged_mark)
            if self._is_judged:
                self._version = store.judgements.version()
                parts = [sorted(one) for one in judgements.belief(store)[:3]]
                parts.append(sorted(f"{key} {name}" for key, name in judgements.belief(store).names.items()))
                self._belief = blake2b(repr(parts).encode(), digest_size=8).hexdigest()

    def prepare(self, paths: Sequence[str]) -> None:
        """Read what is known of the entries in the next files."""
        if not self._is_judged:
            return
        ids = [path[_ID] for path in paths]
        self._known, self._said = {}, {}
        with contextlib.suppress(EngramError, OSError, sqlite3.Error):
            self._known = self._store.judgements.sums(ids)
            lacking = [one for one in ids if one not in self._known]
            found = self._store.judgements.of(lacking)
            self._said = {one: Said([], []) for one in lacking}
            for line in found.lines:
                self._said[line.entry].lines.append(line)
            for account in found.accounts:
                self._said[account.entry].accounts.append(account)

    def of(self, lore: Lore) -> Lore:
        """Return the entry with what judgements make of it, but for who judged what."""
        if not self._is_judged or lore.votes or lore.merged_from:
            return judgements.with_tally(self._store, lore)
        words = ledger.words_digest(lore)
        key = f"{lore.prior} {lore.source_id or ''} {words} {self._belief}"
        kept, sums = self._known.get(lore.id, ("", None))
        if sums is None or key != kept:
            said = self._said.get(lore.id)
            if said is None:
                return judgements.with_tally(self._store, lore)
            if not any(said):
                return judgements.unjudged(lore, self._today)
            sums = tallies.sums_of(lore, *said, words, judgements.belief(self._store))
            if self._version:
                self._found.append((lore.id, key, sums))
        if sums.last > tallies.end_of(self._today):  # by a clock that is ahead
            return judgements.with_tally(self._store, lore)
        found = tallies.of_sums(lore, sums, self._today)
        return lore._replace(tally=found, last_validated=found.last_validated)

    def keep(self) -> None:
        """Keep what was worked out."""
        with contextlib.suppress(EngramError, OSError, sqlite3.Error):
            if self._found:
                self._store.judgements.keep_sums(self._found, self._version)
