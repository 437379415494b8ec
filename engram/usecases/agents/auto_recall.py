"""Automatic recall: only strong matches, no entry twice in a session, within a token budget."""

from __future__ import annotations

from types import MappingProxyType

from engram.adapters.state.database import NOWHERE
from engram.adapters.state.hook_memory import RECALLED, SHOWN, HookMemory
from engram.domain.agents import fence, signals
from engram.domain.recall import ranking
from engram.domain.recall.budget import tokens
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.history.origin import as_seen
from engram.usecases.index.index_query import consult
from engram.usecases.opening.scopes import reach
from engram.usecases.recall import query as recall
from engram.usecases.recall import search
from engram.usecases.recall.query import Question, query
from engram.usecases.store import activity_log
from engram.usecases.store.activity_log import Withheld
from engram.usecases.store.quarantine import loaded, without_quarantined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.index.index import Generation
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

NO_SCORES: Mapping[str, float] = MappingProxyType({})
MOST = 3
FOR_PROMPT = "Perhaps of use for this prompt:"
FOR_ERROR = "Perhaps of use for this error:"
FOR_FILE = "About the file at hand:"
FOR_COMMAND = "About this command:"
_ASKED_FOR = 8  # hits looked at, some of which were shown before
_LONGEST_QUESTION = 2000
_SMALLEST_BUDGET = 60  # tokens: an entry and its frame
_ABOUT_FILES = f"status = 'active' AND {credit.AT_MOST} >= ? AND files != '' AND (expires_at IS NULL OR expires_at > ?) AND ("
_MOST_ABOUT_FILES = 20


def by_text(store: Store, text: str, *, lead: str = "", naming: Sequence[str] = (), spent: int = 0) -> str:
    """Return what answers a text strongly, framed; "" where nothing does or all of it was shown before.

    With `naming` only what mentions one of these names. `spent` are tokens of the budget that are used up already.
    """
    text = text[:_LONGEST_QUESTION]
    budget = int(store.settings.number("hooks.recall_budget")) - spent
    if not text.strip() or (spent and budget < _SMALLEST_BUDGET):
        return ""
    began = store.clock.nanoseconds()
    answer = query(store, Question(text, limit=_ASKED_FOR, keep=False))
    usable = answer.strength == ranking.STRONG and answer.strategy != recall.SCAN
    hits = [hit for hit in answer.lore if usable and search.strength_of([hit]) == ranking.STRONG]
    if naming:
        hits = [hit for hit in hits if _mentions(hit.lore, naming)]
    strong = {hit.lore.id for hit in hits}
    weak = [*[hit.lore.id for hit in answer.lore if hit.lore.id not in strong], *answer.weak]
    sorted_out = _recalled(store, [hit.lore for hit in hits])
    elsewhere = {hit.lore.id: hit.scope for hit in hits if hit.scope != store.stand.scope}
    said = framed(store, sorted_out.new, budget, lead, elsewhere)
    reason = "no index" if answer.strategy == recall.SCAN else "not strong"
    withheld = [*sorted_out.withheld(MOST), *([Withheld(reason, tuple(weak[:_ASKED_FOR]))] if weak else [])]
    scores = {hit.lore.id: hit.score.total for hit in hits}
    _note(store, text, sorted_out.new, said, withheld, began, answer.strategy, answer.strength, scores)
    return said


def by_files(store: Store, files: Sequence[str]) -> str:
    """Return the entries that name one of these files (paths as lore write them), framed; "" for none that is new."""
    if not files:
        return ""
    lowest = round(store.settings.number("recall.min_confidence") * 1000)
    names, ends = _spellings(files)
    whole = ["instr(char(10) || files || char(10), char(10) || ? || char(10))"] * len(names)
    matches = " OR ".join([*whole, *["instr(files || char(10), '/' || ? || char(10))"] * len(ends)])
    order = credit.order(store)
    values = [lowest, store.clock.now().timestamp(), *names, *ends, *order.values]

    def ask(generation: Generation) -> list[str]:
        tail = f"ORDER BY {order.sql}, id LIMIT {_MOST_ABOUT_FILES}"
        hits = generation.catalog.select(f"{_ABOUT_FILES}{matches})", values, tail)
        counted = credit.hits_in_effect(store, without_quarantined(store, hits))
        best = sorted(counted, key=lambda hit: (-hit.pinned, -hit.confidence, -hit.validation_count))
        return [hit.path for hit in best if hit.confidence >= lowest]

    began = store.clock.nanoseconds()
    sorted_out = _recalled(store, loaded(store, consult(store, ask)))
    said = framed(store, sorted_out.new, int(store.settings.number("hooks.recall_budget")), FOR_FILE)
    _note(
        store,
        " ".join(files),
        sorted_out.new,
        said,
        sorted_out.withheld(MOST),
        began,
        "files",
        ranking.STRONG,
    )
    return said


def _spellings(files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what an entry may call these files: their paths from any folder on, and the ends of longer paths."""
    names: dict[str, None] = {}
    ends: dict[str, None] = {}
    for file in files:
        parts = file.split("/")
        is_telling = not signals.is_common_file(parts[-1])
        names |= dict.fromkeys("/".join(parts[at:]) for at in range(len(parts) - 1))
        if len(parts) == 1 or is_telling:
            names[parts[-1]] = None
        if len(parts) > 1 or is_telling:
            ends[file] = None
    return [*names], [*ends]


def _mentions(lore: Lore, names: Sequence[str]) -> bool:
    """Return whether an entry has one of these names in its text or its files."""
    said = "\n".join((lore.content, *lore.files)).lower()
    return any(name.lower() in said for name in names if not signals.is_common_file(name))


def surface(store: Store, found: Sequence[Lore], most: int = MOST) -> list[Lore]:
    """Return those of the lore that this session was not shown yet, at most `most`; they count as shown from now on."""
    return _sorted_out(store, found, most).new


class _SortedOut(NamedTuple):
    """Lore that a session has not been shown, those it has, and those that were too many."""

    new: list[Lore]
    before: list[str]
    beyond: list[str]

    def withheld(self, most: int) -> list[Withheld]:
        """Return those that are not shown, and why."""
        reasons = (("shown before", self.before), (f"more than {most}", self.beyond))
        return [Withheld(why, tuple(ids)) for why, ids in reasons if ids]


def _sorted_out(store: Store, found: Sequence[Lore], most: int) -> _SortedOut:
    memory, sorted_out = HookMemory(store.state), _SortedOut([], [], [])
    if not memory.is_on_disk:
        return sorted_out  # nobody would know that they were shown
    now = store.clock.now().timestamp()
    for lore in found:
        if len(sorted_out.new) >= most:
            sorted_out.beyond.append(lore.id)
        elif memory.mark(SHOWN, store.caller.session, lore.id, now):
            sorted_out.new.append(lore)
        else:
            sorted_out.before.append(lore.id)
    return sorted_out


def _recalled(store: Store, found: Sequence[Lore]) -> _SortedOut:
    """Return the new ones are put before the session, noted as recalled: an agent is asked later whether they helped."""
    sorted_out = _sorted_out(store, found, MOST)
    memory, now = HookMemory(store.state), store.clock.now().timestamp()
    for one in sorted_out.new:
        memory.mark(RECALLED, store.caller.session, one.id, now)
    return sorted_out


def framed(
    store: Store, found: Sequence[Lore], budget: int, lead: str = "", elsewhere: Mapping[str, str] = NOWHERE
) -> str:
    """Lore as notes in a fence, each with its session ref; `elsewhere` has the scopes of those of other stores, by id."""
    if not found:
        return ""
    shown = [(lore.id, lore.title) for lore in found]
    now = store.clock.now().timestamp()
    refs = store.session_state.surface(store.caller.session, shown, now, elsewhere)
    notes = []
    for lore in found:
        _, trust, counts = as_seen(reach(store, elsewhere.get(lore.id, store.places.scope)), lore)
        content = lore.content
        if lore.conflicts:
            from engram.domain.entry.disputes import describe_dispute  # few entries need it

            content = f"{describe_dispute(lore, store.clock.now())}\n{content}"
        earned = counts.earned.words(store.clock.now())
        note = fence.Note(refs[lore.id], content, lore.category, counts.fraction, earned, trust)
        notes.append(note)
    return fence.frame(notes, budget, lead)


def _note(
    store: Store,
    text: str,
    lore: Sequence[Lore],
    said: str,
    withheld: Sequence[Withheld],
    began: int,
    strategy: str,
    found: str,
    scores: Mapping[str, float] = NO_SCORES,
) -> None:
    """A line of the live record; none where nothing was near."""
    if lore or withheld:
        ids = [one.id for one in lore]
        activity_log.note(
            store, activity_log.QUERY, query=text, strategy=strategy, strength=found, ids=ids,
            scores=[scores.get(one, 1.0) for one in ids], took_ms=activity_log.milliseconds_since(store, began),
            tokens=tokens(said), withheld=withheld,
        )  # fmt: skip
