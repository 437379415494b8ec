"""The status of a store: its contents, index, git and embedding."""

from __future__ import annotations

import contextlib

from engram.adapters.index.statistics import standing
from engram.domain.entry.named_files import WHOLE
from engram.domain.errors import EngramError
from engram.domain.review.review import KINDS
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.refresh import refresh
from engram.usecases.placement.manage_scopes import list_scopes
from engram.usecases.store import judgements
from engram.usecases.store.commit import count_waiting, why_waiting
from engram.version import __version__

if TYPE_CHECKING:
    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

_SMALL = 1_500  # entries; for stores up to this size the whole review queue is computed


def status(store: Store, *, thorough: bool = True) -> dict[str, object]:
    """Return the status as the JSON that `engram status --json` prints; `thorough` checks every file first."""
    with store.lock:
        try:
            done = refresh(store, thorough=thorough)
            message = "" if done.fresh else "another process is rebuilding it"
        except EngramError as error:
            message = error.message
        generation = store.index.look()
        counts = standing(generation.catalog) if generation else None
        # Before anything else looks at the index, which may be rebuilt meanwhile.
        index = _index(store, generation, counts.unadopted if counts else 0, message)
        embedding = _embedding(store, generation)
        places = store.places
        return {
            "store": {
                "path": places.root,
                "folder": places.folder or WHOLE,
                "placement": places.placement,
                "source": store.source_id,
            },
            "scopes": [one._asdict() for one in list_scopes(store) if one.exists],
            "lore_count": counts.total if counts else 0,
            "by_category": counts.by_category if counts else {},
            "by_status": counts.by_status if counts else {},
            "entities": _entities(store),
            "index": index,
            "git": {**_git(store), "conflicts": counts.conflicts if counts else 0, **_proposals(store)},
            "embedding": embedding,
            "judgements": _judgements(store),
            "trust": {"hold": store.settings.text("trust.hold"), "held": _count_quarantined(store)},
            "review": _review(store, store.index.look(), thorough=thorough),
            "settings": {
                "ok": not store.notes and not store.held_back,
                "message": " ".join(store.notes),
                "held_back": [one._asdict() for one in store.held_back],
            },
            "session": {
                "name": store.caller.session,
                "surfaced": len(store.session_state.refs(store.caller.session)),
            },
            "version": __version__,
        }


def _review(store: Store, generation: Generation | None, *, thorough: bool) -> dict[str, object]:
    """Count the items of the review queue; compute it if there are no counts yet and the store is small."""
    from engram.usecases.review.review import count_waiting_items, review
    from engram.usecases.review.waiting import noted_counts

    found: dict[str, int] = {}
    with contextlib.suppress(EngramError):
        if (
            thorough
            and generation is not None
            and len(noted_counts(store)) < len(KINDS)
            and generation.catalog.count() <= _SMALL
        ):
            found = review(store).by_kind
        elif generation is not None:
            found = count_waiting_items(store)
    return {"waiting": sum(found.values()), "by_kind": found}


def _entities(store: Store) -> dict[str, int]:
    from engram.usecases.graph.entities import read_entities

    found = read_entities(store)
    return {"count": len(found.entities), "problems": len(found.problems)}


def _index(store: Store, generation: Generation | None, unadopted: int, message: str) -> dict[str, object]:
    if generation is None:
        return {
            "ok": False,
            "message": message or store.index.why_rebuilt,
            "problems": 0,
            "waiting_for_adoption": 0,
        }
    return {
        "ok": not message,
        "message": message,
        "problems": len(generation.catalog.problems()),
        "waiting_for_adoption": unadopted if store.places.folder else 0,
        "strategy": "hybrid" if store.embedder else "words",
        "path": generation.folder,
    }


def _git(store: Store) -> dict[str, object]:
    repository = store.places.repository
    pending = count_waiting(store)
    if repository is None:
        return {
            "ahead": 0,
            "behind": 0,
            "pending": pending,
            "branch": None,
            "head": None,
            "message": "not in git",
            "unsigned": "",
            "unsigned_merges": False,
            "remotes": [],
            "sync": None,
            "auto": None,
        }
    from engram.adapters.git.run.layout import read_head
    from engram.adapters.git.write.signing import is_wanted, read_failure_reason
    from engram.usecases.store.sync_state import distance, last, remote_names
    from engram.usecases.sync.auto_state import auto_state

    head, synced = read_head(repository), last(store)
    ahead, behind = distance(store)
    return {
        "ahead": ahead,
        "behind": behind,
        "pending": pending,
        "branch": head.branch,
        "head": head.oid,
        "message": why_waiting(store),
        "unsigned": read_failure_reason(store.places.state),
        "unsigned_merges": store.places.owns_branch and is_wanted(repository),
        "remotes": remote_names(store),
        "sync": synced,
        "auto": auto_state(store)._asdict(),
    }


def _proposals(store: Store) -> dict[str, object]:
    """Return the names of the open proposals as last fetched, and that of this clone's own ("": none)."""
    found: dict[str, object] = {"proposals": [], "proposed": ""}
    if not store.places.owns_branch:
        return found
    from engram.usecases.sync.own_proposal import own_proposal
    from engram.usecases.sync.propose import list_proposals

    own = own_proposal(store)
    found["proposed"] = own.name if own is not None and own.open and own.tip else ""
    with contextlib.suppress(EngramError):
        found["proposals"] = [one.name for one in list_proposals(store, fetch=False)]
    return found


def _judgements(store: Store) -> dict[str, object]:
    """Count the lines of all ledgers, and those that cannot be read; zeros if unknown now."""
    from engram.usecases.judgements.publishing import may_publish

    counts = (0, 0)
    with contextlib.suppress(EngramError):
        if judgements.refresh(store):
            counts = store.judgements.count()
    return {"lines": counts[0], "unreadable": counts[1], "published": may_publish(store)}


def _count_quarantined(store: Store) -> int:
    """Count quarantined entries; 0 if unknown now."""
    from engram.usecases.review.trust import count_quarantined

    try:
        return count_quarantined(store)
    except EngramError:
        return 0


def _embedding(store: Store, generation: Generation | None) -> dict[str, object]:
    embedder = store.model
    _ = store.embedder  # adds to `store.degraded`
    return {
        "provider": store.settings.text("embedding.provider"),
        "ok": embedder is not None or store.settings.text("embedding.provider") == "none",
        "model": embedder.identity if embedder else "",
        "dimensions": embedder.dimensions if embedder else 0,
        "waiting": 0 if generation is None else generation.waiting,
        "message": "; ".join(store.degraded),
    }
