"""Where the frontmatter ends and the body begins, and which lines each key covers."""

from __future__ import annotations

import pytest

from engram.adapters.files.frontmatter import frontmatter, keys
from engram.adapters.files.frontmatter.frontmatter import KeyEntry, Problem, scalar


@pytest.mark.parametrize(
    ("text", "block", "body"),
    [
        ("---\na: b\n---\ntext", "a: b\n", "text"),
        ("---\n---\ntext", "", "text"),
        ("--- \t\r\na: b\r\n---  \r\ntext", "a: b\r\n", "text"),
        ("---\na: b\n----\n--- x\n---", "a: b\n----\n--- x\n", ""),
        ("\ufeff---\na: b\n---\ntext", "a: b\n", "text"),
        ("----\na: b\n---\n", "", "----\na: b\n---\n"),
        (" ---\na: b\n---\n", "", " ---\na: b\n---\n"),
        ("---\na: b\n", "", "---\na: b\n"),
        ("---", "", "---"),
        ("", "", ""),
    ],
)
def test_the_fences_split_a_file(text: str, block: str, body: str) -> None:
    document = frontmatter.split(text)
    assert (document.block, document.body) == (block, body)
    assert "".join(document) == text


BLOCK = """\
# top
id: x # note

tags:
  - a
  # inside
  - b
  # after

context: |
  one
   two

kept: |+
  three

flow: [a,
  {b: c}] # end
empty:   # nothing
"""


def test_each_key_covers_its_lines_and_no_more() -> None:
    assert keys.parse(BLOCK) == [
        KeyEntry("id", "x", 1, 2, " # note"),
        KeyEntry("tags", ["a", "b"], 3, 7),
        KeyEntry("context", "one\n two\n", 9, 12),
        KeyEntry("kept", "three\n\n", 13, 16),
        KeyEntry("flow", ["a", {"b": "c"}], 16, 18),
        KeyEntry("empty", "", 18, 19, "   # nothing"),
    ]


def test_frontmatter_that_is_no_mapping_is_recognised() -> None:
    assert keys.parse("some\nprose\n") is None
    assert keys.parse("- a\n- b\n") is None
    assert keys.parse("# nothing\n\n") == []


def test_a_yaml_error_names_the_line_of_the_file() -> None:
    with pytest.raises(Problem) as caught:
        keys.parse("a: b\nc: d: e\n")
    assert caught.value.line == 3
    assert "mapping values are not allowed" in caught.value.message


def test_sizes_do_not_count_conflicts() -> None:
    conflicts = "conflicts:\n  - field: content\n    value: |\n" + "      text\n\n" * 3000
    frontmatter.check_size(f"id: x\n{conflicts}tags: [a]\n")
    frontmatter.check_size(f"id: x\n{conflicts}tags: [a]\n".replace("\n", "\r\n"))
    with pytest.raises(Problem):
        frontmatter.check_size(f"id: x\n{conflicts}note: {'y' * 17000}\n")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain words", "plain words"),
        ("emoji 👩\u200d💻", "emoji 👩\u200d💻"),
        ("a:b", "a:b"),
        ("a: b", '"a: b"'),
        ("no", '"no"'),
        ("1:30", '"1:30"'),
        ("0123", '"0123"'),
        ("2026-11-21", '"2026-11-21"'),
        ('say "x" \\ y', 'say "x" \\ y'),
        ('"x" \\ y', '"\\"x\\" \\\\ y"'),
        ("a\x85\u2028\ufeff\t", '"a\\x85\\u2028\\ufeff\\t"'),
        ("", '""'),
    ],
)
def test_values_are_quoted_only_if_needed(text: str, written: str) -> None:
    assert scalar(text) == written
