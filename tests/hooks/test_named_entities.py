"""Prompts that name something there is an entry about, by real hooks: what each name needs comes, and quiet turns get nothing.

Mutants that make no difference: how many names and entries there are, give or take one, a tenth more of a figure that was
fitted, and evidence that is exactly as much as is needed; the weight of a single word; names without an entry and rows that
are not shown, which are left out twice; words of an entity that are looked up as words, too, and find the same entries; the
share of a store of more than 266 entries; whether an entity is rare, as its entries need no evidence. The way without
numpy is taken by processes of their own only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from apikit import open_test_store
from hookkit import answer, text_of

from engram.usecases.agents.named_entities import MOST, find_named
from engram.usecases.recording.edit import Edit
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
    with open_test_store(root, agent="human", clock=Clock()) as engram:
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


def test_entries_about_several_named_things_are_shown_together(root: Path) -> None:
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
    assert said(root, "which amounts of sugar does the recipe take") == ""


@pytest.mark.parametrize(
    ("prompt", "comes"),
    [
        ("draw an icon of a settlement for the page", False),
        ("at which hour of the night does settlement run", True),
    ],
)
def test_an_ordinary_word_that_begins_one_entry_shows_it_only_for_a_question_about_it(
    prompt: str, comes: bool, tmp_path: Path
) -> None:
    said = "Settlement runs at two in the night, an hour after the bank has closed its books."
    with open_test_store(tmp_path, clock=Clock()) as engram:
        for text in (said, MONEY, *COMMON):
            engram.record(text, category="FACT")
        engram.refresh()
        assert [hit.lore.content for hit in find_named(engram.store, prompt)] == ([said] if comes else [])


def test_an_everyday_word_counts_as_a_name_where_it_is_written_as_one(tmp_path: Path) -> None:
    said = "Summit keeps the images. It forgets those that nobody pulled for a month."
    with open_test_store(tmp_path, clock=Clock()) as engram:
        for text in (said, MONEY):
            engram.record(text, category="FACT")
        engram.link_entity("Summit", type="tool")
        engram.refresh()
        assert [hit.lore.content for hit in find_named(engram.store, "Summit is not for me")] == [said]


def test_entries_linked_from_a_named_one_are_not_shown_for_its_name(tmp_path: Path) -> None:
    with open_test_store(tmp_path, clock=Clock()) as engram:
        linked = engram.record(MONEY, category="FACT").lore
        engram.record(KESTREL, category="FACT", relations=[("see_also", linked.id)])
        engram.refresh()
        assert [hit.lore.content for hit in find_named(engram.store, "write a mock of kestrel")] == [KESTREL]


def test_two_words_of_one_name_are_one_thing_of_which_two_entries_come(tmp_path: Path) -> None:
    both = [LINDQVIST, "Anna Lindqvist reviews the invoices, too. She wants them by Friday."]
    with open_test_store(tmp_path, clock=Clock()) as engram:
        for text in (*both, MONEY):
            engram.record(text, category="FACT")
        engram.refresh()
        found = [hit.lore.content for hit in find_named(engram.store, "what does Anna Lindqvist review")]
    assert sorted(found) == sorted(both)


def test_a_named_entry_that_the_session_has_is_shown_by_its_ref_alone(root: Path) -> None:
    session = {"session_id": "writes mocks"}
    assert "fact · Engram Test" in said(root, "write a mock of kestrel", **session)
    again = said(root, "and now one for kestrel's staging", **session)
    assert "above answers this" in again
    assert "fact · Engram Test" not in again


# --- what about_named returns


OSPREY = "Osprey signs the releases. Its key lies in the vault of the release team."
OSPREY_TOO = "Osprey signs the nightly builds, too. Its key for them is changed each month."
PASSING = (
    "The archive of the scans is emptied by hand on the first Monday of each month, after the auditors were asked, "
    "and before that everything in it is copied to Borealis."
)
SHIPS = [f"{name} carries the {cargo} of the harbour." for name, cargo in (
    ("Albatross", "grain"), ("Bittern", "timber"), ("Cormorant", "copper"), ("Dunlin", "tea"), ("Egret", "salt"),
    ("Fulmar", "wool"),
)]  # fmt: skip


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("harbour")
    with open_test_store(root, agent="human", clock=Clock()) as engram:
        for text in (BOREALIS, KESTREL, OSPREY, OSPREY_TOO, PASSING, MONEY, *SHIPS, *COMMON):
            engram.record(text, category="FACT")
        engram.link_entity("Borealis", type="tool", aliases=["docvault"])
        engram.refresh()
    return root


def about(root: Path, prompt: str) -> list[str]:
    with open_test_store(root, clock=Clock()) as engram:
        return [hit.lore.content for hit in find_named(engram.store, prompt)]


def test_a_prompt_that_names_nothing_brings_nothing(harbour: Path) -> None:
    assert about(harbour, "the of and") == about(harbour, "sort these numbers for the report") == []


def test_an_entry_that_mentions_a_thing_in_passing_is_not_about_it(harbour: Path) -> None:
    assert about(harbour, "docvault answers 413 for big scans") == [BOREALIS]
    assert about(harbour, "empty the archive of borealis") == [BOREALIS]


def test_one_name_shows_two_entries_of_similar_score_and_several_names_one_each(
    harbour: Path,
) -> None:
    assert sorted(about(harbour, "which key does osprey sign with")) == sorted([OSPREY, OSPREY_TOO])
    both = about(harbour, "which key does osprey sign the payments of kestrel with")
    assert KESTREL in both
    assert len(both) == 2


def test_the_first_five_names_show_an_entry_each_in_the_order_of_the_prompt(harbour: Path) -> None:
    names = [text.split()[0].lower() for text in SHIPS]
    assert about(harbour, f"let {', '.join(names)} leave the harbour") == SHIPS[:MOST]


# --- names in another spelling, several together, and names that need no more


ODEGAARD = "Søren Ødegaard keeps the tariffs. He wants a changed rate with its source, as a link."
TANAKA = "Haruto Tanaka signs the builds until May. After that it is Chidi Okafor, who has a deputy."
OKAFOR = "Chidi Okafor owns the rota. Swaps go through him by Thursday noon, in writing."
PLOVER = "Plovernet carries the alarms. It gives up after nine minutes without a word."
POLARS = "polars reads our exports with every column as text. Article numbers begin with zeros."
TERN = "Ternstone keeps the archive. Its index is made again on the first Sunday of a month."


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("office")
    with open_test_store(root, agent="human", clock=Clock()) as engram:
        for text in (ODEGAARD, TANAKA, OKAFOR, PLOVER, POLARS, TERN, MONEY, *COMMON):
            engram.record(text, category="FACT")
        engram.link_entity("Ternstone Vaultkeeper", type="tool", aliases=["Ternstone"])
        engram.refresh()
    return root


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        ("who is on holiday this week, is it odegaard", ODEGAARD),
        ("show the visitors around on thursday and mention what plovernt does", PLOVER),
        ("the plovernets of both sites are silent", PLOVER),
        ("bump polars, it is from last spring", POLARS),
        ("vaultkeeper is to have a new logo", TERN),
        ("the solar panels on the roof are to be cleaned", ""),
    ],
)
def test_a_rare_name_needs_no_other_word_nor_its_own_spelling_but_an_ordinary_word_does(
    office: Path, prompt: str, wanted: str
) -> None:
    assert about(office, prompt) == [*filter(None, [wanted])]


def test_several_names_show_an_entry_each_where_they_have_one(office: Path) -> None:
    assert sorted(about(office, "who signs the builds, okafor or tanaka")) == sorted([OKAFOR, TANAKA])


def test_an_entry_that_begins_with_one_name_is_kept_for_it_though_it_answers_another(
    tmp_path: Path,
) -> None:
    backup = "Granaria is copied to skuastore on Sundays, and the copy takes 47 minutes."
    others = [
        "Numbers in Granaria keep their zeros.",
        "Curators of Granaria see last night's figures.",
    ]
    snow = "skuastore keeps what it got for 14 days. Its clock does not know summer time."
    with open_test_store(tmp_path, clock=Clock()) as engram:
        for text in (backup, *others, snow, MONEY, *COMMON):
            engram.record(text, category="FACT")
        engram.refresh()
        asked = "is granaria on skuastore with the copy of Sunday, 20 days ago"
        assert sorted(hit.lore.content for hit in find_named(engram.store, asked)) == sorted([backup, snow])


# --- how much evidence a name needs besides it, by how many the prompt names


MERLIN = "The Merlin office closes at five. Its keys hang behind the door."
HERON = "The Heron fund pays for tea. It is filled each spring by the members."
SIGNS = "Osprey signs the releases. Its key lies in the vault of the release team."
PAINTS = "Osprey paints its boats green. The paint is bought in autumn."
COPIED = "Granaria is copied to Skuastore on Sundays, and the copy takes 47 minutes."
CLOCK = "The clock of Skuastore does not know summer time."
BERG = "Anna Berg reviews invoices. She wants them by Friday."
SETTLEMENT = "Settlement runs at two in the night, an hour after the bank has closed its books."
KEPT = (
    "What was scanned is kept for a year and then copied by hand, after somebody has asked the auditors, to the "
    "Ternstone Vaultkeeper."
)
OLD = "The Dotterel press prints labels. It jams in damp weather."


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("birds")
    with open_test_store(root, agent="human", clock=Clock()) as engram:
        for text in (
            MERLIN,
            HERON,
            SIGNS,
            PAINTS,
            COPIED,
            CLOCK,
            LINDQVIST,
            BERG,
            POLARS,
            SETTLEMENT,
            KEPT,
            MONEY,
        ):
            engram.record(text, category="FACT")
        engram.link_entity("Ternstone Vaultkeeper", type="tool", aliases=["Ternstone"])
        engram.edit(engram.record(OLD, category="FACT").lore.id, Edit(status="archived"))
        engram.refresh()
    return root


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        ("rename the button to merlin", []),
        ("rename the buttons to merlin and heron", [MERLIN, HERON]),
        ("sing about the merlin and the heron", []),  # one of them has no answer, so the other one is single
        ("is the merlin office still open", [MERLIN]),
        ("which key signs the releases of osprey", [SIGNS]),
        ("does the copy of granaria to skuastore take long on Sundays", [COPIED]),
        ("why does the dotterel press jam", []),
        ("draw the merlin in green", [MERLIN]),
        ("when was the settlement founded", []),
        ("does Anna Lindqvist review the invoices", [LINDQVIST]),
        ("bump polars, and write the minutes of the long talk about lamps, doors and the roof", [POLARS]),
        ("how long are scans kept in the vaultkeeper", [KEPT]),
    ],
)
def test_a_single_ordinary_name_needs_more_evidence_than_several_do(
    birds: Path, prompt: str, wanted: list[str]
) -> None:
    assert about(birds, prompt) == wanted


def test_without_a_model_no_name_is_rare_and_entries_are_found_by_their_words(tmp_path: Path) -> None:
    (tmp_path / ".engram.toml").write_text('[embedding]\nprovider = "none"\n')
    with open_test_store(tmp_path, clock=Clock()) as engram:
        for text in (KESTREL, PLOVER, MONEY):
            engram.record(text, category="FACT")
        engram.refresh()
        asked = "does kestrel take a declined card twice"
        assert [hit.lore.content for hit in find_named(engram.store, asked)] == [KESTREL]
        assert find_named(engram.store, "what does plovernt do with alarms") == []
