"""The plan of a sync: incoming, outgoing and merged paths, refused files, and which side wins."""

from __future__ import annotations

import pytest

from engram.domain.sync.sync_plan import (
    LARGEST_LORE,
    LARGEST_OTHER,
    Plan,
    find_clash,
    is_lore,
    is_merged_by_field,
    judge_file,
    merge_whole_file,
    plan,
)

OLD, ONE, OTHER = (("100644", name) for name in ("old", "one", "other"))


def test_changes_of_one_side_travel_and_differing_changes_of_both_are_merged() -> None:
    ours = {"mine": ONE, "same": ONE, "both": ONE, "gone": None}
    theirs = {"theirs": OTHER, "same": ONE, "both": OTHER, "gone": OTHER}
    assert plan(ours, theirs) == Plan(("theirs",), ("mine",), ("both", "gone"))


@pytest.mark.parametrize(
    ("base", "one", "other", "merged", "lost"),
    [
        (OLD, ONE, ONE, ONE, False),
        (OLD, OLD, OTHER, OTHER, False),
        (OLD, ONE, OLD, ONE, False),
        (OLD, None, OTHER, OTHER, False),
        (OLD, ONE, None, ONE, False),
        (None, ONE, OTHER, ONE, True),
    ],
)
def test_another_file_loses_a_version_only_if_both_sides_changed_it(
    base: tuple[str, str] | None,
    one: tuple[str, str] | None,
    other: tuple[str, str] | None,
    merged: tuple[str, str] | None,
    lost: bool,
) -> None:
    assert merge_whole_file(base, one, other) == (merged, lost)


def test_is_lore_accepts_entries_but_not_entities_agents_and_hidden_files() -> None:
    paths = ("lore/a.md", "lore/x/entities/a.md", "lore/entities/a.md", "lore/.x/a.md", "lore/a.txt", "a.md")
    assert [is_lore(path, "lore") for path in paths] == [True, True, False, False, False, False]
    assert is_merged_by_field("lore/entities/a.md", "lore")
    whole = ("a.md", "entities/a.md", "lore/entities/a.md", "node_modules/a.md", ".x/a.md")
    assert [is_lore(path, "") for path in whole] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("path", "mode", "size", "why"),
    [
        ("lore/a.md", "100644", LARGEST_LORE, ""),
        ("lore/a.md", "100644", LARGEST_LORE + 1, "has 262,145 bytes, more than the 262,144 allowed"),
        ("README.md", "100644", LARGEST_OTHER, ""),
        ("README.md", "100644", LARGEST_OTHER + 1, "has 8,388,609 bytes"),
        ("lore/a.md", "120000", 9, "is a symbolic link"),
        ("x", "160000", 0, "is a submodule"),
        ("lore/a.md", "100755", 9, "is executable"),
        (".engram.toml", "100755", 9, ""),
        ("../a.md", "100644", 9, "leads out of the store"),
        ("docs/.VSCode/tasks.json", "100644", 9, "lies in or is .vscode, which programs act upon"),
    ],
)
def test_files_that_are_too_large_or_not_regular_are_refused(
    path: str, mode: str, size: int, why: str
) -> None:
    found = judge_file(path, mode, size, "lore")
    assert (found is None) == (not why)
    if found:
        assert found.why.startswith(why)


@pytest.mark.parametrize(
    ("path", "stops"),
    [
        ("../a.md", True),
        ("docs/.git/hooks/x", True),
        (".engram.toml", True),
        ("docs/lore", True),
        ("docs", True),
        ("do", False),
        ("docs/lore/con.md", False),
        (".vscode/tasks.json", False),
    ],
)
def test_a_path_that_is_no_mistake_stops_its_whole_commit(path: str, stops: bool) -> None:
    found = judge_file(path, "120000", 9, "docs/lore")
    assert found
    assert found.stops is stops


def test_a_path_cannot_be_a_file_and_a_folder() -> None:
    assert find_clash(["a/b/c.md", "a/b", "x.md"]) == "a/b"
    assert find_clash(["a/b/c.md", "a/bc", "x.md"]) == ""
