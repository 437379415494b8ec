"""How a clone's record of confirmations affects the claims of entries, without a sync."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apikit import dedicated, open_test_store

from engram.adapters.index.catalog import Hit
from engram.domain.admission.credit import ANY_TEXT, RAISED, Confirmation
from engram.domain.entry.confidence import HELPFUL, INCORRECT, Vote
from engram.domain.entry.lore import searchable, text_digest
from engram.usecases.admission import credit
from tests.admission.test_credit import THEIRS
from tests.admission.test_credit_rule import ALL, NOTHING, OTHER, OWN, PIN, lore
from tests.admission.test_quarantine import hold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.app import Engram


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Engram]:
    with open_test_store(tmp_path / "alone") as engram:
        yield engram


def shared(tmp_path: Path) -> Path:
    """A store under git whose configuration has a remote."""
    dedicated(tmp_path / "shared")
    with (tmp_path / "shared/.git/config").open("a") as file:
        file.write('[remote "origin"]\n\turl = ../hub.git\n')
    return tmp_path / "shared"


def hit_of(source: str | None, **fields: Any) -> Hit:
    """Return the catalog row of an entry from `source` with many claims."""
    hit = Hit(
        1, "lore/a.md", "01JBBBBBBBBBBBBBBBBBBBBBBB", THEIRS, "FACT", "", "active", 900, 5, None, 0.0, 0.0,
        None, "tester", "", 0.9, 1, 80, "", 1, 80, 1, 0, "digest", source, None, None, None, None, 0, "",
    )  # fmt: skip
    return hit._replace(**fields)


def weighed(engram: Engram, hit: Hit) -> tuple[object, ...]:
    [found] = credit.hits_in_effect(engram.store, [hit])
    assert (
        found._replace(
            confidence=hit.confidence,
            pinned=hit.pinned,
            validation_count=hit.validation_count,
            importance=hit.importance,
        )
        == hit
    ), "nothing else is limited"
    return found.confidence, found.pinned, found.validation_count, found.importance


@pytest.mark.parametrize(
    ("source", "fields", "note", "counts"),
    [
        (OTHER, {}, None, (700, 0, 0, 0.5)),
        (OTHER, {"confidence": 600, "pinned": 0, "importance": 0.4}, None, (600, 0, 0, 0.4)),
        (OTHER, {"importance": None}, None, (700, 0, 0, None)),
        (OTHER, {"confidence": 600, "pinned": 0}, ("this", 600, NOTHING), (600, 0, 5, 0.5)),
        (OTHER, {}, ("this", 800, ALL), (800, 1, 5, 0.9)),
        (OTHER, {}, ("this", 900, NOTHING), (900, 0, 5, 0.5)),
        (OTHER, {}, ("this", 900, PIN), (900, 1, 5, 0.5)),
        (OTHER, {"pinned": 0}, ("this", 900, ALL), (900, 0, 5, 0.9)),
        (OTHER, {}, ("another text", 900, ALL), (700, 0, 0, 0.5)),
        ("", {}, None, (900, 1, 5, 0.9)),
        (None, {}, None, (900, 1, 5, 0.9)),
        (OWN, {}, None, (900, 1, 5, 0.9)),
        (OWN, {}, (RAISED, 800, NOTHING), (800, 0, 5, 0.5)),
        (OWN, {"pinned": 0}, (RAISED, 800, ALL), (800, 0, 5, 0.9)),
    ],
)
def test_a_catalog_row_is_ranked_by_the_values_in_effect(
    alone: Engram,
    source: str | None,
    fields: dict[str, Any],
    note: tuple[str, int, frozenset[str] | None] | None,
    counts: tuple[object, ...],
) -> None:
    own = alone.store.source_id
    hit = hit_of(own if source == OWN else source, **fields)
    if note is not None:
        digest = hit.text_digest if note[0] == "this" else note[0]
        alone.store.state.trust.confirm({hit.id: Confirmation(digest, *note[1:])})
    assert weighed(alone, hit) == counts
    assert credit.hits_in_effect(alone.store, []) == []


def test_an_entry_without_source_is_of_this_clone_only_where_there_is_no_remote(
    alone: Engram, tmp_path: Path, home: Path
) -> None:
    assert credit.own_sources(alone.store, ["", OTHER]) == {alone.store.source_id, ""}
    assert credit.own_sources(alone.store, [OTHER]) == {alone.store.source_id}
    hold(home, "none", "", OTHER)
    with open_test_store(shared(tmp_path)) as engram:
        assert credit.own_sources(engram.store, [""]) == {engram.store.source_id, OTHER}
        assert weighed(engram, hit_of("")) == (700, 0, 0, 0.5)
        (tmp_path / "shared/.git/config").unlink()
        assert "" not in credit.own_sources(engram.store, [""]), "what cannot be read is taken to be shared"
    with open_test_store(dedicated(tmp_path / "unshared")) as engram:
        assert "" in credit.own_sources(engram.store, [""])


def test_votes_for_a_confirmed_entry_count_next_to_one_written_by_hand(alone: Engram) -> None:
    by_hand, theirs = hit_of("", id=OWN), hit_of(OTHER, confidence=600, pinned=0, importance=0.5)
    alone.store.state.trust.confirm({theirs.id: Confirmation(theirs.text_digest, 600, NOTHING)})
    assert credit.hits_in_effect(alone.store, [by_hand, theirs]) == [by_hand, theirs]


def test_with_damaged_notes_no_entry_is_confirmed(alone: Engram) -> None:
    hit = hit_of(OTHER)
    alone.store.state.trust.confirm({hit.id: Confirmation(hit.text_digest, 900, ALL)})
    assert credit.confirmed_ids(alone.store, 9) == [hit.id]
    alone.store.state.close()
    database = Path(alone.store.places.state, "state.db")
    database.unlink()
    database.mkdir()
    assert credit.confirmed_ids(alone.store, 9) == []
    assert weighed(alone, hit) == (700, 0, 0, 0.5)
    assert credit.of_many(alone.store, []) == []


@pytest.mark.parametrize(
    ("kind", "vote", "confirmed"),
    [
        (HELPFUL, Vote(80, 0, 1), True),
        (HELPFUL, Vote(80, 80, 1), True),
        (HELPFUL, Vote(80, 81, 1), False),
        (INCORRECT, Vote(80, 80, 1), None),
        (INCORRECT, Vote(80, 79, 1), None),
        (INCORRECT, Vote(80, 150, 1), False),
    ],
)
@pytest.mark.parametrize("before", [False, True])
def test_a_judgement_confirms_or_withdraws_by_the_sum_of_this_clones_votes(
    alone: Engram, kind: str, vote: Vote, confirmed: bool | None, before: bool
) -> None:
    """None: it stays as it was."""
    judged = lore(source_id=OTHER, votes={alone.store.source: vote})
    if before:
        credit.confirm(alone.store, judged)
    credit.confirm_by_feedback(alone.store, judged, kind)
    assert credit.of(alone.store, judged).is_confirmed is (before if confirmed is None else confirmed)


@pytest.mark.parametrize(
    ("digest", "content", "is_claimed", "confidence"),
    [
        (None, "x", True, 900),
        (None, "y", True, 900),
        (None, "y", False, None),
        ("before", "x", False, 800),
        ("before", "x", True, 900),
        ("before", "y", False, 900),
        (ANY_TEXT, "y", False, 900),
        ("another text", "y", False, 800),
        ("another text", "y", True, 900),
    ],
)
def test_an_edit_confirms_what_is_claimed_in_it_or_was_confirmed_before(
    alone: Engram, digest: str | None, content: str, is_claimed: bool, confidence: int | None
) -> None:
    """`confidence` is that of the note afterwards, None without one."""
    before, after = lore(source_id=OTHER), lore(source_id=OTHER, content=content, prior=900)
    notes = alone.store.state.trust
    if digest is not None:
        known = text_digest(searchable(before)) if digest == "before" else digest
        notes.confirm({before.id: Confirmation(known, 800, NOTHING)})
    credit.confirm_by_edit(alone.store, before, after, is_claimed=is_claimed)
    found = notes.confirmations([after.id]).get(after.id)
    assert (found and found.confidence) == confidence
    if confidence == 900:
        assert credit.of(alone.store, after).is_confirmed, "the text as it is now"
