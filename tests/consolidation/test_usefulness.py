"""Usefulness: how often an entry was shown and helped, what it cost, and how important that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, TIDES, SetClock, make_plain_store, ok, open_test_store
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.consolidation.usefulness import Answered, answers_by_lore, importance
from engram.domain.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram

COUNTS = st.integers(0, 1000)


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(make_plain_store(tmp_path / "store"), clock=SetClock())


def test_usefulness_counts_shown_helpful_tokens_and_queries_answered_alone(store: Engram) -> None:
    queue = store.record(QUEUE, category="FACT").lore
    store.record(TIDES, category="FACT", relations=[("see_also", queue.id)])
    for _ in range(2):
        store.query("idempotent queue handlers")
    store.query("tide tables")
    store.query("tide tables", keep=False)
    store.feedback(helpful=[queue.id])
    first, second = store.worth().lore
    assert (first.id, first.shown, first.helpful, first.links) == (
        queue.id,
        3,
        1,
        1,
    )  # the two speak for each other
    assert first.tokens == 3 * -(-len(QUEUE) // 4)
    assert (first.top, first.alone) == (2, ("idempotent queue handlers",))
    assert (second.shown, second.helpful, second.top, second.alone) == (3, 0, 2, ("tide tables",))
    assert 0 < second.importance < first.importance < 1
    assert (store.worth().total, store.worth().queries, len(store.worth(limit=1).lore)) == (2, 2, 1)
    assert [one.id for one in store.worth(queue.id).lore] == [queue.id]
    assert store.worth(sort="tokens").lore[0].id == queue.id
    with pytest.raises(NotFoundError):
        store.worth("01KJPY44E039MMV97SZGY6V9EQ")
    with pytest.raises(UsageError):
        store.worth(sort="beauty")


def test_a_question_that_two_entries_answer_is_answered_by_neither_alone() -> None:
    answers = {"a": Answered(("1", "2", "3", "4")), "b": Answered(("2",), ("2",))}
    assert answers_by_lore(answers) == {"1": (1, ()), "2": (2, ("b",)), "3": (1, ())}


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_importance_grows_with_use_stays_below_one_and_yields_to_a_stated_one(
    helpful: int, shown: int, alone: int, links: int
) -> None:
    found = importance(None, pinned=False, helpful=helpful, shown=shown, alone=alone, links=links)
    assert (
        0
        <= found
        <= importance(None, pinned=False, helpful=helpful + 1, shown=shown + 1, alone=alone, links=links)
        <= 1
    )
    assert importance(0.3, pinned=True, helpful=helpful, shown=shown) == 0.3
    assert importance(None, pinned=True, helpful=helpful, shown=shown) == 1.0


def test_two_helpful_judgements_make_an_entry_important_and_being_shown_alone_never_does() -> None:
    assert importance(None, pinned=False, helpful=2, shown=0) == 0.5
    assert importance(None, pinned=False, helpful=0, shown=10_000) < 0.5


def test_a_use_counts_in_the_scope_of_the_entry(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    ok("record", QUEUE, "-c", "fact", "--scope", "user", cwd=root)
    ok("record", TIDES, "-c", "fact", cwd=root)
    ok("query", "idempotent queue handlers", cwd=root)
    (one,) = ok("worth", "--scope", "user", "--json", cwd=root).json["lore"]
    assert (one["title"], one["shown"]) == (QUEUE, 1)
    assert ok("worth", "--json", cwd=root).json["lore"][0]["shown"] == 0
    assert ok("show", "L1", "--json", cwd=root).json["lore"]["worth"]["shown"] == 1


def test_the_command_lists_usefulness_and_describes_one_entry(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    assert ok("worth", cwd=root).out == "No active lore here.\n"
    lore_id = ok("record", QUEUE, "-c", "fact", "--json", cwd=root).json["lore"]["id"]
    assert "◆" not in ok("list", cwd=root).out
    ok("query", "idempotent queue handlers", cwd=root)
    assert ok("worth", cwd=root).out.splitlines() == [
        "importance  shown  helpful   tokens  top 3  alone  entry",
        f"      0.23      1        0       22      1      1  {QUEUE}"[:92] + f"… {lore_id}",
        "1 of 1 · 1 past query run again",
    ]
    assert f" ◆0.05 {lore_id}\n" in ok("list", cwd=root).out
    (listed,) = ok("list", "--json", cwd=root).json["lore"]
    assert listed["worth"] == {"shown": 1, "tokens": 22, "importance": 0.05}
    said = ok("worth", "L1", cwd=root).out
    assert "shown 1 time, helpful 0 times, cost about 22 tokens" in said
    assert (
        "Removing it would change 1 top-3 result, and weaken 1 answer.\n    idempotent queue handlers\n"
        in said
    )


def test_the_column_of_usefulness_needs_no_replay(store: Engram) -> None:
    shown, other = store.record(QUEUE, category="fact").lore, store.record(TIDES, category="fact").lore
    store.query("idempotent queue handlers")
    store.query("are queue handlers idempotent?")
    store.feedback(helpful=[shown.id])
    found = store.worth_at_once(shown.id, other.id, "01JZZZZZZZZZZZZZZZZZZZZZZZ")
    assert found.keys() == {shown.id, other.id}
    assert (found[shown.id]["shown"], found[other.id]) == (2, {"shown": 0, "tokens": 0, "importance": 0.0})
    assert found[shown.id]["importance"] == importance(None, pinned=False, helpful=1, shown=2)


def test_links_between_parts_of_one_document_add_no_importance(store: Engram, tmp_path: Path) -> None:
    part = "The keeper of the light notes the height of every tide by hand. " * 30
    document = tmp_path / "notes" / "light.md"
    document.parent.mkdir()
    document.write_text("# Light\n\n" + "\n\n".join(f"## Watch {n}\n\n{part}" for n in range(4)), "utf-8")
    assert store.import_markdown(str(document.parent)).split
    first = store.worth(sort="importance").lore[0]
    assert (first.links, first.importance) == (0, 0.0)
    store.record(QUEUE, category="fact", relations=[("see_also", first.id)])
    assert store.worth(first.id).lore[0].links == 1


def test_queries_that_a_pending_entry_would_answer_are_found_by_replay(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    ok("record", "The nightly build needs Node 22.", "--category", "FACT", "--status", "pending", cwd=root)
    ok("query", "which node does the nightly build need", cwd=root)
    ok("query", "how are orders numbered", cwd=root)
    store = open_test_store(root, clock=SetClock())
    (item,) = store.review(kinds="pending").items
    found = store.would_answer(item.lore[0])
    assert (found.queries, found.asked) == (("which node does the nightly build need",), 2)
    assert store.query("which node does the nightly build need", keep=False).lore == ()
    told = ok("worth", item.lore[0], cwd=root)
    assert "It would have answered 1 of 2 past queries." in told.out
    assert ok("worth", item.lore[0], "--json", cwd=root).json["would_answer"][0]["asked"] == 2
