"""Whose judgements a clone trusts: its own user, sources that are not ignored, and people by name or signature."""

from __future__ import annotations

from engram.domain.admission.trust import UNSIGNED
from engram.domain.judgements.tally import Belief
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

OWN_NAME = "name"  # the key in the cache of this clone's user's name; the name on the branch can be forged


def own_sources(store: Store) -> frozenset[str]:
    """Return the sources of this clone's user: this clone, and those listed in `trust.mine`."""
    source = (store.original or store).known_source_id
    return frozenset([*([source] if source else ()), *store.settings.texts("trust.mine")])


def of_clone(home: Store) -> Belief:
    """Return whose judgements this clone trusts; `home` must not be a copy of a store."""
    if home.belief is None:
        cache, own = home.judgements, own_sources(home)
        ignored, forged = (frozenset(cache.meta(key).split()) for key in ("ignored", "forged"))
        names = {source: name for source, name in cache.names().items() if source not in own}
        names[home.known_source_id] = cache.meta(OWN_NAME)
        home.belief = Belief(own, ignored, forged, names)
    return home.belief


def about(home: Store, lore: Lore, entries: Sequence[str]) -> Belief:
    """Return whose judgements count for an entry with the lines of these `entries`: by signature if those are required."""
    belief = of_clone(home)
    if not signature_rule(home):
        return belief
    from engram.usecases.store.judgement_signers import signers_of

    return belief._replace(signers=signers_of(home, lore, entries))


def signature_rule(store: Store) -> str:
    """Return a key of the signatures that count here in place of names; "" if signatures are not required."""
    if store.settings.text("trust.hold") != UNSIGNED:
        return ""
    return " ".join([" signed", *sorted(store.settings.texts("trust.accept"))])
