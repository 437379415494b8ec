"""Lore on its way in: which commits bring it, and whether its text counts at once or is held for a person.

Called before the first file is written, so that no query ever sees a text that is to be held.
"""

from __future__ import annotations

import contextlib

from engram.adapters.git.read.differences import blobs
from engram.adapters.state.trust_tables import QuarantinedText
from engram.domain.admission import trust
from engram.domain.errors import EngramError
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store.lineage import read_lore
from engram.usecases.store.lore_text import searchable, text_digest
from engram.usecases.store.signature_state import signatures_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.adapters.git.read.differences import Difference
    from engram.adapters.git.read.tree import Entry
    from engram.adapters.git.run.layout import Repository
    from engram.domain.admission.trust import Signature
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store


MOST_MERGES = 200  # that are made again to see whether they are Engram's own
MOST_LOOKED_AT = 200  # commits whose signature is looked at where nothing depends on it
MANY = 1000  # lore; where nothing is held, what brought so many at once is not noted


class _Arriving(NamedTuple):
    """A lore with a text that is new here, the path it comes to, and the commits that brought it, the last first."""

    lore: Lore
    text: str
    path: str
    commits: tuple[str, ...]


def weigh(
    store: Store,
    ours: str | None,
    theirs: str,
    changes: Mapping[str, Difference],
    contents: Mapping[str, bytes],
    *,
    mixed: bool = False,
) -> int:
    """Note what the commits of `theirs` bring in, and hold what the settings say; returns how many lore are held.

    `changes` are those of our files, `contents` the bytes, by path, that git does not have. `mixed` says that
    commits of this clone may have made some of the changes, too. Raises GitError, StoreError.
    """
    hold = store.settings.text("trust.hold")
    if hold == trust.NONE:
        return 0
    lore = lore_among(store, changes)
    arriving = _arriving(store, ours, theirs, lore, contents) if lore else []
    if mixed:
        arriving = [one for one in arriving if one.commits]
    rows = list(_held(store, hold, arriving, store.clock.now().timestamp()))
    store.state.trust.quarantine(rows)
    _note(store, arriving)
    return len({row.id for row in rows})


def note(
    store: Store,
    ours: str | None,
    theirs: str,
    changes: Mapping[str, Difference],
    contents: Mapping[str, bytes],
) -> None:
    """Note what the commits of `theirs` have brought in, where nothing is ever held; `weigh` notes it else.

    What cannot be noted is left out, and so is what brought very many at once: nothing depends on it.
    """
    lore = lore_among(store, changes)
    if lore and len(lore) <= MANY and store.settings.text("trust.hold") == trust.NONE:
        with contextlib.suppress(EngramError):
            _note(store, _arriving(store, ours, theirs, lore, contents))


def lore_among(store: Store, changes: Mapping[str, Difference]) -> dict[str, Difference]:
    """Those of the changes that are of lore files."""
    return {path: found for path, found in changes.items() if sync_plan.is_lore(path, store.places.folder)}


def _note(store: Store, arriving: Iterable[_Arriving]) -> None:
    """Remember which commit brought each lore in, and who signed it."""
    brought = {one.lore.id: one.commits[0] for one in arriving if one.commits}
    store.state.trust.add_arrivals(brought.items(), store.clock.now().timestamp())
    signatures_of(store, list(dict.fromkeys(brought.values()))[:MOST_LOOKED_AT])


def _held(store: Store, hold: str, arriving: Iterable[_Arriving], now: float) -> Iterable[QuarantinedText]:
    arriving = list(arriving)
    listed = store.settings.get("trust.accept")
    accepted = frozenset(map(str, listed)) if isinstance(listed, list) else frozenset[str]()
    known = _signatures(store, [oid for one in arriving for oid in one.commits])
    for one in arriving:
        signatures = [known[oid] for oid in one.commits if oid in known]
        why = trust.why_held(hold, accepted, one.lore.source_id, signatures)
        if why:
            yield QuarantinedText(
                one.lore.id, text_digest(one.text), one.commits[0] if one.commits else "", why, now
            )


def _signatures(store: Store, commits: list[str]) -> dict[str, Signature]:
    """The signatures of what people wrote; a merge that Engram made of others' versions says nothing of its own."""
    from engram.adapters.git.read.versions import merges_among

    found = signatures_of(store, commits)
    unsigned = [oid for oid, signature in found.items() if signature.state == trust.NOT_SIGNED]
    for oid, parents in list(merges_among(store.repository, unsigned).items())[:MOST_MERGES]:
        if _is_own_merge(store, oid, parents):
            del found[oid]
    return found


def _is_own_merge(store: Store, oid: str, parents: tuple[str, ...]) -> bool:
    """Whether a commit is the very one that Engram makes of its parents, here as anywhere."""
    from engram.usecases.merge.commit_merge import remade

    try:
        return len(parents) == 2 and remade(store, *parents) == oid
    except EngramError:
        return False


def _arriving(
    store: Store,
    ours: str | None,
    theirs: str,
    changes: Mapping[str, Difference],
    contents: Mapping[str, bytes],
) -> list[_Arriving]:
    """The lore whose text is not the one that the lore of this id had here."""
    from engram.adapters.git.read.history import touching

    repo = store.repository
    before = _read(store, repo, {path: found.before for path, found in changes.items()}, {})
    after = _read(store, repo, {path: found.after for path, found in changes.items()}, contents)
    texts = {lore.id: searchable(lore) for lore in before.values()}
    new = {path: lore for path, lore in after.items() if texts.get(lore.id) != searchable(lore)}
    commits = touching(repo, theirs, ours, list(new)) if new else {}
    return [_Arriving(lore, searchable(lore), path, commits.get(path, ())) for path, lore in new.items()]


def read_changed(
    store: Store, changes: Mapping[str, Difference], contents: Mapping[str, bytes], word: bytes
) -> tuple[list[Lore], list[Lore]]:
    """The lore among these files whose bytes have a word in them: as they were, and as they become. Raises GitError."""
    repo = store.repository
    before = _read(store, repo, {path: found.before for path, found in changes.items()}, {}, word)
    after = _read(store, repo, {path: found.after for path, found in changes.items()}, contents, word)
    return list(before.values()), list(after.values())


def _read(
    store: Store,
    repo: Repository,
    entries: Mapping[str, Entry | None],
    contents: Mapping[str, bytes],
    word: bytes = b"",
) -> dict[str, Lore]:
    """The lore at the paths, with `word` in their bytes; what is none cannot be recalled either, and is left out."""
    oids = {path: entry.oid for path, entry in entries.items() if entry is not None and path not in contents}
    held = blobs(repo, oids.values())
    raws = {path: held[oid] for path, oid in oids.items()}
    raws |= {path: raw for path, raw in contents.items() if entries.get(path) is not None}
    files = {path: read_lore(store, path, raw) for path, raw in raws.items() if word in raw}
    return {path: file.lore for path, file in files.items() if file is not None}
