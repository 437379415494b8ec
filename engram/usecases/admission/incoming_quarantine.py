"""Incoming lore: which commits bring it, and whether its text counts at once or is quarantined.

This runs before the first file is written, so that no query ever sees a quarantined text.
"""

from __future__ import annotations

import contextlib

from engram.adapters.git.read.differences import Difference, blobs, differences
from engram.adapters.git.run import layout
from engram.adapters.state.trust_tables import QuarantinedText
from engram.domain.admission import trust
from engram.domain.entry.lore import Lore, searchable, text_digest
from engram.domain.errors import EngramError
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store import sync_state
from engram.usecases.store.signature_state import signatures_of
from engram.usecases.store.version_paths import read_lore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engram.adapters.git.read.objects import Entry
    from engram.adapters.git.remote.remotes import Counterpart
    from engram.adapters.git.run.layout import Repository
    from engram.domain.admission.trust import Signature
    from engram.usecases.store.store import Store

_MAX_MERGES = 200  # to recompute in order to tell whether Engram made them
_MAX_SIGNATURES = 200  # to read for the record of arrivals
_MAX_RECORDED = 1000  # entries of a sync, if nothing is quarantined


class _Arrival(NamedTuple):
    """An entry with a text that is new here, its path, and the commits that brought it, the latest first."""

    lore: Lore
    text: str
    path: str
    commits: tuple[str, ...]


def quarantine_incoming(
    store: Store,
    ours: str | None,
    theirs: str,
    changes: Mapping[str, Difference],
    known: Mapping[str, bytes],
    *,
    mixed: bool = False,
) -> int:
    """Record which entries the commits of `theirs` bring, quarantine them by the settings, and return how many were.

    `changes` are those of our files, `known` has contents already read, by object id. `mixed` says that some of the
    changes may be of this clone's own commits. Raises GitError, StoreError.
    """
    hold = store.settings.text("trust.hold")
    if hold == trust.NONE:
        return 0
    lore = lore_among(store, changes)
    arrivals = _arrivals(store, ours, theirs, lore, known) if lore else []
    if mixed:
        arrivals = [arrival for arrival in arrivals if arrival.commits]
    rows = list(_quarantine_rows(store, hold, arrivals, store.clock.now().timestamp()))
    store.state.trust.quarantine(rows)
    _record(store, arrivals)
    return len({row.id for row in rows})


def record_arrivals(
    store: Store,
    ours: str | None,
    theirs: str,
    changes: Mapping[str, Difference],
    known: Mapping[str, bytes],
) -> None:
    """Record which entries the commits of `theirs` brought, if quarantine is off; else `quarantine_incoming` does it.

    Errors are ignored, and nothing is recorded for more than 1,000 entries, since nothing depends on the record.
    """
    lore = lore_among(store, changes)
    if lore and len(lore) <= _MAX_RECORDED and store.settings.text("trust.hold") == trust.NONE:
        with contextlib.suppress(EngramError):
            _record(store, _arrivals(store, ours, theirs, lore, known))


def lore_among(store: Store, changes: Mapping[str, Difference]) -> dict[str, Difference]:
    """Return the changes of lore files."""
    return {path: found for path, found in changes.items() if sync_plan.is_lore(path, store.places.folder)}


def _record(store: Store, arrivals: Iterable[_Arrival]) -> None:
    """Record which commit brought each entry in, and who signed it."""
    commits = {arrival.lore.id: arrival.commits[0] for arrival in arrivals if arrival.commits}
    store.state.trust.record_arrivals(commits.items(), store.clock.now().timestamp())
    signatures_of(store, list(dict.fromkeys(commits.values()))[:_MAX_SIGNATURES])


def _quarantine_rows(
    store: Store, hold: str, arrivals: Sequence[_Arrival], now: float
) -> Iterator[QuarantinedText]:
    accepted = store.settings.texts("trust.accept")
    known = _signatures(store, [oid for arrival in arrivals for oid in arrival.commits])
    for lore, text, _, commits in arrivals:
        signatures = [known[oid] for oid in commits if oid in known]
        why = trust.quarantine_reason(hold, accepted, lore.source_id, signatures)
        if why:
            yield QuarantinedText(lore.id, text_digest(text), commits[0] if commits else "", why, now)


def _signatures(store: Store, commits: list[str]) -> dict[str, Signature]:
    """Return the signatures of commits by people, without merges that Engram made, which add no text of their own."""
    from engram.adapters.git.read.versions import merges_among

    found = signatures_of(store, commits)
    unsigned = [oid for oid, signature in found.items() if signature.state == trust.NOT_SIGNED]
    for oid, parents in list(merges_among(store.repository, unsigned).items())[:_MAX_MERGES]:
        if _is_own_merge(store, oid, parents):
            del found[oid]
    return found


def _is_own_merge(store: Store, oid: str, parents: tuple[str, ...]) -> bool:
    """Return whether a commit is the merge that Engram makes of its parents on every machine."""
    from engram.usecases.merge.commit_merge import merge_again

    try:
        return len(parents) == 2 and merge_again(store, *parents) == oid
    except EngramError:
        return False


def _arrivals(
    store: Store,
    ours: str | None,
    theirs: str,
    changes: Mapping[str, Difference],
    known: Mapping[str, bytes],
) -> list[_Arrival]:
    """Return the entries that are new here or have a new text."""
    from engram.adapters.git.read.history import touching

    before = _read_entries(store, {path: found.before for path, found in changes.items()}, known)
    after = _read_entries(store, {path: found.after for path, found in changes.items()}, known)
    texts = {lore.id: searchable(lore) for lore in before.values()}
    new = {path: lore for path, lore in after.items() if texts.get(lore.id) != searchable(lore)}
    commits = touching(store.repository, theirs, ours, list(new)) if new else {}
    return [_Arrival(lore, searchable(lore), path, commits.get(path, ())) for path, lore in new.items()]


def read_changed(
    store: Store, changes: Mapping[str, Difference], known: Mapping[str, bytes], word: bytes
) -> tuple[list[Lore], list[Lore]]:
    """Return the entries in the old and the new versions of these files that contain `word`. Raises GitError."""
    before = _read_entries(store, {path: found.before for path, found in changes.items()}, known, word)
    after = _read_entries(store, {path: found.after for path, found in changes.items()}, known, word)
    return list(before.values()), list(after.values())


def _read_entries(
    store: Store, entries: Mapping[str, Entry | None], known: Mapping[str, bytes], word: bytes = b""
) -> dict[str, Lore]:
    """Return the entries at these paths that contain `word`, without invalid ones, which are never recalled."""
    oids = {path: entry.oid for path, entry in entries.items() if entry is not None}
    contents = blobs(store.repository, oids.values(), known)
    files = {
        path: read_lore(store, path, contents[oid]) for path, oid in oids.items() if word in contents[oid]
    }
    return {path: file.lore for path, file in files.items() if file is not None}


# Quarantine of what a person's own `git pull` brought: done at the next refresh of the index, before any answer.
#
# A watermark in the state folder says how far the remote's branch was checked. Entries older than the setting are not
# quarantined, so the watermark advances even while quarantine is off.

_WATERMARK = "weighed-up-to"


def quarantine_pulled(store: Store) -> int:
    """Quarantine pulled entries by the settings, and return how many were. Ignores errors: the next call tries again."""
    repo = store.places.repository
    if repo is None or not store.places.owns_branch:
        return 0
    with contextlib.suppress(EngramError):
        other, known = _counterpart(repo), sync_state.read_watermark(store, _WATERMARK)
        theirs = other and layout.read_ref(repo, other.ref)
        if not other or not theirs or theirs == known:
            return 0
        return _quarantine_fetched(store, repo, other, known, theirs)
    return 0


def mark_checked(store: Store, theirs: str) -> None:
    """Record that a commit of the remote and all before it were checked, ignoring errors."""
    with contextlib.suppress(EngramError):
        sync_state.write_watermark(store, _WATERMARK, theirs)


def _quarantine_fetched(store: Store, repo: Repository, other: Counterpart, known: str, theirs: str) -> int:
    from engram.adapters.git.remote.remotes import fetched_since
    from engram.adapters.git.write import merge_commit

    head = layout.read_head(repo).oid
    if head is None or theirs not in merge_commit.bases(repo, head, theirs):
        return 0  # it was fetched but not merged
    count = 0
    if known and store.settings.text("trust.hold") != trust.NONE:
        for old, new in fetched_since(repo, other, known, theirs):
            count += quarantine_incoming(store, old, new, differences(repo, old, head), {}, mixed=True)
    mark_checked(store, theirs)
    return count


def _counterpart(repo: Repository) -> Counterpart | None:
    from engram.adapters.git.remote import remotes

    branch = layout.read_head(repo).branch
    return remotes.counterpart(repo, branch) if branch else None
