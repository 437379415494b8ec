"""Prompts that name something there is an entry about, by real hooks: what each name needs comes, and quiet turns get nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from apikit import opened
from hookkit import answer, text_of

from engram.usecases.store.store import Clock

KESTREL = "Kestrel takes our payments. It retries a declined card twice, four hours apart."
BOREALIS = "Borealis keeps documents. Uploads over 40 MB go through its multipart route."
LINDQVIST = "Anna Lindqvist reviews billing. She wants small commits with the reason in the body."
ZOD = "zod schemas are generated from the OpenAPI file; edit the file, never the schemas."
MONEY = "Amounts are integers in the smallest unit, with a currency next to them."
COMMON = [
    f"The Quarry cluster has rule {number}: rotate its {part} keys by hand."
    for number, part in enumerate(
        ["signing", "mail", "disk", "tunnel", "backup", "license", "deploy", "reader", "admin", "escrow"]
    )
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("names")
    with opened(root, agent="human", clock=Clock()) as engram:
        for text in (KESTREL, BOREALIS, LINDQVIST, ZOD, MONEY, *COMMON):
            engram.record(text, category="FACT")
        engram.link_entity("Borealis", type="tool", aliases=["docvault"])
        engram.refresh()
    return root


def said(root: Path, prompt: str, **changed: Any) -> str:
    """The answer to a prompt in a session of its own."""
    asked = {"prompt": prompt, "session_id": f"about {prompt}", **changed}
    return text_of(answer("claude-code", "prompt", root, **asked))


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        ("write the client for kestrel", KESTREL),
        ("prepare this branch for lindqvist", LINDQVIST),
        ("docvault answers 413 for big scans", BOREALIS),
        ("where do I find the zod schemas", ZOD),
    ],
)
def test_a_prompt_that_names_a_thing_gets_the_entry_about_it(root: Path, prompt: str, wanted: str) -> None:
    found = said(root, prompt)
    assert wanted in found
    assert MONEY not in found


def test_what_several_named_things_need_comes_together(root: Path) -> None:
    found = said(root, "copy the receipts from kestrel to borealis and let Lindqvist look at it")
    assert all(text in found for text in (KESTREL, BOREALIS, LINDQVIST))


@pytest.mark.parametrize(
    "prompt", ["thanks, Kestrel works again", "ok then continue with borealis as you proposed"]
)
def test_a_quiet_turn_gets_nothing_whatever_it_names(root: Path, prompt: str) -> None:
    assert said(root, prompt) == ""


def test_a_name_that_many_entries_have_brings_none_by_itself(root: Path) -> None:
    assert said(root, "draw a picture of the Quarry for the new office") == ""


def test_an_ordinary_word_that_begins_an_entry_is_no_name(root: Path) -> None:
    assert said(root, "show which amounts of sugar the recipe takes") == ""


def test_an_entry_about_a_thing_is_only_pointed_to_where_the_session_has_it(root: Path) -> None:
    session = {"session_id": "writes mocks"}
    assert "fact · Engram Test" in said(root, "write a mock of kestrel", **session)
    again = said(root, "and now one for kestrel's staging", **session)
    assert "above answers this" in again
    assert "fact · Engram Test" not in again
