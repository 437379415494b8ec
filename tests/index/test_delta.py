"""Texts that wait beside the word index: found like those in it, with the same scores, and folded into it in the end.

Mutants that make no difference: how many texts wait, give or take one.
"""

from __future__ import annotations

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
    """A new index of these texts; `most` may wait."""
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


@sampled("seed", [1, 2, 3, 4], 1)
def test_texts_beside_a_word_index_rank_as_they_would_in_it(tmp_path: Path, seed: int) -> None:
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


def test_texts_of_quite_another_length_do_not_wait(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", texts(200))
    written(generation, [new_text(200, "queue " * 600)])
    assert (len(generation.delta), generation.delta.indexed.rows) == (0, 201)
    generation = made(tmp_path / "two", [new_text(number, "queue " * 40) for number in range(140)])
    written(generation, [new_text(number, "queue " * 41) for number in range(140, 240)])
    assert len(generation.delta) == 100, "each is nearly as long as the others"


def test_more_than_wait_are_folded_into_the_word_index_at_once(tmp_path: Path) -> None:
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


def test_a_text_that_goes_is_not_found_wherever_it_was(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", texts(140))
    written(generation, [new_text(140, "a singular walrus"), new_text(141, "a singular heron")])
    removed(generation, 3, 141)
    assert (generation.delta.stale, generation.words_dead, generation.dead) == ({3}, 1, 2)
    assert scores(generation, "singular") == pytest.approx(scores(generation, "walrus"))
    assert list(scores(generation, "singular")) == [140]
    assert generation.words.rows_with("heron", 9) == []
    every = " ".join(VOCABULARY)
    assert 3 not in scores(generation, every)
    assert len(scores(generation, every, 10)) == 10
    assert generation.words.count == generation.catalog.count_rows() == 140
    written(generation, [new_text(number, "many more of them") for number in range(142, 300)])
    assert generation.delta.is_empty
    assert 3 not in scores(generation, every)
    assert list(scores(generation, "walrus")) == [140]
    assert generation.words.count == generation.catalog.count_rows()
    assert generation.verify() == []
    assert generation.words.rows_with("walrus", 9) == [140]
    removed(generation, 5, 140)
    assert (len(generation.delta), generation.delta.is_empty) == (0, False)
    assert 5 not in scores(generation, every)
    assert (generation.words.rows_with("walrus", 9), scores(generation, "walrus")) == ([], {})
    written(generation, [new_text(number, "as many again") for number in range(300, 430)])
    assert generation.delta.is_empty
    assert (generation.words.rows_with("walrus", 9), scores(generation, "walrus")) == ([], {})


def test_no_words_are_in_no_text_and_a_rare_one_that_is_misspelt_counts_for_more(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", [*texts(140), new_text(140, "a singular walrus")])
    written(generation, [new_text(141, "a singular heron")])
    assert generation.words.rows_with("", 999) == []
    for walrus, heron in (("walrus", "heron"), ("walrux", "herox")):
        assert (list(scores(generation, walrus)), list(scores(generation, heron))) == ([140], [141])
    often = max(scores(generation, "brokex").values())
    assert scores(generation, "walrux")[140] > 2 * often
    found = generation.words.search(generation.words.terms("walrus broker"), 9)
    assert found.perfect == pytest.approx((1.2 + 1) * sum(found.rarity.values()))


def test_another_process_sees_what_waits_and_what_was_folded(tmp_path: Path) -> None:
    one = made(tmp_path / "one", texts(140))
    other = Generation(one.folder, "", 0)
    written(one, [new_text(140, "a singular walrus")])
    other.reload()
    assert list(scores(other, "walrus")) == [140]
    written(one, [new_text(number, "a singular heron") for number in range(141, 300)])
    assert list(scores(other, "walrus")) == [140], "what it read before still holds"
    other.reload()
    assert (len(other.delta), list(scores(other, "walrus"))) == (0, [140])


def test_a_fold_killed_before_the_catalog_knew_is_done_again(tmp_path: Path) -> None:
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
    written(other, [new_text(141, "a singular heron")])
    assert other.words_in_step()
    assert other.words.count == other.catalog.count_rows() == 141
    assert (list(scores(other, "walrus")), list(scores(other, "heron"))) == ([140], [141])
    assert 7 not in scores(other, " ".join(VOCABULARY))
    assert other.verify() == []


def test_damaged_terms_are_noticed(tmp_path: Path) -> None:
    generation = made(tmp_path / "one", texts(3))
    for damaged in (b"\0", b"N"):  # nothing of marshal's, and its None
        generation.catalog.connection.execute("UPDATE delta SET terms = ? WHERE row = 1", (damaged,))
        assert generation.verify() == ["catalog.db: the terms of row 1"]
        with pytest.raises((DamagedIndexError, ValueError, EOFError, TypeError)):
            scores(Generation(generation.folder, "", 0), "broker")


@pytest.mark.parametrize("length", [0, 1, 24, 39, 40, 41, 55, 56, 59, 60, 1000, 5000])
def test_lengths_are_rounded_down_to_what_tantivy_can_say(length: int) -> None:
    assert length * 0.88 < delta.rounded_length(length) <= length or length == 0


@pytest.mark.parametrize(
    ("other", "close"),
    [
        ("broker", True),
        ("borker", True),
        ("brokers", True),
        ("roker", True),
        ("brokar", True),
        ("brkero", False),
    ],
)
def test_words_one_edit_apart_are_close(other: str, close: bool) -> None:
    assert delta.is_one_edit_away("broker", other) is close
    assert delta.is_one_edit_away(other, "broker") is close
