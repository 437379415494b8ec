"""The word index: which texts the words of a query find.

Mutants that make no difference: from how many texts on common words are ignored, give or take one; `None` for `{}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import opened
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.index import words as module
from engram.adapters.index.words import _NAME, Words, character_pairs, names, query_form, stored_form
from engram.usecases.index.refresh import refresh

if TYPE_CHECKING:
    from engram.app import Engram


SETS = Path(__file__).resolve().parents[2] / "benchmarks" / "sets"
_RUSSIAN = json.loads((SETS / "russian.json").read_text("utf-8"))["docs"]["ru00"]["text"]


@pytest.fixture
def words(tmp_path: Path) -> Words:
    """Twelve texts: all say "queue", each a word of its own, one "parseHeader"."""
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


def test_the_language_of_a_text_is_known_before_and_after_it_is_folded_into_the_index(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as engram:
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


def test_a_name_is_queried_whole_if_it_is_in_the_index_and_else_by_its_parts(words: Words) -> None:
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
    with opened(tmp_path_factory.mktemp("forms")) as store:
        for text in (NAMES, SNAKE, PATH, VERSION, CODE, CHINESE, JAPANESE, KOREAN, MIXED, RUSSIAN, ARABIC):
            store.record(text, category="DECISION")
        yield store


@pytest.mark.parametrize("strategy", ["words", "hybrid"])
@pytest.mark.parametrize(("asked", "text"), FOUND)
def test_a_name_is_found_whole_and_in_parts_and_any_word_of_a_text_without_spaces(
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
def test_a_name_that_is_not_in_the_index_is_queried_by_its_parts(parts: list[str]) -> None:
    name = "".join(parts)
    assert query_form(f"why {name}?", lambda _: False) == f"why {' '.join(parts)}?"
    assert query_form(f"why {name}?", lambda _: True) == f"why {name}?"
    assert stored_form(name).split() == [name, *parts]


@given(st.text("abAB1_ é", max_size=30))
def test_names_are_the_matches_of_the_defining_pattern(text: str) -> None:
    assert names(text) == _NAME.findall(text)
