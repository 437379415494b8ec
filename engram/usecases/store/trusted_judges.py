"""Whom a clone believes of those who judge: its own person, not ignored sources, and people by their names or signatures."""

from __future__ import annotations

from engram.domain.admission.trust import UNSIGNED
from engram.domain.judgements.tally import Belief
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

OWN_NAME = "name"  # the note of the cache that has the name of this clone's person: what the branch says can be forged


def own_sources(store: Store) -> frozenset[str]:
    """Return the sources of this clone's person: itself, and the other machines that `trust.mine` names."""
    source = (store.original or store).known_source_id
    return frozenset([*([source] if source else ()), *store.settings.texts("trust.mine")])


def of_clone(home: Store) -> Belief:
    """Return whom this clone believes, as far as that is known now; `home` is no copy of a store."""
    if home.belief is None:
        cache, own = home.judgements, own_sources(home)
        aside, forged = (frozenset(cache.meta(key).split()) for key in ("ignored", "forged"))
        names = {source: name for source, name in cache.names().items() if source not in own}
        names[home.known_source_id] = cache.meta(OWN_NAME)
        home.belief = Belief(own, aside, forged, names)
    return home.belief


def about(home: Store, lore: Lore, entries: Sequence[str]) -> Belief:
    """Return whom this clone believes about an entry, of which these entries' lines count: by signatures where it demands them."""
    found = of_clone(home)
    if not signature_rule(home):
        return found
    from engram.usecases.store.judgement_signers import signers_of

    return found._replace(signers=signers_of(home, lore, entries))


def signature_rule(store: Store) -> str:
    """Return whose signatures count here, in place of people's names; "" where none are demanded."""
    if store.settings.text("trust.hold") != UNSIGNED:
        return ""
    return " ".join([" signed", *sorted(store.settings.texts("trust.accept"))])
