"""Refusals of invalid files: always LoreFileError, with path, line, reason and hint."""

from __future__ import annotations

from pathlib import Path

import pytest
from codec_kit import CATEGORIES, ID, MODIFIED, PLAIN, read, read_refused, with_fields

from engram.adapters.files.frontmatter import codec
from engram.domain.entry.categories import Categories
from engram.domain.errors import LoreFileError, ValidationError

CORPUS = sorted((Path(__file__).parents[1] / "data/corpus" / "lore").glob("*.md"))
READABLE = {"rules-around-prose", "unclosed-foreign", "tab-after-colon", "old-mac", "only-opening"}


class TestRefusals:
    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ("confidence: high", "lore/x.md:4: confidence must be a number from 0.00 to 1.00, not 'high'"),
            ("confidence: 1.2", "lore/x.md:4: confidence must be a number from 0.00 to 1.00, not '1.2'"),
            ("confidence: [1]", "lore/x.md:4: confidence must be a number from 0.00 to 1.00, not a list"),
            ("tags: [a]\nprior: {}", "lore/x.md:5: prior must be a number like 0.70, not a mapping"),
            ("pinned: perhaps", "lore/x.md:4: pinned must be true or false, not 'perhaps'"),
            (
                "created_at: soon",
                "lore/x.md:4: created_at must be a time like 2026-11-21T09:30:00Z, not 'soon'",
            ),
            ("importance: nan", "lore/x.md:4: importance must be a number from 0 to 1, not 'nan'"),
            ("type: x", "lore/x.md:4: type must be one of episodic, semantic, procedural, working, not 'x'"),
            (
                "tags: [a, [b]]",
                "lore/x.md:4: tags must be a list of texts without lists or mappings inside, not a list",
            ),
            (
                "votes: {A: {up: -1}}",
                "lore/x.md:4: votes must be made of whole numbers from 0, not a mapping",
            ),
            (
                "merged_from: [x]",
                "lore/x.md:4: 'x' in merged_from is not an entry id (a ULID of 26 characters).",
            ),
            ("agent: x\nagent: y", "lore/x.md:5: the key 'agent' appears twice (first on line 4)"),
            ("agent: &a x", "lore/x.md:4: the frontmatter has an anchor or alias (& or *)"),
            ("agent: !t x", "lore/x.md:4: the frontmatter has a tag (!t)"),
            ("a: [[[[[[[[[x]]]]]]]]]", "lore/x.md:4: the frontmatter is nested deeper than 8 levels"),
            ("agent: a\vb", "lore/x.md:4: the frontmatter holds the invisible character U+000B"),
        ],
    )
    def test_a_bad_field_is_named_with_its_line(self, fields: str, message: str) -> None:
        assert read_refused(with_fields(fields)).message == message

    def test_depth_eight_is_still_read(self) -> None:
        assert read(with_fields("a: [[[[[[[[x]]]]]]]]")).adopted

    def test_an_unknown_category_lists_the_valid_ones(self) -> None:
        error = read_refused("---\ntags: [a]\ncategory: FAKT\n---\nText.\n")
        assert error.line == 3
        assert "FAKT" in error.message
        assert "FAILURE" in error.hint

    @pytest.mark.parametrize(
        "value", ["42", "01jd6tq8xw9yv3n5k7p2m4r6st", "[a]", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"]
    )
    def test_an_invalid_id_is_refused(self, value: str) -> None:
        error = read_refused(f"---\nid: {value}\n---\nText.\n")
        assert (error.line, error.reason[:14]) == (2, "id must be a U")

    @pytest.mark.parametrize(
        ("text", "line", "reason"),
        [
            (with_fields("tags: [a]", ""), 7, "there is no text"),
            (
                with_fields("tags: [a]", "\n\n" + "x" * 4001),
                8,
                "the text has 4,001 characters; an entry has at most 4,000",
            ),
            (
                "x" * (256 * 1024 + 1),
                0,
                "the file has 262,145 bytes; the file of an entry has at most 262,144",
            ),
            (
                with_fields(f"note: {'x' * 17000}"),
                2,
                "the frontmatter has 17,053 bytes; at most 16,384 are read",
            ),
            (b"a\nb\xff", 2, "byte 3 is not UTF-8"),
            ("a\nb\0", 2, "the file contains a NUL character"),
            ("<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n", 1, "the file has git conflict markers"),
            ("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n", 2, "the file has git conflict markers"),
            ("---\n" + f"id: {ID}\n" + "Text.\n", 1, "the frontmatter has an id but no closing `---` line"),
        ],
    )
    def test_a_bad_file_is_refused_with_line_and_reason(
        self, text: str | bytes, line: int, reason: str
    ) -> None:
        error = read_refused(text)
        assert (error.line, error.reason) == (line, reason)

    @pytest.mark.parametrize(
        ("path", "text", "reason"),
        [
            (
                "Template.md",
                f"---\nid: {ID}\ntitle: {{{{x}}}}\n---\nText.\n",
                "a key inside a value is not a plain word",
            ),
            ("\u200b.md", "", "The content has no visible characters."),
        ],
    )
    def test_a_note_with_an_unreadable_id_or_without_visible_text_is_refused(
        self, path: str, text: str, reason: str
    ) -> None:
        with pytest.raises(LoreFileError) as caught:
            codec.read(text.encode(), path, Categories(in_place=True), MODIFIED)
        assert caught.value.reason == reason

    @pytest.mark.parametrize("content", ["<<<<<<< HEAD\nwords", "words\n>>>>>>> x"])
    def test_words_that_begin_like_a_marker_are_not_written(self, content: str) -> None:
        with pytest.raises(ValidationError, match="line that begins like a conflict marker") as caught:
            codec.write_new(PLAIN._replace(content=content), CATEGORIES)
        assert caught.value.field == "content"

    def test_a_canonical_frontmatter_has_the_same_size_limit(self) -> None:
        tags = tuple(f"{number:03}{'x' * 80}" for number in range(200))
        assert "at most 16,384 are read" in read_refused(with_fields(f"tags: [{', '.join(tags)}]")).message
        with pytest.raises(ValidationError, match=r"^The frontmatter has 17,\d{3} bytes; at most 16,384 are"):
            codec.write_new(PLAIN._replace(tags=tags), CATEGORIES)

    def test_a_content_may_have_four_thousand_characters_whatever_else_is_in_the_file(self) -> None:
        for fields in ("tags: [a]", "note: mine"):
            assert len(read(with_fields(fields, "x" * 4000)).lore.content) == 4000

    def test_a_heading_underlined_with_equals_signs_is_not_a_conflict(self) -> None:
        assert read("Title\n=======\n\nText.\n").lore.content.startswith("Title")

    @pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
    def test_every_file_of_the_corpus_is_read_or_refused(self, path: Path) -> None:
        raw = path.read_bytes()
        if path.stem in READABLE:
            file = read(raw)
            assert codec.rewrite(file, file.lore, CATEGORIES) == raw
        else:
            assert read_refused(raw).path == "lore/x.md"

    def test_the_corpus_exists(self) -> None:
        assert len(CORPUS) > 20

    @pytest.mark.parametrize(
        "nested", ["[" * 30_000, "a: " + "[" * 12_000, "a: " + "{a: " * 3_000, "a:\n" + "- " * 6_000]
    )
    def test_deep_nesting_does_not_crash(self, nested: str) -> None:
        assert read_refused(f"---\n{nested}\n---\nText.\n").line
