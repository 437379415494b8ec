"""A store as it was: queries of a commit or date find what was there then, and asking changes nothing here."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from apikit import QUEUE, TIDES, SetClock, dedicated, git, make_plain_store, open_test_store

from engram.domain.errors import NotFoundError, StoreError
from engram.usecases.recall.past_store import store_as_of
from engram.usecases.recording.edit import Edit
from engram.usecases.store.commit import commit_pending


def test_a_query_of_the_past_finds_the_entries_and_texts_of_that_time(tmp_path: Path) -> None:
    with open_test_store(dedicated(tmp_path / "s"), clock=SetClock()) as store:
        queue = store.record(QUEUE, category="fact").lore
        commit_pending(store.store)
        first = git(store.path, "rev-parse", "HEAD")
        store.edit(queue.id, Edit(content=QUEUE + " Since 2027 only."))
        store.forget(store.record(TIDES, category="fact").lore.id)
        commit_pending(store.store)
        (then,) = store.query("idempotent queue consumers", as_of=first).lore
        (now,) = store.query("idempotent queue consumers").lore
        assert (then.lore.content, now.lore.content) == (QUEUE, QUEUE + " Since 2027 only.")
        (gone,) = store.query("tide tables", as_of="HEAD~1").lore
        assert gone.lore.content == TIDES
        assert store.query("tide tables").lore == store.query("tide tables", as_of=first).lore == ()
        assert git(store.path, "status", "--porcelain") == ""


def test_the_last_few_past_stores_are_cached_and_pending_changes_are_committed_first(
    tmp_path: Path,
) -> None:
    with open_test_store(dedicated(tmp_path / "s"), clock=SetClock()) as store:
        for number in range(6):
            store.record(f"Number {number} of six.", category="fact")
            with closing(store_as_of(store.store, "HEAD")) as past:
                assert len(list(Path(past.places.root, "lore").rglob("*.md"))) == number + 1
        kept = [path.name for path in (Path(store.store.places.state) / "as-of").iterdir()]
        assert len(kept) == 4
        assert git(store.path, "rev-parse", "HEAD") in kept


def test_an_unknown_commit_or_a_store_outside_git_is_refused(tmp_path: Path) -> None:
    with (
        open_test_store(dedicated(tmp_path / "s")) as store,
        pytest.raises(NotFoundError, match="There is no commit"),
    ):
        store_as_of(store.store, "nowhere")
    with (
        open_test_store(make_plain_store(tmp_path / "p")) as store,
        pytest.raises(StoreError, match="outside git"),
    ):
        store_as_of(store.store, "HEAD")
