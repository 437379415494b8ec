"""This clone's ledger and those of others: judge, take back, and what everything said of an entry adds up to."""

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
from engram.domain.judgements.ledger import CONFIRMED, RETRACTED, SAME, Judgement, LegacyAccount, Said
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import trusted_judges

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from engram.adapters.files.durable.ledger_folder import Stamp
    from engram.adapters.state.judgement_cache import Known, Read
    from engram.usecases.store.store import Store

_OWN = "own:"  # before the path of a file in the state folder, in the cache
_LONGEST_AGENT = 40
_ATTEMPTS = 10  # to read ledgers beside other processes that do
_BYTES_AT_ONCE = 256 * 1024 * 1024  # of ledgers that are written to the cache together


def judge(store: Store, judged: Sequence[tuple[Lore, str]]) -> list[Judgement]:
    """Append a line for each entry and kind of judgement; they are on disk when this returns. Raises StoreError."""
    agent, client = plain_name(store.caller.agent), store.caller.client
    drafts = [
        Judgement("", lore.id, kind, text=ledger.words_digest(lore), agent=agent, client=client)
        for lore, kind in judged
    ]
    return append(store, drafts)


def confirm(store: Store, lore: Lore, agent: str = "", *, once: bool = False) -> bool:
    """Append that somebody here says the same as an entry, and return True; only once per author and day, else False.

    Its author said it on the day it was recorded. `agent` is who says it now (default: the caller). With `once` it counts
    only if nobody here has said it before, on whatever day. Raises StoreError.
    """
    agent = agent or store.caller.agent
    agent = "" if agent == HUMAN else plain_name(agent)
    today = tallies.day_of(store.clock.now())
    said = {
        (line.source, line.agent, tallies.day_of(moment_of(line)))
        for line in tallies.live(_judgements_of(store, [lore.id]).lines)
        if line.kind in (CONFIRMED, SAME)
    }
    author = "" if lore.agent == HUMAN else plain_name(lore.agent)
    said.add((lore.source_id, author, tallies.day_of(lore.created_at)))
    if (store.source_id, agent, today) in said or (
        once and store.source_id in {source for source, _, _ in said}
    ):
        return False
    append(store, [Judgement("", lore.id, CONFIRMED, text=ledger.words_digest(lore), agent=agent)])
    return True


def confirm_for(store: Store, lore: Lore, client: str) -> bool:
    """Append that a client of a server says the same as an entry, and return True; only once for each, else False.

    Raises StoreError.
    """
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
    """Confirm the entries of others that took in one of this clone: nobody else speaks for it. Raises StoreError.

    What format 1 gained by it counts already.
    """
    own, drafts = store.source_id, []
    for lore in entries:
        if own == lore.source_id or own not in lore.sources:
            continue
        lines = _judgements_of(store, [lore.id])
        known = any(line.source == own and line.kind == CONFIRMED for line in lines.lines)
        if not known and not any(one.account.startswith(tallies.MERGED) for one in lines.accounts):
            folded = lore.merged_from[-1] if lore.merged_from else ""
            drafts.append(Judgement("", lore.id, CONFIRMED, folded, ledger.words_digest(lore)))
    append(store, drafts)


def follow_fold(store: Store, entries: Collection[str], *, is_undone: bool) -> None:
    """Take back what this clone said by a fold that is undone, or say it again. Raises StoreError."""
    own = [line for line in lines_of(store, sorted(entries)) if line.source == store.source_id]
    counted = {line.id for line in tallies.live(own)}
    lines = [line for line in own if line.kind in (CONFIRMED, SAME) and line.of in entries]
    again = {line.of: line for line in own if line.kind == RETRACTED and line.id in counted}
    if is_undone:
        take_back(store, [(line.id, line.entry) for line in lines if line.id in counted])
    else:
        take_back(store, [(again[line.id].id, line.entry) for line in lines if line.id in again])


def take_back(store: Store, lines: Iterable[tuple[str, str]]) -> list[Judgement]:
    """Append a line that takes back each of these lines (id, entry) of this clone. Raises StoreError."""
    agent = plain_name(store.caller.agent)
    return append(store, [Judgement("", entry, RETRACTED, line_id, agent=agent) for line_id, entry in lines])


def append(store: Store, drafts: Sequence[Judgement]) -> list[Judgement]:
    """Give these lines ids that are later than all before, and write them. Raises StoreError.

    The ids are consecutive, so that lines appended together can be retracted together.
    """
    made: list[Judgement] = []

    def make() -> dict[str, bytes]:
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
            made.append(line)
        return found

    if drafts:
        store.ledgers.append(make)
        refresh_if_possible(store)
    deed, by_themselves = store.deed, {line.id for line in made if not line.of}
    if deed is not None and by_themselves:
        scope = store.places.scope
        deed.operations[scope] = deed.operations.get(scope, 0) + len(by_themselves)
        deed.judgements.update(by_themselves)
        store.deeds_of_lines |= dict.fromkeys(by_themselves, deed.name)
    return made


def deeds_of(lines: Iterable[Judgement]) -> dict[str, str]:
    """Return for each of these lines of one clone, by id, the first of those that were said together with it."""
    found: dict[str, str] = {}
    last = ""
    for line in lines:
        found[line.id] = found[last] if last and line.id == ulid.later("", last) else line.id
        last = line.id
    return found


def keep_accounts(store: Store, accounts: Iterable[LegacyAccount]) -> None:
    """Write down what a file of format 1 holds, unless the ledgers have it already. Raises StoreError."""
    wanted = ledger.larger_accounts(accounts)
    if not wanted:
        return
    known = ledger.larger_accounts(store.judgements.of(sorted({entry for entry, _ in wanted})).accounts)
    new = [
        one
        for key, one in wanted.items()
        if key not in known or ledger.larger_of(known[key], one) != known[key]
    ]
    lines: dict[str, bytes] = {}
    for one in new:
        path = ledger.legacy_path(store.source, one.entry)
        lines[path] = lines.get(path, b"") + ledger.render_account(one)
    if lines:
        store.ledgers.append(lambda: lines)
        refresh_if_possible(store)


def mark(store: Store) -> str:
    """Return a mark that differs whenever there is more in a ledger; "" where nothing was ever judged."""
    home = store.original or store
    return _mark(home, _stamps(home), _tip(home))


def refresh(store: Store) -> str:
    """Read what the ledgers grew by, and return their mark. Raises StoreError, GitError."""
    if store.judged_mark is None:
        _keep_remembered(store)
    mark = _mark(store, _stamps(store), _tip(store))
    if mark != store.judged_mark:
        store.belief = None
    if not mark or mark == store.judged_mark or store.judgements.meta("mark") == mark:
        store.judged_mark = mark
        return mark
    from engram.adapters.state.judgement_cache import OvertakenError

    for _ in range(_ATTEMPTS):
        with contextlib.suppress(OvertakenError):  # another process has read more meanwhile: go on from there
            return _read_ledgers(store)
    return store.judged_mark or ""


def _read_ledgers(store: Store) -> str:
    """Read what the cache lacks, and return the mark of what it then has."""
    from engram.adapters.state.judgement_cache import Known, Read

    stamps, tip = _stamps(store), _tip(store)
    mark = _mark(store, stamps, tip)
    cache = store.judgements
    known = cache.known()
    if tip and cache.meta("tip") != tip:
        _read_branch(store, known, tip)
        known = cache.known()  # without what a longer list of erased lines made it forget
    elif not tip:  # the branch was deleted
        cache.forget([path for path in known if not path.startswith(_OWN)])
        cache.set_meta("tip", "")
    _read_ignored(store)
    erased = frozenset(cache.meta("erased").split())
    for path, stamp in sorted(stamps.items()):
        source = ledger.source_of(path)
        before = known.get(_OWN + path)
        if source is None or before == (stamp.size, str(stamp.inode)):
            continue
        grew = before is not None and before.mark == str(stamp.inode) and before.size < stamp.size
        start = before.size if grew and before else 0
        raw = store.ledgers.read(path, start)
        whole_lines = raw[: raw.rfind(b"\n") + 1]  # another process may be writing the last one
        after = Known(start + len(whole_lines), str(stamp.inode))
        cache.add([Read(_OWN + path, source, whole_lines, after, before, not grew)], erased)
    gone = [path for path in known if path.startswith(_OWN) and path.removeprefix(_OWN) not in stamps]
    cache.forget(gone)
    if tip and (rule := trusted_judges.signature_rule(store)):
        from engram.usecases.store.judgement_signers import note_signers

        note_signers(store, tip, rule)
    cache.set_meta("mark", mark)
    store.judged_mark = mark
    return mark


def refresh_if_possible(store: Store, known: str = "") -> str:
    """Do as `refresh`; return `known` where the cache cannot be used now: the lines are safe, and are read next time."""
    try:
        return refresh(store)
    except (EngramError, sqlite3.Error):
        return known


def _read_branch(store: Store, known: Mapping[str, Known], tip: str) -> None:
    """Read what the branch of judgements has gained or lost since it was last read."""
    from engram.adapters.git.read.blob_stream import stream
    from engram.adapters.git.read.differences import sizes
    from engram.adapters.git.write import ledger_branch
    from engram.domain.judgements import erasure
    from engram.usecases.store.gc_pause import no_collections
    from engram.usecases.store.judgement_times import note_times

    repo, cache = store.repository, store.judgements
    try:
        changed, is_known = ledger_branch.changed_blobs(repo, cache.meta("tip") or None, tip), True
    except GitError:  # the commit read last is gone: the branch was replaced
        changed, is_known = ledger_branch.changed_blobs(repo, None, tip), False
        cache.forget([path for path in known if not path.startswith(_OWN) and path not in changed])
    if ledger.ERASED in changed:
        oid = changed[ledger.ERASED]
        raw = ledger_branch.contents(repo, [oid])[oid] if oid else b""
        cache.set_meta("erased", " ".join(sorted(erasure.parse(raw))))
        cache.forget(known)  # what is erased may be in any of them
        known, changed = {}, ledger_branch.changed_blobs(repo, None, tip)
    _read_names(store, changed)
    ledgers = {path: oid for path, oid in sorted(changed.items()) if ledger.source_of(path) is not None}
    cache.forget([path for path, oid in ledgers.items() if oid is None])
    there = {path: oid for path, oid in ledgers.items() if oid}
    erased = frozenset(cache.meta("erased").split())
    with no_collections():
        for some in _in_portions(sizes(repo, there.values()), there):
            reads = (
                read
                for path, raw in zip(some, stream(repo, list(some.values())), strict=True)
                if (read := _read_growth(store, path, there[path], raw, known.get(path))) is not None
            )
            cache.add(reads, erased)
    note_times(store, cache.meta("tip") if is_known else "", tip, there)
    cache.set_meta("tip", tip)


def _in_portions(sizes: Mapping[str, int], there: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield these files (path: blob id) some at a time: each part is written at once, and is in memory until then."""
    some, size = dict[str, str](), 0
    for path, oid in there.items():
        size += sizes.get(oid, 0)
        if some and size > _BYTES_AT_ONCE:
            yield some
            some, size = {}, sizes.get(oid, 0)
        some[path] = oid
    if some:
        yield some


def _read_growth(store: Store, path: str, oid: str, raw: bytes, before: Known | None) -> Read | None:
    """Return what a file of the branch grew by, or all of it; None where the private folder has it all."""
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


def _read_names(store: Store, changed: Mapping[str, str | None]) -> None:
    """Read who the writers are whose files about that changed."""
    from engram.adapters.git.write import ledger_branch

    named = {source: oid for path, oid in changed.items() if (source := ledger.writer_of(path))}
    if named:
        contents = ledger_branch.contents(store.repository, [oid for oid in named.values() if oid])
        names = {source: ledger.person_name(contents[oid]) if oid else "" for source, oid in named.items()}
        store.judgements.name(names)


def _note_forged(store: Store, lines: Sequence[Judgement]) -> None:
    """Note which lines claim to be of this clone without being in its private folder: they count as nobody's here."""
    own = set[str]()
    for path in _stamps(store):
        if ledger.source_of(path):
            own |= {line.id for line in ledger.parse(store.ledgers.read(path), store.source_id).judgements}
    forged = {line.id for line in lines} - own
    known = set(store.judgements.meta("forged").split())
    if not forged <= known:
        store.judgements.set_meta("forged", " ".join(sorted(forged | known)))


def _read_ignored(store: Store) -> None:
    """Make the entries pending of which a source spoke that is ignored now, or was until now."""
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
    """Return the ref that the judgements of others are read from; "" where there is none."""
    return _branch(store)[0]


def _tip(store: Store) -> str:
    return _branch(store)[1]


def _branch(store: Store) -> tuple[str, str]:
    """Return the ref of the branch of judgements and its commit: of origin's, until there is one here."""
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


def _keep_remembered(store: Store) -> None:
    """Move what the state database remembers of this clone's votes, as versions of format 1 wrote them, to the ledger."""
    if not os.path.exists(store.state.path):  # to look is no reason to make one
        return
    votes = store.state.own_votes()
    if votes:
        store.judged_mark = ""
        keep_accounts(store, [LegacyAccount(entry, store.source, vote) for entry, vote in votes.items()])
        store.state.forget_votes()


def with_tally(
    store: Store, lore: Lore, more: Sequence[LegacyAccount] = (), owners: Mapping[str, str] | None = None
) -> Lore:
    """Return the entry with what judgements make of it today; as its file says where they cannot be read.

    `more` are accounts of format 1 that are in no ledger yet; `owners` say for whom those of folded entries count where
    that is not plain (None: the index is asked).
    """
    today, parts = tallies.day_of(store.clock.now()), _parts(store, lore, owners)
    lines = _judgements_of(store, parts)
    if not (lines.lines or lines.accounts or lore.votes or more):
        return with_decay_only(lore, today)
    accounts = [*lines.accounts, *more]
    whom = trusted_judges.about(store.original or store, lore, parts) if lines.lines else tallies.EVERYBODY
    words = ledger.words_digest(lore) if lines.lines else ""  # hashlib takes 2 ms of start-up
    times = _times(store.original or store, lines.lines)
    found = tallies.tally(lore, lines.lines, accounts, today, words, whom, times)
    return lore._replace(tally=found, last_validated=found.last_validated)


def _parts(store: Store, lore: Lore, owners: Mapping[str, str] | None) -> list[str]:
    """Return the entries whose judgements count for one: its own, and those that it took in.

    Not those of one that exists again, nor of one that an older entry took in as well.
    """
    if not lore.merged_from:
        return [lore.id]
    if owners is None:
        generation = (store.original or store).index.look()
        owners = generation.owners if generation else {}
    return [lore.id, *[one for one in lore.merged_from if owners.get(one, lore.id) == lore.id]]


def _times(home: Store, lines: Sequence[Judgement]) -> Mapping[str, int]:
    """Return when lines came whose own time cannot be right (Unix ms), by their ids, as far as that is known."""
    if lines:
        with contextlib.suppress(EngramError, OSError, sqlite3.Error):
            found = home.judgements.times_of(sorted({line.entry for line in lines}))
            return {line_id: at for line_id, _, at in found}
    return {}


def reach(store: Store, day: int) -> None:
    """Note that it is this day (since 1970, UTC): lines whose time has come count as of that. Raises StoreError."""
    from engram.usecases.store.judgement_times import last_of

    if store.judged_mark:
        store.judgements.drop_times(last_of(day))


def look(store: Store) -> None:
    """Read what others said meanwhile, as far as it can be read."""
    with contextlib.suppress(EngramError, OSError, sqlite3.Error):
        refresh(store.original or store)


def _judgements_of(store: Store, entries: Sequence[str]) -> Said:
    home = store.original or store
    if home.judged_mark is None:
        look(home)
    with contextlib.suppress(EngramError, OSError, sqlite3.Error):
        if home.judged_mark:
            return home.judgements.of(entries)
    return Said([], [])


def _stamps(store: Store) -> dict[str, Stamp]:
    source = store.known_source_id
    own = (f"{source[10:12]}/{source}",) if source else ()
    return store.ledgers.stamps((*own, ledger.LEGACY), (ledger.IGNORED,))


def _mark(store: Store, stamps: Mapping[str, Stamp], tip: str) -> str:
    own = ";".join([f"{path}:{size}:{inode}" for path, (size, inode) in sorted(stamps.items())])
    return f"{own}@{tip}{trusted_judges.signature_rule(store)}" if own or tip else ""


def own_account(store: Store, lore: Lore) -> Vote:
    """Return what this clone voted in format 1: in the file of an entry, and as far as the ledgers know."""
    lines = _judgements_of(store, [lore.id])
    known = ledger.larger_accounts([*lines.accounts, *tallies.accounts_of(lore)]).get((lore.id, store.source))
    return known.vote if known else Vote()


def with_decay_only(lore: Lore, today: int) -> Lore:
    """Return an entry that nobody has judged with what it counts as on a day (since 1970, UTC)."""
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
    """Return the last judgements of all sources, newest first; of an agent (""; any), since a time (Unix seconds)."""
    if not refresh(store):
        return []
    return store.judgements.latest(limit, agent, ulid.encode(max(0, int(since * 1000)), 0))


def lines_of(store: Store, entries: Sequence[str]) -> list[Judgement]:
    """Return all that was said of these entries, by id."""
    return sorted(set(_judgements_of(store, entries).lines))


def course_of(store: Store, lore: Lore) -> Course:
    """Return the course of an entry's judgements."""
    lines = _judgements_of(store, _parts(store, lore, None))
    return Course(lore, sorted(set(lines.lines)), lines.accounts)


def own_votes(store: Store) -> dict[str, Vote]:
    """Return what this clone's judgements weigh, by entry, whatever others said before or after."""
    found: dict[str, Vote] = {}
    if not refresh(store):
        return found
    said = store.judgements.of_account(store.source)
    for one in said:
        found[one.entry] = one.vote
    for line in tallies.live(own_lines(store)):
        up, down, n = found.get(line.entry, Vote())
        if line.kind == HELPFUL:
            found[line.entry] = Vote(up + HELPFUL_GAIN, down, n + 1)
        elif line.kind == INCORRECT:
            found[line.entry] = Vote(up, down + INCORRECT_LOSS, n)
    return found


def plain_name(text: str) -> str:
    """Return the name of an agent as a line may have it: letters, digits and `.@+-`."""
    return " ".join(re.findall(r"[\w.@+-]+", text))[:_LONGEST_AGENT].strip()


def _last_id(store: Store, stamps: Mapping[str, Stamp]) -> str:
    """Return the id of this clone's last line, "" before the first."""
    source, last = store.source_id, ""
    for path, stamp in stamps.items():
        if ledger.source_of(path) == source:
            found = ledger.parse(store.ledgers.last_line(path, stamp.size), source).judgements
            last = max(last, *(one.id for one in found)) if found else last
    return last


def moment_of(line: Judgement) -> datetime:
    """Return the time of a line by its writer's clock."""
    with contextlib.suppress(OverflowError, ValueError):
        return ulid.moment(line.id)
    return datetime.fromtimestamp(0, UTC)
