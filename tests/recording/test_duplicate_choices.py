"""The choices about an entry similar to a new one: it says the same, or the new one supersedes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, TIDES, lore_files, open_test_store

from engram.domain.errors import NotFoundError, UsageError
from engram.usecases.store.store import Clock

if TYPE_CHECKING:
    from pathlib import Path


TEXT = "Root cause: the upload client retries without the multipart header, so the proxy drops the body."
NEAR = (
    "When the upload client retries it leaves out the multipart header; hence the proxy drops the whole body."
)


def test_a_superseded_entry_recorded_again_stays_superseded_and_its_replacement_is_named(
    tmp_path: Path,
) -> None:
    with open_test_store(tmp_path, clock=Clock()) as store:
        old = store.record(QUEUE, category="fact").lore
        new = store.record(TIDES, category="fact", supersedes=old.id).lore
        assert store.get(old.id).lore.status == "superseded"
        store.refresh()
        done = store.record(QUEUE)
        assert (done.status, done.lore.status, done.replaced_by, done.confirmed) == (
            "known",
            "superseded",
            new.id,
            False,
        )
        back = store.record(QUEUE, supersedes=new.id)
        assert (back.status, back.lore.id, back.lore.status) == ("known", old.id, "active")
        assert store.get(new.id).lore.status == "superseded"
    assert len(lore_files(tmp_path)) == 2


def test_a_duplicate_in_other_words_is_confirmed_and_the_new_entry_is_folded_into_it(tmp_path: Path) -> None:
    with open_test_store(tmp_path, clock=Clock()) as store:
        first = store.record(TEXT, category="fact").lore
        second = store.record(NEAR, category="fact", tags=["upload"]).lore
        done = store.record(NEAR, same_as=first.id, agent="other")
        assert (done.status, done.lore.id, done.confirmed, done.lore.tags) == (
            "known",
            first.id,
            True,
            ("upload",),
        )
        assert done.lore.content == TEXT
        assert store.get(second.id).lore.id == first.id
    assert len(lore_files(tmp_path)) == 1


def test_same_as_a_contradiction_is_refused_with_the_reason_and_nothing_is_written(tmp_path: Path) -> None:
    with open_test_store(tmp_path, clock=Clock()) as store:
        first = store.record("The proxy waits 30 seconds for an answer.", category="fact").lore
        with pytest.raises(UsageError, match="one says 60, the other 30"):
            store.record("The proxy waits 60 seconds for an answer.", same_as=first.id)
        with pytest.raises(UsageError, match="cannot both repeat another"):
            store.record(TIDES, same_as=first.id, supersedes=first.id)
        with pytest.raises(NotFoundError):
            store.record(TIDES, supersedes="L77")
        with pytest.raises(UsageError, match="cannot supersede it"):
            store.record(first.content, supersedes=first.id)
    assert len(lore_files(tmp_path)) == 1
