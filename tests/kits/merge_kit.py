"""Helpers for tests of merging: a call that merges, an entry with changed versions, and random versions of files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from codec_kit import ID, MODIFIED
from codec_kit import NOW as START
from codec_strategies import CATEGORIES, FIELDS, contents, files, lore, texts, words
from effort import examples
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from engram.adapters.files.frontmatter import codec, frontmatter, keys
from engram.adapters.files.merge.merge_file import merge_files
from engram.domain.entry.confidence import FULL, HELPFUL, HELPFUL_GAIN, INCORRECT_LOSS, Vote
from engram.domain.entry.lore import Lore
from engram.domain.errors import LoreFileError, ValidationError

if TYPE_CHECKING:
    from engram.adapters.files.merge.merge_readable import Merged

PATH = "lore/2026/11/21/x--01JD6TQ8XW9YV3N5K7P2M4R6ST.md"
NOW = datetime(2030, 1, 1, tzinfo=UTC)
quick = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(20, 200))


def merge(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> Merged:
    return merge_files(base, ours, theirs, PATH, CATEGORIES, NOW)


def read(raw: bytes) -> codec.LoreFile:
    return codec.read(raw, PATH, CATEGORIES, MODIFIED)


def readable(raw: bytes | None) -> codec.LoreFile | None:
    try:
        return None if raw is None else read(raw)
    except LoreFileError:
        return None


def foreign(raw: bytes) -> dict[str, object]:
    from engram.adapters.files.frontmatter.fields import KEYS

    entries = keys.load(frontmatter.decode(raw))[1]
    return {entry.key: entry.value for entry in entries if entry.key not in KEYS}


_STATEMENTS = st.sampled_from(
    [
        *("note: mine\n", "note: yours # why\n", "rank: [1, 2]\n", "rank: {a: b}\n", "aliases: other\n"),
        *("# a comment\n", "# another\n", "\n", "tags: [x, y] # mine\n", "tags: [y, z]\n", "pinned: yes\n"),
        *("title: |+\n  Mine\n\n", "title: >-\n  Yours\n  too\n", "agent: human\n", "status: archived\n"),
        *("votes: {AAAAAAAA: {up: 80, down: 0, n: 1}}\n", "importance: 0.25\n", "confidence: 0.4\n"),
    ]
)
_CHANGES = {
    "content": contents,
    "category": st.sampled_from(CATEGORIES.names),
    "status": st.sampled_from(["active", "archived", "superseded"]),
    "tags": words,
    "files": words,
    "context": st.lists(texts.filter(bool), max_size=3).map(tuple),
    "pinned": st.booleans(),
    "importance": st.none() | st.floats(0, 1),
    "prior": st.integers(0, 1000),
    "agent": texts,
}


# Created once, as creating a strategy costs ten times as much as a draw.
_CHANGED = st.sets(st.sampled_from([*_CHANGES, "whatever"]), max_size=4)
_WHATEVER = st.sets(st.sampled_from(sorted(FIELDS[False].keys() - {"id"})), max_size=5)
_WHO = st.sets(st.sampled_from(["AAAAAAAA", "BBBBBBBB", "first", "last"]), max_size=2)
_GROWN = st.builds(Vote, *[st.integers(0, 160)] * 3)


@st.composite
def changed_lore(draw: st.DrawFn, before: Lore) -> Lore:
    """Apply changes to an entry as Engram makes them: set fields, add votes, advance the time stamp."""
    return _changed_lore(draw, before)


def _changed_lore(draw: st.DrawFn, before: Lore) -> Lore:
    names = draw(_CHANGED)
    changes = {name: draw(_CHANGES[name]) for name in sorted(names - {"whatever"})}
    if "whatever" in names:
        changes |= {name: draw(FIELDS[False][name]) for name in sorted(draw(_WHATEVER))}
    votes = dict(before.votes)
    known = sorted(votes) or ["AAAAAAAA"]
    whose = {"first": known[0], "last": known[-1]}
    for clone in {whose.get(who, who) for who in draw(_WHO)}:
        votes[clone] = Vote(*map(sum, zip(votes.get(clone, Vote()), draw(_GROWN), strict=True)))
    after = before._replace(**{"votes": votes, **changes})
    source = after.source_id
    return after._replace(sources=() if after.sources == (source,) else after.sources)


def _changed_file(draw: st.DrawFn, raw: bytes) -> bytes:
    """Generate the file after Engram changed the entry, or a user the text."""
    for _ in range(draw(st.integers(1, 3))):
        raw = (_by_machine if draw(st.booleans()) else _by_hand)(draw, raw)
    return raw


def _by_machine(draw: st.DrawFn, raw: bytes) -> bytes:
    file = readable(raw)
    if file is None:
        return raw
    try:
        return codec.rewrite(file, _changed_lore(draw, file.lore), CATEGORIES)
    except ValidationError:
        return raw


_ACTION = st.sampled_from(["field", "field", "line", "delete", "ends", "last", "swap"])
_LINE = st.sampled_from(["a line", "another line", "", "  indented"])


def _by_hand(draw: st.DrawFn, raw: bytes) -> bytes:
    newline = "\r\n" if b"\r\n" in raw else "\n"
    lines = raw.decode(errors="surrogateescape").split("\n")
    at = draw(st.integers(0, len(lines)))
    action = draw(_ACTION)
    if action == "field":
        block = draw(_STATEMENTS).replace("\n", newline).split("\n")[:-1]
        lines[at:at] = block
    elif action == "line":
        lines[at:at] = [draw(_LINE)]
    elif action == "delete":
        del lines[at : at + 1]
    elif action == "ends":
        text = "\n".join(lines).replace("\r\n", "\n")
        lines = (text if newline == "\r\n" else text.replace("\n", "\r\n")).split("\n")
    elif action == "last":
        lines = "\n".join(lines).rstrip().split("\n")
    elif len(lines) > at + 1:
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return "\n".join(lines).encode(errors="surrogateescape")


@st.composite
def written(draw: st.DrawFn) -> bytes:
    """Generate a file written by Engram."""
    return codec.write_new(draw(lore()), CATEGORIES)


originals = st.one_of(written(), files())


@st.composite
def triples(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """Generate a file and two changed versions of it."""
    base = draw(originals)
    return base, _changed_file(draw, base), _changed_file(draw, base)


_OTHERS = st.one_of(st.none(), originals, st.binary(max_size=40), st.just(b"<<<<<<< a\nx\n>>>>>>> b\n"))


@st.composite
def anything(draw: st.DrawFn) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Generate any three versions, also absent, damaged or unrelated ones."""
    base, ours, theirs = draw(triples())
    found = [draw(_OTHERS) if draw(st.integers(0, 4)) == 0 else version for version in (base, ours, theirs)]
    return found[0], found[1], found[2]


TEXT = "# Redelivery\n\nThe broker sends again.\n\nConsumers must be idempotent."
LORE = Lore(ID, TEXT, "FACT", START, START, tags=("queue", "acks"), agent="claude-code")
BASE = codec.write_new(LORE, CATEGORIES)
SOON, LATER = START + timedelta(hours=1), START + timedelta(hours=2)


def with_changes(raw: bytes, **changes: Any) -> bytes:
    file = read(raw)
    return codec.rewrite(file, file.lore._replace(**changes), CATEGORIES)


def judge(vote: Vote, confidence: int, kind: str) -> Vote:
    """Return a clone's vote of format 1 after another judgement at this confidence (thousandths)."""
    if kind == HELPFUL:
        return Vote(vote.up + min(HELPFUL_GAIN, FULL - confidence), vote.down, vote.n + 1)
    return Vote(vote.up, vote.down + min(INCORRECT_LOSS, confidence), vote.n)


def judged(raw: bytes, clone: str, kind: str) -> bytes:
    lore = read(raw).lore
    votes = {**lore.votes, clone: judge(lore.votes.get(clone, Vote()), lore.thousandths, kind)}
    validated = {"last_validated": SOON} if kind == HELPFUL else {}
    return with_changes(raw, votes=votes, updated_at=SOON, **validated)


def merged(ours: bytes, theirs: bytes, base: bytes | None = BASE) -> tuple[Lore, Merged]:
    done = merge(base, ours, theirs)
    assert done == merge(base, theirs, ours)
    assert done.content is not None
    return read(done.content).lore, done


def both(ours: dict[str, Any], theirs: dict[str, Any], base: bytes = BASE) -> tuple[Lore, Merged]:
    return merged(with_changes(base, **ours), with_changes(base, **theirs), base)
