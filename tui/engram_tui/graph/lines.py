"""The neighbourhood of an entity as lines: a tree of the paths from it, then the entries about these entities."""

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

MAX_LISTED = 200  # entities, and as many entries
WITH_TYPE, WITH_SINCE, WITH_IMPORTANCE = 48, 64, 110  # columns of the terminal from which these fit
ENTITY_LINE = "entity"


class Drawing(NamedTuple):
    """A neighbourhood, and all entities of the store that have a file, in order and by key."""

    found: Neighbourhood
    entities: tuple[Entity, ...]
    entities_by_key: Mapping[str, Entity]


def read_drawing(store: Engram, start: str, depth: int) -> Drawing:
    """Read the neighbourhood of an entity (its key; "": the most important ones). Raises NotFoundError, StoreError."""
    found = store.search_graph(start, depth, limit=MAX_LISTED)
    entities = read_entities(store)
    return Drawing(found, entities, {entity_key(entity.slug): entity for entity in entities})


def read_entities(store: Engram) -> tuple[Entity, ...]:
    """Read the entities that have a file. Raises StoreError."""
    from engram.usecases.graph.entities import list_entities

    return list_entities(store.store)


def lines_of(found: Neighbourhood, *, cells: int) -> list[Line]:
    """Return the tree and the entries, or without a start a list of all entities, for a terminal of this width."""
    if found.start is None:
        return [_entity_line("", "", entity, cells=cells) for entity in found.entities]
    by_key = {entity.reached.node.key: entity for entity in found.entities}
    lines = [
        _entity_line(branch.before, branch.step, by_key[branch.reached.node.key], cells=cells)
        for branch in tree([entity.reached for entity in found.entities])
    ]
    if found.lore:
        lines.append(Line(":", (Part(""),), heading=True))
        lines.append(Line("::", (Part(f"{entries(len(found.lore))} about these", QUIET),), heading=True))
        lines += [_about_line(entry) for entry in found.lore]
    return lines


def _entity_line(before: str, step: str, found: Found, *, cells: int) -> Line:
    node = found.reached.node
    link = found.reached.way[-1] if found.reached.way else None
    since = (
        f"since {link.since}" if link and link.since else f"{link.lore} shared" if link and link.lore else ""
    )
    name = safe_line(f"{before}{step} {node.name}" if step else f"{before}{node.name}")
    parts = [Part(name, STRONG if not step else "")]
    parts += [] if cells < WITH_TYPE else [Part(safe_line(node.type), QUIET, 9)]
    parts += [] if cells < WITH_SINCE else [Part(safe_line(since), QUIET, 17)]
    parts.append(Part(f"{entries(found.lore):>13}", QUIET, 14))
    parts += [] if cells < WITH_IMPORTANCE else [Part(f"{decimals(found.importance):>4}", QUIET, 5)]
    return Line(node.key, tuple(parts), group=ENTITY_LINE)


def _about_line(entry: AboutLore) -> Line:
    parts = (
        Part(short_category(entry.category), QUIET, CATEGORY_CELLS + 1),
        Part(safe_line(entry.title)),
        Part(decimals(entry.confidence), QUIET, 4),
    )
    return Line(entry.id, parts, entry_id=entry.id)


def heading_of(found: Neighbourhood) -> str:
    """Describe a neighbourhood in a line."""
    more = ", truncated" if found.truncated else ""
    if found.start is None:
        number = len(found.entities)
        return f"{count(number)} entities{more}, the most important first" if number else "No entities yet"
    steps = "1 step" if found.depth == 1 else f"{found.depth} steps"
    others = len(found.entities) - 1
    return (
        f"{found.start.name} · {count(others)} {'entity' if others == 1 else 'entities'} within {steps}{more}"
    )


def details_of(drawing: Drawing, key: str) -> tuple[str, ...]:
    """Return an entity as lines: its importance, its relationships, and the text of its file."""
    found = next((entity for entity in drawing.found.entities if entity.reached.node.key == key), None)
    if found is None:
        return ()
    node, entity = found.reached.node, drawing.entities_by_key.get(key)
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
        _format_relationship(link.kind, link.to, link.since, drawing.entities_by_key)
        for link in entity.relationships
    ]
    return (node.name, *facts, " ", *entity.content.splitlines())


def _format_relationship(kind: str, to: str, since: str, entities_by_key: Mapping[str, Entity]) -> str:
    other = entities_by_key.get(entity_key(to))
    return f"{kind} → {other.name if other else to}" + (f", since {since}" if since else "")


def empty_lines() -> Sequence[str]:
    """Return the placeholder of an empty graph."""
    return (
        "No entry here names an entity yet.",
        "",
        "engram link NAME --type tool",
        "    creates an entity; `entities:` and [[wiki links]] name it",
    )
