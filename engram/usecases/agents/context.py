"""Assemble the context of an agent for a topic, within a budget: handoffs, entries, earlier sessions, entities."""

from __future__ import annotations

from engram.domain.admission.tiers import FOREIGN
from engram.domain.agents.framing import (
    ABOUT,
    EARLIER,
    HANDED,
    KNOWN,
    SO_FAR,
    WRITTEN,
    Framed,
    Section,
    frame_whole,
    pack,
)
from engram.domain.agents.neutralization import neutralize
from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.entry.refs import fold
from engram.domain.errors import StoreError, UsageError
from engram.domain.recall.budget import tokens
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.agents import conversations, handoffs
from engram.usecases.agents.shown_entries import remember
from engram.usecases.graph.entities import entities_by_name
from engram.usecases.history.origin import effective_entry
from engram.usecases.opening.scopes import open_scope_of
from engram.usecases.recall.passage_similarity import nearness
from engram.usecases.recall.query import HYBRID, Question, query
from engram.usecases.store import activity_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.graph.entity import Entity
    from engram.usecases.agents.conversations import Conversation
    from engram.usecases.agents.handoffs import Handoff
    from engram.usecases.recall.query import Answer
    from engram.usecases.store.store import Store

LEAST, MOST = 200, 20_000  # tokens
_LORE, _SESSIONS, _ENTITIES = 8, 3, 5
_RECENT_DAYS = 30
_LONGEST_NAME = 5  # words of a topic that are looked up as one name


class Context(NamedTuple):
    """A context, as one text within the budget and as data; `taken` are the ids of the handoffs that count as taken over.

    `left_out` counts entries that did not fit; `notes` say what the search had to do without.
    """

    topic: str
    text: str
    tokens: int
    handoffs: tuple[Framed, ...]
    summary: tuple[Framed, ...]
    lore: tuple[Framed, ...]
    sessions: tuple[Framed, ...]
    entities: tuple[Framed, ...]
    strength: str
    taken: tuple[str, ...]
    left_out: int
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """Return the context as JSON."""
        parts = ("handoffs", "summary", "lore", "sessions", "entities")
        return {**self._asdict(), **{name: [one._asdict() for one in getattr(self, name)] for name in parts}}


def get_context(
    store: Store,
    topic: str,
    max_tokens: int = 1000,
    *,
    agent: str = "",
    scope: str = "",
    take: bool = True,
    most: int = _LORE,
    sessions: bool = True,
    entities: bool = True,
) -> Context:
    """Return the context for a topic, within `max_tokens`. With `take`, handoffs that are shown count as taken over.

    `agent` is who asks (default: the caller), `most` the largest number of entries that answer the topic; `sessions` and
    `entities` include those. Raises UsageError, ValidationError, NotFoundError, StoreError.
    """
    if not LEAST <= max_tokens <= MOST:
        raise UsageError(f"A context has {LEAST} to {MOST:,} tokens, not {max_tokens}.")
    agent = agent or store.caller.who
    with store.lock:
        recent = _recent(store, agent, scope)
        answer = query(store, Question(topic, most, scopes=(scope,) if scope else (), budget=max_tokens))
        near = nearness(store, topic) if answer.strategy == HYBRID else None
        recent = recent if sessions else recent._replace(earlier=[])
        about = _sections(store, answer, recent, topic, open_scope_of(store, scope), entities=entities)
        packed = pack(about, max_tokens, topic, near)
        shown = {one.id for one in packed.sections[0].items}
        handed = [one for one in recent.handed if one.lore.id in shown]
        taken = handoffs.take_over(store, handed) if take else []
        used = tokens(packed.text)
        remember(store, [one for section in packed.sections[:4] for one in section.items])
        activity_log.note(
            store, "brief", query=topic, ids=[*shown], tokens=used, details={"handoffs": len(taken)}
        )
    handed_over, so_far, known, before, named = (section.items for section in packed.sections)
    return Context(
        topic, packed.text, used, handed_over, so_far, known, before, named, answer.strength, tuple(taken),
        packed.left_out, tuple(dict.fromkeys([*recent.notes, *answer.notes])),
    )  # fmt: skip


class _Recent(NamedTuple):
    """Open handoffs, the session's own summary (if any), those of other sessions, and notes on failures."""

    handed: list[Handoff]
    own: list[Conversation]
    earlier: list[Conversation]
    notes: list[str]


def _recent(store: Store, agent: str, scope: str) -> _Recent:
    """Read these from the named scope or the current store; without an index return nothing and a note."""
    here, since = open_scope_of(store, scope), store.clock.now().timestamp() - _RECENT_DAYS * 86_400
    try:
        handed = handoffs.handoffs_for(store, agent, scope)
        own = conversations.latest_of(here, store.caller.session)
        earlier = conversations.recent(here, _SESSIONS + 1, since)
    except StoreError as error:
        return _Recent([], [], [], [error.message])
    mine = [own] if own is not None and own.lore.status == ACTIVE else []
    others = [one for one in earlier if own is None or one.lore.id != own.lore.id][:_SESSIONS]
    return _Recent(handed, mine, others, [])


def _sections(
    store: Store, answer: Answer, recent: _Recent, topic: str, here: Store, *, entities: bool
) -> tuple[Section, Section, Section, Section, Section]:
    before = {one.lore.id for part in (recent.handed, recent.own, recent.earlier) for one in part}
    hits = [hit for hit in answer.lore if hit.lore.id not in before]
    names = [name for hit in hits for name in hit.lore.entities]
    lore = frame_whole(
        [(hit.ref, *effective_entry(open_scope_of(store, hit.scope), hit.lore)) for hit in hits],
        store.clock.now(),
    )
    scope = here.places.scope
    return (
        Section(HANDED, _frame_entries(store, [(one.lore, one.scope) for one in recent.handed]), 0.6),
        Section(SO_FAR, _frame_entries(store, [(one.lore, scope) for one in recent.own]), 0.25),
        Section(KNOWN, tuple(lore), 0.7),
        Section(EARLIER, _frame_entries(store, [(one.lore, scope) for one in recent.earlier]), 0.75),
        Section(ABOUT, _entities(here, [*_names_in(topic), *names]) if entities else (), 1.0),
    )


def _frame_entries(store: Store, found: Sequence[tuple[Lore, str]]) -> tuple[Framed, ...]:
    """Frame entries, given with their scopes, and give each a session ref."""
    if not found:
        return ()
    elsewhere = {lore.id: scope for lore, scope in found if scope != store.stand.scope}
    pairs, now = [(lore.id, lore.title) for lore, _ in found], store.clock.now().timestamp()
    refs = store.session_state.surface(store.caller.session, pairs, now, elsewhere)
    seen = [(refs[lore.id], *effective_entry(open_scope_of(store, scope), lore)) for lore, scope in found]
    return tuple(frame_whole(seen, store.clock.now()))


def _names_in(topic: str) -> list[str]:
    """Return the word sequences of a topic that may be names, the longest first."""
    words = topic.split()[:60]
    return [
        " ".join(words[at : at + length]).strip(".,;:!?()\"'")
        for length in range(min(_LONGEST_NAME, len(words)), 0, -1)
        for at in range(len(words) - length + 1)
    ]


def _entities(store: Store, names: Sequence[str]) -> tuple[Framed, ...]:
    """Return the entities that these names identify uniquely."""
    known, slugs = entities_by_name(store)
    matches = [slugs.get(fold(name), ()) for name in names]
    found = list(dict.fromkeys(each[0] for each in matches if len(each) == 1))[:_ENTITIES]
    entities = {entity.slug: entity for entity in known if entity.slug in found}
    return tuple(_as_framed(entities[name]) for name in found)


def _as_framed(entity: Entity) -> Framed:
    """Frame an entity like an entry; its text counts as unconfirmed."""
    related = [
        f"{one.kind} {one.to}" + (f" since {one.since}" if one.since else "") for one in entity.relationships
    ]
    text = "\n".join(
        part for part in (f"{entity.name} ({entity.type})", ", ".join(related), entity.content) if part
    )
    safe = neutralize(text, lines=True, is_checked=False)
    return Framed(entity.slug, entity.slug, safe, "ENTITY", 1.0, WRITTEN, FOREIGN, "its file")
