"""Propose the steps of a consolidation: merge, supersede, archive, promote, in this order of precedence.

An entry is in one step at most: the first that applies.
"""

from __future__ import annotations

from datetime import UTC, datetime

from engram.adapters.files import scan
from engram.adapters.files.durable import atomic
from engram.domain.consolidation.plan import ARCHIVE, MERGE, PROMOTE, SUPERSEDE, Step, Unresolved
from engram.domain.consolidation.usefulness import (
    PROMOTED_FROM,
    PROMOTED_USES,
    Answered,
    Usefulness,
    importance,
)
from engram.domain.entry.confidence import two_decimals
from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.errors import EngramError
from engram.domain.judgements.tally import accounts_of
from engram.domain.review.review import DUPLICATE, STALE, item_id
from engram.domain.scopes import SESSION, USER, check_scope
from engram.domain.similarity.deduplicate import fold
from engram.domain.similarity.equivalence import NEAR, SAME, compare
from engram.domain.similarity.pair_groups import group_pairs
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.consolidation.usefulness import usefulness_by_id
from engram.usecases.index.index_query import query_index
from engram.usecases.lookup.hits import hits_of
from engram.usecases.lookup.resolve import Found
from engram.usecases.opening import scopes
from engram.usecases.opening.session_store import session_stores
from engram.usecases.recording import promote
from engram.usecases.review import detectors
from engram.usecases.review.detectors import find_duplicates, mark
from engram.usecases.similarity.deduplicate import foreign_keys
from engram.usecases.similarity.pairs import find_pairs
from engram.usecases.store import entry_writer, judgements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.domain.similarity.pairs import Pair
    from engram.usecases.consolidation.survey import Survey
    from engram.usecases.store.store import Store


def propose(
    survey: Survey, answers: Mapping[str, Answered], kinds: Sequence[str], to: str
) -> tuple[list[Step], list[Unresolved]]:
    """Propose steps of these kinds, and list the near duplicates that disagree.

    `answers` are those of past queries; `to` is the scope that promotions are proposed to ("": the user scope).
    """
    old = find_stale(survey) if ARCHIVE in kinds else {}
    found, unresolved = propose_merges(survey, old) if MERGE in kinds else ([], [])
    if SUPERSEDE in kinds:
        found += propose_superseded(survey)
    found += propose_archives(survey, old)
    if PROMOTE in kinds:
        found += propose_from_sessions(survey)
        found += propose_promotions(survey, usefulness_by_id(survey, answers), to)
    return found, unresolved


def propose_merges(survey: Survey, old: Mapping[str, str]) -> tuple[list[Step], list[Unresolved]]:
    """Merge groups of equivalent entries, and list pairs that are as near but disagree.

    Groups of stale entries only (`old`) are not merged but archived.
    """
    embedder = survey.store.bundled_embedder
    found = find_pairs(survey.store, survey.read, survey.generation)
    kept_apart = _kept_apart(survey)
    steps = []
    for group in group_pairs([pair for pair in found if pair.kind == SAME]):
        ids = [lore_id for lore_id in group if lore_id in survey.hits]
        if len(ids) > 1 and not {*ids} <= old.keys() and not any({*ids} <= kept for kept in kept_apart):
            step = _merge(survey, embedder, ids)
            if step is not None:
                survey.planned.update(step.lore)
                steps.append(step)
    return steps, [left for pair in found if (left := _unresolved(survey, pair)) is not None]


def propose_superseded(survey: Survey) -> list[Step]:
    """Mark active entries as superseded to which another active entry has the relation `supersedes`."""
    steps = []
    for lore_id, links in survey.links.items():
        by = [
            other
            for kind, other in links
            if kind == "supersedes" and other not in survey.planned and other != lore_id
        ]
        hit = survey.hits.get(lore_id)
        if hit is None or lore_id in survey.planned or not by:
            continue
        survey.planned.add(lore_id)
        why = f"'{survey.hits[by[0]].title}' supersedes it"
        steps.append(
            Step(
                item_id(SUPERSEDE, [lore_id]), SUPERSEDE, (lore_id,), (hit.path,), (survey.digests[lore_id],),
                hit.title, why, hit.confidence, hit.confidence,
            )
        )  # fmt: skip
    return sorted(steps, key=lambda step: step.lore)


def _merge(survey: Survey, embedder: Embedder, ids: Sequence[str]) -> Step | None:
    """Fold a group into its oldest entry, leaving out those that are not equivalent to it."""
    files = {lore_id: file for lore_id in sorted(ids) if (file := survey.file(lore_id)) is not None}
    if len(files) < 2:
        return None
    cosines = _cosines(embedder, [file.lore for file in files.values()])
    lore, members = _fold_members(
        {lore_id: file for lore_id, file in files.items() if cosines[lore_id] >= NEAR}
    )
    if len(members) == 1:
        return None
    accounts = [account for lore_id in members for account in accounts_of(files[lore_id].lore)]
    lore = judgements.with_tally(survey.store, lore, accounts)
    min_cosine = min(cosines[lore_id] for lore_id in members)
    why = f"say the same (cosine at least {min_cosine:.2f}); confidence afterwards {two_decimals(lore.thousandths)}"
    return Step(
        item_id(MERGE, members), MERGE, tuple(members), tuple([survey.hits[lore_id].path for lore_id in members]),
        tuple([survey.digests[lore_id] for lore_id in members]), lore.title, why, files[members[0]].lore.thousandths,
        lore.thousandths, lore, min_cosine,
    )  # fmt: skip


def _cosines(embedder: Embedder, entries: Sequence[Lore]) -> dict[str, float]:
    """Compute the cosine of each text and the first, by id."""
    vectors = embedder.embed([lore.content for lore in entries])
    return {
        lore.id: round(float(vectors[0] @ vector), 4) if lore.content != entries[0].content else 1.0
        for lore, vector in zip(entries, vectors, strict=True)
    }


def _fold_members(files: dict[str, LoreFile]) -> tuple[Lore, list[str]]:
    """Fold the entries that agree with the oldest into it; return the result and the ids of all members."""
    oldest, *others = files
    kept, lore, members = files[oldest], files[oldest].lore, [oldest]
    for other in others:
        file = files[other]
        same = file.lore.category == lore.category and compare(lore.content, file.lore.content).kind == SAME
        was_folded = other in lore.merged_from or {lore.id, *lore.merged_from} & {*file.lore.merged_from}
        linked = any(link.id == other for link in lore.relations) or any(
            link.id == oldest for link in file.lore.relations
        )
        folded = fold(lore, file.lore) if same and not was_folded and not linked else None
        if folded is not None and not foreign_keys(file) - foreign_keys(kept):
            lore = folded
            members.append(other)
    return lore, members


def _kept_apart(survey: Survey) -> list[set[str]]:
    """Return the groups of duplicates that a person chose to keep or snoozed in the review queue."""
    with survey.store.lock:
        set_aside = survey.store.state.set_aside(survey.now.timestamp())
    if not any(set_aside):
        return []
    items = find_duplicates(survey.store, survey.generation)
    return [{*item.lore} for item in items if item.kind == DUPLICATE and set_aside.get(item.id) == item.mark]


def _unresolved(survey: Survey, pair: Pair) -> Unresolved | None:
    one, other = survey.hits.get(pair.one), survey.hits.get(pair.other)
    if pair.kind == SAME or pair.cosine < NEAR or not (one and other) or one.category != other.category:
        return None
    return Unresolved((pair.one, pair.other), one.title, pair.why, pair.cosine, other.title)


def find_stale(survey: Survey) -> dict[str, str]:
    """Find entries that expired or were not used, changed or validated for 180 days, with the reason; not those set set_aside.

    Entries whose code changed may still be right, so they are left to the review queue.
    """
    long_ago = _moment(survey.now.timestamp() - detectors.UNUSED_SECONDS)
    with survey.store.lock:
        set_aside = survey.store.state.set_aside(survey.now.timestamp())
    active, found = survey.hits.values(), {}
    for lore_id, why in detectors.choose_to_archive(survey.store, survey.generation, active).items():
        hit = survey.hits.get(lore_id)
        if hit is None or (set_aside and set_aside.get(item_id(STALE, [lore_id])) == mark([hit])):
            continue
        expired = hit.expires_at is not None and _moment(hit.expires_at) < survey.now
        if expired or all(use < long_ago for use in survey.uses(lore_id)):
            found[lore_id] = why[:1].lower() + why[1:].rstrip(".")
    return found


def propose_archives(survey: Survey, old: Mapping[str, str]) -> list[Step]:
    """Archive stale entries that are in no other step."""
    wanted = [survey.hits[lore_id] for lore_id in old if lore_id not in survey.planned]
    survey.planned.update(hit.id for hit in wanted)
    return [
        Step(
            item_id(ARCHIVE, [hit.id]), ARCHIVE, (hit.id,), (hit.path,), (survey.digests[hit.id],), hit.title,
            old[hit.id], hit.confidence, hit.confidence,
        )
        for hit in wanted
    ]  # fmt: skip


def _moment(stamp: float) -> datetime:
    return datetime.fromtimestamp(stamp, UTC)


def propose_from_sessions(survey: Survey) -> list[Step]:
    """Copy important, used entries of session stores into this store, unless it has them already."""
    store = survey.store
    if store.places.root != store.stand.root or store.places.scope == SESSION:
        return []
    used = {lore_id for lore_id, count in survey.usage.shown.items() if count >= PROMOTED_USES}
    steps: dict[str, Step] = {}
    for session in session_stores(store) if used else ():
        for path, lore in _used_lore(session, used):
            step = _from_session(survey, session, path, lore) if lore.id not in steps else None
            if step is not None:
                steps[lore.id] = step
    survey.planned.update(steps)
    return [steps[lore_id] for lore_id in sorted(steps)]


def propose_promotions(survey: Survey, usefulness: Mapping[str, Usefulness], to: str) -> list[Step]:
    """Propose copying important, used entries to the scope `to`; done only if confirmed."""
    store = survey.store
    target = check_scope(store.settings, to) if to else USER
    if target in (SESSION, store.places.scope) or not (to or scopes.exists(store, target)):
        return []
    wanted = [
        lore_id
        for lore_id, known in sorted(usefulness.items())
        if known.importance >= PROMOTED_FROM
        and known.shown >= PROMOTED_USES
        and lore_id not in survey.planned
    ]
    exists = scopes.exists(store, target)
    copied = (
        query_index(scopes.open_scope_of(store, target), lambda found: hits_of(found, wanted))
        if exists
        else {}
    )
    steps = []
    for lore_id in wanted:
        hit, known = survey.hits[lore_id], usefulness[lore_id]
        if lore_id in copied:
            continue
        why = f"importance {known.importance:.2f}, shown {known.shown} times; to {target} once confirmed"
        steps.append(
            Step(
                item_id(PROMOTE, [lore_id, target]), PROMOTE, (lore_id,), (hit.path,), (survey.digests[lore_id],),
                hit.title, why, hit.confidence, hit.confidence, to=target, confirm=True, selected=False,
            )
        )  # fmt: skip
    return steps


def promotion_from_session(store: Store, step: Step) -> promote.PromotionStep | None:
    """Plan the copy of a session's entry into the store; None if the session ended. Raises as `promote`."""
    for session in session_stores(store):
        if session.places.root == step.session:
            return promote.plan_promotion(Found(step.lore[0], step.paths[0], "", session), store)
    return None


def _used_lore(session: Store, used: set[str]) -> Iterator[tuple[str, Lore]]:
    for path in sorted(scan.scan(session.places.root, session.places.folder).files):
        file = entry_writer.load_readable(session, path)
        if file is not None and file.lore.id in used and file.lore.status == ACTIVE:
            yield path, file.lore


def _from_session(survey: Survey, session: Store, path: str, lore: Lore) -> Step | None:
    shown = survey.usage.shown[lore.id]
    value = importance(lore.importance, pinned=lore.pinned, helpful=lore.validation_count, shown=shown)
    if value < PROMOTED_FROM:
        return None
    try:
        promoted = promote.plan_promotion(Found(lore.id, path, "", session), survey.store)
    except EngramError:  # unknown category, or a secret: `engram promote` reports it
        return None
    if promoted.change is None:
        return None
    return Step(
        item_id(PROMOTE, [lore.id, survey.store.places.scope]), PROMOTE, (lore.id,), (path,), (atomic.digest(promoted.source),),
        lore.title, f"importance {value:.2f}, shown {shown} times in a session", lore.thousandths,
        promoted.promoted.lore.thousandths, promoted.promoted.lore, to=survey.store.places.scope, session=session.places.root,
    )  # fmt: skip
