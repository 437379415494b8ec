"""This clone's records about trust: signatures, commits that brought lore in, quarantined texts, confirmations."""

from __future__ import annotations

import json

from engram.domain.admission.credit import RAISED, Confirmation
from engram.domain.admission.trust import NOT_SIGNED, Signature
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from engram.adapters.state.connection import StateConnection

SCHEMA = """
CREATE TABLE IF NOT EXISTS signatures (
    commit_id TEXT PRIMARY KEY, state TEXT NOT NULL, key TEXT NOT NULL, signer TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS arrivals (id TEXT PRIMARY KEY, commit_id TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS held (
    id TEXT NOT NULL, digest TEXT NOT NULL, commit_id TEXT NOT NULL, why TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (id, digest)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS confirmed (
    id TEXT PRIMARY KEY, digest TEXT NOT NULL, confidence INTEGER NOT NULL, pinned INTEGER NOT NULL,
    claims TEXT) WITHOUT ROWID;
"""
# Entries found helpful before confirmations were recorded count as confirmed.
FROM_VOTES = (
    "INSERT OR IGNORE INTO confirmed SELECT id, '*', 1000, 1, NULL FROM votes WHERE n > 0 AND up >= down"
)
# Before claims were recorded one by one, a confirmation with the pin confirmed all claims.
ADD_CLAIMS = (
    "ALTER TABLE confirmed ADD COLUMN claims TEXT",
    "UPDATE confirmed SET claims = '' WHERE pinned = 0",
)
LASTING = (NOT_SIGNED,)  # states that no key and no time can change
KEPT_SECONDS = 24 * 3600.0
_HELD = "id, digest, commit_id, why, at"


class QuarantinedText(NamedTuple):
    """A quarantined text: the entry's id, the digest of the text, its commit, the reason, the time (Unix seconds)."""

    id: str
    digest: str
    commit: str
    why: str
    at: float


class TrustTables:
    """The tables about trust in the state database of a store."""

    def __init__(self, state: StateConnection) -> None:
        """Open nothing yet."""
        self._state = state

    def signatures(
        self, commits: Sequence[str], now: float, *, max_age: float = KEPT_SECONDS
    ) -> dict[str, Signature]:
        """Return the signatures of these commits that need no new verification, not older than `max_age` seconds."""
        query = "SELECT commit_id, state, key, signer, at FROM signatures WHERE commit_id"
        return {
            oid: Signature(state, key, signer)
            for oid, state, key, signer, at in self._select_ids(query, commits)
            if state in LASTING or max_age == float("inf") or 0 <= now - at < max_age
        }

    def add_signatures(self, found: Iterable[tuple[str, Signature]], now: float) -> None:
        """Record verified signatures."""
        rows = [(oid, *signature, now) for oid, signature in found]
        self._state.run_many(_insert("signatures", "commit_id, state, key, signer, at"), rows)

    def record_arrivals(self, pairs: Iterable[tuple[str, str]], now: float) -> None:
        """Record the commit that last changed each incoming entry."""
        rows = [(lore_id, commit, now) for lore_id, commit in pairs]
        self._state.run_many(_insert("arrivals", "id, commit_id, at"), rows)

    def arrivals(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the commit that brought each of these entries in by a sync."""
        return dict(self._select_ids("SELECT id, commit_id FROM arrivals WHERE id", ids))

    def quarantine(self, rows: Iterable[QuarantinedText]) -> None:
        """Quarantine these texts."""
        self._state.run_many(_insert("held", _HELD), [tuple(row) for row in rows])

    def quarantined(self) -> dict[str, set[str]]:
        """Return the digests of quarantined texts, by entry id."""
        found: dict[str, set[str]] = {}
        for lore_id, digest in self._state.run("SELECT id, digest FROM held"):
            found.setdefault(lore_id, set()).add(digest)
        return found

    def rows(self) -> list[QuarantinedText]:
        """Return all quarantined texts, the latest first."""
        return [
            QuarantinedText._make(row)
            for row in self._state.run(f"SELECT {_HELD} FROM held ORDER BY at DESC, id, digest")  # noqa: S608
        ]

    def release(self, texts: Iterable[tuple[str, str]]) -> None:
        """Release these texts (entry id, digest)."""
        self._state.run_many("DELETE FROM held WHERE id = ? AND digest = ?", list(texts))

    def confirmations(self, ids: Sequence[str]) -> dict[str, Confirmation]:
        """Return the confirmations of the claims of these entries, by id."""
        found: dict[str, Confirmation] = {}
        query = "SELECT id, digest, confidence, claims FROM confirmed WHERE id"
        for lore_id, digest, confidence, claims in self._select_ids(query, ids):
            accepted = None if claims is None else frozenset(claims.split("\n")) - {""}
            found[lore_id] = Confirmation(digest, confidence, accepted)
        return found

    def most_confirmed(self, most: int) -> list[str]:
        """Return the ids of confirmed entries, pinned ones first, then by confidence."""
        query = (
            "SELECT id FROM confirmed WHERE digest != ?"
            " ORDER BY claims IS NULL OR claims != '' DESC, confidence DESC, id LIMIT ?"
        )
        return [lore_id for (lore_id,) in self._state.run(query, (RAISED, most))]

    def confirm(self, notes: Mapping[str, Confirmation]) -> None:
        """Record confirmations of the claims of entries by id, replacing earlier ones."""
        rows = [
            (
                lore_id,
                note.digest,
                note.confidence,
                int(note.accepted is None or "pinned" in note.accepted),  # for earlier versions
                None if note.accepted is None else "\n".join(sorted(note.accepted)),
            )
            for lore_id, note in notes.items()
        ]
        self._state.run_many(_insert("confirmed", "id, digest, confidence, pinned, claims"), rows)

    def with_claims(self) -> list[str]:
        """Return the ids of entries whose claims were accepted one by one."""
        query = "SELECT id FROM confirmed WHERE claims IS NOT NULL"
        return [lore_id for (lore_id,) in self._state.run(query)]

    def withdraw(self, ids: Sequence[str]) -> None:
        """Withdraw the confirmation of these entries."""
        query = "DELETE FROM confirmed WHERE id = ? AND digest != ?"
        self._state.run_many(query, [(lore_id, RAISED) for lore_id in ids])

    def _select_ids(self, query: str, ids: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return the rows with these ids; without ids, the file is not opened."""
        values = [json.dumps([*ids])]
        return self._state.run(f"{query} IN (SELECT value FROM json_each(?))", values) if ids else []  # noqa: S608


def _insert(table: str, columns: str) -> str:
    """Return the statement that adds a row; it names the columns, since a later version may have added one."""
    return f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({','.join('?' * len(columns.split()))})"  # noqa: S608
