"""Changes of code in words: how many lines differ, whether a name is still there, and how each change is described."""

from __future__ import annotations

from engram.domain.review.code_changes import (
    CHANGED,
    GONE,
    SYMBOL,
    VERSION,
    Lines,
    changed_lines,
    file_changed,
    file_gone,
    is_named,
    is_substantial,
    symbol_gone,
    version_changed,
)


def test_lines_that_moved_are_neither_added_nor_removed() -> None:
    assert changed_lines("a\nb\nc\nd\n", "a\nc\nb\nd\n") == (0, 0)
    assert changed_lines("a\nb\nb\nz\n", "a\nb\nx\ny\nz\n") == (2, 1)
    assert changed_lines("", "a\na\n") == (2, 0)
    assert changed_lines("a\na\na\n", "a\n") == (0, 2)


def test_a_name_counts_only_as_a_whole_word() -> None:
    assert is_named("retry", "def retry(x):")
    assert is_named("retry", "retry")
    assert is_named("retry", "retries = no_retry or retry")
    for text in ("", "retries", "no_retry", "retry2", "$retry", "Retry"):
        assert not is_named("retry", text), text


def test_any_line_of_a_short_file_is_substantial_and_a_third_of_a_long_one() -> None:
    assert [is_substantial(Lines(added, removed, 50)) for added, removed in ((0, 0), (1, 0), (0, 1))] == [
        False,
        True,
        True,
    ]
    assert [is_substantial(Lines(900, removed, 300)) for removed in (0, 99, 100)] == [False, False, True]


def test_a_finding_says_what_changed_by_how_much_and_in_which_commit() -> None:
    assert file_changed("a.py", 2, Lines(3, 1, 9), "c1") == (
        CHANGED, "a.py changed", "a.py: 2 commits, +3 −1 lines; last c1", 4
    )  # fmt: skip
    assert file_changed("a.png", 1, None, "c1").difference == "a.png: 1 commit; last c1"
    assert file_gone("a.py", "", "c1")[:3] == (GONE, "a.py was deleted", "a.py was deleted, by c1")
    assert file_gone("a.py", "b.py", "c1")[:3] == (GONE, "a.py moved to b.py", "a.py → b.py, by c1")


def test_a_removed_name_is_shown_with_its_old_line() -> None:
    found = symbol_gone("retry", "a.py", "x = retries\n    def retry(n):\n        retry(n - 1)\n", "c1")
    assert found[:3] == (SYMBOL, "`retry` is gone from a.py", "a.py −def retry(n):; last c1")


def test_a_changed_version_is_shown_with_the_claim_of_the_entry() -> None:
    found = version_changed("httpx 0.27", "0.27", "0.28", "uv.lock")
    assert found[:3] == (VERSION, "httpx 0.27 is now 0.28", "uv.lock: 0.27 → 0.28; the entry says httpx 0.27")
    gone = version_changed("httpx 0.27", "0.27", "", "uv.lock")
    assert gone.what == "httpx 0.27 is no longer a dependency"
    assert gone.difference == "uv.lock: 0.27 → none; the entry says httpx 0.27"
