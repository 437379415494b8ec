"""Judge which entries reached a model, whole or in part, from the text that an agent was given.

Independent of how Engram frames lore: entries are recognised by their text. Before comparison, quote marks and indentation
at the start of lines, marks of neutralization and all white space are removed. The rules:

- An entry of at most 1,200 characters reached the model if its whole text did. Of a longer one, the sentence that answers
  must be there, within at least 300 consecutive characters: the sentence that the set names, else the one with most of the
  question's words.
- `[L3] … above` or `L3 above` counts as the entry if L3 was shown whole earlier in the same session.
- A character is lore text if its piece of a line is part of an entry's text or of where it was learned, or a title in a
  header.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from engram.domain.agents.framing import LEARNED
from engram.domain.agents.neutralization import UNCHECKED, neutralize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WHOLE_UP_TO = 1200
SHOWN_OF_LONG = 300
_GRAM = 24  # characters by which entries are recognised
_STEP, _FEWEST_VOTES = 4, 2
_QUOTED = re.compile(r"^\s*(?:>\s?)*", re.MULTILINE)
_LEFT_OUT = re.compile(r"\s*(?:…|\[\.\.\.\]|\[…\])\s*")
_HEADER = re.compile(r"^\[(L\d+)\]|^## (L\d+)\b|^(L\d+) ·")
_ABOVE = re.compile(r"\[?\b(L\d+)\]?\s+(?:is\s+|stands\s+)?above\b")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")
_WORD = re.compile(r"\w{2,}")


def plain(text: str) -> str:
    """Return a text without quote marks, marks of neutralization, white space and case."""
    bare = _QUOTED.sub("", text).replace(UNCHECKED, "").replace("&lt;", "<")
    return "".join(bare.split()).casefold()


class Seen(NamedTuple):
    """What a text put before a model: the entries in it, those of them that are whole for the question, and its length.

    `refs` are the session refs of whole entries, `referred` the entries that a line refers to and that were whole before.
    """

    shown: frozenset[str]
    whole: frozenset[str]
    referred: frozenset[str]
    refs: dict[str, str]
    characters: int
    lore_characters: int

    @property
    def reached(self) -> frozenset[str]:
        """The entries that the model has whole because of this text."""
        return self.whole | self.referred


NOTHING = Seen(frozenset(), frozenset(), frozenset(), {}, 0, 0)


class Judge:
    """Recognises the entries of a store by their text."""

    def __init__(self, texts: Mapping[str, str], learned: Mapping[str, str] | None = None) -> None:
        """`texts`: id → text beginning with the title; `learned`: id → where it was learned, which is also lore text."""
        self._texts = texts
        self._learned = {key: plain(neutralize(text)) for key, text in (learned or {}).items()}
        self._plain = {key: plain(neutralize(text, lines=True)) for key, text in texts.items()}
        self._titles = {key: plain(neutralize(text.split("\n", 1)[0])) for key, text in texts.items()}
        self._grams: dict[str, list[str]] = {}
        for key, text in self._plain.items():
            for at in range(max(1, len(text) - _GRAM + 1)):
                self._grams.setdefault(text[at : at + _GRAM], []).append(key)

    def text(
        self, shown_text: str, question: str = "", before: Mapping[str, str] | None = None, passage: str = ""
    ) -> Seen:
        """Judge a text; `before` has the refs of the entries that were shown whole in this session.

        `passage` is the part of a long entry that answers, if that is known.
        """
        refs: dict[str, str] = {}
        shown, whole = set[str](), set[str]()
        lore = 0
        for ref, block in _blocks(shown_text):
            key, pieces, characters = self._recognise(block)
            if not key or _ABOVE.search(
                block.split("\n", 1)[0]
            ):  # a reference to an entry shows nothing of it
                continue
            lore += characters
            shown.add(key)
            if self._is_whole(key, block, pieces, question, passage):
                whole.add(key)
                refs |= {ref: key} if ref else {}
        known = before or {}
        referred = {known[ref] for ref in _ABOVE.findall(shown_text) if ref in known}
        return Seen(
            frozenset(shown),
            frozenset(whole),
            frozenset(referred - whole),
            refs,
            len(shown_text),
            min(lore, len(shown_text)),
        )

    def data(self, found: Any, question: str = "", before: Mapping[str, str] | None = None) -> Seen:
        """Judge structured data, written as compact JSON, as a client sends it."""
        refs: dict[str, str] = {}
        shown, whole, referred = set[str](), set[str](), set[str]()
        lore = 0
        for ref, text in _texts_in(found):
            seen = self.text(f"[{ref}]\n{text}" if ref else text, question, before)
            shown |= seen.shown
            whole |= seen.whole
            referred |= seen.referred
            refs |= seen.refs
            lore += seen.lore_characters
        written = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        return Seen(frozenset(shown), frozenset(whole), frozenset(referred - whole), refs, len(written), lore)

    def _recognise(self, block: str) -> tuple[str, list[str], int]:
        """Return the entry in a block ("" for none), its pieces of lore text, and their number of characters."""
        votes: dict[str, int] = {}
        bare = plain(block)
        for at in range(0, max(1, len(bare) - _GRAM + 1), _STEP):
            for key in self._grams.get(bare[at : at + _GRAM], ()):
                votes[key] = votes.get(key, 0) + 1
        key = max(votes, key=lambda key: (votes[key], key), default="")
        if votes.get(key, 0) < _FEWEST_VOTES:
            return "", [], 0
        pieces, characters = list[str](), 0
        for number, line in enumerate(block.split("\n")):
            if number == 0 and _HEADER.match(line):  # only a title in it counts
                title = self._titles[key]
                characters += len(self._texts[key].split("\n", 1)[0]) if title and title in plain(line) else 0
                continue
            for part in _LEFT_OUT.split(line):
                text = _QUOTED.sub("", part).removeprefix(LEARNED)
                piece = plain(text)
                if piece and piece in self._plain[key]:
                    pieces.append(piece)
                    characters += len(text)
                elif piece and piece in self._learned.get(key, ""):
                    characters += len(text)
        return key, pieces, characters

    def _is_whole(self, key: str, block: str, pieces: list[str], question: str, passage: str) -> bool:
        text, bare = self._plain[key], plain(block)
        if text in bare:
            return True
        body = text.removeprefix(self._titles[key])
        if len(self._texts[key]) <= WHOLE_UP_TO:
            return bool(body) and self._titles[key] in bare and body in bare
        runs = _runs("".join(pieces), text)
        answer = plain(neutralize(passage or best_sentence(self._texts[key], question), lines=True))
        return any(len(run) >= SHOWN_OF_LONG and answer in run for run in runs)


def best_sentence(text: str, question: str) -> str:
    """Return the sentence of a text with most words of a question; "" if none has any."""
    asked = {word.casefold() for word in _WORD.findall(question)}
    best, most = "", 0
    for sentence in _SENTENCE.split(text):
        common = len(asked & {word.casefold() for word in _WORD.findall(sentence)})
        if common > most:
            best, most = sentence, common
    return best


def _runs(shown: str, text: str) -> Iterator[str]:
    """Yield the longest parts of what is shown that are substrings of the text."""
    at = 0
    while at < len(shown):
        end = at + 1
        while end <= len(shown) and shown[at:end] in text:
            end += 64
        end = min(end, len(shown))
        while end > at + 1 and shown[at:end] not in text:
            end -= 1
        yield shown[at:end]
        at = max(end, at + 1)


def _blocks(shown_text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text that begin with a session ref, and the part before the first, with their refs."""
    ref, lines = "", list[str]()
    for line in shown_text.split("\n"):
        found = _HEADER.match(line)
        if found:
            yield ref, "\n".join(lines)
            ref, lines = next(filter(None, found.groups())), []
        lines.append(line)
    yield ref, "\n".join(lines)


def _texts_in(found: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts in JSON data: those of an object with a ref as one, without single words, any other by itself."""
    if isinstance(found, str):
        yield "", found
    elif isinstance(found, dict) and found.get("ref"):
        texts = [text for _, text in _texts_in(list(found.values())) if len(text.split()) > 1]
        yield str(found["ref"]), "\n".join(texts)
    elif isinstance(found, dict | list):
        for value in found.values() if isinstance(found, dict) else found:
            yield from _texts_in(value)
