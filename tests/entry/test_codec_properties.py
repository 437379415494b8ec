"""Properties of the codec that hold for every entry and every file."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import yaml
from codec_strategies import CATEGORIES, NASTY, as_stored, blocks, contents, files, lore, texts
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from engram.adapters.files.frontmatter import codec, keys
from engram.adapters.files.frontmatter.fields import KEYS
from engram.adapters.files.frontmatter.frontmatter import Problem, scalar
from engram.domain.entry.lore import Lore
from engram.domain.errors import LoreFileError

MODIFIED = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
quick = settings(deadline=None, suppress_health_check=list(HealthCheck))


def read(raw: bytes) -> codec.LoreFile:
    return codec.read(raw, "lore/x.md", CATEGORIES, MODIFIED)


@quick
@given(lore())
def test_a_written_entry_is_read_back_unchanged(given_lore: Lore) -> None:
    file = read(codec.write_new(given_lore, CATEGORIES))
    assert file.lore == given_lore
    assert file.adopted


@quick
@given(lore())
def test_rewriting_a_written_entry_changes_nothing(given_lore: Lore) -> None:
    raw = codec.write_new(given_lore, CATEGORIES)
    assert codec.write_new(read(raw).lore, CATEGORIES) == raw


@quick
@given(lore(), lore())
def test_a_canonical_file_edited_into_another_entry_is_that_entrys_canonical_file(
    one: Lore, other: Lore
) -> None:
    edited = codec.rewrite(read(codec.write_new(one, CATEGORIES)), other, CATEGORIES)
    assert read(edited).lore == other
    rest = edited.split(b"\n")
    for line in codec.write_new(other, CATEGORIES).split(b"\n"):
        rest = rest[: rest.index(line)] + rest[rest.index(line) + 1 :]
    # A value that is still right stays, even where it has become the default.
    assert all(line.startswith((b"type: ", b"confidence: ", b"updated_at: ")) for line in rest)


@quick
@given(files())
def test_rewriting_an_unchanged_entry_changes_no_byte(raw: bytes) -> None:
    try:
        file = read(raw)
    except LoreFileError:
        assume(False)
    assert codec.rewrite(file, file.lore, CATEGORIES) == raw


@quick
@given(files(), lore(), st.sets(st.sampled_from(Lore._fields)))
def test_an_edit_writes_the_new_entry_and_keeps_everything_else(
    raw: bytes, other: Lore, changed: set[str]
) -> None:
    try:
        file = read(raw)
    except LoreFileError:
        assume(False)
    wanted = file.lore._replace(
        **{name: getattr(other, name) for name in changed | ({"id"} - {file.adopted and "id"})}
    )
    wanted = as_stored(
        wanted._replace(sources=() if wanted.sources == (wanted.source_id,) else wanted.sources)
    )
    edited = codec.rewrite(file, wanted, CATEGORIES)
    assert read(edited).lore == wanted
    before, after = keys.load(raw.decode()), keys.load(edited.decode())
    assert foreign(before[1]) == foreign(after[1])
    assert before[0].bom == after[0].bom
    if wanted.content == file.lore.content:
        assert edited.endswith(before[0].body.encode())
    if b"\r\n" in raw.split(b"\n")[0] + b"\n":
        assert b"\n" not in after[0].block.encode().replace(b"\r\n", b"")


def foreign(entries: list) -> list:
    return [(entry.key, entry.value) for entry in entries if entry.key not in KEYS]


@quick
@given(st.one_of(texts, contents))
def test_a_scalar_comes_back_from_every_kind_of_yaml_reader(text: str) -> None:
    for flow, document in (
        (False, f"k: {scalar(text)}\n"),
        (True, f"k: [{scalar(text, True)}]\n"),
    ):
        for loader in (yaml.BaseLoader, yaml.SafeLoader, yaml.CBaseLoader, yaml.CSafeLoader):
            found = yaml.load(document, Loader=loader)["k"]
            assert found == ([text] if flow else text)


@pytest.mark.parametrize("text", NASTY)
def test_a_nasty_string_is_kept_in_every_text_field(text: str) -> None:
    given_lore = Lore(
        "01JD6TQ8XW9YV3N5K7P2M4R6ST", "x", "FACT", MODIFIED, MODIFIED, context=(text, text), agent=text
    )
    assert read(codec.write_new(given_lore, CATEGORIES)).lore == given_lore


@quick
@given(st.one_of(st.binary(max_size=60), blocks.map(lambda block: f"---\n{block}---\nx".encode())))
def test_any_bytes_are_an_entry_or_a_lore_file_error(raw: bytes) -> None:
    try:
        found = read(raw)
    except LoreFileError:
        return
    assert codec.rewrite(found, found.lore, CATEGORIES) == raw


@example("alpha:\n  - a\n  - ?\nbeta: a\n")
@quick
@given(blocks)
def test_the_yaml_parser_returns_entries_or_raises_a_problem(block: str) -> None:
    try:
        entries = keys.parse(block) or []
    except Problem:
        return
    covered = [line for entry in entries for line in range(entry.start, entry.end)]
    assert covered == sorted(set(covered))
