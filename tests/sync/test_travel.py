"""Lore travels between two machines without a command: real processes, two homes, one remote, the default placement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mcp_kit import Raw
from travel_kit import Machine, Machines, arrives

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    made = Machines(tmp_path)
    yield made
    made.end()


def by_mcp(machine: Machine, text: str) -> None:
    """Have an agent record something over MCP, and go."""
    with Raw(cwd=machine.root, **machine.environment) as server:
        found = server.call(1, "recall_record", content=text, category="FACT")
        assert not found.get("isError"), found
        assert server.end() == 0


def test_what_an_agent_records_over_mcp_is_at_the_next_session_elsewhere(machines: Machines) -> None:
    a, b = machines.add("a"), machines.add("b")
    by_mcp(a, "The quokkaport listens on 4711 in staging.")
    a.rest()
    b.hook("session-start", source="startup")
    arrives(b, "quokkaport")
    assert "quokkaport" in b.hook("prompt", prompt="On which port does the quokkaport listen in staging?")
