"""The development set for recall: its form, that what it refers to exists, and that it is what its README says."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engram.domain.admission.secrets import find_secrets
from engram.domain.entry import ulid
from engram.domain.entry.categories import Categories
from engram.domain.entry.lore import MAX_TITLE, Lore, check
from engram.domain.text.stop_words import without_stop_words

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "recall_dev"
MOMENT = datetime(2026, 1, 2, tzinfo=UTC)
ID = ulid.encode(0, 1)
LORE_KEYS = ["key", "title", "content", "context", "category", "tags", "files", "confidence"]
UNANSWERABLE = "unanswerable"
KINDS = {"paraphrase", "task", "error", "keyword", "path", "typo", UNANSWERABLE}


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


LORE = lines("lore.jsonl")
QUERIES = lines("queries.jsonl")


def said(lore: dict[str, Any]) -> str:
    return "\n".join([lore["title"], lore["content"], lore["context"], *lore["tags"], *lore["files"]])


def test_every_line_has_its_fields_and_no_other() -> None:
    assert all(list(lore) == LORE_KEYS for lore in LORE)
    assert all(list(query) == ["q", "relevant", "kind"] for query in QUERIES)
    assert {query["kind"] for query in QUERIES} == KINDS


def test_keys_titles_and_queries_are_unique() -> None:
    for values in (
        [lore["key"] for lore in LORE],
        [lore["title"] for lore in LORE],
        [q["q"] for q in QUERIES],
    ):
        assert [value for value, count in Counter(values).items() if count > 1] == []


def test_relevant_keys_exist_and_only_unanswerable_queries_have_none() -> None:
    keys = {lore["key"] for lore in LORE}
    for query in QUERIES:
        assert set(query["relevant"]) <= keys, query
        assert bool(query["relevant"]) == (query["kind"] != UNANSWERABLE), query
        assert len(set(query["relevant"])) == len(query["relevant"]), query


def test_each_kind_has_the_number_of_queries_that_the_readme_gives() -> None:
    counts = Counter(query["kind"] for query in QUERIES)
    readme = (FOLDER / "README.md").read_text("utf-8")
    assert len(LORE) >= 150
    assert sum(counts.values()) >= 300
    for kind in KINDS:
        assert counts[kind] >= 35
        assert f"| `{kind}` | {counts[kind]} |" in readme
    assert f"{len(LORE)} entries" in readme
    assert f"{len(QUERIES)} questions" in readme


def test_every_entry_could_be_recorded() -> None:
    categories = Categories()
    for lore in LORE:
        check(as_lore(lore), categories)
        assert lore["category"] in categories, lore["key"]
        assert 0 < lore["confidence"] <= 1, lore["key"]
        assert 0 < len(lore["title"]) <= MAX_TITLE, lore["key"]


def as_lore(line: dict[str, Any]) -> Lore:
    content = f"{line['title']}\n\n{line['content']}"
    context = (line["context"],) if line["context"] else ()
    tags, files = tuple(line["tags"]), tuple(line["files"])
    return Lore(ID, content, line["category"], MOMENT, MOMENT, context=context, tags=tags, files=files)


def test_nothing_in_it_looks_like_a_secret() -> None:
    assert [find_secrets(said(lore)) for lore in LORE if find_secrets(said(lore))] == []
    assert [query["q"] for query in QUERIES if find_secrets(query["q"])] == []


def test_paraphrases_share_few_words_with_their_entries() -> None:
    by_key = {lore["key"]: said(lore) for lore in LORE}
    shares = []
    for query in QUERIES:
        if query["kind"] == "paraphrase":
            known = stems(" ".join(by_key[key] for key in query["relevant"]))
            asked = stems(query["q"])
            shares.append(len(asked & known) / len(asked))
    assert sum(shares) / len(shares) < 0.15
    assert max(shares) <= 0.5


def stems(text: str) -> set[str]:
    """The beginnings of a text's words, without common ones."""
    return {word[:5] for word in without_stop_words(re.findall(r"[a-z0-9_]+", text.lower()))}
