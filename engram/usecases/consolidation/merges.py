"""Steps of consolidation that are about several lore: those that say the same, and those that another replaced."""

from __future__ import annotations

from engram.domain.consolidation.consolidation import MERGE, SUPERSEDE, Left, Step
from engram.domain.entry.confidence import two_decimals
from engram.domain.review.review import DUPLICATE, item_id
from engram.domain.similarity.deduplicate import fold
from engram.domain.similarity.equivalence import NEAR, SAME, compare
from engram.domain.similarity.pair_groups import groups
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.consolidation.decay import faded
from engram.usecases.review.pair_items import duplicates
from engram.usecases.similarity.deduplicate import own_keys
from engram.usecases.similarity.pairs import pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.domain.entry.lore import Lore
    from engram.domain.similarity.pairs import Pair
    from engram.usecases.consolidation.survey import Look


def merges(look: Look, old: Mapping[str, str], *, fades: bool) -> tuple[list[Step], list[Left]]:
    """Groups of equivalent lore that become one, and what is as near but does not agree.

    A group of which all are stale (`old`) is not worth it. `fades` has decay taken off the result.
    """
    from engram.adapters.embed.provider import open_embedder

    embedder = open_embedder("bundled")
    assert embedder is not None
    found = pairs(look.store, look.read, look.generation)
    apart = _kept_apart(look)
    steps = []
    for group in groups([pair for pair in found if pair.kind == SAME]):
        ids = [lore_id for lore_id in group if lore_id in look.hits]
        if len(ids) > 1 and not {*ids} <= old.keys() and not any({*ids} <= kept for kept in apart):
            step = _merge(look, embedder, ids, fades)
            if step is not None:
                look.taken.update(step.lore)
                steps.append(step)
    return steps, [left for pair in found if (left := _left(look, pair)) is not None]


def superseded(look: Look) -> list[Step]:
    """Lore that another active lore says it supersedes, and that are active all the same."""
    steps = []
    for lore_id, links in look.links.items():
        by = [
            other
            for kind, other in links
            if kind == "supersedes" and other not in look.taken and other != lore_id
        ]
        hit = look.hits.get(lore_id)
        if hit is None or lore_id in look.taken or not by:
            continue
        look.taken.add(lore_id)
        why = f"'{look.hits[by[0]].title}' says that it takes its place"
        steps.append(
            Step(
                item_id(SUPERSEDE, [lore_id]), SUPERSEDE, (lore_id,), (hit.path,), (look.digests[lore_id],),
                hit.title, why, hit.confidence, hit.confidence,
            )
        )  # fmt: skip
    return sorted(steps, key=lambda step: step.lore)


def _merge(look: Look, embedder: Embedder, ids: Sequence[str], fades: bool) -> Step | None:
    """The step that folds a group into its oldest; without those that do not agree with it, word for word."""
    files = {lore_id: file for lore_id in sorted(ids) if (file := look.file(lore_id)) is not None}
    if len(files) < 2:
        return None
    cosines = _cosines(embedder, [file.lore for file in files.values()])
    lore, members = _folded({one: file for one, file in files.items() if cosines[one] >= NEAR})
    if len(members) == 1:
        return None
    if fades:
        lore = faded(look, lore, members)
    near = min(cosines[one] for one in members)
    why = f"say the same (cosine {near:.2f} or more); confidence {two_decimals(lore.thousandths)} then"
    return Step(
        item_id(MERGE, members), MERGE, tuple(members), tuple([look.hits[one].path for one in members]),
        tuple([look.digests[one] for one in members]), lore.title, why, files[members[0]].lore.thousandths,
        lore.thousandths, lore, near,
    )  # fmt: skip


def _cosines(embedder: Embedder, lore: Sequence[Lore]) -> dict[str, float]:
    """How near the text of each is to that of the first, by the bundled model, whatever the store searches with."""
    vectors = embedder.embed([one.content for one in lore])
    return {
        one.id: round(float(vectors[0] @ vector), 4) if one.content != lore[0].content else 1.0
        for one, vector in zip(lore, vectors, strict=True)
    }


def _folded(files: dict[str, LoreFile]) -> tuple[Lore, list[str]]:
    """The oldest with what the others add, and the ids of those that did; votes for all of them count on."""
    oldest, *others = files
    kept, lore, members = files[oldest], files[oldest].lore, [oldest]
    for other in others:
        file = files[other]
        same = file.lore.category == lore.category and compare(lore.content, file.lore.content).kind == SAME
        apart = {lore.id, *lore.merged_from} & {*file.lore.merged_from} or file.lore.id in lore.merged_from
        linked = any(link.id == other for link in lore.relations) or any(
            link.id == oldest for link in file.lore.relations
        )
        folded = fold(lore, file.lore) if same and not apart and not linked else None
        if folded is not None and not own_keys(file) - own_keys(kept):
            lore = folded
            members.append(other)
    return lore, members


def _kept_apart(look: Look) -> list[set[str]]:
    """The groups of which a person said that all stay, or that they will look at them later."""
    with look.store.lock:
        aside = look.store.state.set_aside(look.now.timestamp())
    if not any(aside):
        return []
    items = duplicates(look.store, look.generation)
    return [{*item.lore} for item in items if item.kind == DUPLICATE and aside.get(item.id) == item.mark]


def _left(look: Look, pair: Pair) -> Left | None:
    one, other = look.hits.get(pair.one), look.hits.get(pair.other)
    if pair.kind == SAME or pair.cosine < NEAR or not (one and other) or one.category != other.category:
        return None
    return Left((pair.one, pair.other), one.title, pair.why, pair.cosine)
