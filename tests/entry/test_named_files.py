"""Files identified by name: the folders of entities and agents, and folders that may hold lore."""

from __future__ import annotations

import pytest

from engram.domain.entry.named_files import is_agent, is_entity, is_named, lore_folder, may_hold_lore


@pytest.mark.parametrize(
    ("path", "folder", "entity", "agent"),
    [
        ("lore/entities/a.md", "lore", True, False),
        ("lore/agents/a.md", "lore", False, True),
        ("lore/entities/deep/a.md", "lore", False, False),
        ("lore/entities/.a.md", "lore", False, False),
        ("lore/entities/a.txt", "lore", False, False),
        ("entities/a.md", "lore", False, False),
        ("lore/entities/a.md", "", True, False),  # of a whole store
        ("entities/a.md", "", False, False),
        ("notes/agents/a.md", "notes", False, True),
    ],
)
def test_entities_and_agents_are_directly_in_their_folders(
    path: str, folder: str, entity: bool, agent: bool
) -> None:
    assert (is_entity(path, folder), is_agent(path, folder)) == (entity, agent)
    assert is_named(path, folder) == (entity or agent)


def test_all_folders_but_hidden_and_reserved_ones_may_hold_lore() -> None:
    folders = ("lore", "lore/2026", "lore/entities", "lore/2026/entities", "lore/.git", "lore/node_modules")
    assert [may_hold_lore(one, "lore") for one in folders] == [True, True, False, True, False, True]
    assert [may_hold_lore(one, "") for one in ("node_modules", "notes", "entities", "lore/agents")] == [
        False, True, True, False
    ]  # fmt: skip
    assert (lore_folder("."), lore_folder("notes")) == ("", "notes")
