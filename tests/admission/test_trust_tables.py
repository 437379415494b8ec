"""The tables of signatures and quarantined texts, also after a later version has added columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.adapters.state.trust_tables import QuarantinedText
from engram.domain.admission.credit import Confirmation
from engram.domain.admission.trust import Signature

if TYPE_CHECKING:
    from sync_kit import Clones


def test_quarantined_texts_are_read_from_a_database_of_a_later_version(clones: Clones) -> None:
    state, row = clones["b"].store.state, QuarantinedText("1", "x", "c", "test", 1.0)
    for table in ("signatures", "arrivals", "held", "confirmed", "gone"):
        state.run(f"ALTER TABLE {table} ADD COLUMN of_the_future TEXT")
    state.trust.quarantine([row])
    state.trust.confirm({"2": Confirmation("y", 700, None)})
    state.trust.record_arrivals([("1", "c")], 1.0)
    state.trust.add_signatures([("c", Signature("none"))], 1.0)
    state.tombstones.add(["3"], 1.0)
    assert state.trust.rows() == [row]
    assert state.trust.confirmations(["2"]) == {"2": Confirmation("y", 700, None)}


def test_signatures_are_cached_for_a_while_or_forever(clones: Clones) -> None:
    trust = clones["b"].store.state.trust
    found = {"1": Signature("none"), "2": Signature("good", "k", "s"), "3": Signature("unknown-key", "k")}
    trust.add_signatures(found.items(), 0.0)
    assert trust.signatures(["1", "2", "3", "4"], 3600.0) == found
    assert trust.signatures(["1", "2", "3"], 30 * 3600.0) == {"1": Signature("none")}
