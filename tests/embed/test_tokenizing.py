"""Token ids equal those of the `tokenizers` library, on all kinds of text and for all kinds of tokenizer."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from effort import is_thorough
from hypothesis import given
from hypothesis import strategies as st
from model2vec import StaticModel
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from engram.adapters.embed import tokenizing
from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model2vec_folder import load_model
from engram.adapters.embed.provider import BUNDLED_FOLDER
from engram.adapters.embed.tokenizing import ID_FORMAT, WordPieceTokenizer
from engram.domain.text.scripts import not_latin

ROOT = Path(__file__).resolve().parents[2]
BUNDLED_JSON = Path(BUNDLED_FOLDER, "tokenizer.json")
PROJECT_TEXTS = sorted(
    path
    for folder in ("engram", "tui", "tests", "docs", "tools")
    for path in (ROOT / folder).rglob("*.[pm][yd]")
)
CODE = """def retry(self, *args: int, **kw) -> "dict[str, Any]":
\tif HTTPError.status_code >= 500 and not self._done:  # see RFC-7231 §6.6 / issue #1432
\t\treturn {"path": r"C:\\temp\\x.py", "url": "https://example.com/a?b=c&d=%20#frag"}
kubectl get pods -n kube-system -o jsonpath='{.items[*].metadata.name}' | xargs -I{} sh -c "echo {}"
"""
TEXTS = {
    "nothing": "",
    "spaces only": " \t\r\n  ",
    "prose": "Never amend a commit that was pushed; the index can't know.",
    "code": CODE,
    "no spaces": "getUserByIdAndEmail2.then(x=>x!==null)",
    "a word of 100 letters": "ab" * 50,
    "a word of 101 letters": "ab" * 50 + "c",
    "unknown long word between known ones": "git " + "x" * 300 + " push",
    "control characters join words": "re\x00ba\x0bse re\x1cba\x7fse a\x0cb",
    "control characters beside other scripts": "re\x85base é\x1cé a\x0bé b",
    "special tokens": "x[PAD]y [UNK] z",
    "special tokens in the wrong case": "[pad] [Unk] [UNK",
    "a special token joined by a removed character": "[PA\x0bD] [U\x00NK]",
    "the same beside another script": "[PA\x0bD]é",
    "special token beside another script": "é[PAD]ü",
    "accents": "naïve café — Zürich, “quoted” … £5 ½ ñandú",
    "combining marks after a space": "a \u0301e e\u0301 \u0301",
    "cases without a partner": "Straße İstanbul ΣΊΣΥΦΟΣ ﬁne ǅ",
    "Chinese, Japanese, Korean": "记忆 git提交 ログを見る 한국어 텍스트",
    "emoji": "done 🎉 👩\u200d💻 ok✅ 🇩🇪",
    "other white space": "a\u00a0b\u2003c\u2028d\u3000e\ufefff\u200bg",
    "private and unassigned": "a\ue000b \ufffd c\U0010ffffd",
    "right to left": "\u202eabc\u202c שלום مرحبا",
}


@cache
def library() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(BUNDLED_JSON))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@cache
def ours() -> tokenizing.Tokenizer:
    return tokenizing.bundled_tokenizer(BUNDLED_FOLDER)


def fresh() -> tokenizing.Tokenizer:
    """One without memory, for a model that knows every script."""
    known = ours()
    assert isinstance(known, WordPieceTokenizer)
    return WordPieceTokenizer(known._word_memory._vocabulary, known._word_memory._library)


def library_ids(text: str) -> list[int]:
    ids = library().encode(text, add_special_tokens=False).ids
    return [token_id for token_id in ids if token_id != library().token_to_id("[UNK]")]


def expected_ids(text: str) -> list[int]:
    """What the library says of the text without scripts of which the bundled model knows no words."""
    return library_ids(not_latin().sub(" ", text))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_ids_equal_the_library_on(text: str) -> None:
    assert ours().ids(text) == expected_ids(text)


@pytest.mark.slow
def test_ids_equal_the_library_on_every_text_of_this_project() -> None:
    assert len(PROJECT_TEXTS) > 20
    texts = PROJECT_TEXTS if is_thorough() else PROJECT_TEXTS[::4]
    for path in [*texts, Path(BUNDLED_FOLDER, "README.md"), Path(BUNDLED_FOLDER, "SOURCES.json")]:
        text = path.read_text(encoding="utf-8", errors="replace")
        assert ours().ids(text) == expected_ids(text), path.name


def test_ids_equal_the_library_around_every_ascii_control_and_white_space_character() -> None:
    spaces = [chr(code) for code in range(0x3100) if chr(code).isspace()]
    for character in {*map(chr, range(0x100)), *spaces}:
        for text in (f"re{character}base", f"é{character}ba", f"{character}x{character} é"):
            assert ours().ids(text) == expected_ids(text), ascii(text)


@given(st.text())
def test_ids_equal_the_library_on_any_text(text: str) -> None:
    assert ours().ids(text) == expected_ids(text)


PIECES = [
    "Git",
    "push",
    "##s",
    "[PAD]",
    "[UNK]",
    "[",
    "]",
    "PAD",
    "_",
    "é",
    "—",
    "中",
    "\x0b",
    "\x85",
    " ",
    "\n",
    "9",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(st.characters(codec="ascii"), max_size=8)).map("".join))
def test_ids_equal_the_library_on_texts_made_to_confuse(text: str) -> None:
    assert ours().ids(text) == expected_ids(text)


SCRIPTS = [
    *("push", "Git", "MAX_TABLE", "x" * 101, "café", "Straße", "İ", "记忆", "שלום", "\u0301", "🎉", "\ud800"),
    *tokenizing._TYPOGRAPHY,
    *(" ", "\n", "\u00a0", "\u2028", "\u2029", "\u3000", "\u200b", "\ufeff", "\u00ad"),
    *("\0", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x7f", "\x85", "\x9f"),
    *("[PAD]", "[UNK]", "[", "UNK", "]", "_", ".", "(", "7"),
]


@given(st.lists(st.sampled_from(SCRIPTS), max_size=12).map("".join))
def test_ids_equal_the_library_on_scripts_typography_and_removed_characters_mixed(text: str) -> None:
    as_read = text.encode("utf-8", "replace").decode()
    assert ours().ids(text) == expected_ids(as_read)  # from memory
    assert fresh().ids(text) == library_ids(as_read)  # worked out


@given(st.text(st.sampled_from("abeginorst"), min_size=1, max_size=110))
def test_long_words_are_split_as_the_library_splits_them(word: str) -> None:
    assert ours().ids(word) == expected_ids(word)


def test_lone_surrogates_are_tokenised() -> None:
    assert ours().ids("push \udcff it") == expected_ids("push ? it")


def test_the_cache_of_words_is_bounded_and_changes_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizing, "_LARGEST_CACHE", 8)
    monkeypatch.setattr(tokenizing, "_MOST_CHUNKS", 5)
    tokenizer = tokenizing.bundled_tokenizer(BUNDLED_FOLDER)
    assert isinstance(tokenizer, WordPieceTokenizer)
    words, chunks = tokenizer._word_memory, tokenizer._chunk_memory
    for text in [*TEXTS.values(), *TEXTS.values()]:
        assert tokenizer.ids(text) == expected_ids(text)
        assert len(words) <= 8
        assert len(chunks) <= 5


def test_rare_words_do_not_stay_in_the_cache() -> None:
    tokenizer = tokenizing.bundled_tokenizer(BUNDLED_FOLDER)
    tokenizer.ids("x" * 5000 + " " + "é" * 5000)
    assert len(tokenizer._word_memory) == 0
    assert set(tokenizer._chunk_memory) == {""}


def test_forgotten_words_are_tokenised_again() -> None:
    tokenizer = tokenizing.bundled_tokenizer(BUNDLED_FOLDER)
    before = tokenizer.ids(CODE)
    assert isinstance(tokenizer, WordPieceTokenizer)
    tokenizer.forget()
    assert (len(tokenizer._word_memory), set(tokenizer._chunk_memory)) == (0, {""})
    assert tokenizer.ids(CODE) == before == expected_ids(CODE)


def test_plain_text_never_loads_the_library() -> None:
    tokenizer = tokenizing.bundled_tokenizer(BUNDLED_FOLDER)
    for text in (TEXTS["prose"], TEXTS["control characters join words"], "push—it … “now”"):
        tokenizer.ids(text)
    assert tokenizer._word_memory._library._tokenizer is None
    tokenizer.ids(TEXTS["accents"])
    assert tokenizer._word_memory._library._tokenizer is not None


def test_constants_of_the_bundled_tokenizer_equal_its_file() -> None:
    settings = json.loads(BUNDLED_JSON.read_text(encoding="utf-8"))
    model, normalizer = settings["model"], settings["normalizer"]
    assert model["vocab"][model["unk_token"]] == tokenizing.BUNDLED_UNKNOWN
    assert tuple(token["content"] for token in settings["added_tokens"]) == tokenizing.BUNDLED_SPECIAL
    used = tokenizing.Vocabulary(
        model["vocab"],
        tokenizing.BUNDLED_SPECIAL,
        model["continuing_subword_prefix"],
        model["max_input_chars_per_word"],
    )
    assert used == tokenizing.Vocabulary(model["vocab"], tokenizing.BUNDLED_SPECIAL)
    assert (model["type"], normalizer["type"]) == ("WordPiece", "BertNormalizer")
    assert normalizer["clean_text"]
    assert normalizer["lowercase"]


# Other models' tokenizers.

WORDS = ["[UNK]", "[PAD]", "git", "push", "pu", "##sh", "##ed", "the", "Git", "é", ".", "[", "]"]
VOCABULARY = {word: number for number, word in enumerate(WORDS)}
SAMPLE = "Git pushed the [PAD] [UNK] é café . zebra [MASK] the_git"


def bert(lowercase: bool = True, clean_text: bool = True) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]", max_input_chars_per_word=20))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase, clean_text=clean_text)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]"])
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=50)
    return tokenizer


def with_word(tokenizer: Tokenizer, word: str) -> Tokenizer:
    tokenizer.add_tokens([word])  # normalised added tokens
    return tokenizer


def split_at_spaces(model: object) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


OTHERS = {
    "WordPiece as in the bundled model": bert(),
    "cased WordPiece": bert(lowercase=False),
    "WordPiece that keeps control characters": bert(clean_text=False),
    "WordPiece with added words": with_word(bert(), "zebra the"),
    "WordPiece split another way": split_at_spaces(models.WordPiece(VOCABULARY, unk_token="[UNK]")),
    "whole words": split_at_spaces(models.WordLevel(VOCABULARY, unk_token="[UNK]")),
    "byte pairs without an unknown token": split_at_spaces(
        models.BPE({"g": 0, "i": 1, "gi": 2}, [("g", "i")])
    ),
    "unigrams": split_at_spaces(models.Unigram([("<x>", 0.0), ("g", -1.0), ("it", -1.5)], unk_id=0)),
}


@pytest.mark.parametrize("tokenizer", OTHERS.values(), ids=OTHERS.keys())
def test_a_folder_of_any_tokenizer_is_tokenised_as_by_the_library(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    StaticModel(np.ones((tokenizer.get_vocab_size(), 3), "float32"), tokenizer).save_pretrained(tmp_path)
    found = load_model(str(tmp_path)).tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    unknown = None if isinstance(tokenizer.model, models.BPE) else 0
    for text in (SAMPLE, "", "g\x0bit git GIT", "git " * 2000, *TEXTS.values()):
        expected = [i for i in tokenizer.encode(text, add_special_tokens=False).ids if i != unknown]
        assert found.ids(text) == expected
        assert np.frombuffer(found.packed(text), ID_FORMAT).tolist() == expected
    assert found.ids(SAMPLE)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"model": {"vocab": 3}}', "[" * 100_000])
def test_a_broken_tokenizer_file_is_an_embedding_error_that_names_it(content: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(content, encoding="utf-8")
    with pytest.raises(EmbeddingError, match=r"tokenizer\.json"):
        tokenizing.load_library(str(tmp_path / "tokenizer.json"))
