"""Tallies of the judgements of many entries, for a rebuild of the index: read some hundreds at a time, and cached.

A cached tally is valid while the entry has no new judgement, its text is unchanged, and so are the sources this clone trusts.
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
_FEW = 100  # sums, which are worked out sooner than written down
_ID = slice(-ulid.LENGTH - 3, -3)  # where the path of an entry has its id, if Engram chose its name


class JudgedInBulk:
    """What an index needs of entries that are asked for in the order of `prepare`; `keep` when all are done."""

    def __init__(self, store: Store, owners: Mapping[str, str]) -> None:
        """Nothing is read before `prepare`; `owners` are as `with_tally` has them."""
        self._store, self._owners = store, owners
        self._today = tallies.day_of(store.clock.now())
        self._known: dict[str, tuple[str, Sums]] = {}
        self._said: dict[str, Packed] = {}
        self._times: dict[str, dict[str, int]] = {}  # of lines whose own time cannot be right, by entry
        self._found: list[tuple[str, str, Sums]] = []
        self._version, self._belief = "", ""
        self._by_signature = bool(trusted_judges.signature_rule(store))

    def prepare(self, paths: Sequence[str]) -> None:
        """Read what is known of the entries in the next files."""
        if not self._store.judged_mark or self._by_signature:
            return
        ids = [path[_ID] for path in paths]
        self._known, self._said, self._times = {}, {}, {}
        with contextlib.suppress(EngramError, OSError, sqlite3.Error):
            if not self._belief:
                self._version = self._store.judgements.version()
                self._belief = _digest(trusted_judges.of_clone(self._store))
            self._known = self._store.judgements.sums(ids)
            for line_id, entry, at in self._store.judgements.times_of(ids):
                self._times.setdefault(entry, {})[line_id] = at
            lacking = [one for one in ids if one not in self._known or one in self._times]
            self._said = self._store.judgements.by_entry(lacking)

    def of(self, lore: Lore) -> Lore:
        """Return the entry with what judgements make of it, but for who judged what."""
        if not self._store.judged_mark or lore.votes or lore.merged_from or self._by_signature:
            return judgements.with_tally(self._store, lore, owners=self._owners)
        words = ledger.words_digest(lore)
        key = f"{lore.prior} {lore.source_id or ''} {words} {self._belief}"
        kept, sums = self._known.get(lore.id, ("", None))
        said = self._said.get(lore.id)
        if sums is None or key != kept:
            if said is None:
                return judgements.with_tally(self._store, lore, owners=self._owners)
            if not said:
                return judgements.with_decay_only(lore, self._today)
            sums = tallies.sums_of(lore, *said.unpack(), words, trusted_judges.of_clone(self._store))
            if self._version:
                self._found.append((lore.id, key, sums))
        times = self._times.get(lore.id, {})
        if not times and sums.last <= tallies.end_of(self._today):
            found = tallies.of_sums(lore, sums, self._today)
        elif said is not None:  # a clock was wrong
            found = tallies.tally(
                lore, *said.unpack(), self._today, words, trusted_judges.of_clone(self._store), times
            )
        else:
            return judgements.with_tally(self._store, lore, owners=self._owners)
        return lore._replace(tally=found, last_validated=found.last_validated)

    def keep(self) -> None:
        """Keep what was worked out."""
        with contextlib.suppress(EngramError, OSError, sqlite3.Error):
            if len(self._found) > _FEW:
                self._store.judgements.keep_sums(self._found, self._version)


def _digest(whom: Belief) -> str:
    """Return a digest of whom a clone believes."""
    from hashlib import blake2b  # 2 ms of start-up that a query has no use for

    names = sorted(whom.names.items())
    text = repr([*map(sorted, (whom.own, whom.ignored, whom.forged)), names])
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
