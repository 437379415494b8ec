"""The neighbourhood of an entity: walks, limits, refusals; from Python, the command line and the official MCP client."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import cli, make_plain_store, ok, open_test_store
from graph_kit import fill
from mcp_kit import connect_inside, refused
from mcp_kit import ok as answered

from engram.domain.errors import AmbiguousError, NotFoundError, UsageError
from engram.domain.graph.graph_drawing import format_way
from engram.domain.graph.graph_walk import TOGETHER
from engram.usecases.graph.graph_building import graph_of

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that the tests below only read."""
    return fill(tmp_path_factory.mktemp("graph") / "store")


def reached(engram: Engram, name: str, depth: int = 1, **options: object) -> dict[str, str]:
    found = engram.search_graph(name, depth, **options)
    return {one.reached.node.name: format_way(one.reached) for one in found.entities}


# --- walking


def test_a_walk_shows_paths_with_dates(engram: Engram) -> None:
    assert reached(engram, "Billing") == {
        "Billing": "", "The Queue": "uses → The Queue (since 2024-01-01)", "Ada": "← owns Ada (since 2023-05-01)"
    }  # fmt: skip
    far = reached(engram, "ada", 3)
    assert list(far) == ["Ada", "Billing", "The Queue", "ZooKeeper", "Redis"]
    assert far["ZooKeeper"].endswith("uses → The Queue (since 2024-01-01), runs_on → ZooKeeper")
    assert far["Redis"].endswith("with Redis (1 entry)")


def test_names_without_a_file_are_nodes_and_spellings_of_an_entity_are_one_node(engram: Engram) -> None:
    assert reached(engram, "redis") == {"Redis": "", "The Queue": "with The Queue (1 entry)"}
    for name in ("queue", "the QUEUE", "Message queue"):
        assert next(iter(reached(engram, name))) == "The Queue"


def test_types_and_kinds_filter_the_walk(engram: Engram) -> None:
    assert list(reached(engram, "ada", 3, types="tool")) == ["Ada", "The Queue", "ZooKeeper"]
    assert list(reached(engram, "ada", 3, kinds=["owns"])) == ["Ada", "Billing"]
    assert set(reached(engram, "Queue", kinds=TOGETHER)) == {"The Queue", "ZooKeeper", "Redis"}


def test_entries_about_reached_entities_are_listed_best_first(engram: Engram) -> None:
    found = engram.search_graph("billing", 2)
    titles = [one.title for one in found.lore]
    assert titles[0].startswith("It runs at six")
    assert [one.names for one in found.lore if one.title.startswith("The quorum")] == [
        ("The Queue", "ZooKeeper")
    ]
    assert [one.score for one in found.lore] == sorted((one.score for one in found.lore), reverse=True)
    assert not any("person" in title or "Nobody" in title for title in titles)
    kinds = {edge.kind for edge in found.edges}
    assert kinds == {"uses", "owns", "runs_on", "about", "mentions", "see_also"}


def test_without_a_name_the_most_important_come_first_and_limits_report_truncation(
    engram: Engram,
) -> None:
    found = engram.search_graph(limit=2)
    assert [one.reached.node.name for one in found.entities] == ["The Queue", "ZooKeeper"]
    assert (found.truncated, engram.search_graph(limit=None).truncated) == (True, False)
    assert all(one.importance >= other.importance for one, other in pairwise(engram.search_graph().entities))


@pytest.mark.parametrize(
    ("name", "depth", "error", "hint"),
    [
        ("Bilding", 1, NotFoundError, "Billing"),
        ("broker", 1, AmbiguousError, "slug"),
        ("billing", 4, UsageError, "1 to 3"),
    ],
)
def test_invalid_searches_are_refused(
    engram: Engram, name: str, depth: int, error: type[UsageError], hint: str
) -> None:
    with pytest.raises(error) as caught:
        engram.search_graph(name, depth)
    assert hint in caught.value.hint


def test_an_unknown_type_is_refused(engram: Engram) -> None:
    with pytest.raises(UsageError, match="'tol' is not an entity type"):
        engram.search_graph("ada", types=["tool", "tol"])


def test_wiki_links_in_code_are_ignored_and_removed_ones_leave_the_graph(tmp_path: Path) -> None:
    with open_test_store(make_plain_store(tmp_path / "store")) as engram:
        shown = engram.record("See `[[Nothing]]` and [[Something]].", category="fact").lore
        assert [node.name for node in graph_of(engram.store).entities()] == ["Something"]
        path = Path(engram.store.files.absolute(engram.get(shown.id).path))
        path.write_text(path.read_text("utf-8").replace("[[Something]]", "something"), "utf-8")
        engram.refresh()
        assert graph_of(engram.store).nodes == {}
        assert engram.store.index.look().verify() == []


def test_an_empty_store_has_an_empty_graph(tmp_path: Path) -> None:
    with open_test_store(make_plain_store(tmp_path / "store")) as engram:
        assert engram.search_graph().entities == ()
        assert not engram.refresh_importance() or engram.store.index.generation.ranks() == {}


def test_a_walk_from_an_entry_follows_its_relations_and_names(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store") as engram:
        first = engram.record("Retries wait a minute.", category="fact", entities=["Queue"]).lore.id
        later = engram.record("They wait two.", category="fact", relations=[("refines", first)]).lore.id
        assert reached(engram, later, 2) == {
            "They wait two.": "",
            "Retries wait a minute.": "refines → Retries wait a minute.",
            "Queue": "refines → Retries wait a minute., about → Queue",
        }


# --- the command line and an agent


def test_the_command_line_draws_and_exports(root: Path) -> None:
    lines = ok("graph", "billing", "--depth", "2", cwd=root).out.splitlines()
    assert lines[0].startswith("Billing · project · 1 entry")
    assert [line.split(" · ")[0] for line in lines[1:5]] == [
        "├─ uses → The Queue", "│  ├─ runs_on → ZooKeeper", "│  └─ with Redis", "└─ ← owns Ada"
    ]  # fmt: skip
    assert ok("graph", cwd=root).out.splitlines()[1].split()[:3] == ["The", "Queue", "tool"]
    output = ok("graph", "--dot", cwd=root).out
    assert output.startswith("digraph engram {")
    assert '"entity:billing" -> "entity:queue" [label="uses\\nsince 2024-01-01"];' in output
    whole = ok("graph", "--json", cwd=root).json
    assert (len(whole["entities"]), whole["truncated"]) == (7, False)
    assert cli("graph", "nobody at all", cwd=root).code == 3


async def test_an_agent_searches_the_graph_with_the_mcp_tool(root: Path) -> None:
    async with connect_inside(root, sets=("graph",)) as client:
        assert "search_graph" in [tool.name for tool in (await client.list_tools()).tools]
        entities, lore = (await answered(client, "search_graph", entity="ada", depth=2))["tables"]
        assert [row[0] for row in entities["rows"]] == ["Ada", "Billing", "The Queue"]
        assert entities["columns"] == ["entity", "type", "depth", "way", "lore", "importance"]
        assert len(lore["rows"]) == 3
        assert "Billing" in await refused(client, "search_graph", entity="Bilding")
        (top, _) = (await answered(client, "search_graph", types="person"))["tables"]
        assert [row[0] for row in top["rows"]] == ["Ada"]
