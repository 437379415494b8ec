"""What the tests of merging share: one call to merge, and versions of files as machines and people leave them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from codec_kit import MODIFIED
from codec_strategies import CATEGORIES, contents, files, lore, texts, words
from effort import examples
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from engram.adapters.files import codec, frontmatter
from engram.adapters.files.merge_file import Merged, merge_files
from engram.domain.confidence import Vote
from engram.domain.errors import LoreFileError, ValidationError

if TYPE_CHECKING:
    from engram.domain.lore import Lore

PATH = "lore/2026/11/21/x--01JD6TQ8XW9YV3N5K7P2M4R6ST.md"
NOW = datetime(2030, 1, 1, tzinfo=UTC)
quick = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(30, 200))


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
    from engram.adapters.files.fields import KEYS

    entries = frontmatter.load(frontmatter.decode(raw))[1]
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


@st.composite
def changed_lore(draw: st.DrawFn, before: Lore) -> Lore:
    """The lore after changes that a machine makes: fields set, votes grown, the stamp moved."""
    names = draw(st.sets(st.sampled_from([*_CHANGES, "whatever"]), max_size=4))
    changes = {name: draw(_CHANGES[name]) for name in sorted(names - {"whatever"})}
    if "whatever" in names:
        other = draw(lore())._asdict()
        fields = draw(st.sets(st.sampled_from([name for name in other if name != "id"]), max_size=5))
        changes |= {name: other[name] for name in sorted(fields)}
    votes = dict(before.votes)
    for clone in draw(st.sets(st.sampled_from(["AAAAAAAA", "BBBBBBBB", *votes]), max_size=2)):
        grown = Vote(*[draw(st.integers(0, 160)) for _ in range(3)])
        votes[clone] = Vote(*map(sum, zip(votes.get(clone, Vote()), grown, strict=True)))
    after = before._replace(**{"votes": votes, **changes})
    source = after.source_id
    return after._replace(sources=() if after.sources == (source,) else after.sources)


@st.composite
def changed_file(draw: st.DrawFn, raw: bytes) -> bytes:
    """The file after a machine changed the lore in it, or a person the text of it."""
    for _ in range(draw(st.integers(1, 3))):
        raw = draw(st.one_of(_by_machine(raw), _by_hand(raw)))
    return raw


@st.composite
def _by_machine(draw: st.DrawFn, raw: bytes) -> bytes:
    file = readable(raw)
    if file is None:
        return raw
    try:
        return codec.rewrite(file, draw(changed_lore(file.lore)), CATEGORIES)
    except ValidationError:
        return raw


@st.composite
def _by_hand(draw: st.DrawFn, raw: bytes) -> bytes:
    newline = "\r\n" if b"\r\n" in raw else "\n"
    lines = raw.decode(errors="surrogateescape").split("\n")
    at = draw(st.integers(0, len(lines)))
    action = draw(st.sampled_from(["field", "field", "line", "delete", "ends", "last", "swap"]))
    if action == "field":
        block = draw(_STATEMENTS).replace("\n", newline).split("\n")[:-1]
        lines[at:at] = block
    elif action == "line":
        lines[at:at] = [draw(st.sampled_from(["a line", "another line", "", "  indented"]))]
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
    """A file that Engram wrote."""
    return codec.write_new(draw(lore()), CATEGORIES)


originals = st.one_of(written(), files())


@st.composite
def triples(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """A file and two changed versions of it."""
    base = draw(originals)
    return base, draw(changed_file(base)), draw(changed_file(base))


@st.composite
def anything(draw: st.DrawFn) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Any three versions: absent, damaged, unrelated."""
    base, ours, theirs = draw(triples())
    others = st.one_of(st.none(), originals, st.binary(max_size=40), st.just(b"<<<<<<< a\nx\n>>>>>>> b\n"))
    found = [draw(others) if draw(st.integers(0, 4)) == 0 else version for version in (base, ours, theirs)]
    return found[0], found[1], found[2]
