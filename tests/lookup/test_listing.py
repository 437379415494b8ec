"""Listing lore: sorted, filtered, limited, counted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, SetClock, open_test_store

from engram.domain.errors import EngramError, UsageError, ValidationError
from engram.usecases.recording.edit import Edit

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path)


def listed(store: Engram, **options: object) -> list[str]:
    return [shown.lore.title for shown in store.list(**options).lore]  # type: ignore[arg-type]


def test_a_list_sorts_filters_limits_and_counts(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(tmp_path, clock=clock) as store:
        ids = {}
        for title, category, confidence, status, tags in (
            ("beta", "FACT", 0.9, "active", ["x"]),
            ("Alpha", "WORKFLOW", 0.3, "pending", ["x", "y"]),
            ("gamma", "FACT", 0.6, "archived", []),
        ):
            clock.advance(hours=1)
            done = store.record(title, category=category, confidence=confidence, status=status, tags=tags)
            ids[title] = done.lore.id
        clock.advance(hours=1)
        store.feedback(helpful=ids["Alpha"])
        assert listed(store, sort="updated") == ["gamma", "Alpha", "beta"], "a judgement is no edit"
        store.edit(ids["Alpha"], Edit(files=("a.py",)))
        assert listed(store) == ["gamma", "Alpha", "beta"]
        assert listed(store, sort="updated") == ["Alpha", "gamma", "beta"]
        assert listed(store, sort="confidence") == ["beta", "gamma", "Alpha"]
        assert listed(store, sort="helpful") == ["Alpha", "beta", "gamma"]
        assert listed(store, sort="title") == ["Alpha", "beta", "gamma"]
        assert listed(store, sort="category") == ["beta", "gamma", "Alpha"]
        assert listed(store, categories="fact") == ["gamma", "beta"]
        assert listed(store, categories=["fact", "workflow"], status="pending") == ["Alpha"]
        assert listed(store, tags="x") == ["Alpha", "beta"]
        assert listed(store, tags=["x", "y"]) == ["Alpha"]
        assert listed(store, limit=2) == ["gamma", "Alpha"]
        assert (listed(store, limit=0), store.list(limit=0).total) == ([], 3)
        assert store.list(limit=1, categories="fact").total == 2
        assert len(listed(store, limit=None)) == 3


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"sort": "magic"}, UsageError),
        ({"limit": -1}, UsageError),
        ({"status": "asleep"}, UsageError),
        ({"categories": "nonsense"}, ValidationError),
        ({"tags": "\ud800"}, ValidationError),
    ],
)
def test_invalid_options_are_refused(
    store: Engram, options: dict[str, object], error: type[EngramError]
) -> None:
    store.record(QUEUE, category="FACT")
    with pytest.raises(error) as caught:
        store.list(**options)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2


def test_unreadable_files_are_left_out_of_lists_and_queries(store: Engram, tmp_path: Path) -> None:
    store.record(QUEUE, category="FACT")
    bad = tmp_path / "lore" / "bad.md"
    bad.write_bytes(b"---\nid: [\n---\ntext\n")
    assert (listed(store), store.list().total) == ([QUEUE.rstrip(".") + "."], 1)
    assert store.query("queue consumer").lore
    assert bad.read_bytes() == b"---\nid: [\n---\ntext\n"
