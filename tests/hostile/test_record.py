"""Hostile text for `record`: refused with one message, or stored unchanged and shown sanitized."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from apikit import open_test_store, variables
from effort import sampled
from forked_kit import forked
from hostile_kit import BAD_BYTES, ESCAPES, check_result, cli, ok

from engram.domain.errors import EngramError, ValidationError

SURROGATE = "half \ud800 a character"


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        (b"x" * 10_000_000, "10,000,000 characters; at most 4,000 fit"),
        (b"word " * 2_000_000, "9,999,999 characters; at most 4,000 fit"),
        (b"w" * 200_000, "200,000 characters"),
        (b"a\0b", "NUL character"),
        (b"bad \xff", "not UTF-8 (byte 4)"),
        (b"", "The content is empty"),
        (b" \n\t\r\n ", "The content is empty"),
        (b"\xef\xbb\xbf", "The content"),
        ("\u200b\u200d\ufe0f".encode(), "no visible characters"),
        (b"<<<<<<< HEAD\nfoo", "conflict marker"),
    ],
    ids=lambda value: repr(value[:12]) if isinstance(value, bytes) else "",
)
def test_text_that_cannot_be_an_entry_is_refused(root: Path, stdin: bytes, message: str) -> None:
    said = check_result(forked("record", "-", "-c", "fact", cwd=root, stdin=stdin), 2)
    assert message in said.err


@sampled(
    "text",
    [
        "🎉",
        "\u0301\u0301",
        "\x01\x02",
        ESCAPES,
        "w" * 3999,
        "---\nid: x\n---\nbody",
        "#",
        "日本語",
        "👩‍💻" * 500,
    ],
    ids=lambda text: ascii(text[:8]),
    everyday=4,
)
def test_unusual_text_is_stored_unchanged_and_shown_sanitized(root: Path, text: str) -> None:
    done = check_result(forked("record", "-", "-c", "fact", cwd=root, stdin=text.encode()), 0)
    lore_id = done.out.split()[1]
    assert check_result(cli("show", lore_id, "--json", cwd=root), 0).json["lore"]["content"] == text
    check_result(cli("show", lore_id, cwd=root), 0)
    check_result(cli("list", cwd=root), 0)


def test_line_ends_and_a_byte_order_mark_do_not_break_an_entry(root: Path) -> None:
    done = ok(
        "record", "-", "-c", "fact", "--json", cwd=root, stdin=b"\xef\xbb\xbfFirst line\r\nsecond\rthird\r\n"
    )
    assert done.json["lore"]["content"] == "First line\nsecond\nthird"


@pytest.mark.parametrize(
    "option",
    [
        "--tag",
        "--context",
        "--agent",
        "--file",
        "--entity",
        "--category",
        "--type",
        "--status",
        "--confidence",
    ],
)
@sampled(
    "value",
    ["x" * 100_000, BAD_BYTES, ESCAPES, "a\nb", "nan", "1e309", "-1", "\ud800"],
    3,
    ids=lambda value: ascii(value[:6]),
)
def test_an_option_of_any_value_is_accepted_or_refused(root: Path, option: str, value: str) -> None:
    category = [] if option == "--category" else ["--category", "fact"]
    said = cli("record", "Some text.", *category, f"{option}={value}", cwd=root)
    check_result(said, said.code)
    assert said.code in (0, 2)
    if value in ("x" * 100_000, "\ud800", BAD_BYTES) or option in (
        "--category",
        "--type",
        "--status",
        "--confidence",
    ):
        assert said.code == 2


@pytest.mark.parametrize(
    "value",
    ["x" * 100_000, ESCAPES, BAD_BYTES, "a\nb", "   ", "💥" * 300],
    ids=lambda value: ascii(value[:6]),
)
def test_a_session_of_any_name_works(root: Path, value: str) -> None:
    name = {"ENGRAM_SESSION": value}
    assert check_result(cli("query", "idempotent queue", cwd=root, **name), 0).out.startswith("L1 ")
    check_result(cli("session", cwd=root, **name), 0)
    check_result(cli("status", cwd=root, **name), 0)
    check_result(cli("record", "In a session.", "-c", "fact", cwd=root, **name), 0)
    assert check_result(cli("show", "L1", cwd=root, **name), 0).out.startswith("Queue consumer")


@pytest.mark.parametrize("value", ["x" * 100_000, ESCAPES, BAD_BYTES], ids=lambda value: ascii(value[:6]))
def test_an_agent_of_any_name_records(root: Path, value: str) -> None:
    done = check_result(cli("record", "By an agent.", "-c", "fact", cwd=root, ENGRAM_AGENT=value), 0)
    check_result(cli("show", done.out.split()[1], cwd=root), 0)


def test_arguments_that_are_not_utf8_are_refused(root: Path) -> None:
    said = check_result(forked("record", b"bad \xff\xfe", "-c", "fact", cwd=root), 2)
    assert "half of a character at position 4" in said.err


def test_json_output_has_no_terminal_escapes(root: Path) -> None:
    done = ok("record", ESCAPES, "-c", "fact", "--json", cwd=root)
    assert done.json["lore"]["content"] == ESCAPES
    assert done.out.replace("\n", "").isprintable()


def test_raw_output_is_sanitized_on_a_terminal_and_exact_in_a_pipe(root: Path) -> None:
    lore_id = ok("record", ESCAPES, "-c", "fact", cwd=root).out.split()[1]
    command = [sys.executable, "-m", "engram", "show", lore_id, "--raw"]
    piped = subprocess.run(command, cwd=root, env=variables(), capture_output=True, check=True, timeout=60)
    assert b"\x1b[31mred" in piped.stdout
    reader, writer = pty.openpty()
    try:
        subprocess.run(
            command,
            cwd=root,
            env=variables(TERM="dumb"),
            stdout=writer,
            stderr=subprocess.PIPE,
            check=True,
            timeout=60,
        )
        shown = os.read(reader, 100_000)
    finally:
        os.close(reader)
        os.close(writer)
    assert b"\xe2\x90\x9b[31mred" in shown
    assert b"\x1b" not in shown


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("x" * 10_000_000, {}),
        (SURROGATE, {}),
        ("\0", {}),
        ("\u200b", {}),
        ("Fine.", {"tags": ["x" * 10_000_000]}),
        ("Fine.", {"tags": ["t"] * 1 + [str(n) for n in range(100_000)]}),
        ("Fine.", {"context": SURROGATE}),
        ("Fine.", {"agent": SURROGATE}),
        ("Fine.", {"confidence": float("nan")}),
        ("Fine.", {"confidence": float("inf")}),
        ("Fine.", {"importance": float("nan")}),
        ("Fine.", {"relations": [("see_also", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ")]}),
        ("Fine.", {"tags": [f"{n:0>190}" for n in range(190)]}),
        ("Fine.", {"entities": ["a\nb"]}),
    ],
    ids=range(14),
)
def test_the_api_refuses_with_its_own_error(root: Path, content: str, options: dict[str, object]) -> None:
    with open_test_store(root) as engram:
        with pytest.raises(EngramError) as caught:
            engram.record(content, category="FACT", **options)  # type: ignore[arg-type]
        assert isinstance(caught.value, ValidationError)
        assert json.dumps(caught.value.as_dict())
        assert engram.list().total == 1
