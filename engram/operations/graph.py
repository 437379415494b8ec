"""`link` and `graph`: define and relate entities, and walk the graph that they make."""

from engram.domain.graph.entity import TYPES
from engram.operations.description import ENTITY, MCP, REF, Operation, flag, text, texts, whole

LINK = Operation("link", (
    text("name", "the entity (default: list all)", required=True, values=ENTITY,
         agent_help="Name, slug or alias; created if unknown"),
    text("type", f"{', '.join(TYPES)} (default: concept)", choices=TYPES, values=""),
    texts("aliases", "alias", "another name of it"),
    text("to", "relate it to this entity, which is created if unknown",
         agent_help="Another entity it is related to", values=ENTITY),
    text("kind", "the relationship: uses, works_on, … (default: related_to)", agent_help="uses, works_on, ..."),
    text("since", "start of the relationship: 2024-01-31, 2024-01 or 2024", agent_help="2024-01-31, 2024-01 or 2024"),
    text("lore", "an entry about it: ref, id or words of it", agent_help="Ref or id of an entry about it", values=REF),
    text("text", "its description, replacing the current one", agent_help="Its description"),
    flag("remove", "remove what is given; alone: the entity", agent_help="Remove what is given; alone: the entity"),
))  # fmt: skip

GRAPH = Operation("graph", (
    text("entity", "where to start: an entity or an entry (default: the whole graph)",
         agent_help="Name or alias; empty: the most important"),
    whole("depth", "how many steps, 1 to 3", default=1, low=1, high=3),
    texts("types", "type", "show only entities of this type", values="", agent_help="person, project, company, concept, tool"),
    texts("kinds", "kind", "follow only relationships of this kind; `together`: entries that name both",
          agent_help="Relationships to go by; together: lore names both"),
    text("scope", front_ends=(MCP,)),
    whole("limit", "how many entities and entries each", default=20, low=1, high=100),
))  # fmt: skip
