"""Signatures of commits, each checked once: on a pull or when a person asks, never during a query."""

from __future__ import annotations

from engram.domain.admission.trust import UNCHECKED, Signature
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.usecases.store.store import Store


def signatures_of(store: Store, commits: Iterable[str]) -> dict[str, Signature]:
    """Return the signature of each commit, cached or from git (about 10 ms each).

    A commit that cannot be read counts as unchecked.
    """
    repository = store.places.repository
    wanted = list(dict.fromkeys(commits))
    if repository is None or not wanted:
        return {}
    now = store.clock.now().timestamp()
    found = store.state.trust.signatures(wanted, now)
    missing = [oid for oid in wanted if oid not in found]
    if missing:
        from engram.adapters.git.read.signatures import signatures

        new = signatures(repository, missing)
        store.state.trust.add_signatures(
            ((oid, signature) for oid, signature in new.items() if signature.state != UNCHECKED), now
        )
        found |= new
    return {oid: found.get(oid, Signature(UNCHECKED)) for oid in wanted}
