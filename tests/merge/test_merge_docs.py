"""docs/merge-rules.md: its examples are what the merge does, and its table has every field."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from merge_kit import merge

from engram.adapters.files.frontmatter.fields import KEYS

PAGE = (Path(__file__).resolve().parents[2] / "docs/merge-rules.md").read_text("utf-8")
BLOCK = re.compile(r"^```markdown (base|ours|theirs|merged)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = {
    title: dict(BLOCK.findall(section))
    for title, section in re.findall(r"^### Example: (.+?)\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
}


def test_the_page_has_its_examples() -> None:
    assert len(EXAMPLES) == 4
    assert all(set(example) == {"base", "ours", "theirs", "merged"} for example in EXAMPLES.values())
    assert sum(map(len, EXAMPLES.values())) == len(BLOCK.findall(PAGE))


@pytest.mark.parametrize("title", EXAMPLES)
def test_the_example_is_what_the_merge_does(title: str) -> None:
    base, ours, theirs, wanted = (
        EXAMPLES[title][part].encode() or None for part in ("base", "ours", "theirs", "merged")
    )
    assert merge(base, ours, theirs).content == wanted
    assert merge(base, theirs, ours).content == wanted


def test_every_field_has_a_rule() -> None:
    table = PAGE.partition("| Fields | Rule |")[2].partition("\n\n")[0]
    named = re.findall(
        r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if "`" in line)
    )
    assert sorted(named) == sorted(set(KEYS) - {"id"})
