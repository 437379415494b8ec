"""A query as a caller asks it, its answer, and its criteria for the entries of one store."""

from __future__ import annotations

from engram.domain.entry.categories import parse_types
from engram.domain.entry.lore import ACTIVE, MAX_ITEMS, Lore, check_fraction, check_text
from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.lookup.filter import Filter
from engram.usecases.recall.search import Candidate, Criteria
from engram.usecases.store import quarantine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.admission.credit import EffectiveValues
    from engram.domain.recall.ranking import Score
    from engram.usecases.store.store import Store

HYBRID, WORDS, SCAN = STRATEGIES = ("hybrid", "words", "scan")
MAX_QUERY = 20_000
MAX_RESULTS = 100


class Question(NamedTuple):
    """A query. None means: as configured. `files`, those the caller works on, are a preference, not a condition.

    `hop` adds lore about entities that the question or the best entries of the answer name. `keep` assigns refs and
    records the query in the activity log, with `budget`, the approximate number of tokens of the answer that the caller
    shows. `as_of` queries the store as it was at a commit or date. `scopes` names the scopes to query: by default all,
    or the one that the store was opened by name as. The other fields are those of `Filter`.
    """

    text: str
    limit: int | None = None
    min_confidence: float | None = None
    categories: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    strategy: str = HYBRID
    keep: bool = True
    as_of: str = ""
    scopes: tuple[str, ...] = ()
    budget: int | None = None
    hop: bool | None = None
    agents: tuple[str, ...] = ()
    since: float = float("-inf")
    until: float = float("inf")


class Recalled(NamedTuple):
    """An entry of an answer: its session ref, the entry, its file, and the parts of its score.

    `via` names the entity that led to an entry one step away; `counted` are its claims as far as they count here;
    `twins` are the ids of entries that say the same and are left out in its favour.
    """

    ref: str
    lore: Lore
    path: str
    score: Score
    scope: str
    counted: EffectiveValues
    via: str = ""
    twins: tuple[str, ...] = ()


class Answer(NamedTuple):
    """The lore that answers a query, best first. `notes` say what was degraded; `took_ms` is the total time.

    `weak` are the ids of the best few entries that had too little evidence to be shown.
    """

    query: str
    strength: str
    strategy: str
    lore: tuple[Recalled, ...]
    took_ms: float
    notes: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()

    @property
    def session_refs(self) -> dict[str, str]:
        """Return the id of each entry shown by its ref (`L1`)."""
        return {recalled.ref: recalled.lore.id for recalled in self.lore}


def check_question(store: Store, question: Question) -> int:
    """Check everything that does not depend on the stores; return the limit. Raises UsageError, ValidationError."""
    check_text("query", question.text, MAX_QUERY * 10)
    if not question.text.strip():
        raise UsageError("The query is empty.", 'Say what you want to know: engram query "how do we retry"')
    if question.strategy not in STRATEGIES:
        raise UsageError(f"'{question.strategy}' is not a strategy.", f"Valid: {', '.join(STRATEGIES)}.")
    limit = int(store.settings.number("recall.limit")) if question.limit is None else question.limit
    if not 1 <= limit <= MAX_RESULTS:
        raise UsageError(f"k must be from 1 to {MAX_RESULTS}, not {limit}.")
    for field, words in (("tags", question.tags), ("files", question.files)):
        if len(words) > MAX_ITEMS:
            raise UsageError(f"Too many {field}: {len(words):,} given, at most {MAX_ITEMS} allowed.")
        for word in words:
            check_text(field, word, MAX_QUERY)
    return limit


def criteria_for(store: Store, question: Question) -> Criteria:
    """Return the criteria for entries of this store. Raises ValidationError, e.g. for a category it does not have."""
    lowest = question.min_confidence
    lowest = store.settings.number("recall.min_confidence") if lowest is None else lowest
    thousandths = round(check_fraction("min_confidence", lowest) * 1000)
    where = Filter(
        categories=tuple([store.categories.parse(name) for name in question.categories]),
        types=parse_types(question.types),
        tags=question.tags,
        agents=question.agents,
        status=ACTIVE,
        # Confidence is shown with two decimals, so 0.295 meets 0.3.
        min_confidence=max(0, -(-thousandths // 10) * 10 - 5),
        since=question.since,
        until=question.until,
    )
    horizon = store.scope.horizon(store.clock.now().timestamp())
    # Past text may differ from the text in quarantine now, so every text of a quarantined entry is left out.
    quarantined = (
        quarantine.quarantined_texts(store.original, whole=True)
        if store.original
        else quarantine.quarantined_texts(store)
    )
    return Criteria(where, question.files, horizon, quarantined)


def as_recalled(store: Store, found: Sequence[tuple[Candidate, Lore]]) -> list[Recalled]:
    """Return hits of one store as entries of an answer, still without refs, their scores weighted by its scope."""
    weight, scope = store.scope.weight, store.places.scope
    shown = []
    for (hit, lore), counted in zip(found, credit.of_many(store, [lore for _, lore in found]), strict=True):
        score = hit.score
        if weight != 1.0:
            score = score._replace(total=score.total * weight, scope=weight)
        shown.append(Recalled("", lore, hit.path, score, scope, counted))
    return shown
