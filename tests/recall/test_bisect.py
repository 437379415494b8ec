"""`engram bisect`: the commit that changed an answer, among the real commits of a store."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from apikit import SetClock, cli, dedicated, git, make_plain_store, open_test_store
from apikit import ok as succeed
from storekit import commit

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = "on which port does the gateway listen"
PORT = "The gateway listens on port 8080."


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store of 18 commits, in which the answer came at one and was changed at another; those commits by name."""
    root, clock, marks = dedicated(tmp_path_factory.mktemp("bisect") / "store"), SetClock(), dict[str, str]()
    with open_test_store(root, clock=clock) as store:

        def done(name: str = "") -> None:
            clock.advance(minutes=1)
            commit(store)
            marks[name] = git(root, "rev-parse", "HEAD")

        for number in range(6):
            store.record(f"Harbour {number} prints its tide table in local time.", category="fact")
            done()
        lore_id = store.record(PORT, category="fact").lore.id
        done("came")
        for number in range(6, 11):
            store.record(f"Harbour {number} prints its tide table in local time.", category="fact")
            done()
        store.patch(lore_id, {"content": "The gateway listens on port 9090."})
        done("changed")
        for number in range(11, 16):
            store.record(f"Harbour {number} prints its tide table in local time.", category="fact")
            done()
    return root, marks


def test_the_commit_that_changed_an_answer_is_found_in_few_steps(made: tuple[Path, dict[str, str]]) -> None:
    root, marks = made
    found = succeed("bisect", QUESTION, "-k", "1", "--json", cwd=root).json
    assert found["commit"] == marks["changed"]
    assert [(one["change"], one["from"], one["to"]) for one in found["changes"]] == [("changed", 1, 1)]
    assert found["answer"][0]["title"] == "The gateway listens on port 9090."
    assert found["asked"] <= math.ceil(math.log2(found["commits"])) + 2 < found["commits"]
    said = succeed("bisect", QUESTION, "-k", "1", cwd=root).out
    for part in (marks["changed"][:7], "Engram Test", "changed", "port 9090"):
        assert part in said, part
    coloured = succeed("bisect", QUESTION, "-k", "1", cwd=root, FORCE_COLOR="1").out
    assert "\x1b[2m" in coloured
    assert "␛" not in coloured


def test_within_an_earlier_part_of_history_the_first_change_is_found(
    made: tuple[Path, dict[str, str]],
) -> None:
    root, marks = made
    found = succeed("bisect", QUESTION, "-k", "1", "--to", f"{marks['changed']}~1", "--json", cwd=root).json
    assert found["commit"] == marks["came"]
    assert [(one["change"], one["from"], one["to"]) for one in found["changes"]] == [("came", None, 1)]


def test_an_unchanged_answer_is_reported_as_unchanged(made: tuple[Path, dict[str, str]]) -> None:
    root, marks = made
    done = succeed("bisect", QUESTION, "-k", "1", "--from", marks["changed"], cwd=root)
    assert done.out == "The answer is the same at both ends, --from and --to.\n"
    assert cli("bisect", QUESTION, "--from", "HEAD", cwd=root).code == 3
    assert cli("bisect", QUESTION, "--from", "nowhere", cwd=root).code == 3


def test_bisecting_changes_nothing_and_gives_no_refs(made: tuple[Path, dict[str, str]]) -> None:
    root, _ = made
    before = git(root, "rev-parse", "HEAD")
    succeed("bisect", QUESTION, cwd=root, ENGRAM_SESSION="fresh")
    assert git(root, "rev-parse", "HEAD") == before
    assert git(root, "status", "--porcelain") == ""
    assert succeed("session", "--json", cwd=root, ENGRAM_SESSION="fresh").json["lore"] == []


def test_a_store_outside_git_has_no_history_to_search(tmp_path: Path) -> None:
    refusal = cli("bisect", QUESTION, cwd=make_plain_store(tmp_path / "store"))
    assert (refusal.code, "no history" in refusal.err) == (1, True)
