"""The fast path of a merge gives the same result as the slow one, and covers files that Engram writes."""

from __future__ import annotations

from codec_strategies import CATEGORIES, lore
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from merge_kit import NOW, PATH, changed_lore, quick

from engram.adapters.files.frontmatter import codec
from engram.adapters.files.merge.merge_canonical import merge_canonical
from engram.adapters.files.merge.merge_file import merge_files
from engram.adapters.files.merge.merge_readable import Job, Merged, merge_pair, pair_up, read_side
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import Lore
from engram.domain.errors import ValidationError
from engram.domain.merge.merge import Edit

JOB = Job(PATH, CATEGORIES, NOW)
EDITS = (Edit("AAAAAAAA"), Edit("BBBBBBBB"))
Triple = tuple[bytes, bytes, bytes]


@st.composite
def machine_made(draw: st.DrawFn) -> Triple:
    """A file and two versions of it, each written anew by Engram."""
    before = draw(lore(usual=draw(st.booleans())))
    found = []
    for changed in (before, draw(changed_lore(before)), draw(changed_lore(before))):
        try:
            found.append(codec.write_new(changed, CATEGORIES))
        except ValidationError:
            found.append(codec.write_new(before, CATEGORIES))
    return found[0], found[1], found[2]


def by_the_long_way(triple: Triple) -> Merged | None:
    sides = [read_side(raw, JOB, edit) for raw, edit in zip(triple, (Edit(), *EDITS), strict=True)]
    base, one, other = sides
    assert base
    assert one
    assert other
    pair = pair_up(base, one, other, NOW)
    assert pair
    return merge_pair(pair, JOB)


@settings(quick, max_examples=examples(40, 1500))
@given(machine_made())
def test_the_fast_path_gives_the_bytes_and_losses_of_the_slow_one(triple: Triple) -> None:
    if len(set(triple)) == 3:
        short = merge_canonical(*triple, EDITS, JOB)
        assert short is None or short == by_the_long_way(triple)


def test_canonical_files_take_the_fast_path() -> None:
    before = Lore("01JD6TQ8XW9YV3N5K7P2M4R6ST", "One.\n\nTwo.", "FACT", NOW, NOW, type="semantic")
    ours = before._replace(content="One, seen again.\n\nTwo.", votes={"AAAAAAAA": Vote(80, 0, 1)})
    theirs = before._replace(content="One.\n\nTwo.\n\nThree.", votes={"BBBBBBBB": Vote(80, 0, 1)})
    raws = [codec.write_new(found, CATEGORIES) for found in (before, ours, theirs)]
    short = merge_canonical(raws[0], raws[1], raws[2], EDITS, JOB)
    assert short is not None
    merged = codec.read_canonical(short.content.decode(), CATEGORIES)
    assert merged is not None
    assert merged.content == "One, seen again.\n\nTwo.\n\nThree."
    assert (merged.validation_count, merged.thousandths) == (2, 860)
    assert merge_files(*raws, PATH, CATEGORIES, NOW, EDITS) == short


def test_a_file_with_a_comment_or_an_unknown_key_takes_the_slow_path() -> None:
    lore = Lore("01JD6TQ8XW9YV3N5K7P2M4R6ST", "One.", "FACT", NOW, NOW, type="semantic")
    raw = codec.write_new(lore, CATEGORIES)
    for line in (b"# mine\n", b"note: mine\n"):
        changed = raw.replace(b"category:", line + b"category:")
        assert merge_canonical(raw, changed, raw, EDITS, JOB) is None
