"""What an entry file says: every field written in its place and form, and read as people write it.

Mutants that make no difference: which files take the short way, that is where it looks for the end of the frontmatter
(`---` twice in a row has no id), a fifth of its bytes for a quarter, and texts of 4,000 characters; how many parsed
entries are kept, give or take one.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from codec_kit import CATEGORIES, ID, LATER, NOW, OTHER, PLAIN, SOURCE, read, with_fields

from engram.adapters.files.frontmatter import codec
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import Conflict, Relation
from engram.domain.errors import LoreFileError, ValidationError

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
    when=("command: git push", "file: **/*.tf", "error: a: b, c"),
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
when: [command: git push, file: "**/*.tf", error: "a: b, c"]
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


class TestWriting:
    def test_every_field_is_written_in_its_place_and_form(self) -> None:
        assert codec.write_new(FULL, CATEGORIES).decode() == FULL_FILE

    def test_the_full_file_reads_back(self) -> None:
        assert read(FULL_FILE) == codec.LoreFile(FULL, FULL_FILE.encode(), adopted=True)

    def test_defaults_are_left_out(self) -> None:
        fields = f"id: {ID}\ncategory: PATTERN_OUTCOME\ncreated_at: 2026-11-21T09:30:00Z\n"
        expected = f"---\n{fields}---\n\nRetries need jitter.\n"
        assert codec.write_new(PLAIN, CATEGORIES).decode() == expected

    def test_sources_that_only_repeat_the_source_are_left_out(self) -> None:
        raw = codec.write_new(PLAIN._replace(source_id=SOURCE, sources=(SOURCE,)), CATEGORIES)
        assert b"sources:" not in raw
        assert read(raw).lore.sources == ()

    def test_blank_edges_and_microseconds_are_left_out(self) -> None:
        moment = NOW.replace(microsecond=400)
        for change in (
            {"content": f"\n{PLAIN.content} \n"},
            {"created_at": moment, "updated_at": moment},
            {"expires_at": moment},
        ):
            raw = codec.write_new(PLAIN._replace(**change), CATEGORIES)
            expected = PLAIN._replace(expires_at=NOW) if "expires_at" in change else PLAIN
            assert raw == codec.write_new(expected, CATEGORIES)

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

    @pytest.mark.parametrize("account", ["idle.2024-02", "7Q2M4N8P.01HK1JDXAWSF66P3NB06KHF9R1", "12.2024-02"])
    def test_entries_that_faded_or_absorbed_others_are_canonical(self, account: str) -> None:
        lore = PLAIN._replace(votes={account: Vote(0, 10, 0), "K7QM2X9T": Vote(80, 0, 1)})
        raw = codec.write_new(lore, CATEGORIES)
        assert (
            codec.read_own(raw, CATEGORIES)
            == codec.read_any(raw.decode(), raw, "x.md", CATEGORIES, NOW).lore
            == lore
        )

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
    def test_an_entry_that_could_not_be_read_back_is_not_written(self, change: dict[str, object]) -> None:
        with pytest.raises(ValidationError):
            codec.write_new(PLAIN._replace(**change), CATEGORIES)
        with pytest.raises(ValidationError):
            codec.rewrite(read(FULL_FILE), FULL._replace(**change), CATEGORIES)

    def test_conflicts_do_not_count_towards_the_size_of_the_frontmatter(self) -> None:
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
            ("confidence: 0.80\nmerged_from: [01JD6TQ8XW9YV3N5K7P2M4R6SV]", "prior", 800),
            ("confidence: 0.80\nprior: 0.7\nmerged_from: [01JD6TQ8XW9YV3N5K7P2M4R6SV]", "prior", 800),
            ("confidence: 0.705", "prior", 705),
            ("confidence: 0.2\nprior: 0.5", "prior", 200),
            ("prior: 0.5", "prior", 500),
            ("confidence: 0.71\nprior: 0.705", "prior", 705),
            ("confidence: 1", "prior", 1000),
            ("confidence: 0.0004", "prior", 0),
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
    def test_horizontal_rules_are_not_frontmatter(self, text: str) -> None:
        file = read(text)
        assert (file.lore.content, file.adopted) == (text.strip(), False)

    def test_the_provisional_id_depends_on_the_path_alone(self) -> None:
        found = {read(text, path).lore.id for text in ("a", "b") for path in ("lore/1.md", "lore/2.md")}
        assert len(found) == 2
        assert read("a", "lore/1.md").lore.id == "000000000013FZJDT6JM1WC58A"

    def test_a_note_of_another_tool_is_read_with_the_fields_that_are_ours(self) -> None:
        file = read("---\ntitle: T\ndate: 2020-02-03\ntags:\n  - a\n---\nText.\n")
        assert not file.adopted
        assert (file.lore.tags, file.lore.category) == (("a",), "FACT")
        assert file.lore.created_at == file.lore.updated_at == datetime(2020, 2, 3, tzinfo=UTC)

    def test_an_unreadable_foreign_date_is_ignored(self) -> None:
        assert read("---\ndate: last week\ncreated: 2020-02-03\n---\nText.\n").lore.created_at.year == 2020


def test_reading_a_canonical_file_needs_no_yaml_library(tmp_path: Path) -> None:
    usual = FULL._replace(prior=700, entities=("Ærø 🐘", "no"), when=FULL.when[:2], conflicts=())
    (tmp_path / "x.md").write_bytes(codec.write_new(usual, CATEGORIES))
    code = (
        "import sys; from datetime import datetime, UTC; from engram.adapters.files.frontmatter import codec;"
        "from engram.domain.entry.categories import Categories; c = Categories();"
        "raw = open(sys.argv[1], 'rb').read();"
        "f = codec.read(raw, 'x.md', c, datetime(2026, 1, 1, tzinfo=UTC));"
        "codec.rewrite(f, f.lore._replace(agent='me'), c);"
        "heavy = {'yaml', 'dataclasses', 'pathlib', 'logging', 'asyncio', 'subprocess'} & set(sys.modules);"
        "print(*sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(tmp_path / "x.md")],
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_an_empty_context_is_not_written() -> None:
    assert codec.normalize(FULL._replace(context=("", "x", ""))).context == ("x",)


@pytest.mark.parametrize(
    "line",
    [
        "votes: [A: {up: 80, down: 0, n: 1}}",
        "votes: {A: {up: 80, down: 0, n: 1}]",
    ],
)
def test_votes_between_brackets_that_do_not_match_are_refused(line: str) -> None:
    with pytest.raises(LoreFileError):
        read(with_fields(line))


def test_a_moment_that_a_file_has_twice_counts_once() -> None:
    assert read(with_fields("when: [command: git push, command: git push]")).lore.when == (
        "command: git push",
    )


def test_a_file_is_parsed_once_in_an_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "_MAX_PARSED", 1)
    raw, further, parsed = FULL_FILE.encode(), codec.write_new(PLAIN, CATEGORIES), codec.ParsedFiles()
    for one, lore in ((raw, FULL), (further, PLAIN)):
        parsed.add(one, CATEGORIES, lore)
    assert (parsed.find(raw, CATEGORIES), parsed.find(further, CATEGORIES)) == (FULL, None)
    found = codec.read(raw, "x.md", CATEGORIES, NOW, parsed)
    assert (found.lore is FULL, found.raw, found.adopted) == (True, raw, True)
    assert codec.read(further, "x.md", CATEGORIES, NOW, parsed).lore == PLAIN


@pytest.mark.parametrize(
    ("line", "found"),
    [("aliases: [One, ' ', '  Two ', One]", ("One", "Two")), ("alias: One, Two", ("One", "Two"))],
)
def test_aliases_of_a_note_are_a_list_or_a_text_with_commas(line: str, found: tuple[str, ...]) -> None:
    assert read(with_fields(line)).aliases == found
