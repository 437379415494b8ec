"""Consent to automatic syncs is asked for once, of a person at a terminal, if there is a remote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apikit import git, repository

from tests.sync.machines import Machine, Machines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASKED = "by itself from now on?"


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    made = Machines(tmp_path)
    yield made
    made.end()


@pytest.fixture
def machine(machines: Machines) -> Machine:
    """A clone of a code repository, without a store."""
    found = machines.add_empty("a")
    git(machines.folder, "clone", "-q", str(machines.hub), str(found.root))
    return found


def is_auto(machine: Machine) -> bool:
    found = machine.engram("status", "--json").json["git"]["auto"]
    assert found["on"] or found["why"] == "it begins with your first `engram sync`"
    return bool(found["on"])


def test_a_yes_at_init_enables_automatic_syncs(machines: Machines, machine: Machine) -> None:
    assert ASKED in machine.at_terminal("init", typed="y\n")
    assert is_auto(machine)
    machine.rest()
    assert "engram/lore" in machines.refs
    assert ASKED not in machine.at_terminal("init")


@pytest.mark.slow
def test_a_person_who_said_no_is_not_asked_again(machines: Machines, machine: Machine) -> None:
    assert ASKED in machine.at_terminal("init", typed="n\n")
    assert ASKED not in machine.at_terminal("connect", "claude-code", "--no-rules", typed="y\n")
    machine.engram("sync")
    assert not is_auto(machine), "a sync by hand sends, but does not take the no back"


@pytest.mark.slow
def test_a_person_who_said_no_can_change_their_mind(machines: Machines, machine: Machine) -> None:
    assert ASKED in machine.at_terminal("init", typed="n\n")
    machine.engram("sync", "--yes")
    assert is_auto(machine)


@pytest.mark.slow
def test_without_a_person_nothing_is_asked_and_nothing_allowed(machines: Machines, machine: Machine) -> None:
    assert ASKED not in machine.engram("init").out
    machine.agent = "claude-code"
    assert ASKED not in machine.at_terminal("init")
    machine.engram("connect", "claude-code", "--yes")
    assert not is_auto(machine)
    machine.rest()
    assert "engram/lore" not in machines.refs
    machine.agent = ""
    machine.engram("connect", "claude-code", "--yes")
    assert is_auto(machine)


@pytest.mark.slow
def test_nothing_is_asked_where_there_is_no_remote_or_no_store(machines: Machines) -> None:
    alone = machines.add_empty("alone")
    repository(alone.root)
    assert ASKED not in alone.at_terminal("init")
    alone.root = machines.folder / "elsewhere"
    alone.root.mkdir()
    assert ASKED not in alone.at_terminal("connect", "claude-code", "--no-rules", typed="y\n")
