"""Parsing of command lines: order of options, `--`, help, aliases, standard input, and where output goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import QUEUE, cli, ok

from engram.cli.registry import COMMANDS
from engram.version import __version__

NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_with_examples(name: str) -> None:
    done = ok(name, "--help")
    assert done.out.startswith(f"usage: engram {name}")
    assert "examples:\n" in done.out
    assert f"  engram {name}" in done.out or name == "tui"
    for option in ("--json", "--store", "--scope", "--yes", "--no-input"):
        assert option in done.out
    assert done.err == ""
    assert max(map(len, done.out.splitlines())) <= 110
    assert ok("help", name).out == done.out


def test_help_lists_every_command_and_the_exit_codes() -> None:
    for line in (["--help"], ["-h"], ["help"]):
        shown = ok(*line).out
        lines = shown.splitlines()
        assert sorted(
            line.split()[0] for line in lines if line[:2] == "  " and line[2:3].isalpha()
        ) == sorted([*NAMES, "engram", "engram", "engram"])
        assert "130 interrupted" in shown
        assert "None" not in shown
        assert max(map(len, lines)) <= 80


def test_version_is_printed() -> None:
    assert ok("--version").out == ok("-V").out == f"engram {__version__}\n"


def test_aliases_run_the_same_command(root: Path) -> None:
    assert ok("remember", QUEUE, "-c", "fact", cwd=root).out.startswith("Recorded ")
    assert ok("recall", "tide tables", cwd=root).out.startswith("L1")


@pytest.mark.parametrize(
    "line",
    [
        ["query", "tide", "tables", "--json"],
        ["query", "--json", "tide", "tables"],
        ["--json", "query", "tide", "tables"],
        ["--json", "--no-input", "--yes", "query", "tide tables"],
        ["--store", ".", "--json", "query", "tide tables"],
        ["--store=.", "--scope=project", "query", "tide tables", "--json"],
        ["--scope", "project", "query", "tide tables", "--json"],
    ],
)
def test_shared_options_may_stand_before_or_after_the_command(root: Path, line: list[str]) -> None:
    answer = ok(*line, cwd=root).json
    assert (answer["query"], len(answer["lore"])) == ("tide tables", 1)


def test_a_double_dash_ends_the_options(root: Path) -> None:
    done = ok("record", "-c", "fact", "--json", "--", "--json is an option", cwd=root)
    assert done.json["lore"]["content"] == "--json is an option"
    human = ok("record", "-c", "fact", "--", "--json", cwd=root)
    assert human.out.startswith("Recorded ")
    asked = ok("query", "--json", "--", "--json", "-k", cwd=root).json
    assert asked["query"] == "--json -k"
    assert ok("query", "--", "tide", "tables", cwd=root).out.startswith("L")


def test_a_text_that_begins_with_a_dash_and_has_blanks_is_a_text(root: Path) -> None:
    assert (
        ok("record", "- one\n- two", "-c", "fact", "--json", cwd=root).json["lore"]["content"]
        == "- one\n- two"
    )


def test_options_are_not_abbreviated(root: Path) -> None:
    done = cli("list", "--js", cwd=root)
    assert done.code == 2
    assert "--js" in done.err


def test_a_text_that_looks_like_an_option_gets_a_hint(root: Path) -> None:
    done = cli("record", "--foo", "-c", "fact", cwd=root)
    assert done.code == 2
    assert "goes behind --" in done.err


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("edit L1 --tag x", "--add-tag or --remove-tag?"),
        ("record x --tags a", "--tag?"),
        ("list --limt=3", "--limit?"),
        ("import --dryrun", "--dry-run?"),
        ("observe x", "`engram team observe`?"),
        ("pin L1", "`engram edit --pin`?"),
    ],
)
def test_an_unknown_option_or_command_names_the_nearest(line: str, meant: str) -> None:
    done = cli(*line.split())
    assert (done.code, f"Did you mean {meant}" in done.err) == (2, True)


MEANT = "quer>query recrod>record lst>list zzzz>--help save>record get>query rm>forget push>sync version>--version"


@pytest.mark.parametrize(("wrong", "right"), [pair.split(">") for pair in MEANT.split()])
def test_an_unknown_command_names_the_nearest(wrong: str, right: str) -> None:
    done = cli(wrong)
    assert (done.code, done.out) == (2, "")
    assert right in done.err


def test_lore_is_listed_without_a_command_and_without_a_terminal(root: Path) -> None:
    listed = ok("list", cwd=root)
    assert ok(cwd=root).out == listed.out
    assert ok("--json", cwd=root).json["total"] == 1
    assert ok("--store", ".", cwd=root).out == listed.out


def test_the_app_needs_a_terminal(root: Path) -> None:
    done = cli("tui", cwd=root)
    assert done.code == 2
    assert "engram list" in done.err


@pytest.mark.parametrize("line", [["record", "-"], ["record"]])
def test_a_text_comes_from_standard_input(root: Path, line: list[str]) -> None:
    done = ok(*line, "-c", "fact", "--json", cwd=root, stdin="Zürich\r\nis a city\n".encode())
    assert done.json["lore"]["content"] == "Zürich\nis a city"
    assert cli(*line, "-c", "fact", cwd=root).code == 2


def test_a_byte_order_mark_on_standard_input_is_no_content(root: Path) -> None:
    done = ok("record", "-", "-c", "fact", "--json", cwd=root, stdin=b"\xef\xbb\xbfText")
    assert done.json["lore"]["content"] == "Text"


@pytest.mark.parametrize(
    "line", [["query", "tide", "-k", "0"], ["query", "tide", "-k", "x"], ["query", "tide", "--budget", "0"]]
)
def test_invalid_numbers_are_usage_errors(root: Path, line: list[str]) -> None:
    assert cli(*line, cwd=root).code == 2


def test_a_budget_cuts_what_is_printed_and_says_how_to_see_the_rest(root: Path) -> None:
    long = "Tides. " + "More on tides follows here. " * 100
    ok("record", long, "-c", "fact", cwd=root)
    whole = ok("query", "tides", "--json", cwd=root).json["lore"][0]
    assert not whole["truncated"]
    cut = ok("query", "tides", "--budget", "60", "--json", cwd=root).json["lore"]
    assert sum(len(hit["content"]) for hit in cut) <= 4 * 60 + 160
    (short,) = [hit for hit in cut if hit["truncated"] and hit["content"]]
    assert all(part in long for part in short["content"].split("\n…\n"))
    assert short["content"].endswith("."), "not inside a sentence"
    human = ok("query", "tides", cwd=root).out
    assert "more characters: engram show L" in human
    assert len(human) < 4 * 500 + 1000
    assert len(ok("query", "tides", "--budget", "5000", cwd=root).out) > len(long)


def test_the_budget_of_the_configuration_is_used(root: Path) -> None:
    ok("record", "Tides. " + "More on tides follows here. " * 100, "-c", "fact", cwd=root)
    ok("config", "recall.budget", "50", cwd=root)
    assert len(ok("query", "tides", cwd=root).out) < 1000


def test_colours_are_printed_only_at_terminals_or_on_request(root: Path) -> None:
    assert "\x1b" not in ok("query", "tide", cwd=root).out
    assert "\x1b[" in ok("query", "tide", cwd=root, FORCE_COLOR="1").out
    assert "\x1b" not in ok("query", "tide", cwd=root, FORCE_COLOR="1", NO_COLOR="1").out
    assert "\x1b" not in ok("query", "tide", "--json", cwd=root, FORCE_COLOR="1").out


def test_notes_go_to_standard_error_and_not_into_the_document(root: Path) -> None:
    (root / ".engram.toml").write_text('[embedding]\nprovider = "path"\n', "utf-8")
    done = cli("query", "tide", "--json", cwd=root)
    assert done.code == 0
    assert done.json["strategy"] == "words"
    assert done.json["notes"]
    assert "words only" in done.err


def test_tags_can_be_separated_by_commas(root: Path) -> None:
    said = ok("record", QUEUE, "-c", "fact", "-t", "queue, broker", "-t", "ops", "--json", cwd=root).json
    assert said["lore"]["tags"] == ["queue", "broker", "ops"]
    assert ok("list", "-t", "ops,queue", "--json", cwd=root).json["total"] == 1
    edited = ok("edit", said["lore"]["id"], "--remove-tag", "ops,queue", "--json", cwd=root).json
    assert edited["lore"]["tags"] == ["broker"]


def test_one_option_of_feedback_takes_several_entries(root: Path) -> None:
    ok("record", QUEUE, "-c", "fact", cwd=root)
    ok("search", cwd=root)
    judged = ok("feedback", "--helpful", "L1", "L2", "--json", cwd=root).json["updated"]
    assert [one["ref"] for one in judged] == ["L1", "L2"]
