"""Measure the cost of the graph: `python benchmarks/graph.py [--lore 10000] [--entities 5000] [--seed 1]`.

In a generated store, entries name entities (a few of them often, most of them rarely), and entities are related; real
files, the real index. Each figure is the least processor time of several runs in this process, next to that of bare Python.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from generate import lore_files
from measuring import cost_of
from scratch_store import FOLDER, isolate, make_plain, write_lore
from steady import bare_python

from engram.adapters.graph.pagerank import pagerank
from engram.domain.graph.entity import TYPES
from engram.domain.graph.graph import transitions
from engram.usecases.agents.context import get_context
from engram.usecases.graph.entities import list_entities
from engram.usecases.graph.graph_building import graph_of, refresh_importance
from engram.usecases.graph.neighbourhood import search_graph
from engram.usecases.index.refresh import refresh
from engram.usecases.opening.open_store import open_store
from engram.usecases.recall.query import Question, query
from engram.usecases.store.store import Caller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

_RUNS = 5
_RELATIONS = ("uses", "owns", "part_of", "depends_on")


def slug_of(number: int) -> str:
    return f"entity-{number}"


def draw_entity(random: Random, entities: int) -> int:
    """Draw the number of an entity: the first ones far more often than the last."""
    return min(int(random.paretovariate(0.35)) - 1, random.randrange(entities))


def lore_about(count: int, entities: int, seed: int) -> Iterator[tuple[str, Lore]]:
    for number, (path, lore) in enumerate(lore_files(count, seed)):
        random = Random(f"about {seed} {number}")
        named = dict.fromkeys(
            f"Entity {draw_entity(random, entities)}" for _ in range(random.choice((1, 2, 2, 3)))
        )
        if random.random() < 0.1:
            linked = f"\n\nSee [[Entity {draw_entity(random, entities)}]]."
            yield (
                path,
                lore._replace(content=lore.content[: 4000 - len(linked)] + linked, entities=tuple(named)),
            )
        else:
            yield path, lore._replace(entities=tuple(named))


def write_entities(root: str, count: int, seed: int) -> None:
    folder = os.path.join(root, FOLDER, "entities")
    os.makedirs(folder)
    for number in range(count):
        random = Random(f"entity {seed} {number}")
        links = {draw_entity(random, count): random.choice(_RELATIONS) for _ in range(random.randint(0, 3))}
        relationships = ", ".join(
            f"{{kind: {kind}, to: {slug_of(other)}}}" for other, kind in links.items() if other != number
        )
        with open(os.path.join(folder, f"{slug_of(number)}.md"), "w", encoding="utf-8") as file:
            file.write(
                f"---\nname: Entity {number}\ntype: {TYPES[number % len(TYPES)]}\nrelationships: [{relationships}]\n---\n\n"
            )


def report(name: str, work: Callable[[], object], runs: int = _RUNS) -> None:
    costs = [cost_of(work) for _ in range(runs)]
    print(
        f"{name:<58} {min(c.cpu_ms for c in costs):>8.1f} CPU-ms {min(c.wall_ms for c in costs):>8.1f} ms",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lore", type=int, default=10_000)
    parser.add_argument("--entities", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        isolate(os.path.join(home, "home"))
        root = os.path.join(home, "store")
        make_plain(root)
        write_lore(root, lore_about(options.lore, options.entities, options.seed))
        write_entities(root, options.entities, options.seed)
        store = open_store(root, Caller("benchmark", "benchmark"))
        measure(store, home)
        store.close()
    return 0


def rebuild_graph(store: Store) -> None:
    store.built_graph = None
    graph_of(store)


def measure(store: Store, home: str) -> None:
    print(f"a Python that does nothing: {bare_python(home):.1f} CPU-ms")
    refresh(store)
    graph = graph_of(store)
    found = transitions(graph)
    print(
        f"{len(graph.nodes):,} nodes, {len(graph.edges):,} edges, {len(found.steps):,} steps of a chance walk"
    )
    pagerank(1, [])  # loads the library
    report("PageRank", lambda: pagerank(len(found.keys), found.steps))
    report("the entities, from their files", lambda: list_entities(store), 2)
    report("the graph, lore or entities having changed", lambda: rebuild_graph(store), 3)
    report("the graph, nothing having changed", lambda: graph_of(store), 3)
    report("importance, the graph being another one", lambda: refresh_importance(store), 1)
    report("importance, the graph being the same", lambda: refresh_importance(store), 2)
    for depth in (1, 2, 3):
        walk = partial(search_graph, store, slug_of(0), depth)
        report(f"search_graph from the commonest entity, {depth} deep", walk, 2)
    report(
        "search_graph from the last one, 2 deep",
        lambda: search_graph(store, slug_of(len(list_entities(store)) - 1), 2),
        2,
    )
    topics = (
        "why does the queue time out",
        "Entity 3",
        "what broke in the deploy of Entity 17 and Entity 4000",
    )
    for topic in topics:
        report(f"get_context: {topic}", partial(get_context, store, topic, take=False), 10)
    asked = Question("why does the queue time out", keep=False)
    query(store, asked)
    generation = store.index.generation
    assert generation is not None
    report("a query, with importance", lambda: query(store, asked), 20)
    generation.has_ranks = False
    report("a query, without", lambda: query(store, asked), 20)
    generation.has_ranks = True
    ids = [hit.id for hit in generation.catalog.select("1", (), "LIMIT 48")]
    report(
        "looking up the importance of 48 entries, 100 times",
        lambda: [generation.ranks(ids) for _ in range(100)],
    )


if __name__ == "__main__":
    sys.exit(main())
