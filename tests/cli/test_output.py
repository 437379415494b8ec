"""`--json`: exactly one document on standard output in all cases, with the keys that scripts rely on."""

from __future__ import annotations

import json
from pathlib import Path

import prepared
import pytest
from apikit import COLOUR, QUEUE, SECRET, TIDES, Result, cli, dedicated, make_plain_store, ok
from command_lines import COMMAND_LINES

from engram.cli.registry import COMMANDS

# The fields of one entry, as the specification of the product names them.
LORE = {
    *(
        "id",
        "content",
        "context",
        "category",
        "confidence",
        "validation_count",
        "last_validated",
        "source_id",
    ),
    *(
        "sources",
        "agent",
        "type",
        "status",
        "tags",
        "files",
        "entities",
        "relations",
        "merged_from",
        "importance",
    ),
    *("pinned", "expires_at", "created_at", "updated_at", "title", "path"),
}
HIT = {
    *(
        "ref",
        "id",
        "title",
        "content",
        "category",
        "confidence",
        "validation_count",
        "last_validated",
        "score",
    ),
    *("why", "scope", "path"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_plain_store(tmp_path)


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A store of three entries, of which `tide tables` is L1."""
    prepared.copy("three entries", tmp_path, _make_three)
    return tmp_path


def _make_three(folder: Path) -> None:
    root = make_plain_store(folder)
    for text in (QUEUE, COLOUR, TIDES):
        ok("record", text, "-c", "fact", cwd=root)
    ok("query", "tide tables", cwd=root)


def test_record_prints_the_entry_and_its_outcome(root: Path) -> None:
    first = ok("record", QUEUE, "-c", "fact", "--json", cwd=root).json
    assert set(first) >= {"lore", "similar", "status"}
    assert set(first["lore"]) >= LORE
    assert (first["similar"], first["status"]) == ([], "recorded")
    ok("reindex", cwd=root)
    again = ok("record", QUEUE, "-c", "fact", "--context", "again", "--json", cwd=root).json
    assert (again["status"], again["lore"]["id"], again["confirmed"]) == ("known", first["lore"]["id"], False)
    near = QUEUE.replace("every handler", "each handler")
    twin = ok("record", near, "-c", "fact", "--context", "again", "--json", cwd=root).json
    assert set(twin["similar"][0]) == {"id", "similarity", "title", "path", "content", "differs", "certainty"}
    assert twin["similar"][0]["id"] == first["lore"]["id"]
    assert twin["lore"]["context"] == "again"


def test_query_prints_the_answer_with_every_key(three: Path) -> None:
    answer = ok("query", "queue consumer patterns", "--json", cwd=three).json
    assert set(answer) >= {"query", "strength", "strategy", "lore", "session_refs", "took_ms"}
    assert answer["query"] == "queue consumer patterns"
    assert answer["strength"] in {"strong", "weak"}
    assert answer["strategy"] == "hybrid"
    (hit,) = answer["lore"]
    assert set(hit) >= HIT
    assert answer["session_refs"] == {"L2": hit["id"]}
    assert (hit["ref"], hit["content"], hit["scope"]) == ("L2", QUEUE, "project")
    assert set(hit["why"]) >= {"words", "meaning"}


def test_a_query_that_finds_nothing_is_a_document_too(root: Path) -> None:
    answer = ok("query", "anything", "--json", cwd=root)
    assert (answer.json["lore"], answer.json["strength"], answer.json["session_refs"]) == ([], "none", {})


def test_feedback_prints_the_change_of_each_entry(three: Path) -> None:
    (one,) = ok("feedback", "--helpful", "L1", "--json", cwd=three).json["updated"]
    assert set(one) >= {"id", "ref", "previous", "current", "validation_count"}
    assert (one["ref"], one["previous"], one["current"], one["validation_count"]) == ("L1", 0.7, 0.78, 1)


def test_list_and_show_print_entries_with_all_fields(three: Path) -> None:
    listed = ok("list", "--limit", "2", "--json", cwd=three).json
    assert (len(listed["lore"]), listed["total"]) == (2, 3)
    assert set(listed["lore"][0]) >= LORE
    shown = ok("show", "L1", "--json", cwd=three).json
    assert set(shown["lore"]) >= LORE
    assert shown["lore"]["content"] == TIDES


def test_status_prints_the_state_of_every_part(three: Path) -> None:
    status = ok("status", "--json", cwd=three).json
    assert set(status) >= {"store", "scopes", "lore_count", "by_category", "by_status", "index", "git"} | {
        "embedding",
        "version",
    }
    assert status["lore_count"] == 3
    assert (status["by_category"], status["by_status"]) == ({"FACT": 3}, {"active": 3})
    assert set(status["git"]) >= {"ahead", "behind", "pending"}
    assert set(status["scopes"][0]) >= {"name", "path", "weight"}


def test_import_prints_counts_and_problems(root: Path) -> None:
    (root / "notes").mkdir()
    (root / "notes/a.md").write_text("A note.", "utf-8")
    assert ok("import", "notes", "--json", cwd=root).json == {
        "imported": 1,
        "split": 0,
        "skipped": 0,
        "problems": [],
        "redacted": 0,
        "superseded": [],
        "left_out": [],
    }


def test_every_command_has_a_case_in_this_file() -> None:
    assert set(COMMAND_LINES) == {command.name for command in COMMANDS}


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_every_command_prints_one_document_in_success_and_error(three: Path, name: str) -> None:
    (three / "notes").mkdir()
    (three / "notes/a.md").write_text("A note.", "utf-8")
    outcomes = set()
    for line in COMMAND_LINES[name]:
        done = cli(*line, "--json", cwd=three)
        outcomes.add(done.code)
        document = done.json
        assert isinstance(document, dict), line
        assert ("error" in document) == (done.code != 0 and "findings" not in document), (
            line,
            document,
        )
        if "error" in document:
            assert_an_error(done)
        assert done.out.count("\n") == 1 or name == "export", line
    assert outcomes <= {0, 1, 2, 3, 5}


def assert_an_error(done: Result) -> None:
    error = done.json["error"]
    assert set(error) >= {"code", "message", "hint"}
    assert error["code"] not in {"internal", ""}
    assert error["message"].endswith((".", "?")), error
    assert "Traceback" not in done.out + done.err


@pytest.mark.parametrize(
    ("line", "code", "name"),
    [
        (["record", "x" * 4001, "-c", "fact"], 2, "invalid"),
        (["record", f"token {SECRET}", "-c", "fact"], 2, "secret"),
        (["record", "x", "--nonsense"], 2, "usage"),
        (["frobnicate"], 2, "usage"),
        (["config", "nonsense"], 2, "config"),
        (["show", "L77"], 3, "not-found"),
        (["show", "01M806ZZWH03EWHXWBG1FA47RA"], 3, "not-found"),
        (["list", "--store", "/nowhere/at/all"], 3, "not-found"),
        (["log", "L1"], 1, "store"),
    ],
)
def test_errors_have_codes_and_exit_codes(three: Path, line: list[str], code: int, name: str) -> None:
    done = cli(*line, "--json", cwd=three)
    assert (done.code, done.json["error"]["code"]) == (code, name)
    human = cli(*line, cwd=three)
    assert (human.code, human.out) == (code, "")
    assert done.json["error"]["message"][:60] in human.err


def test_an_ambiguous_name_lists_its_candidates_and_is_exit_4(three: Path) -> None:
    ids = [
        ok("record", f"Broker {name}", "-c", "fact", "--json", cwd=three).json["lore"]["id"] for name in "AB"
    ]
    ok("query", "broker", cwd=three)
    done = cli("feedback", "--helpful", "broker", "--json", cwd=three)
    assert (done.code, done.json["error"]["code"]) == (4, "ambiguous")
    assert {one["id"] for one in done.json["error"]["candidates"]} >= set(ids)


def test_a_secret_error_says_where_and_never_what(three: Path) -> None:
    done = cli("record", f"line\ntoken {SECRET}", "-c", "fact", "--json", cwd=three)
    assert SECRET not in done.out + done.err
    assert done.json["error"]["findings"][0]["line"] == 2


def test_texts_of_any_script_are_readable_in_json(root: Path) -> None:
    done = ok("record", "Größe 🜁 日本", "-c", "fact", "--json", cwd=root)
    assert "Größe 🜁 日本" in done.out


def test_invalid_utf8_is_refused_or_replaced_and_never_a_crash(root: Path) -> None:
    for line in (
        ["record", "\udcff", "-c", "fact"],
        ["query", "\udcff"],
        ["show", "\udcff"],
        ["list", "--tag", "\udcff"],
    ):
        done = cli(*line, "--json", cwd=root)
        assert done.code in (2, 3)
        assert_an_error(done)
    refused = cli("record", "-", "-c", "fact", "--json", cwd=root, stdin=b"\xff\xfe")
    assert (refused.code, refused.json["error"]["field"]) == (2, "content")


def test_a_failed_commit_is_a_note_and_no_second_document(tmp_path: Path) -> None:
    dedicated(tmp_path)
    (tmp_path / ".git/rebase-merge").mkdir()
    done = cli("record", QUEUE, "-c", "fact", "--json", cwd=tmp_path)
    assert (done.code, json.loads(done.out)["status"]) == (0, "recorded")
    assert "rebase" in done.err
