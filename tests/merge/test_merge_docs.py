"""docs/merge-rules.md: its example is what the merge does, and its table has every field."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from merge_kit import merge

from engram.adapters.files.frontmatter.fields import KEYS

PAGE = (Path(__file__).resolve().parents[2] / "docs/merge-rules.md").read_text("utf-8")
SIDES = ("base", "ours", "theirs", "merged")
EXAMPLES = dict(
    re.findall(
        r"^### Example: ([^\n]+)\n\n[^\n]+\n\n```text merge\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
)
HEAD = "---\nid: 01KJPY44E039MMV97SZGY6V9EQ\ncategory: PATTERN_OUTCOME\n"
CREATED = "created_at: 2026-03-02T09:30:00Z\n"


def whole(part: str) -> bytes:
    """Return the file of an example, with the three fields that the page leaves out."""
    fields, text = re.split(r"\n\n(?! )", part, maxsplit=1)
    before, updated, after = f"{fields}\n".partition("updated_at:")
    return f"{HEAD}{before}{CREATED}{updated}{after}---\n\n{text}".rstrip().encode() + b"\n"


def test_the_page_has_its_example() -> None:
    assert len(EXAMPLES) == 1 == PAGE.count("```text")


@pytest.mark.parametrize("title", EXAMPLES)
def test_the_example_is_what_the_merge_does(title: str) -> None:
    parts = re.findall(r"^--- (\w+)\n(.*?)(?=^--- |\Z)", EXAMPLES[title], re.MULTILINE | re.DOTALL)
    assert tuple(side for side, _ in parts) == SIDES
    base, ours, theirs, wanted = (whole(part) for _, part in parts)
    assert merge(base, ours, theirs).content == wanted
    assert merge(base, theirs, ours).content == wanted


def test_every_field_has_a_rule() -> None:
    table = PAGE.partition("| Fields | Rule |")[2].partition("\n\n")[0]
    named = re.findall(
        r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if "`" in line)
    )
    assert sorted(named) == sorted(set(KEYS) - {"id"})
