"""Judgements of entries: append lines to this clone's ledger, retract them, read all ledgers, and tally an entry."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from datetime import UTC, datetime

from engram.domain.entry import ulid
from engram.domain.entry.confidence import (
    DEFAULT_PRIOR,
    HELPFUL,
    HELPFUL_GAIN,
    INCORRECT,
    INCORRECT_LOSS,
    Tally,
    Vote,
    clamp,
    decay,
)
from engram.domain.entry.lore import HUMAN, Lore
from engram.domain.errors import EngramError, GitError
from engram.domain.judgements import ledger
from engram.domain.judgements import tally as tallies
from engram.domain.judgements.confidence_history import Course
from engram.domain.judgements.ledger import (
    CONFIRMED,
    RETRACTED,
    SAME,
    EntryJudgements,
    Judgement,
    LegacyAccount,
)
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import trusted_judges

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from engram.adapters.files.durable.ledger_folder import Stamp
    from engram.adapters.state.judgement_cache import Known, Read
    from engram.usecases.store.store import Store

_OWN_PREFIX = "own:"  # marks the paths of this clone's own files in the cache
_MAX_AGENT_LENGTH = 40
_ATTEMPTS = 10  # at reading ledgers while other processes read them too
_MAX_BATCH_BYTES = 256 * 1024 * 1024  # of ledgers written to the cache in one transaction


def judge(store: Store, judged: Sequence[tuple[Lore, str]]) -> list[Judgement]:
    """Append a line for each entry and kind of judgement, and sync them to disk. Raises StoreError."""
    agent, client = plain_name(store.caller.agent), store.caller.client
    drafts = [
        Judgement("", lore.id, kind, text=ledger.words_digest(lore), agent=agent, client=client)
        for lore, kind in judged
    ]
    return append(store, drafts)


def confirm(store: Store, lore: Lore, agent: str = "", *, once: bool = False) -> bool:
    """Append a confirmation of an entry by this clone; return False if it has one of the same author and day.

    Recording counts as the author's confirmation. `agent` is the author (default: the caller). With `once` a confirmation
    of this clone by any author on any day prevents another. Raises StoreError.
    """
    agent = agent or store.caller.agent
    agent = "" if agent == HUMAN else plain_name(agent)
    today = tallies.day_of(store.clock.now())
    confirmed = {
        (line.source, line.agent, tallies.day_of(moment_of(line)))
        for line in tallies.live(_judgements_of(store, [lore.id]).lines)
        if line.kind in (CONFIRMED, SAME)
    }
    author = "" if lore.agent == HUMAN else plain_name(lore.agent)
    confirmed.add((lore.source_id, author, tallies.day_of(lore.created_at)))
    if (store.source_id, agent, today) in confirmed or (
        once and store.source_id in {source for source, _, _ in confirmed}
    ):
        return False
    append(store, [Judgement("", lore.id, CONFIRMED, text=ledger.words_digest(lore), agent=agent)])
    return True


def confirm_for(store: Store, lore: Lore, client: str) -> bool:
    """Append a confirmation of an entry by a client of a server; return False if it has one. Raises StoreError."""
    if any(
        line.client == client
        for line in tallies.live(_judgements_of(store, [lore.id]).lines)
        if line.kind == CONFIRMED
    ):
        return False
    agent = plain_name(store.caller.agent)
    append(
        store, [Judgement("", lore.id, CONFIRMED, text=ledger.words_digest(lore), agent=agent, client=client)]
    )
    return True


def confirm_own(store: Store, entries: Iterable[Lore]) -> None:
    """Confirm entries of others into which an entry of this clone was folded. Raises StoreError.

    No other clone can do that on its behalf. Merges recorded in format 1 count already.
    """
    own, drafts = store.source_id, []
    for lore in entries:
        if own == lore.source_id or own not in lore.sources:
            continue
        lines = _judgements_of(store, [lore.id])
        known = any(line.source == own and line.kind == CONFIRMED for line in lines.lines)
        if not known and not any(account.account.startswith(tallies.MERGED) for account in lines.accounts):
            folded = lore.merged_from[-1] if lore.merged_from else ""
            drafts.append(Judgement("", lore.id, CONFIRMED, folded, ledger.words_digest(lore)))
    append(store, drafts)


def follow_fold(store: Store, entries: Collection[str], *, is_undone: bool) -> None:
    """Retract this clone's confirmations by a fold that is undone, or restore them if it is redone. Raises StoreError."""
    own = [line for line in lines_of(store, sorted(entries)) if line.source == store.source_id]
    counted = {line.id for line in tallies.live(own)}
    lines = [line for line in own if line.kind in (CONFIRMED, SAME) and line.of in entries]
    if is_undone:
        take_back(store, [(line.id, line.entry) for line in lines if line.id in counted])
    else:
        retractions = {line.of: line.id for line in own if line.kind == RETRACTED and line.id in counted}
        take_back(store, [(retractions[line.id], line.entry) for line in lines if line.id in retractions])


def take_back(store: Store, lines: Iterable[tuple[str, str]]) -> list[Judgement]:
    """Append a retraction of each of these lines (id, entry) of this clone. Raises StoreError."""
    agent = plain_name(store.caller.agent)
    return append(store, [Judgement("", entry, RETRACTED, line_id, agent=agent) for line_id, entry in lines])


def append(store: Store, drafts: Sequence[Judgement]) -> list[Judgement]:
    """Give these lines ids later than those of all others of this clone, and write them. Raises StoreError.

    The ids are consecutive, so that lines appended together can be retracted together.
    """
    appended: list[Judgement] = []

    def render() -> dict[str, bytes]:
        source = store.source_id
        stamps = _stamps(store)
        last, new = ulid.later("", _last_id(store, stamps)), store.clock.new_id()
        found: dict[str, bytes] = {}
        for draft in drafts:
            last = ulid.later(new, last)
            line = draft._replace(id=last, source=source)
            path, part = ledger.path_of(source, last), 1
            while (size := stamps[path].size if path in stamps else 0) >= ledger.LARGEST_FILE:
                part += 1
                path = ledger.path_of(source, last, part)
            assert size < ledger.LARGEST_FILE
            found[path] = found.get(path, b"") + ledger.render(line)
            appended.append(line)
        return found

    if drafts:
        store.ledgers.append(render)
        refresh_if_possible(store)
    deed, independent = store.deed, {line.id for line in appended if not line.of}
    if deed is not None and independent:
        scope = store.places.scope
        deed.operations[scope] = deed.operations.get(scope, 0) + len(independent)
        deed.judgements.update(independent)
        store.deeds_of_lines |= dict.fromkeys(independent, deed.name)
    return appended


def deeds_of(lines: Iterable[Judgement]) -> dict[str, str]:
    """Return, by id, the first line that was appended together with each of these lines of one clone."""
    found: dict[str, str] = {}
    last = ""
    for line in lines:
        found[line.id] = found[last] if last and line.id == ulid.later("", last) else line.id
        last = line.id
    return found


def keep_accounts(store: Store, accounts: Iterable[LegacyAccount]) -> None:
    """Append the accounts of a file of format 1 that the ledgers lack. Raises StoreError."""
    wanted = ledger.larger_accounts(accounts)
    if not wanted:
        return
    known = ledger.larger_accounts(store.judgements.of(sorted({entry for entry, _ in wanted})).accounts)
    lines: dict[str, bytes] = {}
    for key, account in wanted.items():
        if key not in known or ledger.larger_of(known[key], account) != known[key]:
            path = ledger.legacy_path(store.source, account.entry)
            lines[path] = lines.get(path, b"") + ledger.render_account(account)
    if lines:
        store.ledgers.append(lambda: lines)
        refresh_if_possible(store)


def mark(store: Store) -> str:
    """Return a mark that changes whenever a ledger grows; "" if nothing was ever judged."""
    home = store.original or store
    return _mark(home, _stamps(home), _tip(home))


def refresh(store: Store) -> str:
    """Read new lines of the ledgers and return their mark. Raises StoreError, GitError."""
    if store.judged_mark is None:
        _move_old_votes(store)
    mark = _mark(store, _stamps(store), _tip(store))
    if mark != store.judged_mark:
        store.belief = None
    if not mark or mark == store.judged_mark or store.judgements.meta("mark") == mark:
        store.judged_mark = mark
        return mark
    from engram.adapters.state.judgement_cache import OvertakenError

    for _ in range(_ATTEMPTS):
        with contextlib.suppress(OvertakenError):  # another process has read more: continue from there
            return _read_ledgers(store)
    return store.judged_mark or ""


def _read_ledgers(store: Store) -> str:
    """Read the lines that the cache lacks, and return its new mark."""
    from engram.adapters.state.judgement_cache import Known, Read

    stamps, tip = _stamps(store), _tip(store)
    mark = _mark(store, stamps, tip)
    cache = store.judgements
    known = cache.known()
    if tip and cache.meta("tip") != tip:
        _read_branch(store, known, tip)
        known = cache.known()  # without what a longer list of erased lines removed
    elif not tip:  # the branch was deleted
        cache.forget([path for path in known if not path.startswith(_OWN_PREFIX)])
        cache.set_meta("tip", "")
    _update_ignored(store)
    erased = frozenset(cache.meta("erased").split())
    for path, stamp in sorted(stamps.items()):
        source = ledger.source_of(path)
        before = known.get(_OWN_PREFIX + path)
        if source is None or before == (stamp.size, str(stamp.inode)):
            continue
        grew = before is not None and before.mark == str(stamp.inode) and before.size < stamp.size
        start = before.size if grew and before else 0
        raw = store.ledgers.read(path, start)
        whole_lines = raw[: raw.rfind(b"\n") + 1]  # another process may be writing the last one
        after = Known(start + len(whole_lines), str(stamp.inode))
        cache.add([Read(_OWN_PREFIX + path, source, whole_lines, after, before, not grew)], erased)
    own = {_OWN_PREFIX + path for path in stamps}
    cache.forget([path for path in known if path.startswith(_OWN_PREFIX) and path not in own])
    if tip and (rule := trusted_judges.signature_rule(store)):
        from engram.usecases.store.judgement_signers import note_signers

        note_signers(store, tip, rule)
    cache.set_meta("mark", mark)
    store.judged_mark = mark
    return mark


def refresh_if_possible(store: Store, known: str = "") -> str:
    """Call `refresh`; return `known` if the cache cannot be used now: the lines are safe and will be read next time."""
    try:
        return refresh(store)
    except (EngramError, sqlite3.Error):
        return known


def _read_branch(store: Store, known: Mapping[str, Known], tip: str) -> None:
    """Read what changed in the branch of judgements since it was last read."""
    from engram.adapters.git.read.blob_stream import stream
    from engram.adapters.git.read.differences import sizes
    from engram.adapters.git.write import ledger_branch
    from engram.domain.judgements import erasure
    from engram.usecases.store.gc_pause import no_collections
    from engram.usecases.store.judgement_times import note_times

    repo, cache = store.repository, store.judgements
    try:
        changed, is_known = ledger_branch.changed_blobs(repo, cache.meta("tip") or None, tip), True
    except GitError:  # the last commit read is gone: the branch was replaced
        changed, is_known = ledger_branch.changed_blobs(repo, None, tip), False
        cache.forget([path for path in known if not path.startswith(_OWN_PREFIX) and path not in changed])
    if ledger.ERASED in changed:
        oid = changed[ledger.ERASED]
        raw = ledger_branch.contents(repo, [oid])[oid] if oid else b""
        cache.set_meta("erased", " ".join(sorted(erasure.parse(raw))))
        cache.forget(known)  # any of them may contain an erased line
        known, changed = {}, ledger_branch.changed_blobs(repo, None, tip)
    _read_writer_names(store, changed)
    ledgers = {path: oid for path, oid in sorted(changed.items()) if ledger.source_of(path) is not None}
    cache.forget([path for path, oid in ledgers.items() if oid is None])
    present = {path: oid for path, oid in ledgers.items() if oid}
    erased = frozenset(cache.meta("erased").split())
    with no_collections():
        for batch in _batch_by_size(sizes(repo, present.values()), present):
            reads = (
                read
                for path, raw in zip(batch, stream(repo, list(batch.values())), strict=True)
                if (read := _read_growth(store, path, present[path], raw, known.get(path))) is not None
            )
            cache.add(reads, erased)
    note_times(store, cache.meta("tip") if is_known else "", tip, present)
    cache.set_meta("tip", tip)


def _batch_by_size(sizes: Mapping[str, int], files: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield these files (path: blob id) in batches that fit in memory until they are written."""
    batch, size = dict[str, str](), 0
    for path, oid in files.items():
        size += sizes.get(oid, 0)
        if batch and size > _MAX_BATCH_BYTES:
            yield batch
            batch, size = {}, sizes.get(oid, 0)
        batch[path] = oid
    if batch:
        yield batch


def _read_growth(store: Store, path: str, oid: str, raw: bytes, before: Known | None) -> Read | None:
    """Return the new part of a file of the branch, or all of it; None if this clone's own file contains it."""
    from engram.adapters.git.read.objects import blob_oid
    from engram.adapters.git.run.layout import hash_name
    from engram.adapters.state.judgement_cache import Known, Read

    source = ledger.source_of(path) or ""
    if source in ("", store.known_source_id) and store.ledgers.read(path).startswith(raw):
        return None
    if source and source == store.known_source_id:
        _note_forged(store, ledger.parse(raw, source).judgements)
    grew = before is not None and blob_oid(raw[: before.size], hash_name(store.repository)) == before.mark
    start = before.size if grew and before else 0
    return Read(path, source, raw[start:], Known(len(raw), oid), before, not grew)


def _read_writer_names(store: Store, changed: Mapping[str, str | None]) -> None:
    """Read the names of writers whose files about themselves changed."""
    from engram.adapters.git.write import ledger_branch

    named = {source: oid for path, oid in changed.items() if (source := ledger.writer_of(path))}
    if named:
        contents = ledger_branch.contents(store.repository, [oid for oid in named.values() if oid])
        names = {source: ledger.person_name(contents[oid]) if oid else "" for source, oid in named.items()}
        store.judgements.name(names)


def _note_forged(store: Store, lines: Sequence[Judgement]) -> None:
    """Note lines that claim to be of this clone but are not in its private folder: here they count as nobody's."""
    own = set[str]()
    for path in _stamps(store):
        if ledger.source_of(path):
            own |= {line.id for line in ledger.parse(store.ledgers.read(path), store.source_id).judgements}
    forged = {line.id for line in lines} - own
    known = set(store.judgements.meta("forged").split())
    if not forged <= known:
        store.judgements.set_meta("forged", " ".join(sorted(forged | known)))


def _update_ignored(store: Store) -> None:
    """Mark the entries judged by newly ignored or no longer ignored sources as pending."""
    cache = store.judgements
    listed, known = ignored_sources(store), frozenset(cache.meta("ignored").split())
    if listed != known:
        cache.touch(listed ^ known)
        cache.set_meta("ignored", " ".join(sorted(listed)))


def ignored_sources(store: Store) -> frozenset[str]:
    """Return the sources that are ignored in this clone. Raises StoreError."""
    from engram.domain.judgements import erasure

    return erasure.parse((store.original or store).ledgers.read(ledger.IGNORED))


def branch_of(store: Store) -> str:
    """Return the name of the branch of judgements."""
    return store.settings.text("judgements.branch")


def branch_ref(store: Store) -> str:
    """Return the ref from which the judgements of others are read; "" if there is none."""
    return _branch(store)[0]


def _tip(store: Store) -> str:
    return _branch(store)[1]


def _branch(store: Store) -> tuple[str, str]:
    """Return the ref of the branch of judgements and its commit: the local branch, else that of origin."""
    repo = store.places.repository
    if repo is None:
        return "", ""
    from engram.adapters.git.run.layout import BRANCHES, read_ref

    name = branch_of(store)
    for ref in (BRANCHES + name, f"refs/remotes/origin/{name}"):
        with contextlib.suppress(GitError):
            if tip := read_ref(repo, ref):
                return ref, tip
    return "", ""


def _move_old_votes(store: Store) -> None:
    """Move this clone's votes of format 1 from the state database to the ledger."""
    if not os.path.exists(store.state.path):  # do not create one just to look
        return
    votes = store.state.own_votes()
    if votes:
        store.judged_mark = ""
        keep_accounts(store, [LegacyAccount(entry, store.source, vote) for entry, vote in votes.items()])
        store.state.forget_votes()


def with_tally(
    store: Store, lore: Lore, more: Sequence[LegacyAccount] = (), owners: Mapping[str, str] | None = None
) -> Lore:
    """Return the entry with the tally of its judgements today; if they cannot be read, that of its file alone.

    `more` are accounts of format 1 that are in no ledger yet; `owners` maps folded entries to the one they count for
    if it is ambiguous (None: as the index says).
    """
    today, counted = tallies.day_of(store.clock.now()), _counted_entries(store, lore, owners)
    lines = _judgements_of(store, counted)
    if not (lines.lines or lines.accounts or lore.votes or more):
        return with_decay_only(lore, today)
    accounts = [*lines.accounts, *more]
    home, belief = store.original or store, tallies.EVERYBODY
    words = ""  # digested only if needed: importing hashlib takes 2 ms
    if lines.lines:
        belief, words = trusted_judges.about(home, lore, counted), ledger.words_digest(lore)
    times = _corrected_times(home, lines.lines)
    found = tallies.tally(lore, lines.lines, accounts, today, words, belief, times)
    return lore._replace(tally=found, last_validated=found.last_validated)


def _counted_entries(store: Store, lore: Lore, owners: Mapping[str, str] | None) -> list[str]:
    """Return the ids of the entries whose judgements count for this one: its own, and those folded into it.

    A folded entry that exists again, or was also folded into an older one, does not count.
    """
    if not lore.merged_from:
        return [lore.id]
    if owners is None:
        generation = (store.original or store).index.look()
        owners = generation.owners if generation else {}
    return [lore.id, *[folded for folded in lore.merged_from if owners.get(folded, lore.id) == lore.id]]


def _corrected_times(home: Store, lines: Sequence[Judgement]) -> Mapping[str, int]:
    """Return the corrected times (Unix ms) of lines whose own time cannot be right, by line id."""
    if lines:
        with contextlib.suppress(EngramError, OSError, sqlite3.Error):
            found = home.judgements.times_of(sorted({line.entry for line in lines}))
            return {line_id: at for line_id, _, at in found}
    return {}


def reach(store: Store, day: int) -> None:
    """Note that this day (since 1970, UTC) has come: lines dated up to it need no corrected time. Raises StoreError."""
    from engram.usecases.store.judgement_times import last_id_of_day

    if store.judged_mark:
        store.judgements.drop_times(last_id_of_day(day))


def look(store: Store) -> None:
    """Refresh the ledgers, ignoring errors."""
    with contextlib.suppress(EngramError, OSError, sqlite3.Error):
        refresh(store.original or store)


def _judgements_of(store: Store, entries: Sequence[str]) -> EntryJudgements:
    home = store.original or store
    if home.judged_mark is None:
        look(home)
    with contextlib.suppress(EngramError, OSError, sqlite3.Error):
        if home.judged_mark:
            return home.judgements.of(entries)
    return EntryJudgements([], [])


def _stamps(store: Store) -> dict[str, Stamp]:
    source = store.known_source_id
    own = (f"{source[10:12]}/{source}",) if source else ()
    return store.ledgers.stamps((*own, ledger.LEGACY), (ledger.IGNORED,))


def _mark(store: Store, stamps: Mapping[str, Stamp], tip: str) -> str:
    own = ";".join([f"{path}:{size}:{inode}" for path, (size, inode) in sorted(stamps.items())])
    return f"{own}@{tip}{trusted_judges.signature_rule(store)}" if own or tip else ""


def own_account(store: Store, lore: Lore) -> Vote:
    """Return this clone's votes on an entry in format 1, from its file and the ledgers."""
    lines = _judgements_of(store, [lore.id])
    known = ledger.larger_accounts([*lines.accounts, *tallies.accounts_of(lore)]).get((lore.id, store.source))
    return known.vote if known else Vote()


def with_decay_only(lore: Lore, today: int) -> Lore:
    """Return an entry that nobody has judged with its tally on a day (since 1970, UTC)."""
    full, anchor = clamp(lore.prior), tallies.anchor_of(lore)
    lost = 0 if lore.pinned else decay(lore.type, full, min(anchor, today), today)
    accounts = {tallies.DECAY: Vote(0, lost, 0)} if lost else {}
    modest = min(full, DEFAULT_PRIOR)
    found = Tally(full - lost, full, anchor, 0, lore.last_validated, accounts, believed=full, modest=modest)
    return lore._replace(tally=found)


def own_lines(store: Store) -> list[Judgement]:
    """Return all lines of this clone, by id. Raises StoreError."""
    refresh(store)
    return store.judgements.of_source(store.source_id)


def latest(store: Store, limit: int, agent: str, since: float) -> list[Judgement]:
    """Return the latest judgements of all sources, newest first, by an agent ("": any) since a time (Unix seconds)."""
    if not refresh(store):
        return []
    return store.judgements.latest(limit, agent, ulid.encode(max(0, int(since * 1000)), 0))


def lines_of(store: Store, entries: Sequence[str]) -> list[Judgement]:
    """Return all lines about these entries, sorted by id."""
    return sorted(set(_judgements_of(store, entries).lines))


def history_of(store: Store, lore: Lore) -> Course:
    """Return the history of an entry's judgements."""
    lines = _judgements_of(store, _counted_entries(store, lore, None))
    return Course(lore, sorted(set(lines.lines)), lines.accounts)


def own_votes(store: Store) -> dict[str, Vote]:
    """Return the weight of this clone's judgements by entry, whatever other clones judged."""
    if not refresh(store):
        return {}
    found = {account.entry: account.vote for account in store.judgements.of_account(store.source)}
    for line in tallies.live(own_lines(store)):
        up, down, n = found.get(line.entry, Vote())
        if line.kind == HELPFUL:
            found[line.entry] = Vote(up + HELPFUL_GAIN, down, n + 1)
        elif line.kind == INCORRECT:
            found[line.entry] = Vote(up, down + INCORRECT_LOSS, n)
    return found


def plain_name(text: str) -> str:
    """Return the name of an agent as allowed in a ledger line: letters, digits and `.@+-`."""
    return " ".join(re.findall(r"[\w.@+-]+", text))[:_MAX_AGENT_LENGTH].strip()


def _last_id(store: Store, stamps: Mapping[str, Stamp]) -> str:
    """Return the id of this clone's last line; "" if it has none."""
    source, last = store.source_id, ""
    for path, stamp in stamps.items():
        if ledger.source_of(path) == source:
            found = ledger.parse(store.ledgers.last_line(path, stamp.size), source).judgements
            last = max(last, *(line.id for line in found)) if found else last
    return last


def moment_of(line: Judgement) -> datetime:
    """Return the time of a line by its writer's clock."""
    with contextlib.suppress(OverflowError, ValueError):
        return ulid.moment(line.id)
    return datetime.fromtimestamp(0, UTC)
