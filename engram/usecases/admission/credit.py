"""Which claims of a store's entries count in this clone, and the record of entries confirmed here."""

from __future__ import annotations

import contextlib
import os
import sqlite3

from engram.domain.admission import credit
from engram.domain.admission.credit import Confirmation, EffectiveValues, Limit
from engram.domain.admission.trust import is_vouched
from engram.domain.entry.confidence import DEFAULT_PRIOR, FULL, HELPFUL, Vote, decay
from engram.domain.errors import EngramError, StoreError
from engram.domain.judgements.tally import day_of
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store import trusted_judges

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.adapters.git.read.differences import Difference
    from engram.adapters.index.catalog import Hit
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

CLAIMING = f"pinned = 1 OR importance > {credit.DEFAULT_IMPORTANCE} OR \"when\" != ''"  # catalog rows with `credit.claims_of`
# The highest confidence that a catalog row can have here, since an ignored source may have lowered the shared one.
AT_MOST = "(confidence + max(0, coalesce(believed - full, 0)))"
_BATCH = 1000
_FILE_NAME_END = 29  # characters: the id and the suffix of a file name


class Order(NamedTuple):
    """An SQL expression that sorts catalog rows, the most credible first, and the values of its parameters."""

    sql: str
    values: tuple[str, ...]


def of(store: Store, lore: Lore) -> EffectiveValues:
    """Return what an entry counts as here; if the notes cannot be read, as unconfirmed. Never raises."""
    return of_many(store, [lore])[0]


def of_many(store: Store, found: Sequence[Lore]) -> list[EffectiveValues]:
    """Return what several entries of one store count as here."""
    limits, own = _limits(store, found), trusted_judges.own_sources(store)
    today = day_of(store.clock.now())
    return [credit.credit_of(lore, limit, own, today) for lore, limit in zip(found, limits, strict=True)]


def in_effect(store: Store, lore: Lore) -> Lore:
    """Return the entry with the confidence and pin that count here: to be ranked or shown, never to be written."""
    return credit.in_effect(lore, of(store, lore))


def hits_in_effect(store: Store, hits: Sequence[Hit]) -> list[Hit]:
    """Return catalog rows with the values that count here, for ranking; unconfirmed entries lose their helpful votes, too."""
    if not hits:
        return []
    today = day_of(store.clock.now())
    return [
        _limit_hit(hit, limit, today) for hit, limit in zip(hits, _limits_of_hits(store, hits), strict=True)
    ]


def with_unaccepted_claims(store: Store, hits: Sequence[Hit]) -> list[tuple[Hit, list[str]]]:
    """Return the catalog rows with claims that do not count here, and these claims in words."""
    pairs = [
        (hit, [claim for claim in credit.claims_of(hit).values() if not limit.allows(claim)])
        for hit, limit in zip(hits, _limits_of_hits(store, hits), strict=True)
    ]
    return [(hit, claims) for hit, claims in pairs if claims]


def noted_ids(store: Store) -> list[str]:
    """Return the ids of entries with a note on which claims count, whoever recorded them."""
    with contextlib.suppress(StoreError, OSError, sqlite3.Error):
        return _home(store).state.trust.with_claims()
    return []


def own_sources(store: Store, sources: Iterable[str]) -> frozenset[str]:
    """Return the sources whose claims count at once: the user's, and those in `trust.accept`.

    "" is among them if it is in `sources` and the store has no remote: entries without a source were written by hand.
    """
    by_hand = ("",) if "" in sources and not _is_shared(store) else ()
    own = trusted_judges.own_sources(store)
    return frozenset([_home(store).source_id, *own, *_accepted_names(store), *by_hand])


def order(store: Store) -> Order:
    """Return the order by which only claims of `own_sources` count; entries confirmed here are found by `confirmed_ids`."""
    own = tuple(own_sources(store, ("",)))
    # One number, since sorting 100,000 rows by three expressions takes 50% longer.
    sql = (
        f"CASE WHEN source_id IN ({','.join('?' * len(own))})"
        " THEN pinned * 10000000 + coalesce(believed - full, 0) * 1000 + confidence * 1000 + min(validation_count, 999)"
        " ELSE (confidence + coalesce(modest - full, 0)) * 1000 END DESC"
    )
    return Order(sql, own)


def confirmed_ids(store: Store, most: int) -> list[str]:
    """Return up to `most` entries whose claims were confirmed here, those with the highest confidence first."""
    with contextlib.suppress(EngramError, OSError, sqlite3.Error):
        return _home(store).state.trust.most_confirmed(most)
    return []


def confirm(store: Store, lore: Lore, accepted: frozenset[str] | None = credit.ALL_CLAIMS) -> None:
    """Note that an entry was confirmed here in its current form, with the `accepted` of its claims (None: all)."""
    claims = frozenset(credit.claims_of(lore).values())
    note = Confirmation(_digest(lore), lore.thousandths, claims if accepted is None else claims & accepted)
    _home(store).state.trust.confirm({lore.id: note})


def withdraw(store: Store, ids: Sequence[str], claims: Sequence[str] = ()) -> None:
    """Delete the confirmations of these entries; with `claims`, which are of another clone, none of their claims counts."""
    trust = _home(store).state.trust
    trust.withdraw(ids)
    if claims:
        trust.confirm(dict.fromkeys(ids, Confirmation(credit.RAISED, DEFAULT_PRIOR, frozenset())))


def confirm_by_feedback(store: Store, lore: Lore, kind: str) -> None:
    """Confirm an entry that this clone found helpful, or withdraw that if it judged it incorrect more often."""
    vote = lore.accounts.get(store.source, Vote())
    if kind == HELPFUL and vote.up >= vote.down:
        confirm(store, lore, _limits(store, [lore])[0].accepted)  # helpful feedback accepts no further claims
    elif vote.down > vote.up:
        withdraw(store, [lore.id])


def confirm_by_edit(store: Store, before: Lore, after: Lore, *, is_claimed: bool) -> None:
    """Confirm an entry if an edit here set its claims (`is_claimed`); a confirmed entry stays so when its text is edited."""
    if is_claimed or _digest(before) != _digest(after):
        note = _notes(store, [after.id]).get(after.id)
        if is_claimed:
            confirm(store, after)
        elif note is not None and note.digest in (credit.ANY_TEXT, _digest(before)):
            confirm(store, after, note.accepted)


def note_raised(store: Store, changes: Mapping[str, Difference], known: Mapping[str, bytes]) -> None:
    """Note which entries of this clone a sync returns with another text, further claims, or a higher confidence.

    `changes` are those of our files, `known` has contents already read, by object id. Raises GitError, StoreError.
    """
    from engram.usecases.admission.incoming_quarantine import lore_among, read_changed

    own = store.source_id
    changes = lore_among(store, changes)
    paths = sorted(changes, key=lambda path: path[-_FILE_NAME_END:])  # keeps both paths of a move together
    for start in range(0, len(paths), _BATCH):
        batch = {path: changes[path] for path in paths[start : start + _BATCH]}
        before, after = read_changed(store, batch, known, own.encode("ascii"))
        own_entries = {lore.id: lore for lore in after if lore.source_id == own}
        old_entries = {lore.id: lore for lore in before}
        limits = dict(zip(own_entries, _limits(store, list(own_entries.values())), strict=True))
        raised = {
            lore_id: credit.limit_raised(old_entries.get(lore_id), lore, limits[lore_id])
            for lore_id, lore in own_entries.items()
        }
        store.state.trust.confirm({lore_id: note for lore_id, note in raised.items() if note is not None})


def _home(store: Store) -> Store:
    """Return the store with the clone's notes: the original of a copy."""
    return store.original or store


def _limit_hit(hit: Hit, limit: Limit, today: int) -> Hit:
    claims = credit.claims_of(hit)
    unclaimed = {name: credit.UNCLAIMED[name] for name, claim in claims.items() if not limit.allows(claim)}
    if not unclaimed and hit.believed is None and hit.modest is None and limit == credit.UNLIMITED:
        return hit
    confidence = min(hit.confidence, limit.confidence)
    if hit.full is not None and hit.anchor is not None:
        believed = hit.full if hit.believed is None else hit.believed
        full = credit.cap_confidence(believed, hit.full if hit.modest is None else hit.modest, limit)
        is_pinned = hit.pinned and "pinned" not in unclaimed
        confidence = full if is_pinned else full - decay(hit.type, full, min(hit.anchor, today), today)
    validations = 0 if limit == credit.UNCONFIRMED else hit.validation_count
    return hit._replace(confidence=confidence, validation_count=validations, **unclaimed)  # type: ignore[arg-type]


def _limits_of_hits(store: Store, hits: Sequence[Hit]) -> list[Limit]:
    own = own_sources(store, (hit.source_id or "" for hit in hits))
    noted = [
        hit.id
        for hit in hits
        if (hit.source_id or "") not in own or hit.confidence > DEFAULT_PRIOR or credit.claims_of(hit)
    ]
    notes = _notes(store, noted) if noted else {}
    found = [
        credit.limit_of(notes.get(hit.id), hit.text_digest, is_own=(hit.source_id or "") in own)
        for hit in hits
    ]
    return _with_vouched(store, [hit.id for hit in hits], found)


def _limits(store: Store, found: Sequence[Lore]) -> list[Limit]:
    if not found:
        return []
    own = own_sources(store, (lore.source_id for lore in found))
    notes = _notes(store, [lore.id for lore in found])
    limits = [
        credit.limit_of(note, "" if note is None else _digest(lore), is_own=lore.source_id in own)
        for lore in found
        for note in [notes.get(lore.id)]
    ]
    return _with_vouched(store, [lore.id for lore in found], limits)


def _with_vouched(store: Store, ids: Sequence[str], limits: list[Limit]) -> list[Limit]:
    """Let the confidence of unconfirmed entries count if the commit that brought them is by an accepted signer."""
    accepted = _accepted_names(store)
    unconfirmed = [lore_id for lore_id, limit in zip(ids, limits, strict=True) if limit == credit.UNCONFIRMED]
    if not accepted or not unconfirmed:
        return limits
    vouched = set[str]()
    with contextlib.suppress(StoreError, OSError, sqlite3.Error):
        trust = _home(store).state.trust
        commits = trust.arrivals(unconfirmed)
        signatures = trust.signatures([*set(commits.values())], 0.0, max_age=float("inf"))
        signed = {oid for oid, signature in signatures.items() if is_vouched(signature, accepted)}
        vouched = {lore_id for lore_id, oid in commits.items() if oid in signed}
    confirmed = Limit(FULL, frozenset(), True)
    return [confirmed if lore_id in vouched else limit for lore_id, limit in zip(ids, limits, strict=True)]


def _accepted_names(store: Store) -> frozenset[str]:
    """Return the sources, keys and addresses in `trust.accept`."""
    return frozenset(store.settings.texts("trust.accept")) - {""}


def _notes(store: Store, ids: Sequence[str]) -> Mapping[str, Confirmation]:
    with contextlib.suppress(StoreError, OSError, sqlite3.Error):
        return _home(store).state.trust.confirmations(ids)
    return {}


def _digest(lore: Lore) -> str:
    from engram.domain.entry.lore import searchable, text_digest

    return text_digest(searchable(lore))


def _is_shared(store: Store) -> bool:
    """Return whether the store's repository has a remote in its own configuration."""
    repository = _home(store).places.repository
    if repository is None:
        return False
    try:
        with open(os.path.join(repository.common_dir, "config"), "rb") as file:
            return b"[remote " in file.read()
    except OSError:
        return True
