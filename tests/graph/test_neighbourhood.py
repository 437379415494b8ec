"""The graph of entities and lore: walking, ranks, drawings; from Python, the command line and the official MCP client."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import pytest
from apikit import START, SetClock, cli, ok, opened, plain
from graph_kit import entity, fill
from hypothesis import given
from mcp_kit import inside, refused
from mcp_kit import ok as answered

from engram.adapters.graph.pagerank import DAMPING, pagerank
from engram.domain.errors import AmbiguousError, NotFoundError, UsageError
from engram.domain.graph.graph import Edge, Graph, Node, importance, ways
from engram.domain.graph.graph_drawing import dot, format_way, tree
from engram.domain.graph.graph_walk import TOGETHER, walk
from engram.usecases.graph.graph_building import graph_of, refresh_importance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.app import Engram


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that the tests below only read."""
    return fill(tmp_path_factory.mktemp("graph") / "store")


@pytest.fixture
def engram(root: Path) -> Iterator[Engram]:
    with opened(root) as engram:
        yield engram


def reached(engram: Engram, name: str, depth: int = 1, **options: object) -> dict[str, str]:
    found = engram.search_graph(name, depth, **options)
    return {one.reached.node.name: format_way(one.reached) for one in found.entities}


# --- walking


def test_a_walk_shows_the_way_and_its_dates(engram: Engram) -> None:
    assert reached(engram, "Billing") == {
        "Billing": "", "The Queue": "uses → The Queue (since 2024-01-01)", "Ada": "← owns Ada (since 2023-05-01)"
    }  # fmt: skip
    far = reached(engram, "ada", 3)
    assert list(far) == ["Ada", "Billing", "The Queue", "ZooKeeper", "Redis"]
    assert far["ZooKeeper"].endswith("uses → The Queue (since 2024-01-01), runs_on → ZooKeeper")
    assert far["Redis"].endswith("with Redis (1 entry)")


def test_a_name_without_a_file_is_a_node_and_spellings_of_an_entity_are_one(engram: Engram) -> None:
    assert reached(engram, "redis") == {"Redis": "", "The Queue": "with The Queue (1 entry)"}
    for name in ("queue", "the QUEUE", "Message queue"):
        assert next(iter(reached(engram, name))) == "The Queue"


def test_types_and_kinds_choose(engram: Engram) -> None:
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


def test_without_a_name_the_most_important_come_first_and_limits_say_that_there_is_more(
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


def test_a_wiki_link_in_code_is_none_and_one_that_is_taken_out_is_gone(tmp_path: Path) -> None:
    with opened(plain(tmp_path / "store")) as engram:
        shown = engram.record("See `[[Nothing]]` and [[Something]].", category="fact").lore
        assert [node.name for node in graph_of(engram.store).entities()] == ["Something"]
        path = Path(engram.store.files.absolute(engram.get(shown.id).path))
        path.write_text(path.read_text("utf-8").replace("[[Something]]", "something"), "utf-8")
        engram.refresh()
        assert graph_of(engram.store).nodes == {}
        assert engram.store.index.look().verify() == []


def test_an_empty_store_has_an_empty_graph(tmp_path: Path) -> None:
    with opened(plain(tmp_path / "store")) as engram:
        assert engram.search_graph().entities == ()
        assert not engram.refresh_importance() or engram.store.index.generation.ranks() == {}


@given(
    st.lists(st.tuples(st.sampled_from("ABCDE"), st.sampled_from("ABCDE")), max_size=6),
    st.lists(st.sets(st.sampled_from("ABCDE"), max_size=3), max_size=4),
    st.integers(1, 3),
)
def test_a_walk_reaches_what_is_near_and_by_a_shortest_way(
    related: list[tuple[str, str]], named: list[set[str]], depth: int
) -> None:
    nodes = [Node(key, "entity", key, "tool") for key in "ABCDE"]
    nodes += [Node(f"lore{number}", "lore", "", "FACT") for number in range(len(named))]
    edges = [Edge(one, other, "uses") for one, other in related]
    edges += [
        Edge(f"lore{number}", key, "about") for number, keys in enumerate(named) for key in sorted(keys)
    ]
    found = walk(Graph(nodes, edges), "A", depth)
    typed = {frozenset(pair) for pair in related}
    near = typed | {frozenset((one, other)) for keys in named for one in keys for other in keys}
    away, edge = {"A": 0}, {"A"}
    for steps in range(1, depth + 1):
        edge = {key for key in "ABCDE" for one in edge if key not in away and frozenset((one, key)) in near}
        away |= dict.fromkeys(edge, steps)
    assert {one.node.key: one.depth for one in found} == away
    for one in found:
        ways = ["A", *(step.to for step in one.way)]
        assert ways[-1] == one.node.key
        for step, pair in zip(one.way, pairwise(ways), strict=True):
            both = sum(set(pair) <= keys for keys in named)
            if step.kind == "uses":
                assert (pair[::-1] if step.back else pair) in related
            else:
                assert step.lore == both > 0
                assert frozenset(pair) not in typed


# --- ranks


def by_rounds(nodes: int, steps: Sequence[tuple[int, int]]) -> list[float]:
    """PageRank as its definition says it, round after round."""
    out: dict[int, list[int]] = {
        node: [other for one, other in steps if one == node] for node in range(nodes)
    }
    ranks = [1 / nodes] * nodes
    for _ in range(200):
        loose = sum(ranks[node] for node in range(nodes) if not out[node])
        after = [(1 - DAMPING + DAMPING * loose) / nodes] * nodes
        for node, others in out.items():
            for other in others:
                after[other] += DAMPING * ranks[node] / len(others)
        ranks = after
    return ranks


@given(
    st.integers(1, 7).flatmap(
        lambda nodes: st.tuples(
            st.just(nodes),
            st.sets(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=20),
        )
    )
)
def test_ranks_are_those_of_the_definition(case: tuple[int, set[tuple[int, int]]]) -> None:
    nodes, found = case
    steps = sorted((one, other) for one, other in found if one != other)
    ranks = pagerank(nodes, steps)
    assert ranks == pytest.approx(by_rounds(nodes, steps), abs=1e-9)
    assert sum(ranks) == pytest.approx(1)
    assert all(0 <= one <= 1 for one in importance(ranks))


def test_superseding_or_contradicting_adds_no_importance() -> None:
    lore = [Node(key, "lore", key, "FACT") for key in "ABCD"]
    graph = Graph(
        lore, [Edge("A", "B", "supersedes"), Edge("A", "C", "contradicts"), Edge("A", "D", "refines")]
    )
    found = ways(graph)
    assert [(found.keys[one], found.keys[other]) for one, other in found.steps] == [("A", "D")]


def test_importance_is_computed_once_for_each_graph_and_ranks_lore(tmp_path: Path) -> None:
    root = fill(tmp_path / "store")
    with opened(root) as engram:
        assert refresh_importance(engram.store)
        assert not refresh_importance(engram.store)
        kept = dict(engram.store.index.generation.ranks())
        engram.feedback(helpful=[engram.query("consumers idempotent").lore[0].lore.id])
        assert not refresh_importance(engram.store)  # a judgement is no other graph
        entity(root, "ada", "name: Ada\ntype: person\nrelationships: [{kind: owns, to: queue}]")
        assert engram.refresh_importance()
        assert dict(engram.store.index.generation.ranks()) != kept
    with opened(root) as engram:
        standing = [hit.score.standing for hit in engram.query("consumers must be idempotent").lore]
        worth = engram.worth().lore[0]
        generation = engram.store.index.generation
        generation.has_ranks = False
        without = [hit.score.standing for hit in engram.query("consumers must be idempotent").lore]
        assert all(0 < one - other <= 0.05 for one, other in zip(standing, without, strict=True))
        assert worth.importance > 0


def test_from_an_entry_the_walk_goes_over_its_relations_and_names(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as engram:
        first = engram.record("Retries wait a minute.", category="fact", entities=["Queue"]).lore.id
        later = engram.record("They wait two.", category="fact", relations=[("refines", first)]).lore.id
        assert reached(engram, later, 2) == {
            "They wait two.": "",
            "Retries wait a minute.": "refines → Retries wait a minute.",
            "Queue": "refines → Retries wait a minute., about → Queue",
        }


# --- one step on


def test_a_query_can_go_one_step_on_and_says_over_whom(tmp_path: Path) -> None:
    root = fill(tmp_path / "store")
    with opened(root, clock=SetClock(START + timedelta(days=1))) as engram:
        entity(root, "zookeeper", "name: ZooKeeper\ntype: tool\naliases: [that coordinator]")
        named = engram.query("who watches that coordinator on weekends", hop=True)
        assert [(hit.lore.title[:10], hit.via) for hit in named.lore] == [("The quorum", "ZooKeeper")]
        assert named.strength == "weak"
        engram.record("Deliveries pause on Sundays.", category="fact", entities=["broker-room"])
        engram.record("Ask Grace for the key of that cellar.", category="fact", entities=["Broker room"])
        asked = "when do deliveries pause"
        assert [(hit.lore.title, hit.via) for hit in engram.query(asked).lore] == [
            ("Deliveries pause on Sundays.", "")
        ]
        far = engram.query(asked, hop=True)
        assert [(hit.lore.title, hit.via) for hit in far.lore] == [
            ("Deliveries pause on Sundays.", ""), ("Ask Grace for the key of that cellar.", "Broker room")
        ]  # fmt: skip
        assert far.strength == engram.query(asked).strength
        assert len(engram.query(asked, 1, hop=True).lore) == 1
        assert [hit.via for hit in engram.query(asked, hop=True, categories="decision").lore] == []
    said = ok("query", asked, "--hop", cwd=root).out
    assert "by way of Broker room" in said
    shown = ok("query", asked, "--hop", "--json", cwd=root).json
    assert [one["via"] for one in shown["lore"]] == ["", "Broker room"]


async def test_a_store_can_have_every_query_go_one_step_on(tmp_path: Path) -> None:
    root = fill(tmp_path / "store")
    (root / ".engram.toml").write_text('[store]\nfolder = "lore"\n\n[graph]\nhop = true\n', "utf-8")
    entity(root, "zookeeper", "name: Zoo<system>Keeper\ntype: tool\naliases: [ZooKeeper, that coordinator]")
    async with inside(root) as client:
        found = await answered(client, "recall_query", query="who watches that coordinator on weekends")
    assert found["notes"][-1].startswith("L1 is one step away, by way of Zoo")
    assert "<system>" not in found["notes"][-1]


# --- drawings


def test_the_tree_hangs_what_lies_behind_a_hidden_one_below_the_last_that_is_shown() -> None:
    nodes = [Node(key, "entity", key, "tool") for key in "ABC"]
    graph = Graph(nodes, [Edge("A", "B", "uses"), Edge("B", "C", "uses")])
    found = walk(graph, "A", 2)
    assert [(line.before, line.reached.node.key) for line in tree(found)] == [
        ("", "A"),
        ("└─ ", "B"),
        ("   └─ ", "C"),
    ]
    assert [line.before for line in tree([found[0], found[2]])] == ["", "└─ "]
    assert tree([]) == []


def test_dot_quotes_what_would_end_a_text() -> None:
    said = dot([Node("a", "lore", 'He said "no"\\\nnever', "FACT")], [Edge("a", "a", "uses", "2024")])
    assert r'label="He said \"no\"\\\nnever"' in said
    assert said.count("{") == said.count("}") == 1


# --- the command line and an agent


def test_the_command_line_draws_and_exports(root: Path) -> None:
    lines = ok("graph", "billing", "--depth", "2", cwd=root).out.splitlines()
    assert lines[0].startswith("Billing · project · 1 entry")
    assert [line.split(" · ")[0] for line in lines[1:5]] == [
        "├─ uses → The Queue", "│  ├─ runs_on → ZooKeeper", "│  └─ with Redis", "└─ ← owns Ada"
    ]  # fmt: skip
    assert ok("graph", cwd=root).out.splitlines()[1].split()[:3] == ["The", "Queue", "tool"]
    said = ok("graph", "--dot", cwd=root).out
    assert said.startswith("digraph engram {")
    assert '"entity:billing" -> "entity:queue" [label="uses\\nsince 2024-01-01"];' in said
    whole = ok("graph", "--json", cwd=root).json
    assert (len(whole["entities"]), whole["truncated"]) == (7, False)
    assert cli("graph", "nobody at all", cwd=root).code == 3


async def test_an_agent_walks_the_graph(root: Path) -> None:
    async with inside(root, sets=("graph",)) as client:
        assert "search_graph" in [tool.name for tool in (await client.list_tools()).tools]
        entities, lore = (await answered(client, "search_graph", entity="ada", depth=2))["tables"]
        assert [row[0] for row in entities["rows"]] == ["Ada", "Billing", "The Queue"]
        assert entities["columns"] == ["entity", "type", "depth", "way", "lore", "importance"]
        assert len(lore["rows"]) == 3
        assert "Billing" in await refused(client, "search_graph", entity="Bilding")
        (top, _) = (await answered(client, "search_graph", types="person"))["tables"]
        assert [row[0] for row in top["rows"]] == ["Ada"]
