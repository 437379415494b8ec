"""`link` and `graph`: say what entities are and how they are related, and walk from one to those related to it."""

from __future__ import annotations

from engram.domain.graph.entity import TYPES
from engram.operations.description import ENTITY, MCP, REF, SCOPE, Operation, flag, text, texts, whole

LINK = Operation("link", "Make or change an entity, relate it to another, or name it in an entry.", (
    text("name", "the entity (default: list all)", required=True, agents="Name, slug or alias; made if unknown", values=ENTITY),
    text("type", f"{', '.join(TYPES)} (default: concept)", choices=TYPES),
    texts("aliases", "alias", "another name of it"),
    text("to", "relate it to this entity, which is made where there is none",
         agents="Another entity it is related to", values=ENTITY),
    text("kind", "how: uses, works_on, … (default: related_to)", agents="How: uses, works_on, ..."),
    text("since", "since when: 2024-01-31, 2024-01 or 2024", agents="2024-01-31, 2024-01 or 2024"),
    text("lore", "an entry that is about it: ref, id or words of it", agents="Ref or id of lore about it", values=REF),
    text("text", "what is to be said of it, in place of what was", agents="What is to be said of it"),
    flag("remove", "remove what is named, or the entity", agents="Take what is named away, without any the entity"),
))  # fmt: skip

GRAPH = Operation("graph", "Show what is related to an entity, and the lore about all of that.", (
    text("entity", "where to begin (default: everything)", agents="Name or alias; empty: what matters most here", values=ENTITY),
    whole("depth", "how many steps, 1 to 3", default=1, low=1, high=3),
    texts("types", "type", "show only entities of this type", agents="person, project, company, concept, tool"),
    texts("kinds", "kind", "follow only relationships of this kind; `together`: entries that name both",
          agents="Relationships to go by; together: lore names both"),
    text("scope", only=(MCP,), values=SCOPE),
    whole("limit", "how many entities and entries each", default=20, low=1, high=100),
))  # fmt: skip
