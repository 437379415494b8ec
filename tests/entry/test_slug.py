"""File names made of titles."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry.slug import slug


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Use WAL mode, not rollback journals", "use-wal-mode-not-rollback-journals"),
        ("Crème brûlée à la Ångström", "creme-brulee-a-la-angstrom"),
        ("Straße, Łódź, smørrebrød & Æsop", "strasse-lodz-smorrebrod-aesop"),
        ("Don't retry; it\u2019s idempotent", "dont-retry-its-idempotent"),
        ("os.remove() fails: `EBUSY`", "os-remove-fails-ebusy"),
        ("ﬁle ① \uff12", "file-1-2"),
        ("../../etc/passwd\0", "etc-passwd"),
        ("日本語", "lore"),
        ("🚀🔥", "lore"),
        ("", "lore"),
        ("---", "lore"),
        ("日本語 and UTF-8", "and-utf-8"),
    ],
)
def test_slugs(title: str, name: str) -> None:
    assert slug(title) == name


def test_a_long_title_is_cut_between_words() -> None:
    assert slug("word " * 30) == "-".join(["word"] * 12)
    assert slug("a " + "b" * 80) == "a"


def test_a_single_long_word_is_cut_at_sixty_letters() -> None:
    assert slug("x" * 80) == "x" * 60


@given(st.text(max_size=300))
def test_a_slug_is_always_a_safe_file_name_and_its_own_slug(title: str) -> None:
    name = slug(title)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert len(name) <= 60
    assert slug(name) == name


@given(st.lists(st.text(alphabet="abcxyz019", min_size=1, max_size=20), min_size=1, max_size=20))
def test_no_word_is_cut_where_the_first_one_fits(words: list[str]) -> None:
    kept = slug(" ".join(words)).split("-")
    assert kept == words[: len(kept)]
