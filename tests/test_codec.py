"""The rules of lore files, one by one: reading, what is refused and how, writing, and the smallest edit."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engram.adapters.files import codec
from engram.domain.categories import Categories
from engram.domain.confidence import Vote
from engram.domain.errors import LoreFileError, ValidationError
from engram.domain.lore import Conflict, Lore, Relation

CATEGORIES = Categories()
ID, OTHER, SOURCE = "01JD6TQ8XW9YV3N5K7P2M4R6ST", "01JD6TQ8XW9YV3N5K7P2M4R6SV", "01JD6TQ8XW9YV3N5K7P2M4R6SW"
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
LATER = datetime(2026, 11, 22, 8, 0, 0, 1000, tzinfo=UTC)
MODIFIED = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
CORPUS = sorted((Path(__file__).parent / "corpus" / "lore").glob("*.md"))
READABLE = {"rules-around-prose", "unclosed-foreign", "tab-after-colon", "old-mac", "only-opening"}
PLAIN = Lore(ID, "Retries need jitter.", "PATTERN_OUTCOME", NOW, NOW)
FULL = PLAIN._replace(
    content="# Retries need jitter\n\nAll workers woke at once. 🐘",
    updated_at=LATER,
    type="procedural",
    status="pending",
    prior=705,
    votes={"P3ZD8W1A": Vote(0, 150, 0), "K7QM2X9T": Vote(160, 0, 2)},
    last_validated=NOW,
    context=("While debugging: the worker",),
    tags=("queue", "kafka", "no"),
    files=("src/queue.py",),
    entities=("Acme, Inc.", "Ærø 🐘"),
    relations=(Relation("refines", OTHER),),
    merged_from=(OTHER,),
    importance=0.85,
    pinned=True,
    expires_at=LATER,
    agent="claude-code",
    source_id=SOURCE,
    sources=(SOURCE, OTHER),
    conflicts=(Conflict("content", "# Other\n\nText.\n", SOURCE, "2026-11-21T09:30:00Z"),),
)
FULL_FILE = f"""\
---
id: {ID}
category: PATTERN_OUTCOME
type: procedural
status: pending
confidence: 0.82
prior: 0.705
votes: {{K7QM2X9T: {{up: 160, down: 0, n: 2}}, P3ZD8W1A: {{up: 0, down: 150, n: 0}}}}
validation_count: 2
last_validated: 2026-11-21T09:30:00Z
context: "While debugging: the worker"
tags: [queue, kafka, "no"]
files: [src/queue.py]
entities: ["Acme, Inc.", Ærø 🐘]
relations: [{{kind: refines, id: {OTHER}}}]
merged_from: [{OTHER}]
importance: 0.85
pinned: true
expires_at: 2026-11-22T08:00:00.001Z
agent: claude-code
source_id: {SOURCE}
sources: [{SOURCE}, {OTHER}]
created_at: 2026-11-21T09:30:00Z
updated_at: 2026-11-22T08:00:00.001Z
conflicts:
  - field: content
    value: |
      # Other

      Text.
    from: {SOURCE}
    at: "2026-11-21T09:30:00Z"
---

# Retries need jitter

All workers woke at once. 🐘
"""


def read(text: str | bytes, path: str = "lore/x.md") -> codec.LoreFile:
    raw = text if isinstance(text, bytes) else text.encode()
    return codec.read(raw, path, CATEGORIES, MODIFIED)


def with_fields(fields: str, body: str = "Text.") -> str:
    return f"---\nid: {ID}\ncategory: FACT\n{fields}\n---\n{body}\n"


def refused(text: str | bytes) -> LoreFileError:
    with pytest.raises(LoreFileError) as caught:
        read(text)
    assert caught.value.hint
    return caught.value


def edited(text: str, **changes: object) -> str:
    file = read(text)
    lore = file.lore._replace(**changes)
    raw = codec.rewrite(file, lore, CATEGORIES)
    assert read(raw).lore == lore
    return raw.decode()


class TestWriting:
    def test_every_field_has_its_place_and_form(self) -> None:
        assert codec.write_new(FULL, CATEGORIES).decode() == FULL_FILE

    def test_the_full_file_reads_back(self) -> None:
        assert read(FULL_FILE) == codec.LoreFile(FULL, FULL_FILE.encode(), adopted=True)

    def test_defaults_are_left_out(self) -> None:
        fields = f"id: {ID}\ncategory: PATTERN_OUTCOME\ncreated_at: 2026-11-21T09:30:00Z\n"
        expected = f"---\n{fields}---\n\nRetries need jitter.\n"
        assert codec.write_new(PLAIN, CATEGORIES).decode() == expected

    def test_sources_are_left_out_when_they_only_repeat_the_source(self) -> None:
        raw = codec.write_new(PLAIN._replace(source_id=SOURCE, sources=(SOURCE,)), CATEGORIES)
        assert b"sources:" not in raw
        assert read(raw).lore.sources == ()

    @pytest.mark.parametrize(
        ("context", "lines"),
        [
            (("one line",), "context: one line\n"),
            (("two\nlines",), "context: |-\n  two\n  lines\n"),
            (("two\nlines\n",), "context: |\n  two\n  lines\n"),
            (("  two\nlines\n",), "context: |2\n    two\n  lines\n"),
            (("two\n\n lines\n\n",), 'context: "two\\n\\n lines\\n\\n"\n'),
            (("a", "b\nc"), "context:\n  - a\n  - |-\n    b\n    c\n"),
        ],
    )
    def test_context_takes_the_form_that_reads_best(self, context: tuple[str, ...], lines: str) -> None:
        raw = codec.write_new(PLAIN._replace(context=context), CATEGORIES)
        assert lines in raw.decode()
        assert read(raw).lore.context == context

    def test_confidence_is_shown_with_votes_even_at_the_default(self) -> None:
        raw = codec.write_new(PLAIN._replace(votes={"A": Vote(80, 80, 1)}), CATEGORIES)
        assert b"confidence: 0.70\nvotes: {A: {up: 80, down: 80, n: 1}}\nvalidation_count: 1\n" in raw

    def test_a_prior_beyond_the_scale_survives(self) -> None:
        lore = PLAIN._replace(prior=-110, votes={"A": Vote(160, 0, 2)})
        raw = codec.write_new(lore, CATEGORIES)
        assert b"confidence: 0.05\nprior: -0.11\n" in raw
        assert read(raw).lore == lore

    @pytest.mark.parametrize(
        "change",
        [
            {"content": ""},
            {"content": "x" * 4001},
            {"content": "a\n<<<<<<< HEAD\nb"},
            {"agent": "half \ud800"},
            {"source_id": "half \ud800"},
            {"source_id": "nul \0"},
            {"votes": {"\udfff": Vote(1, 0, 0)}},
            {"tags": tuple(f"tag {number} {'x' * 150}" for number in range(150))},
        ],
    )
    def test_what_could_not_be_read_back_is_not_written(self, change: dict[str, object]) -> None:
        with pytest.raises(ValidationError):
            codec.write_new(PLAIN._replace(**change), CATEGORIES)
        with pytest.raises(ValidationError):
            codec.rewrite(read(FULL_FILE), FULL._replace(**change), CATEGORIES)

    def test_conflicts_may_be_larger_than_the_frontmatter_else_may(self) -> None:
        text = "界" * 3990 + "\nend\n"
        lore = PLAIN._replace(conflicts=tuple(Conflict("content", text, SOURCE, str(at)) for at in range(5)))
        raw = codec.write_new(lore, CATEGORIES)
        assert len(raw) > 50_000
        assert read(raw).lore == lore


class TestReading:
    @pytest.mark.parametrize(
        ("fields", "name", "value"),
        [
            ("confidence: 0.9", "prior", 900),
            ("confidence: .85 # sure", "prior", 850),
            ("confidence: 0.9\nvotes: {A: {up: 80, down: 0, n: 1}}", "prior", 820),
            ("confidence: 0.78\nvotes: {A: {up: 80, down: 0, n: 1}}", "prior", 700),
            ("confidence: 0.80\nmerged_from: [01JD6TQ8XW9YV3N5K7P2M4R6SV]", "prior", 700),
            ("confidence: 0.2\nprior: 0.5", "prior", 200),
            ("validation_count: 9", "validation_count", 0),
            ("validation_count: many", "validation_count", 0),
            ("pinned: Yes", "pinned", True),
            ("pinned: off", "pinned", False),
            ("importance: 1", "importance", 1.0),
            ("importance:", "importance", None),
            ("tags: a, b c ,", "tags", ("a", "b c")),
            ("tags:\n- no\n- 0123\n- 1:30", "tags", ("no", "0123", "1:30")),
            ("tags: null", "tags", ()),
            ("context: one", "context", ("one",)),
            ("context: [one, two]", "context", ("one", "two")),
            ("context: >-\n  folded\n  text", "context", ("folded text",)),
            ("status: Archived", "status", "archived"),
            ("agent: no", "agent", "no"),
            ("expires_at: 2026-12-01", "expires_at", datetime(2026, 12, 1, tzinfo=UTC)),
            ("created_at: 2026-12-01 10:00:00+02:00", "updated_at", datetime(2026, 12, 1, 8, tzinfo=UTC)),
            ("unknown: {kept: [as, it, is]}", "tags", ()),
        ],
    )
    def test_a_hand_written_value_is_understood(self, fields: str, name: str, value: object) -> None:
        assert getattr(read(with_fields(fields)).lore, name) == value

    def test_the_category_may_be_an_alias_in_any_case(self) -> None:
        lore = read(f"---\nid: {ID}\ncategory: tool-observation\n---\nText.\n").lore
        assert (lore.category, lore.type) == ("OBSERVATION", "episodic")

    def test_the_time_of_creation_follows_from_the_id(self) -> None:
        lore = read("---\nid: 01ARYZ6S41TSV4RRFFQ69G5FAV\n---\nText.\n").lore
        assert lore.created_at == lore.updated_at == datetime(2016, 7, 30, 22, 36, 16, 385000, tzinfo=UTC)

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    @pytest.mark.parametrize("bom", ["", "\ufeff"])
    def test_line_ends_and_bom_make_no_difference(self, newline: str, bom: str) -> None:
        assert read((bom + FULL_FILE.replace("\n", newline)).encode()).lore == FULL

    def test_the_content_is_the_body_without_blank_edges(self) -> None:
        assert read(with_fields("", "\n \t\n  indented\r\n\nend \t\n\n")).lore.content == "  indented\n\nend"

    def test_a_file_without_frontmatter_is_all_content(self) -> None:
        file = read("# A note\n\n---\n\nText.\n")
        assert file.lore.content == "# A note\n\n---\n\nText."
        assert (file.adopted, file.lore.category) == (False, "FACT")
        assert file.lore.created_at == file.lore.updated_at == datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)

    @pytest.mark.parametrize(
        "text",
        [
            "---\nJust prose\n---\nmore\n",
            "---\n\n- a\n- b\n\n---\nmore\n",
            "---\n*Some* [prose\n---\nmore\n",
            "---\nNo end\n",
        ],
    )
    def test_horizontal_rules_are_no_frontmatter(self, text: str) -> None:
        file = read(text)
        assert (file.lore.content, file.adopted) == (text.strip(), False)

    def test_the_provisional_id_depends_on_path_and_bytes_alone(self) -> None:
        found = {read(text, path).lore.id for text in ("a", "b") for path in ("lore/1.md", "lore/2.md")}
        assert len(found) == 4
        assert read("a", "lore/1.md").lore.id == "000000000041AYPVD0490X5S0T"

    def test_a_note_of_another_tool_keeps_what_is_ours(self) -> None:
        file = read("---\ntitle: T\ndate: 2020-02-03\ntags:\n  - a\n---\nText.\n")
        assert not file.adopted
        assert (file.lore.tags, file.lore.category) == (("a",), "FACT")
        assert file.lore.created_at == file.lore.updated_at == datetime(2020, 2, 3, tzinfo=UTC)

    def test_an_unreadable_foreign_date_is_only_foreign(self) -> None:
        assert read("---\ndate: last week\ncreated: 2020-02-03\n---\nText.\n").lore.created_at.year == 2020


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
                "lore/x.md:4: 'x' in merged_from is not a lore id (a ULID of 26 characters).",
            ),
            ("agent: x\nagent: y", "lore/x.md:5: the key 'agent' is here twice (first on line 4)"),
            ("agent: &a x", "lore/x.md:4: the frontmatter has an anchor or alias (& or *)"),
            ("agent: !t x", "lore/x.md:4: the frontmatter has a tag (!t)"),
            ("a: [[[[[[[[[x]]]]]]]]]", "lore/x.md:4: the frontmatter is nested deeper than 8 levels"),
            ("agent: a\vb", "lore/x.md:4: the frontmatter holds the invisible character U+000B"),
        ],
    )
    def test_a_bad_field_is_named_with_its_line(self, fields: str, message: str) -> None:
        assert refused(with_fields(fields)).message == message

    def test_depth_eight_is_still_read(self) -> None:
        assert read(with_fields("a: [[[[[[[[x]]]]]]]]")).adopted

    def test_an_unknown_category_lists_the_valid_ones(self) -> None:
        error = refused("---\ntags: [a]\ncategory: FAKT\n---\nText.\n")
        assert error.line == 3
        assert "FAKT" in error.message
        assert "FAILURE" in error.hint

    @pytest.mark.parametrize(
        "value", ["42", "01jd6tq8xw9yv3n5k7p2m4r6st", "[a]", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"]
    )
    def test_an_id_that_is_no_ulid_is_refused(self, value: str) -> None:
        error = refused(f"---\nid: {value}\n---\nText.\n")
        assert (error.line, error.reason[:14]) == (2, "id must be a U")

    @pytest.mark.parametrize(
        ("text", "line", "reason"),
        [
            (with_fields("tags: [a]", ""), 7, "there is no text"),
            (
                with_fields("tags: [a]", "\n\n" + "x" * 4001),
                8,
                "the text has 4,001 characters; a lore has at most 4,000",
            ),
            ("x" * (256 * 1024 + 1), 0, "the file has 262,145 bytes; a lore file has at most 262,144"),
            (
                with_fields(f"note: {'x' * 17000}"),
                2,
                "the frontmatter has 17,053 bytes; at most 16,384 are read",
            ),
            (b"a\nb\xff", 2, "byte 3 is not UTF-8"),
            ("a\nb\0", 2, "the file contains a NUL character"),
            ("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n", 2, "the file has git conflict markers"),
            ("---\n" + f"id: {ID}\n" + "Text.\n", 1, "the frontmatter has an id but no closing `---` line"),
        ],
    )
    def test_a_bad_file_is_told_where_and_why(self, text: str | bytes, line: int, reason: str) -> None:
        error = refused(text)
        assert (error.line, error.reason) == (line, reason)

    def test_a_heading_underlined_with_equals_signs_is_no_conflict(self) -> None:
        assert read("Title\n=======\n\nText.\n").lore.content.startswith("Title")

    @pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
    def test_the_corpus_is_read_or_refused_and_never_more(self, path: Path) -> None:
        raw = path.read_bytes()
        if path.stem in READABLE:
            file = read(raw)
            assert codec.rewrite(file, file.lore, CATEGORIES) == raw
        else:
            assert refused(raw).path == "lore/x.md"

    def test_the_corpus_is_there(self) -> None:
        assert len(CORPUS) > 20

    @pytest.mark.parametrize(
        "nested", ["[" * 30_000, "a: " + "[" * 12_000, "a: " + "{a: " * 3_000, "a:\n" + "- " * 6_000]
    )
    def test_deep_nesting_does_not_crash(self, nested: str) -> None:
        assert refused(f"---\n{nested}\n---\nText.\n").line


NOTE = f"""\
# written by hand
title: My note   # shown in the list

id: {ID}
category: decision # was: FACT
tags: [b, a]   # topics
  # indented
aliases: |+
  one

pinned: yes
confidence: 0.9 # sure
"""


class TestEditing:
    def test_only_the_line_of_the_changed_key_changes(self) -> None:
        text = f"---\n{NOTE}---\nText."
        assert edited(text, tags=("c",), prior=900) == text.replace("[b, a]   #", "[c]   #").replace(
            "  # indented", "# indented"
        ).replace("# sure\n", "# sure\nprior: 0.90\n")

    def test_a_value_that_still_is_right_stays_as_it_was_typed(self) -> None:
        text = with_fields("type: semantic\nstatus: Active\ntags: a, b\npinned: no")
        assert edited(text, agent="me") == text.replace("pinned: no\n", "pinned: no\nagent: me\n")

    def test_a_key_that_returns_to_its_default_goes(self) -> None:
        assert edited(with_fields("pinned: true # why\nagent: me"), pinned=False) == with_fields("agent: me")

    def test_new_keys_take_their_canonical_place(self) -> None:
        text = f"---\ntitle: x\nid: {ID}\ntags: [a]\n\ncreated_at: 2026-11-21\nother: y\n---\nText.\n"
        result = edited(text, context=("c",), agent="me", updated_at=LATER)
        assert result == text.replace(f"{ID}\n", f"{ID}\ncontext: c\n").replace(
            "[a]\n", "[a]\nagent: me\n"
        ).replace("11-21\n", "11-21\nupdated_at: 2026-11-22T08:00:00.001Z\n")

    def test_a_vote_on_a_hand_edited_confidence_keeps_both(self) -> None:
        result = edited(with_fields("confidence: 0.85 # mine"), votes={"A": Vote(80, 0, 1)})
        expected = (
            "confidence: 0.93 # mine\nprior: 0.85\nvotes: {A: {up: 80, down: 0, n: 1}}\nvalidation_count: 1"
        )
        assert result == with_fields(expected)

    def test_crlf_bom_and_a_missing_last_line_end_stay(self) -> None:
        text = "\ufeff" + with_fields("tags: [a]", "One\n\ntwo").replace("\n", "\r\n").removesuffix("\r\n")
        assert edited(text, context=("x\ny",)) == text.replace("tags", "context: |-\r\n  x\r\n  y\r\ntags")
        assert edited(text, content="New\ntext") == text.replace("One\r\n\r\ntwo", "New\r\ntext")

    def test_the_body_keeps_its_bytes_when_only_fields_change(self) -> None:
        body = "\n\n  odd \t\r\n mixed\rends  \n\n"
        assert edited(with_fields("tags: [a]", body), tags=("b",)) == with_fields("tags: [b]", body)

    def test_adoption_puts_fields_before_an_untouched_body(self) -> None:
        text = "---\r\nprose\r\n---\r\nmore"
        head = f"---\nid: {ID}\ncategory: FACT\ncreated_at: 2026-05-06T07:08:09Z\n---\n\n"
        assert edited(text, id=ID) == head.replace("\n", "\r\n") + text

    def test_adoption_of_a_foreign_note_keeps_its_keys(self) -> None:
        text = "---\ntitle: x\ndate: 2020-02-03\n---\nText.\n"
        added = f"id: {ID}\ncategory: FACT\ncreated_at: 2020-02-03T00:00:00Z\n"
        assert edited(text, id=ID) == text.replace("02-03\n", f"02-03\n{added}")

    def test_an_indented_mapping_stays_indented(self) -> None:
        text = f"---\n  id: {ID}\n  tags: [a]\n---\nText.\n"
        result = edited(text, context=("a\n\n b",), tags=("c",))
        assert result == text.replace("tags: [a]", "context: |-\n    a\n\n     b\n  tags: [c]")

    def test_a_removal_does_not_feed_a_block_before_it(self) -> None:
        text = with_fields("context: |+\n  kept\nagent: me\n\n  # note\nother: x")
        result = edited(text, agent="")
        assert result == with_fields("context: |+\n  kept\n# note\nother: x")


def test_reading_what_the_codec_wrote_needs_no_yaml_library(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_bytes(FULL_FILE.encode())
    code = (
        "import sys; from datetime import datetime, UTC; from engram.adapters.files import codec;"
        "from engram.domain.categories import Categories; c = Categories();"
        "raw = open(sys.argv[1], 'rb').read();"
        "f = codec.read(raw, 'x.md', c, datetime(2026, 1, 1, tzinfo=UTC));"
        "codec.rewrite(f, f.lore._replace(agent='me'), c);"
        "heavy = {'yaml', 'dataclasses', 'pathlib', 'logging', 'asyncio', 'subprocess'} & set(sys.modules);"
        "print(*sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(tmp_path / "x.md")],
        env={"PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("", "")
