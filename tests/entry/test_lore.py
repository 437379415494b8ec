"""Entries: the bounds of every field, and file names from titles."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry.categories import Categories
from engram.domain.entry.lore import (
    MAX_CONTENT,
    MAX_CONTEXT,
    MAX_ITEMS,
    MAX_WORD,
    RELATION_KINDS,
    Lore,
    Relation,
    check,
    check_content,
    check_fraction,
    check_words,
    slug,
    title_of,
)
from engram.domain.errors import ValidationError

ID = "01M806ZZWH03EWHXWBG1FA47RA"
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
GOOD = Lore(ID, "text", "FACT", MOMENT, MOMENT)
CATEGORIES = Categories()


def test_the_bounds_are_as_documented() -> None:
    assert (MAX_CONTENT, MAX_CONTEXT) == (4000, 1000)
    assert RELATION_KINDS == ("supersedes", "contradicts", "refines", "caused_by", "see_also")


@pytest.mark.parametrize(
    "change",
    [
        {"content": "x" * MAX_CONTENT},
        {"context": ("x" * MAX_CONTEXT,)},
        {"tags": ("x" * MAX_WORD,)},
        {"tags": tuple(str(number) for number in range(MAX_ITEMS))},
        {"relations": tuple(Relation(kind, ID) for kind in RELATION_KINDS)},
        {"importance": 0.0},
        {"importance": 1.0},
        {"merged_from": (ID,)},
    ],
)
def test_values_at_the_bounds_are_accepted(change: dict[str, object]) -> None:
    check(GOOD._replace(**change), CATEGORIES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", "x" * (MAX_CONTENT + 1)),
        ("context", ("x" * (MAX_CONTEXT + 1),)),
        ("context", ("fine", "a\0b")),
        ("category", "NONSENSE"),
        ("type", "eternal"),
        ("status", "asleep"),
        ("tags", ("x" * (MAX_WORD + 1),)),
        ("tags", tuple(str(number) for number in range(MAX_ITEMS + 1))),
        ("files", ("a\nb",)),
        ("entities", (" ",)),
        ("sources", ("\ud800",)),
        ("agent", "a\0"),
        ("id", "1"),
        ("merged_from", ("1",)),
        ("relations", (Relation("likes", ID),)),
        ("relations", (Relation("refines", "1"),)),
        ("importance", -0.1),
        ("importance", float("nan")),
    ],
)
def test_values_beyond_the_bounds_are_refused_with_the_field(field: str, value: object) -> None:
    with pytest.raises(ValidationError) as caught:
        check(GOOD._replace(**{field: value}), CATEGORIES)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert caught.value.message.endswith((".", "?"))
    assert caught.value.as_dict()["field"] == field


@given(st.text(max_size=200))
def test_any_text_is_accepted_as_content_or_refused(text: str) -> None:
    try:
        check_content(text)
    except ValidationError:
        return
    assert title_of(text) or not any(map(str.isalnum, text))
    assert len(title_of(text)) <= 120


@given(st.lists(st.text(max_size=300), max_size=4))
def test_any_words_are_accepted_or_refused(words: list[str]) -> None:
    fields = []
    try:
        check_words("tags", words)
    except ValidationError as error:
        fields.append(error.field)
    assert fields in ([], ["tags"])


@given(st.floats(0, 1))
def test_valid_fractions_are_returned(value: float) -> None:
    assert check_fraction("confidence", value) == value


# File names from titles.


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
def test_slugs_of_titles(title: str, name: str) -> None:
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
def test_no_word_is_cut_if_the_first_one_fits(words: list[str]) -> None:
    kept = slug(" ".join(words)).split("-")
    assert kept == words[: len(kept)]
