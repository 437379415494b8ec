"""A category is optional: every way in guesses the same one from the text."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import make_plain_store, ok, open_test_store
from http_kit import open_client, send_request
from mcp_kit import connect_inside
from mcp_kit import ok as called

from engram.domain.entry.lore import title_of
from engram.domain.exchange.classify import guess_category

SAYINGS = [
    ("The upload failed because nginx limits a body to 1 MB.", "EDGE_CASE_DISCOVERY"),
    ("We decided to keep the queue in Postgres, since nobody runs Redis.", "ARCHITECTURAL_DECISION"),
    ("Marta prefers squash merges with the ticket in the title.", "PREFERENCE"),
    ("Make sure to run `make gen` first, because the stubs are not in git.", "WORKFLOW"),
    ("boto3 1.36 sends checksums by default, which MinIO rejects.", "DEPENDENCY_BEHAVIOR"),
    ("The billing API returns amounts in cents.", "INTERFACE_LESSON"),
    ("Root cause: the clock of the worker is five minutes slow.", "EDGE_CASE_DISCOVERY"),
    ("The office has 20 desks.", "FACT"),
]


@pytest.mark.parametrize(("text", "category"), SAYINGS)
def test_a_category_is_guessed_from_the_wording_of_a_text(text: str, category: str) -> None:
    assert guess_category(title_of(text), text) == category


async def test_every_way_of_recording_guesses_a_missing_category(tmp_path: Path) -> None:
    text, category = SAYINGS[2]
    stores = {way: make_plain_store(tmp_path / way) for way in ("cli", "python", "mcp", "http")}
    ok("record", text, cwd=stores["cli"])
    with open_test_store(stores["python"]) as engram:
        engram.record(text)
    async with connect_inside(stores["mcp"]) as client:
        await called(client, "recall_record", content=text)
    async with open_client(stores["http"]) as client:
        await send_request(client, "POST", "/lore", {"content": text}, 201)
    for way, root in stores.items():
        with open_test_store(root) as engram:
            assert [one.lore.category for one in engram.list().lore] == [category], way


def test_a_configured_category_comes_before_a_guess_and_a_given_one_before_both(tmp_path: Path) -> None:
    text, _ = SAYINGS[2]
    with open_test_store(tmp_path, settings='[record]\ncategory = "workflow"\n') as engram:
        assert engram.record(text).lore.category == "WORKFLOW"
        assert engram.record(f"{text} Always.", category="fact").lore.category == "FACT"
