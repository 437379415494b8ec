"""The word index: the texts that the words of a query find.

Mutants that make no difference: from how many texts on common words are ignored, how long a word may be, how many a
query may have and how many are remembered or tried, give or take one; a tenth more of a figure that was fitted; the memory
of a writer; a row that no text has; what is stored or indexed of a text besides its terms, and where these are in it; how
many texts are fetched where their number is asked for, or that number where they are; a shortcut around what would change
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import open_test_store
from hypothesis import example, given
from hypothesis import strategies as st

from engram.adapters.index import words as module
from engram.adapters.index.delta import Indexed, bm25_idf
from engram.adapters.index.words import (
    _NAME,
    WordHits,
    Words,
    character_pairs,
    names,
    query_form,
    stored_form,
)
from engram.usecases.index.refresh import refresh

if TYPE_CHECKING:
    from engram.app import Engram


SETS = Path(__file__).resolve().parents[2] / "benchmarks" / "sets"
_RUSSIAN = json.loads((SETS / "russian.json").read_text("utf-8"))["docs"]["ru00"]["text"]


@pytest.fixture
def words(tmp_path: Path) -> Words:
    """Make an index of twelve texts: all have "queue", each a word of its own, one "parseHeader"."""
    index = Words(str(tmp_path / "words"), create=True)
    index.begin(bulk=False)
    for row in range(12):
        index.add(row, f"queue topic{row}" + " of parseHeader" * (row == 3))
    index.commit()
    return index


def found(words: Words, text: str) -> list[int]:
    return sorted(words.search(words.terms(text), 100).scores)


def test_words_are_found_in_other_inflections_of_their_language(words: Words) -> None:
    before = words.terms("running queues"), found(words, "topics")
    words.begin(bulk=False)
    words.add(20, "Die Häuser werden nachts vermietet, aber nicht verkauft.")
    words.add(21, _RUSSIAN)
    words.commit()
    assert found(words, "Haus vermieten") == [20]
    assert found(words, "\u043e\u0442\u043f\u0440\u0430\u0432\u043b\u044f\u0435\u0442\u0441\u044f") == [
        21
    ]  # "is sent"
    assert (words.terms("running queues"), found(words, "topics")) == before


def test_accents_are_folded_before_stemming_only_in_english(words: Words) -> None:
    words.begin(bulk=False)
    words.add(20, "Le serveur est développé par une équipe dans la ville.")
    words.add(21, "The résumés are on the server.")
    words.commit()
    assert words.terms("développées") == words.terms("développer") == ["developp"]
    assert found(words, "développées") == [20]
    assert found(words, "resume") == [21]


def test_words_are_stemmed_for_other_languages_only_if_a_text_uses_them(words: Words) -> None:
    words.begin(bulk=False)
    words.add(20, "A cat sat on it.")
    words.commit()
    assert words.terms("cater") == ["cater"]
    words.begin(bulk=False)
    words.add(21, "Die Häuser werden nachts vermietet, aber nicht verkauft.")
    words.commit()
    assert words.terms("cater") == ["cat"]


def test_the_index_counts_its_texts_in_every_language(tmp_path: Path) -> None:
    index = Words(str(tmp_path / "words"), create=True)
    assert index.indexed(7) == Indexed(7)
    index.begin(bulk=False)
    index.add(0, "Die Häuser werden nachts vermietet.")  # five words and the mark of the language
    index.add(1, "Die Türen werden nicht mehr verkauft, aber wieder vermietet.")
    index.commit()
    assert index.indexed(7) == Words(str(tmp_path / "words")).indexed(7) == Indexed(7, 2, 8.0)


def test_a_commit_keeps_every_change_and_an_abandoned_one_leaves_nothing(
    words: Words, tmp_path: Path
) -> None:
    for row in range(12, 20):  # so many that tantivy merges them
        words.begin(bulk=False)
        words.add(row, "queue")
        words.commit()
    facts = json.loads((tmp_path / "words" / "meta.json").read_text("utf-8"))
    assert len(facts["segments"]) < 8
    words.begin(bulk=False)
    words.add(20, "walrus")
    words.abandon()
    other = Words(str(tmp_path / "words"))
    other.begin(bulk=False)
    other.add(21, "heron")
    other.commit()
    words.reload()
    assert (found(words, "walrus"), found(words, "heron"), words.count) == ([], [21], 21)


def test_the_rarest_known_terms_of_a_long_query_are_searched(words: Words) -> None:
    text = "queue topic1 nothing topic2 parseHeader queues"
    every = ["queue", "topic1", "noth", "topic2", "parsehead"]
    for limit, kept in (
        (2, every[1::2]),
        (3, [*every[1::2], every[4]]),
        (4, [every[0], every[1], *every[3:]]),
        (5, every),
        (6, every),
    ):
        assert words.terms(text, limit) == kept


def test_a_term_weighs_its_idf_and_half_of_it_if_misspelt(words: Words) -> None:
    once, always = bm25_idf(12, 1), bm25_idf(12, 12)
    assert words.search(["topic7", "queue", "walrus", "gone"], 0) == WordHits(
        {}, pytest.approx(2.2 * (3 * once + always)),
        {"topic7": once, "queue": always, "walrus": once, "gone": once},
    )  # fmt: skip
    answer = words.search(["queuz", "walrus", "queue"], 0)
    assert answer.rarity == {"queuz": once / 2, "walrus": once / 2, "queue": always}
    assert answer.misspelt == {"queuz", "walrus"}
    assert words.weigh(["queuz", "queue", "absent", "—"], answer) == [
        (once / 2, True), (always, False), (0.0, False), (0.0, False),
    ]  # fmt: skip
    assert words.search(["walrus"], 9) == WordHits(
        {}, pytest.approx(2.2 * once), {"walrus": once}, frozenset()
    )


def test_a_longer_word_without_matches_finds_words_one_edit_away(words: Words) -> None:
    words.begin(bulk=False)
    for row, text in enumerate(("lock 12345 broker", "heron walrus cache"), 20):
        words.add(row, text)
    words.commit()
    for asked, rows in (
        ("loxk", []), ("12346", []), ("broxer", [20]), ("brxxer", []), ("cachx", [21]), ("herno", [21]),
    ):  # fmt: skip
        assert sorted(words.search([asked], 9).scores) == rows, asked
    [(_, exactly)] = words.search(["walrus"], 9).scores.items()
    [(_, nearly)] = words.search(["walrux"], 9).scores.items()
    assert 0.6 < nearly / exactly < 1


def test_rows_with_every_word_are_returned_unless_there_are_too_many(words: Words) -> None:
    assert words.rows_with("topic7", 1) == words.rows_with("queue topic7", 1) == [7]
    assert sorted(words.rows_with("queue", 12)) == sorted(words.rows_with("queues queue", 12)) == [*range(12)]
    assert words.rows_with("queue", 11) == words.rows_with("topic7", 0) == words.rows_with("—", 9) == []
    assert words.rows_with("topic7 topic8", 9) == words.rows_with("topic7 walrus", 9) == []
    assert [words.frequency(text) for text in ("queues", "queue topic7", "walrus", "—")] == [12, 1, 0, 0]


def test_the_language_of_a_text_is_known_before_and_after_it_is_folded_into_the_index(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store") as engram:
        engram.record("The invoices are sent in the morning.", category="FACT")
        engram.query("invoices", strategy="words")
        for text in (
            "Die Rechnungen werden nachts erzeugt.",
            "Der Vertrag wird nach drei Mahnungen gesperrt.",
        ):
            engram.record(text, category="FACT")
        answers = []
        for _ in (1, 2):
            found = [
                engram.query(text, strategy="words").lore
                for text in ("eine Rechnung", "Verträge gesperrt", "invoice")
            ]
            answers.append(
                [[(hit.lore.content, round(hit.score.total, 4)) for hit in hits] for hits in found]
            )
            refresh(engram.store, rebuild="asked for")
        assert answers[0] == answers[1]
        assert [hits[0][0].split()[1] for hits in answers[0]] == ["Rechnungen", "Vertrag", "invoices"]


def test_every_term_is_searched_in_a_small_store(words: Words) -> None:
    assert found(words, "queue topic7") == list(range(12))


def test_terms_in_most_texts_are_ignored_in_a_large_store_unless_alone(
    words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = words.search(["queue", "topic7"], 100)
    monkeypatch.setattr(module, "_MANY", 11)
    after = words.search(["queue", "topic7"], 100)
    assert list(after.scores) == [7]
    assert (after.perfect, after.rarity) == (before.perfect, before.rarity)
    assert found(words, "queue") == list(range(12))
    assert found(words, "queue queues") == list(range(12))
    assert found(words, "queue 5555") == list(range(12))


def test_a_name_is_searched_whole_if_indexed_and_else_by_its_parts(words: Words) -> None:
    assert words.terms("parseHeader") == ["parsehead"]
    assert words.terms("headerParse of parseHeaders") == ["header", "pars", "of", "parsehead"]
    assert found(words, "headerParse") == [3]


def test_the_cache_of_words_is_bounded_and_cleared_by_changes(
    words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_REMEMBERED", 3)
    hits = words.search(words.terms("brokerTopic"), 10)
    assert words.weigh(["brokerTopic", "a", "b", "c", "d"], hits)[0][0] > 0
    assert words.weigh(["queue"], hits) == [(0.0, False)]
    assert set(words._terms_of) == {"queue"}
    words.begin(bulk=False)
    words.add(12, "brokerTopic")
    words.commit()
    assert words.terms("brokerTopic") == ["brokertop"]
    hits = words.search(words.terms("brokerTopic"), 10)
    assert list(hits.scores) == [12]
    assert words.weigh(["brokerTopic"], hits)[0][0] > 0


# Names are found whole and in parts, and scripts without spaces by any of their words.

NAMES = "The function parseHttpHeader of HTTPServer drops folded lines"
SNAKE = "max_retry_count must stay below seven"
PATH = "See src/net/tls_config.rs before touching ciphers"
VERSION = "Version 3.14.159 of the driver leaks handles"
CODE = "Error E4021 means the quota is spent"
CHINESE = "数据库连接池耗尽时请求会超时"
JAPANESE = "東京リージョンのバックアップは毎晩二時に始まる"
KOREAN = "데이터베이스 연결이 끊어지면 작업자를 다시 시작한다"
MIXED = "Redis缓存的键必须带前缀"
RUSSIAN = "Сервис очередей теряет сообщения при перезапуске брокера"
ARABIC = "خدمة الطوابير تفقد الرسائل عند إعادة تشغيل الوسيط"

FOUND = [
    ("parseHttpHeader", NAMES), ("http header", NAMES), ("parsehttpheader", NAMES), ("server", NAMES),
    ("max_retry_count", SNAKE), ("retry count", SNAKE), ("maxRetryCount", SNAKE),
    ("src/net/tls_config.rs", PATH), ("tls_config.rs", PATH), ("tls config", PATH), ("TlsConfig", PATH),
    ("3.14.159", VERSION), ("v3.14.159", VERSION), ("E4021", CODE), ("e4021", CODE),
    ("连接池", CHINESE), ("数据库为什么超时", CHINESE), ("バックアップ", JAPANESE), ("毎晩", JAPANESE),
    ("데이터베이스", KOREAN), ("작업자", KOREAN), ("Redis", MIXED), ("缓存", MIXED),
    ("очередей теряет", RUSSIAN), ("خدمة الطوابير", ARABIC),
]  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    with open_test_store(tmp_path_factory.mktemp("forms")) as store:
        for text in (NAMES, SNAKE, PATH, VERSION, CODE, CHINESE, JAPANESE, KOREAN, MIXED, RUSSIAN, ARABIC):
            store.record(text, category="DECISION")
        yield store


@pytest.mark.parametrize("strategy", ["words", "hybrid"])
@pytest.mark.parametrize(("asked", "text"), FOUND)
def test_names_are_found_whole_and_by_parts_and_scripts_without_spaces_by_pairs(
    store: Engram, strategy: str, asked: str, text: str
) -> None:
    answer = store.query(asked, strategy=strategy)
    assert answer.strength in {"strong", "weak"}
    assert answer.lore[0].lore.content == text


@pytest.mark.parametrize(
    "asked", ["天气预报", "台風", "날씨", "кто выиграл матч вчера", "ما هو الطقس اليوم", "מה מזג האוויר"]
)
def test_words_of_no_entry_find_nothing(store: Engram, asked: str) -> None:
    assert store.query(asked).lore == ()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("plain words, APIs and URLs stay", "plain words, APIs and URLs stay"),
        ("parseHeader", "parseHeader parse Header"),
        ("HTTPServer on iOS", "HTTPServer on iOS HTTP Server i OS"),
        ("utf8Decoder", "utf8Decoder"),
        ("sha256 9f86d081884c", "sha256 9f86d081884c"),
        ("连接池", " 连接 接池 "),
        ("a库b", "a 库 b"),
        ("バックアップ・東京", " バッ ック クア アッ ップ ・ 東京 "),
    ],
)
def test_a_text_is_stored_with_the_parts_of_its_names_and_in_pairs(text: str, kept: str) -> None:
    assert stored_form(text) == kept


@given(st.text(st.characters(codec="utf-8")))
def test_a_text_without_names_is_queried_as_it_is_stored(text: str) -> None:
    assert query_form(text, lambda _: True) == character_pairs(text)
    assert stored_form(text).startswith(character_pairs(text))
    lower = text.lower()
    assert stored_form(lower) == query_form(lower, lambda _: False) or lower != lower.lower()


@given(st.text("数据库连接池超时", min_size=2, max_size=20), st.data())
def test_any_two_neighbouring_characters_are_a_word_of_the_text(run: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(run) - 2))
    assert run[place : place + 2] in stored_form(f"Redis{run}, x").split()


@given(st.lists(st.from_regex(r"[A-Z][a-z]{2,6}", fullmatch=True), min_size=2, max_size=5))
def test_a_name_that_is_not_indexed_is_searched_by_its_parts(parts: list[str]) -> None:
    name = "".join(parts)
    assert query_form(f"why {name}?", lambda _: False) == f"why {' '.join(parts)}?"
    assert query_form(f"why {name}?", lambda _: True) == f"why {name}?"
    assert stored_form(name).split() == [name, *parts]


@given(st.text("abAB1_ é", max_size=30))
@example("aB")
@example("ABab aB aBAb")
@example("aB ABab")
@example(" ABab aB 1aB1 AB")
def test_fast_name_search_equals_the_defining_pattern(text: str) -> None:
    assert names(text) == _NAME.findall(text)
