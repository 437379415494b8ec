"""Many entries at once, each on its own: accepted, merged, or rejected with a reason."""

from __future__ import annotations

from pathlib import Path

from apikit import COLOUR, QUEUE, SECRET, TIDES, make_plain_store, open_test_store

from engram.domain.errors import ConflictError, SecretFoundError
from engram.usecases.recording.ingest import ACCEPTED, MERGED, REJECTED, ingest
from engram.usecases.recording.record import Draft

ID, OTHER = "01KEZ6S41TSV4RRFFQ69G5FAVA", "01KEZ6S41TSV4RRFFQ69G5FAVB"


def test_each_draft_has_an_outcome_in_its_place_and_a_refused_one_stops_no_other(tmp_path: Path) -> None:
    with open_test_store(make_plain_store(tmp_path)) as store:
        drafts = [
            Draft(QUEUE, "fact"),
            Draft(f"It is {SECRET}", "fact"),
            Draft(QUEUE, "fact"),
            Draft(TIDES, "fact"),
        ]
        done = ingest(store.store, drafts)
        assert [one.outcome for one in done] == [ACCEPTED, REJECTED, MERGED, ACCEPTED]
        assert done[2].id == done[0].id
        assert isinstance(done[1].error, SecretFoundError)
        assert {one.lore.content for one in store.list().lore} == {QUEUE, TIDES}


def test_an_id_sent_again_is_merged_if_the_text_is_equal_and_refused_otherwise(
    tmp_path: Path,
) -> None:
    with open_test_store(make_plain_store(tmp_path)) as store:
        first, again = ingest(
            store.store, [Draft(QUEUE, "fact", id=ID), Draft(f"{QUEUE}\n", "fact", id=ID.lower())]
        )
        assert (first.outcome, again.outcome) == (ACCEPTED, MERGED)
        assert first.id == again.id == ID
        assert first.path == again.path
        (later,) = ingest(store.store, [Draft(QUEUE, "fact", id=ID)])
        assert (later.outcome, later.path) == (MERGED, first.path)
        taken, new = ingest(store.store, [Draft(TIDES, "fact", id=ID), Draft(TIDES, "fact", id=OTHER)])
        assert isinstance(taken.error, ConflictError)
        assert "a different text" in taken.error.message
        assert (new.outcome, store.get(ID).lore.content) == (ACCEPTED, QUEUE)


def test_a_deleted_entry_sent_again_with_its_id_is_refused(tmp_path: Path) -> None:
    with open_test_store(make_plain_store(tmp_path)) as store:
        ingest(store.store, [Draft(QUEUE, "fact", id=ID)])
        store.forget(ID)
        gone, other = ingest(store.store, [Draft(QUEUE, "fact", id=ID), Draft(COLOUR, "fact", id=OTHER)])
        assert isinstance(gone.error, ConflictError)
        assert "was deleted here" in gone.error.message
        assert [one.lore.id for one in store.list().lore] == [other.id] == [OTHER]
