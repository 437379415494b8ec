"""The brief that an agent gets when a session starts: the most valuable lore for this repository, in a budget."""

from __future__ import annotations

from engram.domain.errors import EngramError
from engram.domain.recall import ranking
from engram.domain.recall.budget import tokens
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.admission import credit
from engram.usecases.agents import auto_recall
from engram.usecases.index.index_query import consult
from engram.usecases.index.standing import standing
from engram.usecases.store import activity_log
from engram.usecases.store.quarantine import loaded, without_quarantined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

RULES = (
    "Engram is the shared memory of this project. Before a design decision, or when an error is unfamiliar, ask it: "
    'the tool recall_query, or `engram query "…"`. When something lasting was learned (a decision and why, a '
    "gotcha, the cause of a failure), record it: the tool recall_record, or `engram record`. Never record secrets. "
    "Say which of the notes L1, L2, … helped or were wrong: the tool recall_feedback, or `engram feedback --helpful L1`."
)
MOST = 5
_LEAD = "The most valuable notes for this repository:"
_POOL = 400
_RECENT = 60
_PINNED, _OVERLAP, _VALIDATED, _MOST_VALIDATIONS = 0.5, 0.5, 0.05, 5
# What is handed over to somebody is told to that agent alone, before the brief.
_USABLE = (
    f"status = 'active' AND {credit.AT_MOST} >= ? AND (expires_at IS NULL OR expires_at > ?)"  # noqa: S608 - no text of a user
    " AND row NOT IN (SELECT row FROM row_tags WHERE tag = 'handoff')"
)
_TOUCHED_COMMITS = "15"
_TOUCHED_MOST = 60
_GIT_SECONDS = 1.0


def brief(store: Store, working: str, *, budget: int = 0, most: int = MOST) -> str:
    """Return the most valuable lore that this session was not shown yet, framed; "" for none.

    `working` is the folder the agent works in; what was changed there lately decides which lore is near.
    `budget` in tokens (0: as configured). Raises StoreError where there can be no index.
    """
    budget = budget or int(store.settings.number("hooks.brief_budget"))
    touched = touched_files(working)
    now = store.clock.now().timestamp()
    began = store.clock.nanoseconds()
    hits, ranks = consult(store, lambda generation: _pool(store, generation, now))
    half_life = ranking.weights_of(store.settings).half_life
    hits.sort(key=lambda hit: (-worth(hit, touched, now, ranks.get(hit.id), half_life), hit.id))
    found = loaded(store, [hit.path for hit in hits[: most * 3]])
    put = auto_recall.put_before(store, found, budget, most=most, lead=_LEAD)
    if put.shown:
        took = activity_log.milliseconds_since(store, began)
        activity_log.note(store, "brief", ids=put.shown, took_ms=took, tokens=tokens(put.text))
    return put.text


def worth(
    hit: Hit, touched: Sequence[str], now: float, rank: float | None = None, half_life: float = 1.0
) -> float:
    """Return how much an entry is worth to somebody who begins to work here: its standing, pin, validations, files in common.

    `rank` is how important the graph makes it, 0..1, `half_life` what half-lives are multiplied by.
    """
    files = hit.files.split("\n") if hit.files else []
    validated = min(hit.validation_count, _MOST_VALIDATIONS)
    return (
        ranking.weigh(standing(hit, rank), now, half_life)
        + _PINNED * bool(hit.pinned)
        + _OVERLAP * ranking.path_overlap(files, touched)
        + _VALIDATED * validated
    )


def touched_files(working: str) -> list[str]:
    """Return what was changed in the repository of a folder lately, as paths from its top; empty where that is not known."""
    from engram.adapters.git.run.layout import find_repository
    from engram.adapters.git.run.runner import run

    try:
        repository = find_repository(working)
        if repository is None:
            return []
        log = ("log", f"-{_TOUCHED_COMMITS}", "--name-only", "--format=", "-z", "--no-renames")
        changed = ("diff", "--name-only", "-z", "HEAD")
        said = [run(repository, *what, deadline=_GIT_SECONDS, check=False) for what in (changed, log)]
    except (EngramError, OSError):
        return []
    names = [name for result in said for name in result.stdout.decode("utf-8", "replace").split("\0")]
    return list(dict.fromkeys(name.strip() for name in names if name.strip()))[:_TOUCHED_MOST]


def _pool(store: Store, generation: Generation, now: float) -> tuple[list[Hit], Mapping[str, float]]:
    """The lore that may be worth a brief, the best ones by standing and the newest, and how important the graph makes them."""
    lowest, catalog = round(store.settings.number("recall.min_confidence") * 1000), generation.catalog
    order, confirmed = credit.order(store), credit.confirmed_ids(store, _POOL)
    among = f"{_USABLE} AND id IN ({','.join('?' * len(confirmed))})"
    found = [
        *catalog.select(_USABLE, (lowest, now), f"ORDER BY updated_at DESC LIMIT {_RECENT}"),
        *catalog.select(_USABLE, (lowest, now, *order.values), f"ORDER BY {order.sql} LIMIT {_POOL}"),
        *(catalog.select(among, (lowest, now, *confirmed)) if confirmed else ()),
    ]
    distinct = list({hit.id: hit for hit in without_quarantined(store, found)}.values())
    hits = [hit for hit in credit.hits_in_effect(store, distinct) if hit.confidence >= lowest]
    return hits, generation.ranks([hit.id for hit in hits])
