"""Automatic recall by text and files: which entries are shown, what is logged, and other stores.

Equivalent mutants: those that change a budget of hundreds of tokens by one, select two rows instead of the best one, or
replace = by ≥; numbers of hits, files and letters by one; a fitted number, or a threshold that nothing exceeds, by a tenth;
and another form of an empty answer.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import ok, open_test_store
from hookkit import LESSON, PROMPT, answer, make_store, text_of

from engram.usecases.agents.auto_recall import recall_for_files, recall_for_text
from engram.usecases.store.activity_log import QUERY, entries

CLAUDE = "claude-code"
NEAR = "The queue of letters at the reception is emptied at noon."
KESTREL = "Kestrel takes our payments. It retries a declined card twice, four hours apart."
ORDINARY = "The {} of the house is looked after by somebody else each season, and the plan of it hangs in the {} for all to read. "
ENGINE = "An aircraft engine must cool for two minutes before the pilot stops it."
SHIPS = "A ferry leaves the port at seven, and passengers board it from the quay."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_store(tmp_path)


def test_entries_are_recalled_only_if_they_mention_a_required_name(root: Path) -> None:
    with open_test_store(root) as engram:
        assert recall_for_text(engram.store, PROMPT, naming=["bread.py"]) == ""
        assert LESSON in recall_for_text(engram.store, PROMPT, naming=["bread.py", "Redelivery"])


def test_a_file_name_that_every_project_has_does_not_match_entries(root: Path) -> None:
    with open_test_store(root) as engram:
        lore = engram.record(f"{LESSON} The README.md of the shop says so, too.", category="fact").lore
        engram.refresh()
        assert recall_for_text(engram.store, lore.content, naming=["README.md"]) == ""
        assert lore.content in recall_for_text(engram.store, lore.content, naming=["shop"])


@pytest.mark.parametrize(
    ("of_entry", "asked", "comes"),
    [
        ("src/queue.py", "src/queue.py", True),
        ("queue.py", "src/queue.py", True),
        ("src/queue.py", "queue.py", True),
        ("src/app/main.py", "app/main.py", True),
        ("app/main.py", "src/app/main.py", True),
        ("main.py", "main.py", True),
        ("main.py", "src/main.py", False),
        ("src/main.py", "main.py", False),
        ("src/main.py", "app/main.py", False),
    ],
)
def test_files_match_by_the_end_of_their_path_unless_every_project_has_one_of_that_name(
    of_entry: str, asked: str, comes: bool, tmp_path: Path
) -> None:
    with open_test_store(tmp_path) as engram:
        engram.record(NEAR, category="fact", files=[of_entry])
        assert (NEAR in recall_for_files(engram.store, [asked])) is comes


def test_an_entry_about_a_file_is_recalled_from_the_minimum_confidence_on_and_logged(
    tmp_path: Path,
) -> None:
    for lowest, comes in ((0.7, True), (0.71, False)):
        root = tmp_path / str(lowest)
        with open_test_store(root, settings=f"[recall]\nmin_confidence = {lowest}\n") as engram:
            lore = engram.record(NEAR, category="fact", files=["src/queue.py"]).lore
            assert lore.confidence == 0.7
            assert (NEAR in recall_for_files(engram.store, ["src/queue.py"])) is comes
            logged = [
                (one.strategy, one.ids, one.scores) for one in entries(engram.store) if one.action == QUERY
            ]
        assert logged == ([("files", (lore.id,), (1.0,))] if comes else [])


def test_a_name_recalls_its_entry_once_and_only_with_named(root: Path) -> None:
    ok("record", KESTREL, "-c", "fact", cwd=root)
    with open_test_store(root) as engram:
        engram.refresh()
        named = "prepare the kestrel branch with tests and a small command line"
        assert recall_for_text(engram.store, named) == ""
        assert recall_for_text(engram.store, named, named=True).count("twice, four hours apart") == 1
    with open_test_store(root, session="s2") as engram:
        answered = "does kestrel retry a declined card twice, hours apart?"
        assert recall_for_text(engram.store, answered, named=True).count("twice, four hours apart") == 1


def test_a_sentence_of_a_prompt_is_judged_as_if_it_were_the_whole_prompt(root: Path) -> None:
    instruction = "make the queue consumers handle a message that comes twice"
    talk = "I walked along the river this morning and thought about the colours of autumn leaves. {}. Then we had soup."
    with open_test_store(root) as engram:
        engram.record(NEAR, category="fact")
        engram.record(KESTREL, category="fact")
        engram.refresh()
        assert recall_for_text(engram.store, talk.format(instruction)) == ""
        assert recall_for_text(engram.store, talk.format(instruction), sentences=[f"{instruction}?"]) == ""
        assert LESSON in recall_for_text(engram.store, talk.format(instruction), sentences=[instruction])


def test_tokens_already_spent_reduce_the_budget(root: Path) -> None:
    with open_test_store(root) as engram:
        budget = int(engram.store.settings.number("hooks.recall_budget"))
        assert recall_for_text(engram.store, PROMPT, spent=budget - 59) == ""
        assert recall_for_text(engram.store, " \n") == ""
        assert LESSON in recall_for_text(engram.store, PROMPT, spent=budget - 100)


def test_nothing_is_shown_if_it_cannot_be_noted_as_shown(root: Path) -> None:
    with open_test_store(root) as engram:
        state = Path(engram.store.state.path)
        state.unlink(missing_ok=True)
        state.mkdir()
        assert recall_for_text(engram.store, PROMPT) == ""


def test_links_in_the_title_of_an_entry_shown_before_are_marked(root: Path) -> None:
    with open_test_store(root) as engram:
        engram.record("See https://example.org/kestrels for how kestrels nest in towers.", category="fact")
        engram.refresh()
        asked = "how do kestrels nest in towers?"
        assert "https://example.org" in recall_for_text(engram.store, asked)
        assert "    See [unchecked link] https://example.org" in recall_for_text(
            engram.store, asked, above=True
        )


def test_the_activity_log_lists_near_entries_withheld_as_not_strong(root: Path) -> None:
    with open_test_store(root) as engram:
        near = engram.record(NEAR, category="fact").lore.id
        engram.refresh()
        assert LESSON in recall_for_text(engram.store, PROMPT)
        (entry,) = [entry for entry in entries(engram.store) if entry.action == QUERY]
    (withheld,) = entry.withheld
    assert withheld.why == "not strong"
    assert near in withheld.ids
    assert not set(entry.ids) & set(withheld.ids)


def test_entries_found_by_a_file_scan_are_logged_but_not_shown(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engram.usecases.agents import auto_recall
    from engram.usecases.recall import query as recall

    real = recall.query
    monkeypatch.setattr(
        auto_recall, "query", lambda store, asked: real(store, asked._replace(strategy=recall.SCAN))
    )
    with open_test_store(root) as engram:
        assert recall_for_text(engram.store, PROMPT, sentences=[PROMPT]) == ""
        (entry,) = [entry for entry in entries(engram.store) if entry.action == QUERY]
    assert [one.why for one in entry.withheld] == ["no index"]


def test_an_entry_of_the_users_own_store_is_recalled_and_judged_there(tmp_path: Path) -> None:
    own = "Alembic migrations of the ledger need a lock timeout, or every request queues behind them."
    ok("record", own, "-c", "fact", "--scope", "user", cwd=tmp_path)
    ok("list", "--scope", "user", cwd=tmp_path)
    project = make_store(tmp_path / "project")
    asked = "do alembic migrations of the ledger need a lock timeout?"
    assert own in text_of(answer(CLAUDE, "prompt", project, prompt=asked))
    assert LESSON in text_of(answer(CLAUDE, "prompt", project, prompt=PROMPT))
    with open_test_store(project, session="s1") as engram:
        assert [ref.scope for ref in engram.store.session_state.refs("s1")] == ["user", ""]
    assert " → " in ok("feedback", "--helpful", "L1", cwd=project).out
    assert '"validation_count": 1' in ok("list", "--scope", "user", "--json", cwd=tmp_path).out


def test_the_passage_of_a_long_entry_nearest_in_meaning_is_shown(root: Path) -> None:
    filler = "".join(ORDINARY.format(*pair) for pair in (
        ("garden", "hall"), ("roof", "attic"), ("lift", "office"), ("cellar", "lobby"), ("yard", "shed"), ("gate", "kitchen"),
        ("stair", "store"), ("heating", "archive"), ("lamp", "canteen"), ("door", "foyer"),
    ))  # fmt: skip
    with open_test_store(root) as engram:
        engram.record(
            f"Manual of the airfield.\n\n{SHIPS}\n\n{filler}\n\n{ENGINE}\n\n{filler}", category="fact"
        )
        engram.refresh()
        said = recall_for_text(
            engram.store, "manual of the airfield: turning the motor of a plane off", bar=0.3
        )
    assert ENGINE in said
