"""The conditions of a query are exact at their bounds and all apply."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, open_test_store
from mixed_lore import MIXED, found, mixed_store

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    with mixed_store(tmp_path_factory.mktemp("mixed")) as store:
        yield store


def test_min_confidence_is_exact_at_its_bound(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        for hundredths in (48, 49, 50, 51, 70):
            text = f"Broker {hundredths} delivers twice"
            store.record(text, category="FACT", confidence=hundredths / 100)

        def confidences(**options: object) -> list[int]:
            hits = store.query("broker delivers twice", k=20, **options).lore  # type: ignore[arg-type]
            return sorted(round(hit.lore.confidence * 100) for hit in hits)

        for strategy in ("hybrid", "words", "scan"):
            assert confidences(strategy=strategy) == [50, 51, 70]
            assert confidences(strategy=strategy, min_confidence=0.51) == [51, 70]
            assert confidences(strategy=strategy, min_confidence=0.0) == [48, 49, 50, 51, 70]
            assert confidences(strategy=strategy, min_confidence=0.71) == []


def test_category_type_and_tag_filters_are_exact_and_all_apply(mixed: Engram) -> None:
    everything = mixed.list(limit=None)
    for strategy in ("hybrid", "words", "scan"):
        options = {"k": 100, "min_confidence": 0.0, "strategy": strategy}
        text = "test"
        for hit in mixed.query(text, categories=["fact", "workflow"], **options).lore:  # type: ignore[arg-type]
            assert hit.lore.category in {"FACT", "WORKFLOW"}
        for hit in mixed.query(text, types="procedural", **options).lore:  # type: ignore[arg-type]
            assert hit.lore.type == "procedural"
        hits = mixed.query(text, tags=["group-1"], **options).lore  # type: ignore[arg-type]
        assert hits
        assert all("group-1" in hit.lore.tags for hit in hits)
        assert found(mixed, "queue consumer", tags=["queue"], **options) == [QUEUE]
        assert found(mixed, "queue consumer", tags=["queue", "group-1"], **options) == []
        assert found(mixed, "queue consumer", tags=["que"], **options) == []
    assert everything.total == len(MIXED) + 1


@pytest.mark.slow
def test_the_only_entry_that_passes_a_filter_is_found_among_many(tmp_path: Path) -> None:
    """The others match better, and there are more than any pool of candidates holds."""
    folder = tmp_path / "lore"
    folder.mkdir()
    fields = "---\ncategory: FACT\nconfidence: 0.20\n---\n\n"
    for number in range(1100):
        text = f"{fields}Retry the broker when the broker is down, case {number}\n"
        (folder / f"{number}.md").write_text(text, "utf-8")
    with open_test_store(tmp_path) as store:
        rest = " ".join(f"Step {number} of it concerns something else." for number in range(2))
        wanted = f"How we retry what the broker refused. {rest}"
        store.record(wanted, category="FACT", confidence=0.9, tags=["rare"])
        for strategy in ("hybrid", "words"):
            question = "retry the broker"
            assert found(store, question, strategy=strategy) == [wanted], "only the confidence filters"
            assert found(store, question, strategy=strategy, categories=["FACT"]) == [wanted]
            assert found(store, question, strategy=strategy, tags=["rare"]) == [wanted]
