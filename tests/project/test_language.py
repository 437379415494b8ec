"""The use of the word lore: a mass noun, as in "an entry", "12 entries" and "lore that matters"."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXTS = (".md", ".py", ".sh", ".tcss", ".toml", ".txt")
# Text by others, and text used for measurements.
AS_THEY_ARE = ("tests/data/corpus/", "benchmarks/recall_dev/", "tests/project/test_language.py")

_WORDS = (
    "an?|each|every|one|another|two|three|four|five|six|seven|eight|nine|ten|twelve"
    "|twenty|thirty|forty|fifty|sixty|eighty|hundred|thousand|million|dozen|many|few|several|both|these|those"
)
_NOUNS = (  # "a lore file", "12 lore entries": lore says what kind they are
    "files?|entry|entries|folders?|formats?|branch|branches|stores?|ids?|lists?|titles?|texts?|records?|paths?|trees?"
    "|pages?|documents?|repository|repositories|library"
)
COUNTED = re.compile(
    rf"(?<![\w-])(?:(?:{_WORDS})\s+(?:\#\s+)?|(?:\d(?:[\d,.]*\d)?(?:k|\s?000)?|\}}) )lore\b"
    rf"(?!\s+(?:{_NOUNS})\b)(?![-/_.(\[=]\w|/|\s*=)"
    rf"|(?<![\w-])(?:{_WORDS}) (?!(?:about|as|by|for|from|in|of|on|to|with)\b)\w+(?: |\n *)lore\b"
    rf"(?!\s+(?:{_NOUNS})\b)(?![-/_.(\[=]\w)"
    r"|(?<!\bof )(?<!\bin )(?<!\bfor )(?<!\bfrom )(?<!\babout )(?<!\bwith )(?<!\bon )(?<!\bto )"
    r"\blore\s+(?:(?:that|which)\s+)?(?:are|have|were|do)\b"
    r"|\blore\s+(?:that|which)\s+(?:agree|answer|come|fit|fold|fulfil|get|go|hold|match|mean|name|need|say|share|show|stand|take|wait)\b"
    r"|\b(?:how|its|that|what|whatever|where)\s+lore\s+(?:go|name|say|share|stand|travel|wait)\b|(?<=[.:] )Lore (?:go|name|stand)\b"
    r"|[\"']lore(?: \w+)?[\"'], [\"']lore\b(?!/)",
    re.IGNORECASE,
)


def counts(text: str) -> list[tuple[int, str]]:
    """Return the places of a text that use lore as a countable noun, each with its line number.

    Only lines with the word and those around them are looked at: everything else takes ten times as long.
    """
    text = re.sub(
        r"\btest_\w+", lambda name: name[0].replace("_", " "), text
    )  # a test's name, read as a sentence
    lines = text.split("\n")
    named = ["lore" in line.lower() for line in lines]
    around = [any(named[max(number - 1, 0) : number + 2]) for number in range(len(lines))]
    near = "\n".join(line if is_near else "" for line, is_near in zip(lines, around, strict=True))
    return [(near.count("\n", 0, at.start()) + 1, " ".join(at[0].split())) for at in COUNTED.finditer(near)]


@pytest.mark.parametrize(
    "text",
    ["a lore", "a new lore", "def test_two_lore_stay(", "12 lore", "1,000 lore",
     "f'{count:,} lore'", "These lore", "every\n# lore", "lore are kept", "lore that wait",
     'counted(2, "lore", "lore")', "counted(2, 'lore waits', 'lore wait')", "where lore name both", "Data. Lore stand there"],
)  # fmt: skip
def test_lore_as_a_countable_noun_is_found(text: str) -> None:
    assert counts(text)


@pytest.mark.parametrize(
    "text",
    ["an entry", "12 entries", "a lore file", "a team's lore", "a piece of lore", "lore that matters", "the lore of 12",
     "entries of lore are kept", "{a}\nlore = 1", "this lore", "lore that was kept"],
)  # fmt: skip
def test_lore_as_a_mass_noun_is_accepted(text: str) -> None:
    assert counts(text) == []


def test_the_project_uses_lore_as_a_mass_noun() -> None:
    listed = subprocess.run(
        ("git", "ls-files", "-z"), cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    found: list[str] = []
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.suffix not in TEXTS or name.startswith(AS_THEY_ARE) or not path.is_file():
            continue
        text = path.read_text("utf-8", errors="replace")
        if name == "CHANGELOG.md":
            text = re.split(r"^## \d", text, maxsplit=1, flags=re.MULTILINE)[
                0
            ]  # released sections stay unchanged
        places = counts(text)
        found += [f"{name}:{line}: {words}" for line, words in places]
    assert found == [], "lore is a mass noun: an entry, 12 entries, lore that matters"
