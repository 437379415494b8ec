"""Duplicates and contradictions on the labelled pairs: folding is never wrong, and the held-out half meets the targets."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.similarity.claims import Claim
from engram.domain.similarity.equivalence import CONTRADICTION, DUPLICATE, NEAR, SAME, compare, may_merge
from engram.domain.similarity.pair_weights import BARS
from engram.domain.similarity.pairs import UNRELATED, Words, assess, features, likelihood, shares_enough, side

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "benchmarks")]

import pairs as measuring  # noqa: E402
import twins  # noqa: E402
from labelled_pairs import HALVES, HELD_OUT, load  # noqa: E402


@pytest.fixture(scope="module")
def halves() -> dict[str, list[measuring.Judged]]:
    return {half: measuring.judge(half) for half in HALVES}


def test_the_labelled_set_is_large_enough_and_its_halves_share_no_note() -> None:
    pairs = load()
    labels = Counter(pair.label for pair in pairs)
    assert labels["same"] >= 100
    assert labels["near"] >= 100
    assert labels["contradiction"] >= 70
    assert labels["unrelated"] >= 50
    assert len({pair.id for pair in pairs}) == len(pairs)
    notes = [{note for pair in pairs if pair.half == half for note in pair.notes} for half in HALVES]
    assert notes[0].isdisjoint(notes[1])


@pytest.mark.parametrize("half", HALVES)
def test_pairs_that_would_fold_automatically_always_say_the_same(
    halves: dict[str, list[measuring.Judged]], half: str
) -> None:
    wrong = [(item.pair.id, item.pair.label, item.cosine) for item in measuring.wrong_folds(halves[half])]
    assert wrong == []


@pytest.mark.parametrize("half", HALVES)
def test_light_edits_fold_automatically(halves: dict[str, list[measuring.Judged]], half: str) -> None:
    edited = [item for item in halves[half] if item.pair.edit]
    folded = [item for item in edited if item.assessment.kind == SAME]
    assert len(folded) >= 0.75 * len(edited)


def test_the_set_has_pairs_near_enough_to_fold_that_must_not(
    halves: dict[str, list[measuring.Judged]],
) -> None:
    near = [item for judged in halves.values() for item in judged if item.cosine >= NEAR]
    assert sum(item.pair.label != "same" for item in near) >= 30


@pytest.mark.parametrize(("kind", "recall"), [(DUPLICATE, 0.6), (CONTRADICTION, 0.5)])
def test_the_held_out_half_meets_the_targets(
    halves: dict[str, list[measuring.Judged]], kind: str, recall: float
) -> None:
    found = measuring.score(measuring.in_other_words(halves[HELD_OUT]), kind)
    printed = measuring.table(halves)
    assert found.recall >= recall, printed
    assert found.proposed <= 3 * found.right, printed


def test_cosine_alone_would_do_worse(halves: dict[str, list[measuring.Judged]]) -> None:
    judged = measuring.in_other_words(halves[HELD_OUT])
    found = measuring.score(judged, DUPLICATE)
    assert found.precision > measuring.score_by_cosine(judged, DUPLICATE, found.recall).precision


def words() -> Words:
    """Words that are all equally rare and equally near to each other."""
    return Words(lambda _: 6.0, lambda own, _: [0.3] * len(own))


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("The limit of the csv reader is 131072 bytes.", "The limit of the csv reader is 65536 bytes.", "65536"),
        ("Autoescape is enabled in our Jinja environment.", "Autoescape is disabled in our Jinja environment.", "enabled"),
        ("The cache of the proxy keeps HTML pages.", "The cache of the proxy does not keep HTML pages.", "negates"),
    ],
)  # fmt: skip
def test_a_contradiction_comes_with_its_reason(one: str, other: str, why: str) -> None:
    found = assess(side(one, "FACT", words()), side(other, "FACT", words()), 0.9, words())
    assert found.kind == CONTRADICTION
    assert why in found.why


def test_a_duplicate_comes_with_the_subject_of_both() -> None:
    one = side("`pprint()` reorders dictionary keys; give it sort_dicts=False.", "FACT", words())
    other = side("Pass sort_dicts as False, else pprint prints keys by the alphabet.", "FACT", words())
    found = assess(one, other, 0.7, words())
    assert found.kind == DUPLICATE
    assert "keys" in found.why


def test_entries_of_different_categories_never_fold_automatically() -> None:
    text = "Retries need jitter, or all clients come back at once."
    one, other = side(text, "FACT", words()), side(text, "WORKFLOW", words())
    assert assess(one, one, 1.0, words()).kind == SAME
    assert assess(one, other, 1.0, words()).kind != SAME


def test_texts_with_nothing_in_common_are_unrelated() -> None:
    one = side("Tide tables are printed in local time.", "FACT", words())
    other = side("Queue consumers have to be idempotent.", "FACT", words())
    assert assess(one, other, 0.1, words()).kind == UNRELATED


def test_long_notes_are_proposed_as_versions_of_one_text_and_not_for_their_topic() -> None:
    made = [
        f"{first}{middle}{last}"
        for first in "bdfgkl"
        for middle in "aeiou"
        for last in ("rnt", "lk", "sp", "mb")
    ]
    notes = [" ".join(made[start:end]) for start, end in ((0, 70), (32, 102), (0, 60), (10, 70))]
    note, on_topic, older, newer = (side(text, "FACT", words()) for text in notes)
    assert assess(note, on_topic, 0.8, words()).kind == UNRELATED
    assert assess(older, newer, 0.8, words()).kind != UNRELATED


def test_common_tags_and_files_are_only_evidence_in_favour() -> None:
    plain = side("The build of the docs fails.", "FACT", words())
    tagged = side("The build of the docs fails.", "FACT", words(), "sphinx docs/conf.py")
    other = side("Sphinx wants a newer theme.", "FACT", words(), "sphinx docs/conf.py")
    with_files = features(tagged, other, 0.5, words())
    without = features(plain, side(other.text, "FACT", words()), 0.5, words())
    assert with_files.covered > without.covered
    assert with_files.common > without.common


TEXTS = st.lists(
    st.sampled_from(["redis", "`a_b`", "not", "3", "4.5", "before", "after", "v2", "the", "x/y.py", "s", "."])
).map(" ".join)


@given(TEXTS, TEXTS, st.floats(-1, 1))
def test_an_assessment_does_not_depend_on_the_order_of_the_two(one: str, other: str, cosine: float) -> None:
    sides = side(one, "FACT", words()), side(other, "FACT", words())
    there, back = assess(*sides, cosine, words()), assess(*reversed(sides), cosine, words())
    assert there[:2] == back[:2]
    assert 0 <= there.strength <= 1


@given(TEXTS, TEXTS, st.floats(-1, 0.91))
def test_stopping_early_gives_the_assessment_of_all_features(one: str, other: str, cosine: float) -> None:
    sides = side(one, "FACT", words()), side(other, "FACT", words())
    found = features(*sides, cosine, words())
    strengths = {kind: likelihood(kind, found) for kind in (DUPLICATE, CONTRADICTION)}
    kind = max(strengths, key=lambda kind: strengths[kind] / BARS[kind])
    proposed = strengths[kind] >= BARS[kind] and (kind == CONTRADICTION or shares_enough(*sides))
    assert (assess(*sides, cosine, words()).kind != UNRELATED) == proposed


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("We put caddy in front of it on all servers", "We put nginx in front of it on all servers", "caddy"),
        ("The reader blocks the writer of the log", "The writer blocks the reader of the log", "order"),
        ("Copy the rows from staging to production", "Copy the rows from production to staging", "order"),
        ("The search ends after 100 ms in the child", "The search ends after 100 s in the child", "ms"),
        ("Call `iconv -c` to drop them", "Call `iconv -C` to drop them", "options"),
        ("True when `a <= b` holds for both", "True when `a >= b` holds for both", "<="),
        ("Warnings must be errors", "Warnings may be errors", "may"),
        ("In `Path` are the folders", "In `PATH` are the folders", "case"),
    ],
)  # fmt: skip
def test_one_word_order_unit_or_sign_that_differs_keeps_two_from_folding(
    one: str, other: str, why: str
) -> None:
    found = compare(one, other)
    assert found.kind != SAME
    assert why in found.why


def test_code_and_addresses_contradict_nothing() -> None:
    told = "The report of the museum lists every column of the table, with a query like this."
    one = side(f"{told}\n\n```sql\nselect * from museum limit 5 -- not sorted\n```\n", "FACT", words())
    other = side(
        f"{told} See https://example.org/q?size=10.\n\n~~~\nlimit 10 columns\n~~~\n", "FACT", words()
    )
    found = features(one, other, 0.9, words())
    assert (found.value, found.numbers_apart, found.number_alone, found.polarity, found.opposites) == (0,) * 5
    code_alone = Claim("```python\nwait(seconds=5)\nretries = 3\n```")
    assert code_alone.facts.numbers  # where nothing else is said, code has to do


def test_hardly_any_two_real_notes_on_one_topic_are_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PROJECT / "tools")
    import fit_pairs

    pairs, known = fit_pairs.note_pairs()
    kinds = Counter(assess(*known.evidence(pair)).kind for pair in pairs)
    assert len(pairs) > 80
    assert kinds[SAME] == kinds[CONTRADICTION] == 0
    assert kinds[DUPLICATE] <= 0.1 * len(pairs)


@pytest.mark.parametrize("half", HALVES)
def test_of_what_the_inbox_proposes_to_merge_at_most_a_tenth_would_lose_something(
    halves: dict[str, list[measuring.Judged]], half: str
) -> None:
    found = [(one.assessment, one.pair) for one in halves[half]]
    proposed = [pair for what, pair in found if may_merge(what.kind, what.strength, pair.one, pair.other)]
    alike = [what for what, _ in found if what.kind == SAME]  # these fold in a sync without being asked about
    losing = [pair for pair in proposed if pair.label != "same"]
    assert len(proposed) >= 20
    assert len(losing) <= (len(proposed) - len(alike)) / 10


@pytest.mark.parametrize("half", HALVES)
def test_half_of_the_duplicates_are_named_at_record_and_four_of_five_named_are_duplicates(half: str) -> None:
    found = twins.weigh(half)
    assert found.known.total() == found.known["same"]
    assert found.recall >= 0.5
    assert found.precision >= 0.8
