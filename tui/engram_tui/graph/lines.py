"""The neighbourhood of an entity as lines: a tree of the paths from it, and the entries about its entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engram.domain.graph.graph import entity_key
from engram.domain.graph.graph_drawing import tree
from engram.domain.text.counted_nouns import entries
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.entry_list import CATEGORY_CELLS
from engram_tui.widgets.format import count, decimals, short_category
from engram_tui.widgets.line_list import QUIET, STRONG, Line, Part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.app import Engram
    from engram.domain.graph.entity import Entity
    from engram.usecases.graph.neighbourhood import AboutLore, Found, Neighbourhood

MOST = 200  # entities, and entries
WITH_TYPE, WITH_SINCE, WITH_IMPORTANCE = 48, 64, 110  # columns of the terminal from which these fit
ENTITY_LINE = "entity"


class Around(NamedTuple):
    """What is drawn: a neighbourhood, and the entities of the store that have a file, in order and by key."""

    found: Neighbourhood
    every: tuple[Entity, ...]
    entities: Mapping[str, Entity]


def read_around(store: Engram, start: str, depth: int) -> Around:
    """Read what is around an entity (its key; "": the most important ones). Raises NotFoundError, StoreError."""
    found = store.search_graph(start, depth, limit=MOST)
    every = read_entities(store)
    return Around(found, every, {entity_key(entity.slug): entity for entity in every})


def read_entities(store: Engram) -> tuple[Entity, ...]:
    """Read the entities that have a file. Raises StoreError."""
    from engram.usecases.graph.entities import list_entities

    return list_entities(store.store)


def lines_of(around: Neighbourhood, *, cells: int) -> list[Line]:
    """Return for a terminal of so many cells the tree, or without a start all entities as a list; then the entries."""
    facts = {found.reached.node.key: found for found in around.entities}
    if around.start is None:
        lines = [_entity_line("", "", found, cells=cells) for found in around.entities]
    else:
        branches = tree([found.reached for found in around.entities])
        lines = [
            _entity_line(one.before, one.step, facts[one.reached.node.key], cells=cells) for one in branches
        ]
    if around.lore and around.start is not None:
        lines.append(Line(":", (Part(""),), heading=True))
        lines.append(Line("::", (Part(f"{entries(len(around.lore))} about these", QUIET),), heading=True))
        lines += [_about_line(one) for one in around.lore]
    return lines


def _entity_line(before: str, step: str, found: Found, *, cells: int) -> Line:
    node = found.reached.node
    last = found.reached.way[-1] if found.reached.way else None
    since = (
        f"since {last.since}" if last and last.since else f"{last.lore} shared" if last and last.lore else ""
    )
    name = safe_line(f"{before}{step} {node.name}" if step else f"{before}{node.name}")
    parts = [Part(name, STRONG if not step else "")]
    parts += [] if cells < WITH_TYPE else [Part(safe_line(node.type), QUIET, 9)]
    parts += [] if cells < WITH_SINCE else [Part(safe_line(since), QUIET, 17)]
    parts.append(Part(f"{entries(found.lore):>13}", QUIET, 14))
    parts += [] if cells < WITH_IMPORTANCE else [Part(f"{decimals(found.importance):>4}", QUIET, 5)]
    return Line(node.key, tuple(parts), group=ENTITY_LINE)


def _about_line(one: AboutLore) -> Line:
    parts = (
        Part(short_category(one.category), QUIET, CATEGORY_CELLS + 1),
        Part(safe_line(one.title)),
        Part(decimals(one.confidence), QUIET, 4),
    )
    return Line(one.id, parts, entry_id=one.id)


def heading_of(around: Neighbourhood) -> str:
    """Say in a line what is drawn."""
    more = ", truncated" if around.truncated else ""
    if around.start is None:
        number = len(around.entities)
        return f"{count(number)} entities{more}, the most important first" if number else "No entities yet"
    steps = "1 step" if around.depth == 1 else f"{around.depth} steps"
    others = len(around.entities) - 1
    return f"{around.start.name} · {count(others)} {'entity' if others == 1 else 'entities'} within {steps}{more}"


def details_of(around: Around, key: str) -> tuple[str, ...]:
    """Return an entity as lines: its importance, its relationships, and the text of its file."""
    found = next((one for one in around.found.entities if one.reached.node.key == key), None)
    if found is None:
        return ()
    node, entity = found.reached.node, around.entities.get(key)
    facts = [
        " · ".join(
            [
                *([node.type] if node.type else []),
                entries(found.lore),
                f"importance {decimals(found.importance)}",
            ]
        )
    ]
    if entity is None:
        return (node.name, *facts, "", "Entries mention this name; it has no file of its own.")
    facts += [f"also called {', '.join(entity.aliases)}"] if entity.aliases else []
    facts += [f"{name}: {value}" for name, value in entity.metadata]
    facts += [
        _format_relationship(link.kind, link.to, link.since, around.entities) for link in entity.relationships
    ]
    return (node.name, *facts, " ", *entity.content.splitlines())


def _format_relationship(kind: str, to: str, since: str, entities: Mapping[str, Entity]) -> str:
    other = entities.get(entity_key(to))
    return f"{kind} → {other.name if other else to}" + (f", since {since}" if since else "")


def empty_graph() -> Sequence[str]:
    """Return what an empty graph says."""
    return (
        "No entry here names an entity yet.",
        "",
        "engram link NAME --type tool",
        "    creates an entity; `entities:` and [[wiki links]] name it",
    )
