"""Permissions in a store, by its tables of members and policies."""

from __future__ import annotations

import pytest

from engram.domain.admission.policy import check_members, check_policies, denial_reason
from engram.domain.errors import ConfigError

NAMED = {"ada": ["record", "judge"], "bob": []}
OPEN = {"ada": ["judge"], "*": ["record"]}


@pytest.mark.parametrize(
    ("members", "who", "action", "may"),
    [
        ({}, "eve", "forget", True),
        (NAMED, "ada", "record", True),
        (NAMED, "ada", "judge", True),
        (NAMED, "ada", "forget", False),
        (NAMED, "bob", "record", False),
        (NAMED, "eve", "record", False),
        (OPEN, "eve", "record", True),
        (OPEN, "eve", "judge", False),
        (OPEN, "ada", "judge", True),
        (OPEN, "ada", "record", False),
    ],
)
def test_members_may_perform_the_actions_listed_for_them_or_for_everybody(
    members: dict[str, list[str]], who: str, action: str, may: bool
) -> None:
    assert denial_reason(members, {}, who, action, "FACT") == (
        "" if may else f"`team.members` does not let {who} {action} here"
    )


@pytest.mark.parametrize(
    ("names", "who", "why"),
    [
        (["ada"], "ada", ""),
        (["ada", "bob"], "bob", ""),
        (["ada", "bob"], "eve", "`team.policies` leaves FACT to ada, bob"),
        ([], "ada", "`team.policies` leaves FACT to nobody"),
        (["*"], "eve", ""),
    ],
)
def test_a_policy_leaves_a_category_to_those_it_names(names: list[str], who: str, why: str) -> None:
    assert denial_reason({}, {"FACT": names}, who, "record", "FACT") == why
    assert denial_reason({"*": ["record"]}, {"FACT": names}, who, "record", "FACT") == why
    assert denial_reason({}, {"FACT": names}, who, "record", "SKILL") == ""


def test_members_must_have_lists_of_known_actions() -> None:
    check_members({"ada": ["record", "judge", "forget"], "bob": []}, "file: ")
    for wrong in ("record", ["record", "fly"], [1], None):
        with pytest.raises(
            ConfigError, match=r"^file: team\.members: 'ada' must list the actions"
        ) as refused:
            check_members({"bob": [], "ada": wrong}, "file: ")
        assert refused.value.hint == "Valid actions: record, judge, forget."
    with pytest.raises(ConfigError, match=f"'{'x' * 80}'"):
        check_members({"x" * 81: 1}, "file: ")


def test_policies_must_have_lists_of_names() -> None:
    check_policies({"FACT": ["ada", "*"], "SKILL": []}, "file: ")
    for wrong in ("ada", ["ada", ""], [1], None):
        with pytest.raises(ConfigError, match=r"^file: team\.policies: 'FACT' must have a list of names"):
            check_policies({"SKILL": [], "FACT": wrong}, "file: ")
    with pytest.raises(ConfigError, match=f"'{'x' * 80}'"):
        check_policies({"x" * 81: 1}, "file: ")
