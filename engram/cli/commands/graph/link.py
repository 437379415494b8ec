"""`engram link`: define and relate entities, and link entries to them."""

from __future__ import annotations

from engram.cli.invocation import Call, split_pair
from engram.cli.output import CYAN
from engram.cli.parsing import argument, declare, values_of
from engram.domain.errors import UsageError
from engram.domain.graph.entity import TYPES, Entity, entity_json
from engram.domain.text.counted_nouns import counted
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING
from engram.operations.graph import LINK

if TYPE_CHECKING:
    from engram.usecases.graph.link_entity import Linked

DESCRIPTION = (
    "Make an entity, say what it is, relate it to another, or name it in an entry. NAME is a name, a slug or an\n"
    "alias; an unknown entity is created. Without NAME, list the entities. With --remove, remove what is given:\n"
    "aliases, a relationship, a field, an entry; alone, the entity."
)
EXAMPLES = (
    "engram link ZooKeeper --type tool --alias zk",
    "engram link Billing --type project --to ZooKeeper --kind uses --since 2024-03-01",
    "engram link ZooKeeper --lore L1",
    "engram link Billing --to ZooKeeper --remove",
    "engram link --type tool",
)
ARGUMENTS = (
    *declare(
        LINK,
        name={"flags": (), "nargs": "?", "default": "", "metavar": "NAME"},
        type={"choices": TYPES},
        aliases={"metavar": "NAME"},
        to={"metavar": "OTHER"},
        kind={"metavar": "WORD"},
        since={"metavar": "DATE"},
        lore={"metavar": "REF"},
    ),
    argument(
        "--set",
        "KEY=VALUE",
        "a field of your own (repeatable; an empty VALUE removes it)",
        action="append",
        default=[],
    ),
)


def run(call: Call) -> int:
    from engram.usecases.graph.link_entity import LinkRequest, link_entity

    values = values_of(call.arguments, LINK)
    hint = "Write --set KEY=VALUE, or KEY= to remove it."
    fields = (split_pair(text, "a field", hint) for text in call.arguments.set)
    wanted = LinkRequest(**values, metadata={name.strip(): value.strip() for name, value in fields})
    if not wanted.name:
        if any(wanted._replace(type="")):
            raise UsageError("No entity was named.", 'For example: engram link "ZooKeeper" --type tool')
        return _list(call, wanted.type)
    done = link_entity(call.store, wanted)
    call.wrote = True
    call.output.document({**done._asdict(), "entity": entity_json(done.entity)})
    _show(call, done)
    return 0


def _list(call: Call, kind: str) -> int:
    from engram.usecases.graph.entities import read_entities

    found = read_entities(call.store)
    entities = [entity for entity in found.entities if kind in ("", entity.type)]
    problems = [problem._asdict() for problem in found.problems]
    call.output.document({"entities": [entity_json(entity) for entity in entities], "problems": problems})
    for entity in entities:
        facts = [f"{entity.type:<8}", safe_text(entity.name)]
        facts += [f"({safe_text(', '.join(entity.aliases))})"] if entity.aliases else []
        call.output.line(f"{call.output.styled(f'{entity.slug:<24}', CYAN)} {' '.join(facts)}")
        _print_relationships(call, entity)
    if not entities:
        call.output.line("No entities yet." if not kind else f"No entity is a {kind}.")
        call.output.dim("Next: engram link NAME --type tool")
    if found.problems:
        call.output.dim(f"{counted(len(found.problems), 'file')} with problems; `engram doctor` names them")
    return 0


def _show(call: Call, done: Linked) -> None:
    call.output.say(f"{done.status}  {done.entity.slug}  {done.entity.type}  {done.entity.name}")
    if done.status != "removed":
        _print_relationships(call, done.entity)
    if done.made_other:
        call.output.dim(f"{done.other} is new, too")
    if done.lore:
        call.output.dim(f"entry {done.lore}")
    call.output.dim(done.path)


def _print_relationships(call: Call, entity: Entity) -> None:
    for relationship in entity.relationships:
        since = f" since {relationship.since}" if relationship.since else ""
        call.output.say(f"  {relationship.kind} {relationship.to}{since}")
