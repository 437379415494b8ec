"""Hostile queries and names: a quick answer (perhaps an empty one), or one message."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from apikit import open_test_store
from effort import sampled
from forked_kit import forked
from hostile_kit import BAD_BYTES, CORPUS, ESCAPES, RECALLED, check_result, cli

from engram.domain.errors import EngramError

STRATEGIES = ("hybrid", "words", "scan")
QUERIES = [line for line in (CORPUS / "queries.txt").read_text("utf-8").split("\n") if line.strip()]
LARGE = {
    "parentheses": "(" * 10_000,
    "words": " ".join(f"word{number}" for number in range(5000)),
    "one word": "idempotent " * 5000,
    "letters": "x" * 100_000,
    "quotes": '"' * 50_000,
    "nested": "[{(" * 20_000,
    "emoji": "🎉" * 20_000,
}


@sampled("text", QUERIES, 10, ids=ascii)
def test_any_question_has_an_answer_by_every_strategy(root: Path, text: str) -> None:
    with open_test_store(root) as engram:
        for strategy in STRATEGIES:
            answer = engram.query(text, strategy=strategy)
            assert answer.strategy == strategy
            assert not answer.notes
    said = check_result(cli("query", "--", text, cwd=root), 0)
    assert not said.err


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_a_large_question_is_answered_quickly(root: Path, text: str) -> None:
    began = time.process_time()
    said = check_result(cli("query", text, cwd=root), 0)
    assert not said.err
    with open_test_store(root) as engram:
        for strategy in STRATEGIES:
            assert not engram.query(text, strategy=strategy).notes
    assert time.process_time() - began < 5


def test_a_question_of_5000_words_in_a_process_of_its_own(root: Path) -> None:
    said = check_result(forked("query", LARGE["words"], cwd=root), 0)
    assert said.out == "Nothing relevant is known here.\n"
    check_result(forked("query", LARGE["parentheses"], cwd=root), 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x " * 500_000, "1,000,000 characters; at most 200,000 fit"),
        ("nul \0 here", "NUL"),
        ("\ud800", "half of a character"),
        (BAD_BYTES, "half of a character"),
        ("", "empty"),
        (" \n\t", "empty"),
    ],
    ids=["1 MB", "nul", "surrogate", "bytes", "empty", "blank"],
)
def test_an_invalid_question_is_refused(root: Path, text: str, message: str) -> None:
    assert message in check_result(cli("query", text, cwd=root), 2).err
    with open_test_store(root) as engram, pytest.raises(EngramError, match=message):
        engram.query(text)


@pytest.mark.parametrize(
    "arguments", [("--",), ("-x",), ("---",), ("--no-such",), ("-k", "x", "queue")], ids=str
)
def test_dashes_are_options_and_refused_as_such(root: Path, arguments: tuple[str, ...]) -> None:
    check_result(cli("query", *arguments, cwd=root), 2)
    check_result(cli("query", "--", "-x", "--no-such", cwd=root), 0)


@pytest.mark.parametrize(
    "arguments",
    [
        ("-k", "9" * 30),
        ("-k", "9" * 5000),
        ("-k", "-1"),
        ("--min-confidence", "nan"),
        ("--min-confidence", "1e309"),
        ("--budget", "9" * 5000),
        ("-t", BAD_BYTES),
        ("-f", BAD_BYTES),
        ("-c", BAD_BYTES),
        ("-c", ESCAPES),
        ("--type", "\ud800"),
        ("--strategy", "\ud800"),
    ],
    ids=lambda pair: ascii(" ".join(pair)[:24]),
)
def test_an_option_beyond_its_range_is_refused(root: Path, arguments: tuple[str, ...]) -> None:
    check_result(cli("query", "queue", *arguments, cwd=root), 2)


def test_a_filter_of_thousands_of_tags_works(root: Path) -> None:
    tags = [part for number in range(3000) for part in ("-t", f"tag{number}")]
    for command in ("query", "list"):
        words = ["idempotent queue"] if command == "query" else []
        said = cli(command, *words, *tags, cwd=root)
        check_result(said, said.code)
        assert said.code in (0, 2)
        assert RECALLED not in said.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--sort", BAD_BYTES), 2),
        (("-t", BAD_BYTES), 2),
        (("--status", ESCAPES), 2),
        (("--limit", "9" * 30), 0),
        (("--limit", "9" * 5000), 2),
        (("--limit", "-1"), 2),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_a_list_with_any_option_works_or_is_refused(
    root: Path, arguments: tuple[str, ...], code: int
) -> None:
    check_result(cli("list", *arguments, cwd=root), code)


NAMES = [
    "L0",
    "L999999",
    "L" + "9" * 5000,
    "x" * 100_000,
    BAD_BYTES,
    "(",
    "*",
    "%",
    "_____",
    "../..",
    "/etc/passwd",
    ESCAPES,
    "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
    "0" * 26,
    "ZZZZ",
    "",
    "'; DROP TABLE files;--",
]


@sampled("name", NAMES, 6, ids=lambda name: ascii(name[:16]))
def test_an_unknown_name_is_not_found(root: Path, name: str) -> None:
    assert check_result(cli("query", "idempotent queue", cwd=root), 0).out.startswith("L1")
    for command in (
        ("show", name),
        ("log", name),
        ("forget", "--yes", name),
        ("feedback", "--helpful", name),
        ("edit", name, "--add-tag", "x"),
    ):
        said = cli(*command, cwd=root)
        assert check_result(said, said.code).code in ((1, 3) if command[0] == "log" else (3,))


@pytest.mark.parametrize(
    "command", ["\ud800", ESCAPES, "x" * 100_000, "--" + "x" * 1000, ""], ids=lambda name: ascii(name[:16])
)
def test_an_unknown_command_is_refused(root: Path, command: str) -> None:
    check_result(cli(command, cwd=root), 2)


@pytest.mark.parametrize(
    "place",
    [BAD_BYTES, "x" * 10_000, "a\nb", ESCAPES, "/dev/null", "/etc/passwd", "/proc/self/mem"],
    ids=lambda name: ascii(name[:16]),
)
def test_a_store_at_an_invalid_path_is_not_found(root: Path, place: str) -> None:
    said = cli("list", "--store", place, cwd="/")
    assert check_result(said, said.code).code in (1, 3)
