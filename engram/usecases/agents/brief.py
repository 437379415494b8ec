"""The brief for an agent at the start of a session: entries about this repository now, or nothing."""

from __future__ import annotations

import os
import re

from engram.domain.admission.tiers import is_imported
from engram.domain.errors import EngramError
from engram.domain.recall import ranking
from engram.domain.recall.budget import tokens
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.admission import credit
from engram.usecases.agents import auto_recall
from engram.usecases.index.index_query import query_index
from engram.usecases.index.ranking_facts import standing
from engram.usecases.store import activity_log
from engram.usecases.store.quarantine import load_active, without_quarantined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

RULES = (
    "Engram is this project's shared memory. Ask it before a decision or when surprised: the tool recall_query, or "
    "`engram query`. Record what lasts, never secrets: the tool recall_record. Say what helped: the tool recall_feedback."
)
MOST = 5
_LEAD = "About this repository:"
_POOL = 400
_RECENT = 60
# What is added to the standing of an entry: for a pin, for changed files in common, for each of the first validations.
_PINNED = 0.5
_OVERLAP = 0.5
_VALIDATED = 0.05
_MOST_VALIDATIONS = 5
# Handoffs are shown to their receiver alone, before the brief.
_USABLE = (
    f"status = 'active' AND {credit.AT_MOST} >= ? AND (expires_at IS NULL OR expires_at > ?)"  # noqa: S608 - no text of a user
    " AND row NOT IN (SELECT row FROM row_tags WHERE tag IN ('handoff', 'agent-rules'))"
)
_TOUCHED_COMMITS = "15"
_TOUCHED_MOST = 60
_GIT_SECONDS = 1.0
_MOST_QUERIED_FILES = 20  # of the files touched last
_RECENT_SECONDS = 3 * 86_400.0  # newer entries come from the latest sessions
_LARGEST_MANIFEST = 256 * 1024  # bytes; the rest is not read
_TABLES = ("dependencies", "devDependencies", "peerDependencies", "dev-dependencies")
_NAME = re.compile(r"@?[A-Za-z][\w.@/-]*")
_LINES = {
    "requirements.txt": re.compile(r"^([A-Za-z][\w.-]+)", re.MULTILINE),
    "go.mod": re.compile(r"^\s*(?:require )?([a-z][\w./-]+) v\d", re.MULTILINE),
    "Gemfile": re.compile(r"^\s*gem ['\"]([\w-]+)", re.MULTILINE),
}
FILES, DEPENDENCIES, HELPFUL, RECENT = range(4)


def brief(store: Store, working: str, *, budget: int = 0, most: int = MOST) -> str:
    """Return the entries about this repository now that are new to this session, framed; "" for none.

    In this order: entries about files that were changed in the folder `working` lately, entries about dependencies in
    its manifests, pinned and helpful ones, and those of the last days; in each group the most valuable first.
    `budget` is in tokens (0: as configured). Raises StoreError if there can be no index.
    """
    budget = budget or int(store.settings.number("hooks.brief_budget"))
    touched, needed = touched_files(working), dependencies(working)
    now = store.clock.now().timestamp()
    began = store.clock.nanoseconds()
    hits, ranks = query_index(store, lambda generation: _pool(store, generation, now, touched))
    half_life = ranking.weights_of(store.settings).half_life
    reasons = {hit.id: reason(hit, touched, needed, now) for hit in hits}
    chosen = [(kind, hit) for hit in hits if (kind := reasons[hit.id]) is not None]
    chosen.sort(
        key=lambda one: (one[0], -worth(one[1], touched, now, ranks.get(one[1].id), half_life), one[1].id)
    )
    found = [
        lore for lore in load_active(store, [hit.path for _, hit in chosen[: most * 3]])
        if reasons[lore.id] != RECENT or not is_imported(lore)
    ]  # fmt: skip
    framed = auto_recall.frame_unseen(store, found, budget, most=most, lead=_LEAD)
    if framed.shown:
        took = activity_log.milliseconds_since(store, began)
        activity_log.note(store, "brief", ids=framed.shown, took_ms=took, tokens=tokens(framed.text))
    return framed.text


def reason(hit: Hit, touched: Sequence[str], needed: frozenset[str], now: float) -> int | None:
    """Return why an entry is about this repository now, one of FILES to RECENT; None if it is not."""
    if hit.files and ranking.path_overlap(hit.files.split("\n"), touched) == 1.0:
        return FILES
    if needed and not needed.isdisjoint(re.findall(r"[\w.@/-]+\w", hit.title.lower())):
        return DEPENDENCIES
    if hit.pinned or hit.validation_count:
        return HELPFUL
    return RECENT if hit.created_at >= now - _RECENT_SECONDS else None


def dependencies(working: str) -> frozenset[str]:
    """Return the dependencies in the manifests of a folder's repository, in lower case and without versions."""
    from engram.adapters.git.run.layout import find_repository

    repository = find_repository(working)
    top = repository.worktree if repository else working
    found = set[str]()
    for name in (*_LINES, "pyproject.toml", "Cargo.toml", "package.json"):
        try:
            with open(os.path.join(top, name), encoding="utf-8", errors="replace") as file:
                text = file.read(_LARGEST_MANIFEST)
        except OSError:
            continue
        found.update(_LINES[name].findall(text) if name in _LINES else _declared_names(name, text))
    return frozenset(one.lower().rpartition("/")[2] for one in found)


def _declared_names(name: str, text: str) -> list[str]:
    """Return the dependencies that a manifest declares; none if it cannot be parsed."""
    try:
        if name.endswith(".json"):
            import json

            manifest = json.loads(text)
        else:
            import tomllib

            manifest = tomllib.loads(text)
    except (ValueError, RecursionError):
        return []
    tables = [manifest] if isinstance(manifest, dict) else []
    tables += [
        table for key in ("project", "tool.poetry") if isinstance(table := _table(manifest, key), dict)
    ]
    found = list[object]()
    for key in _TABLES:
        for values in (table.get(key) for table in tables):
            found += values if isinstance(values, (dict, list)) else []
    for groups in (_table(manifest, "project.optional-dependencies"), _table(manifest, "dependency-groups")):
        lists = groups.values() if isinstance(groups, dict) else []
        found += [one for each in lists if isinstance(each, list) for one in each]
    return [match[0] for one in found if isinstance(one, str) and (match := _NAME.match(one))]


def _table(manifest: object, dotted_name: str) -> object:
    for key in dotted_name.split("."):
        manifest = manifest.get(key) if isinstance(manifest, dict) else None
    return manifest


def worth(
    hit: Hit, touched: Sequence[str], now: float, rank: float | None = None, half_life: float = 1.0
) -> float:
    """Score an entry for the start of work here, by its standing, pin, validations and files in common.

    `rank` is its importance in the graph, 0 to 1; `half_life` is a factor of half-lives.
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
    """Return the files changed lately in the repository of a folder, as paths from its top; empty if unknown."""
    from engram.adapters.git.run.layout import find_repository
    from engram.adapters.git.run.runner import run

    try:
        repository = find_repository(working)
        if repository is None:
            return []
        log = ("log", f"-{_TOUCHED_COMMITS}", "--name-only", "--format=", "-z", "--no-renames")
        changed = ("diff", "--name-only", "-z", "HEAD")
        outputs = [
            run(repository, *arguments, deadline=_GIT_SECONDS, check=False) for arguments in (changed, log)
        ]
    except (EngramError, OSError):
        return []
    names = [name for result in outputs for name in result.stdout.decode("utf-8", "replace").split("\0")]
    return list(dict.fromkeys(name.strip() for name in names if name.strip()))[:_TOUCHED_MOST]


def _pool(
    store: Store, generation: Generation, now: float, touched: Sequence[str]
) -> tuple[list[Hit], Mapping[str, float]]:
    """Return the candidates for a brief (the best by standing, and the newest), and their importance in the graph."""
    lowest, catalog = round(store.settings.number("recall.min_confidence") * 1000), generation.catalog
    order, confirmed = credit.order(store), credit.confirmed_ids(store, _POOL)
    among = f"{_USABLE} AND id IN ({','.join('?' * len(confirmed))})"
    files = touched[:_MOST_QUERIED_FILES]
    about = " OR ".join(["instr(char(10) || files || char(10), char(10) || ? || char(10))"] * len(files))
    found = [
        *(catalog.select(f"{_USABLE} AND files != '' AND ({about})", (lowest, now, *files)) if files else ()),
        *catalog.select(_USABLE, (lowest, now), f"ORDER BY updated_at DESC LIMIT {_RECENT}"),
        *catalog.select(_USABLE, (lowest, now, *order.values), f"ORDER BY {order.sql} LIMIT {_POOL}"),
        *(catalog.select(among, (lowest, now, *confirmed)) if confirmed else ()),
    ]
    distinct = list({hit.id: hit for hit in without_quarantined(store, found)}.values())
    hits = [hit for hit in credit.hits_in_effect(store, distinct) if hit.confidence >= lowest]
    return hits, generation.ranks([hit.id for hit in hits])
