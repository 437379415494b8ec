"""Texts that wait beside the word index are found like those in it, with the same scores, and are folded into it later.

Mutants that make no difference: how many texts wait, give or take one; how far scores may be off, by half, or just as far;
the row before the first and the mean length of no texts; a length that is rounded to itself either way; the format in which
`marshal` packs; a term remembered without texts; `None` for `False`; reading what is read already, or comparing words of
quite another length.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING

import pytest
from effort import sampled
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.index import delta
from engram.adapters.index.catalog import Entry
from engram.adapters.index.damage import DamagedIndexError
from engram.adapters.index.index import Generation
from engram.adapters.index.words import Words, _explained_values
from engram.adapters.index.writer import GenerationWriter, NewText
from engram.domain.entry.lore import Lore

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
VOCABULARY = [
    f"{start}{end}"
    for start in ("brok", "queue", "pars", "lock", "cach")
    for end in ("", "er", "ington", "o")
]


def new_text(number: int, words: str) -> NewText:
    lore = Lore(f"01J8ZC6W6NN2KC71CQ20QK{number:04d}", words, "FACT", NOW, NOW)
    return NewText(Entry(f"lore/{number}.md", (1, 2, 3), "digest", 9, lore, text_digest=str(number)), words)


def texts(count: int, seed: int = 1, longest: int = 90) -> list[NewText]:
    random = Random(seed)
    return [
        new_text(number, " ".join(random.choices(VOCABULARY, k=random.randint(4, longest))))
        for number in range(count)
    ]


def written(generation: Generation, added: Iterable[NewText], *, bulk: bool = False) -> Generation:
    writer = GenerationWriter(generation, bulk=bulk)
    several = [*added]
    writer.add(several, None, [1] * len(several))
    writer.commit({})
    return generation


def removed(generation: Generation, *rows: int) -> None:
    writer = GenerationWriter(generation, bulk=False)
    writer.drop_rows(rows)
    writer.remove([f"lore/{row}.md" for row in rows])
    writer.commit({})


def made(folder: Path, added: Iterable[NewText] = (), *, most: int | None = None) -> Generation:
    """Make a new index of these texts; `most` may wait."""
    with pytest.MonkeyPatch.context() as patch:
        if most is not None:
            patch.setattr(delta, "MOST", most)
        return written(Generation(str(folder), "", 0, create=True), added, bulk=True)


def scores(generation: Generation, query: str, limit: int = 400) -> dict[int, float]:
    words = generation.words
    return words.search(words.terms(query), limit).scores


@pytest.fixture(scope="module")
def waiting_and_folded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Generation, Generation]:
    """The same hundred texts twice: all of them waiting, and all of them in the word index."""
    folder = tmp_path_factory.mktemp("delta")
    several = texts(100)
    return made(folder / "waiting", several), made(folder / "folded", several, most=-1)


@given(
    st.lists(st.sampled_from([*VOCABULARY, "brokee", "qeueer", "nothing"]), min_size=1, max_size=5).map(
        " ".join
    )
)
def test_a_waiting_text_has_the_score_that_tantivy_gives_it(
    waiting_and_folded: tuple[Generation, Generation], query: str
) -> None:
    waiting, folded = waiting_and_folded
    assert (len(waiting.delta), len(folded.delta)) == (100, 0)
    found = scores(waiting, query)
    assert found == pytest.approx(scores(folded, query), rel=1e-5)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    some, other = (one.words.search(one.words.terms(query), 5) for one in waiting_and_folded)
    assert (some.perfect, some.rarity, some.misspelt) == (other.perfect, other.rarity, other.misspelt)
    for word in query.split():
        assert waiting.words.frequency(word) == folded.words.frequency(word)
    assert sorted(waiting.words.rows_with(query, 90)) == sorted(folded.words.rows_with(query, 90))
    for word in query.split():
        assert sorted(waiting.words.rows_close_to(word, 90)) == sorted(folded.words.rows_close_to(word, 90))


@sampled("seed", [1, 2, 3, 4], 1)
def test_waiting_texts_rank_as_they_would_in_the_word_index(tmp_path: Path, seed: int) -> None:
    several = texts(400, seed)
    growing = made(tmp_path / "growing", several[:300])
    for start in range(300, 400, 20):
        written(growing, several[start : start + 20])
    assert len(growing.delta) >= 20
    assert growing.delta.indexed.rows == growing.words.count - len(growing.delta) == 400 - len(growing.delta)
    whole = made(tmp_path / "whole", several)
    for query in ("broker queue", "parsington cache locko", "lock lock locker", "brokee cachington"):
        found, expected = scores(growing, query), scores(whole, query)
        assert found == pytest.approx(expected, rel=delta._TOLERANCE)
        for row, other in zip(list(expected)[:50], list(expected)[1:50], strict=False):
            if expected[row] > expected[other] * (1 + delta._TOLERANCE):
                assert found[row] > found[other]
    assert growing.verify() == whole.verify() == []


def test_texts_of_very_different_length_are_folded_at_once(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", texts(200))
    written(generation, [new_text(200, "queue " * 600)])
    assert (len(generation.delta), generation.delta.indexed.rows) == (0, 201)
    generation = made(tmp_path / "two", [new_text(number, "queue " * 40) for number in range(140)])
    written(generation, [new_text(number, "queue " * 41) for number in range(140, 240)])
    assert len(generation.delta) == 100, "each is nearly as long as the others"


def test_more_texts_than_may_wait_are_folded_at_once(tmp_path: Path) -> None:
    generation = made(tmp_path / "one")
    several = texts(delta.MOST + 1)
    for one in several[:-1]:
        written(generation, [one])
    assert (len(generation.delta), generation.delta.indexed.rows) == (delta.MOST, 0)
    before = scores(generation, "broker queue")
    written(generation, several[-1:])
    assert (len(generation.delta), generation.delta.indexed.documents) == (0, delta.MOST + 1)
    after = scores(generation, "broker queue")
    assert {row: after[row] for row in before} == pytest.approx(before, rel=0.02)
    assert generation.verify() == []
    again = Generation(generation.folder, "", 0)
    assert scores(again, "broker queue") == after


def test_a_removed_text_is_not_found_whether_folded_or_waiting(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", texts(140))
    written(generation, [new_text(140, "a singular heron"), new_text(141, "a singular walrus")])
    removed(generation, 3, 140)
    assert (generation.delta.stale, generation.words_dead, generation.dead) == ({3}, 1, 2)
    assert scores(generation, "singular") == pytest.approx(scores(generation, "walrus"))
    assert list(scores(generation, "singular")) == [141]
    assert generation.words.rows_with("heron", 9) == []
    every = " ".join(VOCABULARY)
    assert 3 not in scores(generation, every)
    assert len(scores(generation, every, 10)) == 10
    assert generation.words.count == generation.catalog.count_rows() == 140
    written(generation, [new_text(number, "many more of them") for number in range(142, 300)])
    assert generation.delta.is_empty
    assert 3 not in scores(generation, every)
    assert list(scores(generation, "walrus")) == [141]
    assert generation.words.count == generation.catalog.count_rows()
    assert generation.verify() == []
    assert generation.words.rows_with("walrus", 9) == [141]
    removed(generation, 5, 141)
    assert (len(generation.delta), generation.delta.is_empty) == (0, False)
    assert 5 not in scores(generation, every)
    assert (generation.words.rows_with("walrus", 9), scores(generation, "walrus")) == ([], {})
    written(generation, [new_text(number, "as many again") for number in range(300, 430)])
    assert generation.delta.is_empty
    assert (generation.words.rows_with("walrus", 9), scores(generation, "walrus")) == ([], {})


def test_no_words_match_no_text_and_rare_misspelt_words_weigh_more(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", [*texts(140), new_text(140, "a singular walrus")])
    written(generation, [new_text(141, "a singular heron")])
    assert generation.words.rows_with("", 999) == generation.words.rows_close_to("", 999) == []
    assert (generation.words.rows_close_to("walrux", 9), generation.words.rows_close_to("walrus", 9)) == (
        [140],
        [],
    )
    assert generation.words.rows_close_to("herox", 0) == []
    for walrus, heron in (("walrus", "heron"), ("walrux", "herox")):
        assert (list(scores(generation, walrus)), list(scores(generation, heron))) == ([140], [141])
    often = max(scores(generation, "brokex").values())
    assert scores(generation, "walrux")[140] > 2 * often
    found = generation.words.search(generation.words.terms("walrus broker"), 9)
    assert found.perfect == pytest.approx((1.2 + 1) * sum(found.rarity.values()))


def test_texts_with_equal_scores_are_found_in_row_order(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", [new_text(0, "broker"), new_text(1, "queue")])
    assert list(scores(generation, "queue broker")) == [0, 1]
    assert generation.words.rows_with("queue", 1) == [1]


def test_rows_of_removed_texts_are_not_found_by_their_words(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", [new_text(number, "queue") for number in range(140)])
    removed(generation, *range(5, 10))
    assert sorted(generation.words.rows_with("queue", 135)) == [*range(5), *range(10, 140)]
    assert generation.words.rows_with("queue", 134) == []


def test_waiting_texts_count_in_the_weights_of_words(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", texts(3))

    def weighed() -> bool:
        found = generation.words.search(["brokertop"], 9)
        return generation.words.weigh(["brokerTop"], found) != [(0.0, False)]

    assert not weighed(), "it is known as its parts"
    written(generation, [new_text(3, "The brokerTop is up.")])
    assert weighed()
    written(generation, [new_text(number, "queue " * 40) for number in range(4, 10)])
    removed(generation, 3)
    assert not weighed()


def test_incremental_loads_equal_a_fresh_load(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", texts(6))
    for rows, numbers in (([1, 4], []), ([], [6, 7]), ([0, 7], []), ([], [8, 9, 10])):
        if rows:
            removed(generation, *rows)
        else:
            written(generation, [new_text(number, f"queue brok {number}") for number in numbers])
        other = Generation(generation.folder, "", 0)
        assert generation.delta.texts == other.delta.texts
        assert generation.delta.average() == other.delta.average()
        for word in (*VOCABULARY, "brokex", "8"):
            assert scores(generation, word) == scores(other, word)
            assert generation.words.frequency(word) == other.words.frequency(word)
    assert ([*generation.delta.texts], generation.delta.stale) == ([2, 3, 5, 6, 8, 9, 10], frozenset())


def test_a_single_waiting_text_has_the_score_that_tantivy_gives_it(tmp_path: Path) -> None:
    some = [new_text(0, "broker queue " * 30)]
    waiting, folded = made(tmp_path / "one", some), made(tmp_path / "two", some, most=-1)
    assert (len(waiting.delta), len(folded.delta)) == (1, 0)
    assert scores(waiting, "broker") == pytest.approx(scores(folded, "broker"), rel=1e-5)


def test_a_term_in_a_text_of_mean_length_scores_as_in_a_single_index(tmp_path: Path) -> None:
    folded = [new_text(0, "broker" + " queue" * 19), *(new_text(row, "queue " * 20) for row in range(1, 150))]
    some = [new_text(row, "queue " * 23) for row in range(150, 160)]
    generation = written(made(tmp_path / "some", folded), some)
    assert len(generation.delta) == 10
    whole = made(tmp_path / "whole", [*folded, *some])
    assert scores(generation, "broker") == pytest.approx(scores(whole, "broker"), rel=1e-6)


def test_another_process_sees_waiting_and_folded_texts(tmp_path: Path) -> None:
    one = made(tmp_path / "one", texts(140))
    other = Generation(one.folder, "", 0)
    written(one, [new_text(140, "a singular walrus")])
    other.reload()
    assert list(scores(other, "walrus")) == [140]
    written(one, [new_text(number, "a singular heron") for number in range(141, 300)])
    assert list(scores(other, "walrus")) == [140], "what it read before still holds"
    other.reload()
    assert (len(other.delta), list(scores(other, "walrus"))) == (0, [140])


def test_a_fold_killed_before_its_commit_is_repeated(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", texts(140))
    written(generation, [new_text(140, "a singular walrus")])
    removed(generation, 7)
    expected = scores(generation, "walrus broker queue")
    writer = GenerationWriter(generation, bulk=False)
    writer._fold()
    assert writer._words is not None
    writer._words.commit()
    generation.catalog.connection.execute("ROLLBACK")  # as when the process was killed
    other = Generation(generation.folder, "", 0)
    assert not other.check_in_step()
    found = scores(other, "walrus broker queue")
    assert (next(iter(found)), found.keys()) == (140, expected.keys()), (
        "though terms count twice until it is done again"
    )
    assert other.words.rows_with("walrus", 9) == [140]
    written(other, [new_text(141, "a singular heron")])
    assert other.words_in_step()
    assert other.words.count == other.catalog.count_rows() == 141
    assert (list(scores(other, "walrus")), list(scores(other, "heron"))) == ([140], [141])
    assert 7 not in scores(other, " ".join(VOCABULARY))
    assert other.verify() == []


def test_damaged_terms_are_detected(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", texts(3))
    for damaged in (b"\0", b"N"):  # nothing of marshal's, and its None
        generation.catalog.connection.execute("UPDATE delta SET terms = ? WHERE row = 1", (damaged,))
        assert generation.verify() == ["catalog.db: the terms of row 1"]
        with pytest.raises((DamagedIndexError, ValueError, EOFError, TypeError)):
            scores(Generation(generation.folder, "", 0), "broker")


def test_lengths_are_rounded_down_as_tantivy_does(tmp_path: Path) -> None:
    words = Words(str(tmp_path / "words"), create=True)
    words.begin(bulk=False)
    lengths = [1, 24, 31, 32, 33, 39, 40, 41, 42, 43, 55, 56, 59, 60, 87, 88, 103, 104, 1111, 5000]
    for length in lengths:
        words.add_terms(length, {f"of{length}": 1, "more": length - 1})
    words.commit()
    for length in lengths:
        query = words._term_query(f"of{length}")
        [(_, address)] = words._searcher.search(query).hits
        said = json.loads(query.explain(words._searcher, address).to_json())
        assert delta.rounded_length(length) == _explained_values(said)["dl"]


@pytest.mark.parametrize(
    ("other", "close"),
    [
        ("broker", True),
        ("borker", True),
        ("brokers", True),
        ("roker", True),
        ("brokar", True),
        ("rboker", True),
        ("brkero", False),
        ("xrokers", False),
        ("bxokar", False),
        ("rboken", False),
        ("xxoker", False),
    ],
)
def test_words_one_edit_apart_are_close(other: str, close: bool) -> None:
    assert delta.is_one_edit_away("broker", other) is close
    assert delta.is_one_edit_away(other, "broker") is close
