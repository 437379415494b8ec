"""Import and export: markdown, JSON, JSON Lines, round trips. Importing again changes nothing, and nothing is lost silently."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import (
    COLOUR,
    QUEUE,
    SECRET,
    TIDES,
    SetClock,
    cli,
    everything_on_disk,
    import_path,
    lore_files,
    lore_of,
    make_plain_store,
    ok,
    open_test_store,
)

from engram.adapters.files.durable.lock import FileLock
from engram.domain.errors import NotFoundError, UsageError, ValidationError
from engram.usecases.exchange.export import export_markdown, export_rows
from engram.usecases.index import catch_up
from engram.usecases.recording.edit import Edit

LONG = "# Handbook\n\nIntroduction.\n\n" + "\n\n".join(
    f"## Chapter {number}\n\n" + f"Sentence {number} of the chapter says something. " * 40
    for number in range(6)
)

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Make a typical folder of markdown."""
    folder = tmp_path / "notes"
    for path, text in {
        "short.md": "# Retry\n\nRetry twice, then give up.",
        "python/testing/flaky.md": "Flaky tests wait for the spinner.",
        "fields.md": "---\ntitle: T\ntags: [a, b]\ndate: 2024-05-06\ncategory: workflow\n---\n\nTo release, tag.\n",
        "handbook.md": LONG,
        ".hidden.md": "not looked at",
        ".obsidian/x.md": "not looked at",
        "readme.txt": "no markdown",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path / "store")


def test_a_folder_is_imported_with_tags_categories_and_origin(store: Engram, notes: Path) -> None:
    done = import_path(store, notes)
    assert (done.problems, done.skipped, done.split) == ((), 0, 1)
    lore = {shown.lore.content: shown.lore for shown in store.list(limit=None).lore}
    retry = lore["# Retry\n\nRetry twice, then give up."]
    assert retry.context == ("Imported from short.md",)
    flaky = lore["Flaky tests wait for the spinner."]
    assert flaky.tags == ("python", "testing")
    release = next(one for one in lore.values() if one.content.endswith("To release, tag."))
    assert (release.category, release.type) == ("WORKFLOW", "procedural")
    assert set(release.tags) == {"a", "b"}
    assert release.created_at.date().isoformat() == "2024-05-06"
    assert not any("not looked at" in content for content in lore)
    assert done.imported == len(lore)


def test_a_long_note_is_split_at_its_headings_linked_and_complete(store: Engram, notes: Path) -> None:
    done = import_path(store, notes / "handbook.md")
    parts = [shown.lore for shown in store.list(limit=None).lore][::-1]
    assert (done.split, done.imported) == (1, len(parts))
    assert len(parts) > 2
    assert all(1 <= len(part.content) <= 4000 for part in parts)
    words = " ".join(part.content for part in parts).split()
    assert all(words.count(f"{number}") >= 40 for number in range(6))
    first = next(part for part in parts if part.content.startswith("# Handbook"))
    others = [part for part in parts if part.id != first.id]
    assert {relation.id for relation in first.relations} == {part.id for part in others}
    assert all([(r.kind, r.id) for r in part.relations] == [("see_also", first.id)] for part in others)


def test_importing_the_same_again_changes_nothing(store: Engram, notes: Path, tmp_path: Path) -> None:
    first = import_path(store, notes)
    before = everything_of(tmp_path / "store/lore")
    again = import_path(store, notes)
    assert (again.imported, again.split, again.problems) == (0, 0, ())
    assert again.skipped == 4
    assert everything_of(tmp_path / "store/lore") == before
    assert first.imported == store.list(limit=None).total


def test_importing_again_while_another_process_indexes_the_first_import_changes_nothing(
    store: Engram, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = import_path(store, notes)
    lock = FileLock(f"{store.store.index.folder}/writer.lock")
    monkeypatch.setattr(catch_up, "_LOCK_SECONDS", 0.0)
    assert lock.try_acquire()
    try:
        assert store.store.index.look() is None or store.store.index.look().next_row < first.imported
        again = import_path(store, notes)
    finally:
        lock.release()
    assert (again.imported, again.skipped, again.problems) == (0, 4, ())


def test_an_imported_entry_with_feedback_or_edits_is_not_imported_again(store: Engram, notes: Path) -> None:
    import_path(store, notes / "short.md")
    lore_id = store.list().lore[0].lore.id
    store.feedback(helpful=lore_id)
    store.edit(lore_id, Edit(add_tags=("checked",), category="workflow"))
    assert import_path(store, notes / "short.md").skipped == 1
    assert import_path(store, notes / "short.md", tags=("other",)).skipped == 1
    assert store.list().total == 1


def everything_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.md")}


def test_a_dry_run_reports_the_same_and_writes_nothing(store: Engram, notes: Path, tmp_path: Path) -> None:
    would = import_path(store, notes, dry_run=True)
    assert everything_of(tmp_path / "store") == {}
    done = import_path(store, notes)
    assert (would.imported, would.split, would.problems) == (done.imported, done.split, done.problems)


def test_options_apply_to_every_document(store: Engram, notes: Path) -> None:
    import_path(store, notes, category="decision", tags=("old",), confidence=0.55, status="pending")
    for shown in store.list(limit=None).lore:
        assert shown.lore.category == "ARCHITECTURAL_DECISION"
        assert "old" in shown.lore.tags
        assert (shown.lore.prior, shown.lore.status) == (550, "pending")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"category": "nonsense"}, "category"),
        ({"status": "asleep"}, "status"),
        ({"confidence": 2.0}, "confidence"),
        ({"tags": ("",)}, "tags"),
    ],
)
def test_an_invalid_option_is_one_error_not_a_problem_for_each_file(
    store: Engram, notes: Path, options: dict[str, object], field: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        import_path(store, notes, **options)
    assert caught.value.field == field
    assert store.list().total == 0


def test_an_invalid_document_is_a_problem_and_does_not_stop_the_import(store: Engram, notes: Path) -> None:
    (notes / "bytes.md").write_bytes(b"\xff\xfe not text")
    (notes / "empty.md").write_text("", "utf-8")
    (notes / "nul.md").write_bytes(b"a\0b")
    (notes / "secret.md").write_text(f"The token is {SECRET}", "utf-8")
    (notes / "huge.md").write_bytes(b"x" * (11 << 20))
    done = import_path(store, notes)
    assert done.imported > 3
    assert {problem["path"] for problem in done.problems} == {
        "bytes.md",
        "empty.md",
        "nul.md",
        "secret.md",
        "huge.md",
    }
    for problem in done.problems:
        assert set(problem) == {"path", "message", "hint"}
        assert problem["message"]
        assert SECRET not in str(problem)


def test_secrets_in_an_import_can_be_masked(store: Engram, notes: Path, tmp_path: Path) -> None:
    (notes / "secret.md").write_text(f"The deploy token is {SECRET} today", "utf-8")
    done = import_path(store, notes, redact=True)
    assert (done.redacted, done.problems) == (1, ())
    assert SECRET.encode() not in everything_on_disk(tmp_path / "store")
    assert import_path(store, notes, redact=True).imported == 0


@pytest.mark.parametrize(
    ("name", "error"), [("none", NotFoundError), ("x.pdf", UsageError), ("x", UsageError)]
)
def test_an_import_from_an_invalid_place_is_refused(
    store: Engram, tmp_path: Path, name: str, error: type[Exception]
) -> None:
    if name != "none":
        (tmp_path / name).write_text("x")
    with pytest.raises(error):
        import_path(store, tmp_path / name)


def test_json_lines_of_other_tools_are_imported(store: Engram, tmp_path: Path) -> None:
    rows = [
        {"memory": "Ada likes tea", "labels": ["people"], "created": "2025-01-02"},
        {"text": "Backups run at night", "type": "fact", "confidence": 0.8},
        {"title": "Tea", "content": "is drunk at four"},
        "just a text",
    ]
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join([*map(json.dumps, rows), "{broken", '{"no": "text"}']), "utf-8")
    done = import_path(store, path)
    assert (done.imported, done.skipped) == (4, 0)
    assert [problem["path"] for problem in done.problems] == ["export.jsonl:5", "export.jsonl:6"]
    lore = lore_of(store)
    assert lore["Ada likes tea"].tags == ("people",)
    assert lore["Ada likes tea"].created_at.year == 2025
    assert lore["Backups run at night"].confidence == 0.8
    assert lore["Tea"].content == "# Tea\n\nis drunk at four"
    assert import_path(store, path).skipped == 4


def test_a_row_without_a_title_keeps_its_text_unchanged(store: Engram, tmp_path: Path) -> None:
    text = "The queue is drained by hand after a deploy, because\nthe worker forgets its lease.\n\n## How\n\nRun `drain`."
    rows = tmp_path / "memories.jsonl"
    rows.write_text(json.dumps({"memory": text}) + "\n")
    import_path(store, rows)
    assert [lore.content for lore in lore_of(store).values()] == [text]


def grown(root: Path) -> Engram:
    """Make a store whose lore has a past: judgements, times, relations, a pin, a custom category, several statuses."""
    clock = SetClock()
    store = open_test_store(root, clock=clock, settings='[store.categories]\nRECIPE = "procedural"\n')
    first = store.record(
        QUEUE, category="PATTERN_OUTCOME", tags=["a"], files=["x.py"], context=["c", "d"]
    ).lore.id
    clock.advance(days=2)
    second = store.record(
        COLOUR, category="recipe", confidence=0.95, relations=[("refines", first)], agent="x"
    ).lore.id
    store.record(TIDES, category="fact", status="archived", pinned=True, importance=0.25, entities=["Sea"])
    clock.advance(days=1)
    store.feedback(helpful=[first, second])
    clock.advance(days=1)
    store.feedback(helpful=first, again=True)
    store.feedback(incorrect=second)
    return store


@pytest.mark.parametrize("kind", ["json", "jsonl", "markdown"])
def test_a_round_trip_keeps_everything_but_judgements_of_which_json_states_the_sum(
    tmp_path: Path, kind: str
) -> None:
    settings = '[store.categories]\nRECIPE = "procedural"\n'
    with grown(tmp_path / "a") as store:
        before = {shown.lore.id: shown.lore for shown in store.list(limit=None).lore}
    target = tmp_path / ("out" if kind == "markdown" else f"out.{kind}")
    ok("export", "--format", kind, "-o", str(target), cwd=tmp_path / "a")
    clock = SetClock()
    clock.advance(days=100)
    with open_test_store(tmp_path / "b", clock=clock, settings=settings) as store:
        done = import_path(store, target)
        assert (done.imported, done.problems, done.left_out) == (3, (), ())
        after = {shown.lore.id: shown.lore for shown in store.list(limit=None).lore}
        for lore_id, lore in before.items():
            other = after[lore_id]
            for field in set(lore._fields) - {"prior", "tally", "last_validated"}:
                assert getattr(other, field) == getattr(lore, field), field
            assert other.prior == (lore.prior if kind == "markdown" else lore.thousandths)
            assert (other.validation_count, other.last_validated) == (0, None)
        assert import_path(store, target).skipped == 3
        judged = store.feedback(helpful=next(iter(before)))
        assert judged[0].current > judged[0].previous or judged[0].previous == 1.0


def test_rows_of_format_1_keep_their_accounts(tmp_path: Path) -> None:
    row = {
        "id": (lore_id := "01KDYA0000000000000000000A"),
        "content": "Measure before you tune.",
        "category": "FACT",
        "confidence": 0.93,
        "validation_count": 3,
        "last_validated": "2026-02-20T00:00:00Z",
        "source_id": "01KDYA0000000000000000000B",
        "votes": {"K7QM2X9T": {"up": 240, "down": 0, "n": 3}, "idle.K7QM2X9T": {"up": 0, "down": 10, "n": 0}},
        "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-02-20T00:00:00Z",
    }
    path = tmp_path / "old.json"
    path.write_text(json.dumps([row]), "utf-8")
    with open_test_store(tmp_path / "store", clock=SetClock()) as store:
        assert import_path(store, path).imported == 1
        lore = store.get(lore_id).lore
        assert (lore.prior, lore.thousandths, lore.validation_count) == (700, 940, 3)
        assert lore.last_validated == datetime(2026, 2, 20, tzinfo=UTC)
        assert b"votes" not in Path(store.path, store.get(lore_id).path).read_bytes()


def test_options_apply_to_engrams_own_files_too(tmp_path: Path) -> None:
    with grown(tmp_path / "a") as store:
        export_markdown(store.store, str(tmp_path / "out"))
    with open_test_store(tmp_path / "b", settings='[store.categories]\nRECIPE = "procedural"\n') as store:
        import_path(store, tmp_path / "out", status="pending", tags=("foreign",), category="fact")
        for shown in store.list(limit=None).lore:
            assert (shown.lore.status, shown.lore.category) == ("pending", "FACT")
            assert "foreign" in shown.lore.tags


def test_an_unknown_category_is_guessed(tmp_path: Path) -> None:
    with grown(tmp_path / "a") as store:
        export_markdown(store.store, str(tmp_path / "out"))
    with open_test_store(tmp_path / "b") as store:
        done = import_path(store, tmp_path / "out")
        assert done.imported + len(done.problems) == 3
        assert "RECIPE" not in {shown.lore.category for shown in store.list(limit=None).lore}


def test_exports_are_complete_and_oldest_first(tmp_path: Path) -> None:
    with grown(tmp_path) as store:
        rows = list(export_rows(store.store))
        ids = [shown.lore.id for shown in store.list(limit=None).lore]
    assert [row["id"] for row in rows] == ids[::-1]
    whole = ok("export", cwd=tmp_path).json
    assert [row["id"] for row in whole["lore"]] == ids[::-1]
    lines = ok("export", "--format", "jsonl", cwd=tmp_path).out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids[::-1]
    ok("export", "--format", "markdown", "-o", "copy", cwd=tmp_path)
    assert everything_of(tmp_path / "copy/lore") == everything_of(tmp_path / "lore")
    assert cli("export", "--format", "markdown", cwd=tmp_path).code == 2


def test_a_markdown_export_does_not_overwrite_other_files(tmp_path: Path) -> None:
    with grown(tmp_path) as store:
        copy = tmp_path / "copy"
        assert export_markdown(store.store, str(copy)) == 3
        assert export_markdown(store.store, str(copy)) == 3
    victim = next((copy / "lore").rglob("*.md"))
    victim.write_text("mine", "utf-8")
    done = cli("export", "--format", "markdown", "-o", "copy", cwd=tmp_path)
    assert done.code == 1
    assert victim.read_text() == "mine"


def test_an_export_of_an_empty_store_is_empty(tmp_path: Path) -> None:
    make_plain_store(tmp_path)
    assert ok("export", cwd=tmp_path).json == {"lore": []}
    assert ok("export", "--format", "jsonl", cwd=tmp_path).out == ""


def test_a_file_without_fields_is_exported_and_comes_back_as_new(tmp_path: Path) -> None:
    make_plain_store(tmp_path / "a")
    (tmp_path / "a/lore").mkdir()
    (tmp_path / "a/lore/note.md").write_text(TIDES, "utf-8")
    ok("export", "-o", "out.json", cwd=tmp_path / "a")
    make_plain_store(tmp_path / "b")
    ok("import", str(tmp_path / "a/out.json"), cwd=tmp_path / "b")
    (file,) = lore_files(tmp_path / "b")
    assert "1970" not in str(file)


def test_the_command_reports_problems_and_exits_1_only_if_nothing_was_imported(
    tmp_path: Path, notes: Path
) -> None:
    root = make_plain_store(tmp_path / "store")
    (notes / "bad.md").write_bytes(b"\xff")
    some = ok("import", str(notes), cwd=root)
    assert "bad.md" in some.out
    assert ", 1 long note split, 1 problem\n" in some.out
    assert some.out.splitlines()[-1] == "  1 .txt file (notes): stays where it is"
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"x": 1}\nno row\n{"x": 2}\n')
    told = cli("import", str(rows), cwd=root).out.splitlines()
    assert [line[:14] for line in told[:-1]] == [
        "  rows.jsonl:1", "  rows.jsonl:3", "    Give it a ", "  rows.jsonl:2", "    Correct it"
    ]  # fmt: skip
    none = cli("import", str(notes / "bad.md"), "--json", cwd=root)
    assert none.code == 1
    assert none.json["imported"] == 0
    assert none.json["problems"]
