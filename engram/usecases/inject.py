"""Recall that nobody asked for: only what is strong, never the same lore twice in a session, in a budget of tokens."""

from __future__ import annotations

from engram.adapters.state.database import NOWHERE, Retrieval
from engram.adapters.state.hook_memory import RECALLED, SHOWN, HookMemory
from engram.domain import fence, strength
from engram.domain.typed import TYPE_CHECKING
from engram.usecases import query as recall
from engram.usecases.consult import consult
from engram.usecases.held import without_held
from engram.usecases.query import Question, query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.index.generation import Generation
    from engram.domain.lore import Lore
    from engram.domain.ranking import Score
    from engram.usecases.store import Store

MOST = 3
_ASKED_FOR = 8  # hits looked at, some of which were shown before
_LONGEST_QUESTION = 2000
_ABOUT_FILES = (
    "status = 'active' AND confidence >= ? AND files != '' AND (expires_at IS NULL OR expires_at > ?) AND ("
)
_ORDER = "ORDER BY pinned DESC, confidence DESC, validation_count DESC, id LIMIT 20"


def by_text(store: Store, text: str, *, strategy: str = recall.HYBRID, lead: str = "") -> str:
    """What answers a text strongly, framed; "" where nothing does or all of it was shown before."""
    text = text[:_LONGEST_QUESTION]
    if not text.strip():
        return ""
    answer = query(store, Question(text, limit=_ASKED_FOR, strategy=strategy, keep=False))
    if answer.strength != strength.STRONG or answer.strategy == recall.SCAN:
        return ""
    hits = [hit for hit in answer.lore if _is_strong(hit.score)]
    lore = _recalled(store, [hit.lore for hit in hits])
    if lore and store.settings.flag("recall.log"):
        _log(store, text, answer.strategy, {hit.lore.id: hit.score.total for hit in hits}, lore)
    elsewhere = {hit.lore.id: hit.scope for hit in hits if hit.scope != store.stand.scope}
    return framed(store, lore, int(store.settings.number("hooks.recall_budget")), lead, elsewhere)


def by_files(store: Store, files: Sequence[str], *, lead: str = "") -> str:
    """The lore that name one of these files (paths as lore write them), framed; "" for none that is new."""
    if not files:
        return ""
    lowest = round(store.settings.number("recall.min_confidence") * 1000)
    matches = " OR ".join(["instr(char(10) || files || char(10), char(10) || ? || char(10))"] * len(files))
    values = [lowest, store.clock.now().timestamp(), *files]

    def ask(generation: Generation) -> list[str]:
        hits = generation.catalog.select(f"{_ABOUT_FILES}{matches})", values, _ORDER)
        return [hit.path for hit in without_held(store, hits)]

    lore = _recalled(store, loaded(store, consult(store, ask)))
    return framed(store, lore, int(store.settings.number("hooks.recall_budget")), lead)


def put_before(store: Store, found: Sequence[Lore], most: int = MOST) -> list[Lore]:
    """Those of the lore that this session was not shown yet, at most `most`; they count as shown from now on."""
    memory = HookMemory(store.state)
    if not memory.lasts:
        return []  # nobody would know that they were shown
    now = store.clock.now().timestamp()
    new: list[Lore] = []
    for lore in found:
        if len(new) < most and memory.mark(SHOWN, store.caller.session, lore.id, now):
            new.append(lore)
    return new


def _recalled(store: Store, found: Sequence[Lore]) -> list[Lore]:
    """Those that are put before the session now, noted as recalled: an agent is asked later whether they helped."""
    lore = put_before(store, found)
    memory, now = HookMemory(store.state), store.clock.now().timestamp()
    for one in lore:
        memory.mark(RECALLED, store.caller.session, one.id, now)
    return lore


def framed(
    store: Store, found: Sequence[Lore], budget: int, lead: str = "", elsewhere: Mapping[str, str] = NOWHERE
) -> str:
    """Lore as notes in a fence, each with its session ref; `elsewhere` has the scopes of those of other stores, by id."""
    if not found:
        return ""
    shown = [(lore.id, lore.title) for lore in found]
    now = store.clock.now().timestamp()
    refs = store.session_state.surface(store.caller.session, shown, now, elsewhere)
    notes = [
        fence.Note(
            refs[lore.id],
            lore.title,
            lore.content,
            lore.category,
            lore.confidence,
            lore.state,
            lore.agent,
            _origin(store, lore),
        )
        for lore in found
    ]
    return fence.frame(notes, budget, lead)


def loaded(store: Store, paths: Sequence[str]) -> list[Lore]:
    """The lore at these paths, as their files say now; what cannot be read is left out."""
    from engram.domain.errors import EngramError
    from engram.usecases import change

    found = []
    for path in paths:
        try:
            found.append(change.load(store, path).lore)
        except EngramError:
            continue
    return found


def _origin(store: Store, lore: Lore) -> str:
    """Where a lore was written, as far as its file says."""
    if not lore.source_id:
        return "written by hand"
    return "from this clone" if lore.source_id == store.source_id else "from another clone"


def _is_strong(score: Score) -> bool:
    limits = strength.bounds(score.cosine)
    return strength.evidence(score.words, score.cosine) >= limits.strong


def _log(store: Store, text: str, strategy: str, scores: dict[str, float], lore: Sequence[Lore]) -> None:
    ids = tuple(one.id for one in lore)
    now = store.clock.now().timestamp()
    found = tuple(scores[lore_id] for lore_id in ids)
    entry = Retrieval(now, store.caller.session, text, strategy, strength.STRONG, ids, found, 0.0)
    store.session_state.log(entry)
