"""Splitting documents: short ones stay whole, long ones are cut at the right places, parts have titles."""

from __future__ import annotations

import pytest

from engram.domain.entry.lore import title_of
from engram.domain.exchange.documents import Part, split_document, tags_from_folders, title_from_file_name

PARAGRAPH = "Connections are pooled, so a query that hangs holds one of only ten. "


def prose(characters: int) -> str:
    return (PARAGRAPH * (characters // len(PARAGRAPH) + 1))[:characters].strip()


def titles(parts: tuple[Part, ...]) -> list[str]:
    return [part.title for part in parts]


def test_a_document_that_fits_stays_one_part_with_its_own_text() -> None:
    text = "# Pools\n\n## Size\n\nTen.\n\n```sh\n# not a heading\n```\n\n- a\n- b"
    (part,) = split_document(text, "file name")
    assert part == Part("Pools", text, 1, 0)


def test_newlines_are_normalised_and_outer_blank_lines_dropped_but_not_the_first_indentation() -> None:
    (part,) = split_document("\ufeff \r\n\r\n# A\r\n\r\none\rtwo\r\n\r\n", "x")
    assert part.content == "# A\n\none\ntwo"
    (code,) = split_document("\n\n    make all\n", "Build")
    assert code.content == "# Build\n\n    make all"


@pytest.mark.parametrize("text", ["", "\n\n", " \t\r\n \u2028"])
def test_a_blank_document_has_no_part(text: str) -> None:
    assert split_document(text, "x") == ()


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\ntext",
        "Title\n=====\n\ntext",
        "## Only a subheading\n\ntext",
        "A line that stands alone\n\nand then more of it.",
        "Always run the formatter before a commit.",
    ],
)
def test_a_document_that_begins_with_a_title_gets_none_put_on_top(text: str) -> None:
    (part,) = split_document(text, "file name")
    assert part.content == text


@pytest.mark.parametrize(
    "text",
    [
        "- a list\n- of things",
        "The first line of a paragraph\nthat goes on here.",
        "Here is how:\n\n1. stop\n2. start",
        "```sh\nmake\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "![badge](https://example.org/b.svg)\n\ntext",
        "https://example.org/a/page",
        "> quoted\n\ntext",
        "***",
        "x" * 130,
    ],
)
def test_a_document_without_a_title_gets_the_fallback_on_top(text: str) -> None:
    (part,) = split_document(text, "File name")
    assert part.content == f"# File name\n\n{text}"
    assert part.title == "File name"


def test_a_document_that_leaves_no_room_for_its_title_is_split() -> None:
    code = "```\n" + "\n".join(["# no heading"] * 6) + "\n```"
    (one,) = split_document(code, "File name", limit=len(code) + len("# File name\n\n"))
    assert one.content == f"# File name\n\n{code}"
    parts = split_document(code, "File name", limit=len(code) + 5)
    assert [part.title for part in parts] == ["File name", "File name (2)"]


def test_a_heading_below_a_preamble_becomes_the_title_line() -> None:
    text = "<!-- generated -->\n[![CI](https://x.example/b.svg)](https://x.example)\n\n# Real title\n\ntext"
    (part,) = split_document(text, "README")
    assert part.title == "Real title"
    assert part.content == f"# Real title\n\n{text}"


def test_a_long_document_is_split_by_its_headings_and_small_sections_are_packed_together() -> None:
    sizes = {"Size": 800, "Leaks": 500, "Tests": 200}
    sections = "".join(f"\n\n## {name}\n\n{prose(size)}" for name, size in sizes.items())
    parts = split_document(f"# Pools\n\n{prose(600)}{sections}", "x", limit=1000)
    assert titles(parts) == ["Pools", "Pools: Size", "Pools: Leaks, Tests"]
    assert parts[0].content == f"# Pools\n\n{prose(600)}"
    assert parts[-1].content.startswith("# Pools: Leaks, Tests\n\n## Leaks\n\n")
    assert [part.index for part in parts] == list(range(len(parts)))


def test_a_section_that_is_too_long_is_split_at_its_subheadings_and_named_by_its_path() -> None:
    long_section = f"## A\n\n### One\n\n{prose(700)}\n\n### Two\n\n{prose(700)}"
    parts = split_document(f"# Doc\n\nintro\n\n{long_section}\n\n## B\n\n{prose(100)}", "x", limit=1000)
    assert titles(parts) == ["Doc", "Doc: A", "Doc: A / Two", "Doc: B"]
    assert [part.level for part in parts] == [1, 2, 3, 2]
    assert "### One" in parts[1].content


def test_a_section_without_headings_is_cut_between_paragraphs_and_numbered() -> None:
    paragraphs = [prose(400) + f" end {number}." for number in range(6)]
    parts = split_document("# Doc\n\n## A\n\n" + "\n\n".join(paragraphs), "x", limit=1000)
    assert titles(parts) == ["Doc", "Doc: A", "Doc: A (2)"]
    assert all(any(paragraph in part.content for part in parts) for paragraph in paragraphs)


def test_equal_headings_get_distinct_titles() -> None:
    section = f"## Usage\n\n{prose(800)}\n\n"
    parts = split_document("# Doc\n\n" + section * 3, "x", limit=1000)
    assert titles(parts) == ["Doc", "Doc: Usage", "Doc: Usage (2)"]


def test_setext_headings_count() -> None:
    text = f"Doc\n===\n\n{prose(700)}\n\nSecond half\n-----------\n\n{prose(700)}"
    assert titles(split_document(text, "x", limit=1000)) == ["Doc", "Doc: Second half"]


def test_a_rule_under_a_longer_paragraph_or_a_list_is_no_heading() -> None:
    text = f"# Doc\n\n{prose(700)}\nlast line\n---\n\n- item\n---\n\n{prose(700)}"
    assert titles(split_document(text, "x", limit=1000)) == ["Doc", "Doc (2)"]


@pytest.mark.parametrize(
    "hidden",
    [
        "```sh\n# install\n\n## deeper\n```",
        "~~~\n# install\n```\n# still code\n~~~",
        "````md\n```\n# install\n```\n## more\n````",
        "- ```sh\n  # install\n  ```",
        "1. step\n\n    ```sh\n# install\n    ```",
        "> ```\n> # install\n> ```",
        "<!--\n# install\n\n## deeper\n-->",
        "<pre>\n# install\n</pre>",
        "# install | what\n---|---\nx | y",
    ],
)
def test_headings_inside_code_comments_and_tables_are_ignored(hidden: str) -> None:
    parts = split_document(f"# Doc\n\n{prose(900)}\n\n{hidden}\n\n{prose(600)}", "x", limit=1000)
    assert len(parts) > 1
    assert all(title in ("Doc", "Doc (2)", "Doc (3)") for title in titles(parts))
    assert any(hidden in part.content for part in parts)


def test_a_fence_that_fits_a_part_is_never_cut_and_stays_with_its_introduction() -> None:
    fence = "```py\n" + "x = 1\n" * 100 + "```"
    parts = split_document(f"# Doc\n\n{prose(600)}\n\nLike this:\n\n{fence}\n\nafter", "x", limit=1000)
    assert parts[1].content.startswith(f"# Doc (2)\n\nLike this:\n\n{fence}")


@pytest.mark.parametrize(("margin", "mark"), [("", "```"), ("", "~~~~"), ("  ", "```"), ("> ", "```")])
def test_a_fence_cut_in_two_is_closed_and_reopened_with_its_info_string(margin: str, mark: str) -> None:
    code = "\n".join(f"{margin}print({number})" for number in range(300))
    parts = split_document(
        f"# Doc\n\n{margin}{mark}python title=a\n{code}\n{margin}{mark}\n\nend", "x", limit=1000
    )
    assert len(parts) > 3
    for part in parts[1:]:
        assert f"\n\n{margin}{mark}python title=a\n{margin}print(" in part.content
    for part in parts[:-1]:
        assert part.content.endswith(f"\n{margin}{mark}")
    lines = "\n".join(part.content for part in parts).split("\n")
    assert [line for line in lines if "print(" in line] == code.split("\n")


def test_a_comment_and_a_table_cut_in_two_stay_a_comment_and_a_table() -> None:
    comment = "<!--\n" + "hidden note\n" * 120 + "-->"
    table = "| key | value |\n|---|---|\n" + "| a | b |\n" * 150
    parts = split_document(f"# Doc\n\n{comment}\n\n## T\n\n{table}", "x", limit=1000)
    for part in parts:
        assert part.content.count("<!--") == part.content.count("-->")
        assert part.content.count("|---|---|") == (1 if "| a | b |" in part.content else 0)


def test_a_fence_that_is_never_closed_runs_to_the_end() -> None:
    parts = split_document("# Doc\n\n```sh\n" + "# comment\n\nmake\n" * 100, "x", limit=1000)
    assert titles(parts) == ["Doc", *(f"Doc ({number})" for number in range(2, len(parts) + 1))]
    assert all("\n\n```sh\n" in part.content for part in parts)


def test_one_huge_line_is_cut_after_words_or_else_anywhere() -> None:
    words = " ".join(f"word{number}" for number in range(500))
    parts = split_document(words, "Words", limit=1000)
    assert " ".join(part.content.split("\n\n", 1)[1] for part in parts) == words
    solid = split_document("x" * 5000, "Solid", limit=1000)
    assert "".join(part.content.split("\n\n", 1)[1] for part in solid) == "x" * 5000


def test_no_part_is_a_bare_heading() -> None:
    sections = [f"### A\n\n{prose(900)}", f"### B\n\n{prose(900)}", "## Two", f"## Three\n\n{prose(900)}"]
    text = "\n\n".join(["# Doc", "## Part one", *sections])
    for part in split_document(text, "x", limit=1000):
        assert any(line and not line.startswith("#") for line in part.content.split("\n")[1:]), part


def test_titles_of_several_top_headings_begin_with_the_fallback() -> None:
    text = f"# Setup\n\n{prose(800)}\n\n# Testing\n\n{prose(800)}"
    assert titles(split_document(text, "Team notes", limit=1000)) == [
        "Team notes: Setup",
        "Team notes: Testing",
    ]


def test_long_titles_are_shortened_to_what_an_entry_shows() -> None:
    section = f"## {'Long section ' * 12}\n\n{prose(600)}\n\n{prose(700)}"
    parts = split_document(
        f"# {'Very long document title ' * 8}\n\n{prose(700)}\n\n{section}", "x", limit=1000
    )
    for part in parts[1:]:
        first = part.content.split("\n", 1)[0]
        assert first == f"# {part.title}" == f"# {title_of(part.content)}"
        assert len(part.title) <= 120
    assert parts[-1].title.endswith(" (2)")


def test_a_limit_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 40"):
        split_document("text", "x", limit=39)


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("my-note_v2.md", "My note v2"),
        ("a/b/iPhone-tips.markdown", "iPhone tips"),
        ("2024-03-01-flaky-test.md", "Flaky test"),
        ("2024-03-01.md", "2024 03 01"),
        ("docs/payments/README.md", "Payments"),
        ("README.md", "README"),
        (r"notes\win-path.txt", "Win path"),
        ("release-1.2.md", "Release 1.2"),
        ("use-wal--01ARZ3NDEKTSV4RRFFQ69G5FAV.md", "Use wal"),
        ("élan-vital.md", "Élan vital"),
        (".md", ".md"),
        ("", ""),
    ],
)
def test_a_title_is_made_from_a_file_name(path: str, title: str) -> None:
    assert title_from_file_name(path) == title


@pytest.mark.parametrize(
    ("path", "tags"),
    [
        ("python/async/note.md", ("python", "async")),
        ("docs/2024/03/Payments API/x.md", ("payments-api",)),
        ("./notes/2024-q1/2024-03-01/w12/x.md", ()),
        (".github/Workflows/x.md", ("github", "workflows")),
        ("src/db/DB/x.md", ("db",)),
        ("日本語/x.md", ()),
        ("x.md", ()),
    ],
)
def test_tags_are_made_from_meaningful_folder_names(path: str, tags: tuple[str, ...]) -> None:
    assert tags_from_folders(path) == tags


def test_no_part_of_a_cut_fence_is_empty() -> None:
    lengths = set()
    for lines in range(165, 600):
        parts = split_document("# Doc\n\n```\n" + "x = 1\n" * lines + "`" * 40, "x", limit=1000)
        assert all("```\nx = 1\n" in part.content for part in parts), lines
        lengths.add(len(parts))
    assert lengths == {2, 3, 4, 5}
