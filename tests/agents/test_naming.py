"""Names in prompts: which words may be names, and how sure entries make it.

Equivalent mutants: a larger number for SURE; two letters for the first of a spelling, as a capital after a lower-case letter
makes a name by itself; `None` for `False`.
"""

from __future__ import annotations

import pytest

from engram.domain.agents import naming


def test_possible_names_are_case_folded_without_common_words() -> None:
    prompt = "Ask Nováková's team on Monday: does redux-saga call set_timeout in the cache of Spring?"
    assert naming.find_possible_names(prompt) == ["ask", "novakova", "redux-saga", "spring"]


@pytest.mark.parametrize(
    ("word", "texts", "how"),
    [
        ("falcon", ["The Falcon service retries."], naming.SURE),
        ("asyncpg", ["asyncpg caches statements."], naming.SURE),
        ("weasyprint", ["Fonts come from WeasyPrint."], naming.SURE),
        ("dlx", ["Parcels go by DLX on weekdays."], naming.SURE),
        ("lindqvist", ["Anna Lindqvist reviews billing."], naming.SURE),
        ("anna", ["Anna Lindqvist reviews billing."], naming.SURE),
        ("ebay", ["Parcels are sold on eBay."], naming.SURE),
        ("qf", ["Parcels go by QF.", "What qf costs is not known."], naming.SURE),
        ("notice", ["NOTICE that it fails.", "A notice hangs there."], naming.NO),
        ("marlin", ["Marlin sends all mail."], naming.LIKELY),
        ("marlin", ["Marlin sends all mail.", "We ate a marlin."], naming.NO),
        ("falcon", ["The Falcon service retries.", "A falcon is a bird."], naming.NO),
        ("deployments", ["Deployments are frozen."], naming.NO),
        ("retries", ["It fails. Retries come later."], naming.NO),
        ("service", ["The Falcon service retries."], naming.NO),
        ("3ds", ["A 3DS challenge may take ten minutes."], naming.NO),
        ("weasyprint", ["WeasyPrint draws them.", "Ask weasyprint for it."], naming.SURE),
        ("dlx", ["Parcels go by DLX.", "What dlx costs is not known."], naming.SURE),
        ("falcon", ["Falcon mirrors images. The falcon-mirror label starts it."], naming.LIKELY),
        ("pull", ["Pull requests are small.", "A pull-request waits."], naming.NO),
        ("kazmierczak", ["Łucja Kaźmierczak does the listings."], naming.SURE),
        ("lucja", ["Łucja Kaźmierczak does the listings."], naming.SURE),
        ("ibarra", ["Lucía Ibarra-Koch does the listings."], naming.SURE),
        ("osprey", ["To sign, run `osprey sign` by hand.", "Ask the Osprey."], naming.SURE),
        ("osprey", ["To sign, run osprey by hand.", "Ask the Osprey."], naming.NO),
        ("gadwall", ["Gadwall.Ink draws a mark."], naming.LIKELY),
        ("provision", ["It implements Provision.Source.", "Nothing is read in a provision."], naming.NO),
        ("ink", ["Gadwall.Ink draws a mark."], naming.NO),
        ("absent", ["The Falcon service retries."], naming.NO),
    ],
)
def test_the_spelling_in_entries_shows_whether_a_word_is_a_name(
    word: str, texts: list[str], how: int
) -> None:
    assert naming.rate_certainty(word, texts) == how
    assert naming.NO < naming.LIKELY < naming.SURE


def test_common_acronyms_are_no_names() -> None:
    words = naming.find_possible_names("The CI job of SAP fails since the API sends JSON")
    assert "sap" in words
    assert not {"ci", "api", "json"} & set(words)


def test_an_entry_is_about_the_names_in_its_head() -> None:
    assert naming.is_about("falcon", "Retries of Falcon are spaced by a minute.\nMore.")
    assert not naming.is_about("falcon", "Retries are spaced by a minute.\nFalcon does so, too.")
    assert not naming.is_about("falcon", f"{'Retries are spaced by a minute. ' * 3}Falcon does so, too.")


def test_a_part_of_a_compound_is_a_name_but_not_a_part_of_an_identifier() -> None:
    assert naming.is_about("saga", "Effects of redux-saga are tested alone.")
    assert not naming.is_about("saga", "Effects of redux_saga are tested alone.")
    assert not naming.is_about("falcon", "Effects of redux-saga are tested alone.")


def test_the_head_of_an_entry_ends_after_eighty_characters() -> None:
    assert naming.is_about("falcon", f"{'x' * 78} Falcon")
    assert not naming.is_about("falcon", f"{'x' * 79} Falcon")


def test_at_most_24_words_of_three_letters_or_in_capitals_may_be_names() -> None:
    assert naming.find_possible_names("zq zqx QF X") == ["zqx", "qf"]
    many = [f"zq{first}{second}" for first in "abcdef" for second in "abcdef"]
    assert naming.find_possible_names(" ".join(many)) == many[:24]


@pytest.mark.parametrize(
    ("name", "tells"),
    [
        ("docvault", True),
        ("zod", True),
        ("Delacroix Logistics", True),
        ("Go", False),
        ("the gateway", False),
        ("V&Q", True),
        ("h7", True),
        ("xq", False),
    ],
)
def test_a_short_or_everyday_name_is_not_telling(name: str, tells: bool) -> None:
    assert naming.is_distinctive(name) == tells


@pytest.mark.parametrize(
    ("word", "text", "does"),
    [
        ("falcon", "Falcon mirrors images.", True),
        ("odegaard", "Søren Ødegaard keeps the tariffs.", True),
        ("falcon", "The Falcon service mirrors images.", True),
        ("falcon", "Images are mirrored by Falcon.", False),
        ("mirror", "falcon-mirror keeps images.", False),
    ],
)
def test_a_text_begins_with_a_name_also_within_a_full_name(word: str, text: str, does: bool) -> None:
    assert naming.starts_with(word, text) == does


def test_with_in_any_case_off_a_name_must_begin_in_lower_case() -> None:
    assert naming.starts_with("falcon", "falcon mirrors images.", in_any_case=False)
    assert not naming.starts_with("falcon", "Falcon mirrors images.", in_any_case=False)
