"""Recognize names in prompts: the words that may be names, and whether entries write them as names.

People spell names in prompts as they like: in lower case, by surname, by one word of several. So the entries decide: a word
is a name if they write it with a capital within a sentence, or unlike any ordinary word, or begin with it and never
write it in lower case.
"""

from __future__ import annotations

import re

from engram.domain.text.everyday_words import EVERYDAY_WORDS
from engram.domain.text.plain_letters import without_accents
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SURE, LIKELY, NO = 2, 1, 0
MOST_WORDS = 24  # words of a prompt that are looked up
_HEAD = 80  # characters at the beginning of an entry, which name its subject
_SHORTEST = 3  # letters
_WORD = re.compile(r"[^\W_]+(?:[-_.'’][^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_CAPITAL = "[A-ZÀ-ÖØ-ÞĀ-Ž]"  # the last range has lower-case letters, too, with which hardly a word begins
_FULL_NAME = re.compile(
    rf"\s*{_CAPITAL}[^\W\d_]+ {_CAPITAL}[^\W\d_]+(?:-{_CAPITAL}[^\W\d_]+)?[ ,']\W*(?!{_CAPITAL})"
)
_FIRST_NAME = re.compile(rf"\W*(?:{_CAPITAL}[^\W\d_]+ )?")
_SENTENCES = re.compile(r"[.!?](?:\s+[A-Z]|\s*$)")
_OWNED = re.compile(r"['’]s?$|['’](?:ll|re|ve|d|m|t)$")
_BEFORE_SENTENCE = re.compile(r"(?:^|[.!?:;\n]|^\s*[-*#>]+)[\s\"'(\[*_`#>-]*$")

_DATES_WORDS = """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october
    november december english
"""

# Ordinary words that are written in capitals.
_ACRONYMS_WORDS = """
    api apis ascii cd changelog ci cli cpu crud css csv db dns eof eta fyi gmt gpu html http https id ide ids io ip jpeg json jwt
    license mr orm os pdf png pr prs qa ram readme rest rpc sdk sql ssh ssl svg tcp tls todo toml udp ui uri url urls utc utf
    uuid ux vm xml yaml
"""
_DATES, _ACRONYMS = (frozenset(words.split()) for words in (_DATES_WORDS, _ACRONYMS_WORDS))


def find_possible_names(prompt: str) -> list[str]:
    """Return the words of a prompt that may be names, folded, each once, in order.

    A compound (`redux-saga`) is one word. Everyday words are left out unless they are written as a name.
    """
    found: dict[str, None] = {}
    for match in _WORD.finditer(prompt):
        word = _OWNED.sub("", match[0])
        parts = [part.lower() for part in _PART.findall(word)]
        is_capital = word[:1].isupper() and not _BEFORE_SENTENCE.search(prompt[: match.start()])
        is_common = all(
            part in STOP_WORDS
            or part in _DATES
            or part in _ACRONYMS
            or (part in EVERYDAY_WORDS and not is_capital)
            for part in parts
        )
        is_long_enough = len(word) >= _SHORTEST or (len(word) > 1 and word.isupper())
        is_code = "_" in word  # a setting, a function
        if parts and is_long_enough and not is_common and not is_code and any(map(str.isalpha, word)):
            found[fold(word)] = None
    return list(found)[:MOST_WORDS]


def split_words(text: str) -> list[str]:
    """Return all words of a text, folded; a compound is one word."""
    return [fold(_OWNED.sub("", match[0])) for match in _WORD.finditer(text)]


def is_distinctive(name: str) -> bool:
    """Return whether a name is recognized in lower case, too: it has an uncommon word, and is not short unless as odd as `p9`."""
    words = [part.lower() for part in _PART.findall(name)]
    is_short = sum(map(len, words)) < _SHORTEST and name.isalpha()
    return not is_short and not all(word in EVERYDAY_WORDS or word in STOP_WORDS for word in words)


def fold(text: str) -> str:
    """Return a text in lower case and without accents."""
    return without_accents(text.casefold())


def rate_certainty(word: str, texts: Iterable[str]) -> int:
    """Rate how surely a folded word is a name, by its spelling in entries: SURE, LIKELY or NO.

    LIKELY means that an entry begins with it and none has it in lower case, so that it is a name unless it is an ordinary word.
    """
    is_inside = is_first = is_lower = is_odd = False
    for text in texts:
        is_named = False
        for spelling, before in _occurrences(word, text):
            if spelling[:1].islower() and not before.strip() and _SENTENCES.search(text):
                is_odd = True  # a text begins in lower case only with a name that is spelled so
            elif spelling[:1].isupper():
                is_named = True
                is_first |= not before.strip()
                is_inside |= not before.strip() and _FULL_NAME.match(text) is not None
                is_inside |= not _BEFORE_SENTENCE.search(before)
            # In an entry about Falcon, `falcon-mirror` is named after it, and `falcon` is its command.
            elif (fold(spelling) == word or not is_named) and not before.count("`") % 2:
                is_lower |= spelling[:1].islower()
            is_odd |= _is_odd(spelling)
    if is_odd or (is_inside and not is_lower):
        return SURE
    is_plural = word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return LIKELY if is_first and not is_lower and not is_plural else NO


def _is_odd(spelling: str) -> bool:
    """Return whether a word is spelled as no ordinary one: with an inner capital, or as a few capitals."""
    inner = spelling[1:]
    has_capital = any(map(str.isupper, inner)) and not spelling.isupper()
    return has_capital or (spelling.isupper() and spelling.isalpha() and 1 < len(spelling) <= 5)


def is_about(word: str, text: str) -> bool:
    """Return whether a folded word occurs at the head of an entry's text, so that the entry is about it."""
    return any(len(before) < _HEAD for _, before in _occurrences(word, text.partition("\n")[0]))


def occurs_in(word: str, text: str) -> bool:
    """Return whether a text contains a folded word."""
    return bool(_occurrences(word, text))


def starts_with(word: str, text: str, in_any_case: bool = True) -> bool:
    """Return whether a text begins with a folded word, or with a full name that ends with it.

    Without `in_any_case` only in lower case, in which no text begins with an ordinary word.
    """
    return any(
        fold(spelling) == word and _FIRST_NAME.fullmatch(before) and (in_any_case or spelling[:1].islower())
        for spelling, before in _occurrences(word, text[:_HEAD])
    )


def _occurrences(word: str, text: str) -> list[tuple[str, str]]:
    """Return each spelling of a word in a text, with the text before it."""
    found = []
    for match in _WORD.finditer(text):
        spelling = _OWNED.sub("", match[0])
        parts = [fold(part) for part in _PART.findall(spelling)]
        is_part = word in parts and "-" in spelling
        if fold(spelling) == word or is_part:
            found.append((spelling, text[: match.start()]))
        elif spelling[:1].isupper() and word == parts[0] and "." in spelling:  # `Aspose.Words`
            found.append((spelling.partition(".")[0], text[: match.start()]))
    return found
