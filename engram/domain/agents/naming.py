"""Names in prompts: which words of a prompt may name something, whether entries write them as names, and what asks for nothing.

A prompt spells a name as it likes: in lower case, by surname, by one word of several. So the entries decide what is a name:
they write it with a capital within a sentence, or as nobody writes an ordinary word, or begin with it and never have it
in lower case.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from engram.domain.text.everyday_words import EVERYDAY_WORDS
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SURE, LIKELY, NO = 2, 1, 0
MOST_WORDS = 24  # words of a prompt that are looked up
_HEAD = 80  # characters: what an entry is about stands there
_LONGEST_QUIET = 16  # words
_SHORTEST = 3  # letters
_WORD = re.compile(r"[^\W_]+(?:[-_.'’][^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_FULL_NAME = re.compile(r"\s*[A-Z][^\W\d_]+ [A-Z][^\W\d_]+[ ,']\W*(?![A-Z])")
_SENTENCES = re.compile(r"[.!?](?:\s+[A-Z]|\s*$)")
_OWNED = re.compile(r"['’]s?$|['’](?:ll|re|ve|d|m|t)$")
_BEFORE_SENTENCE = re.compile(r"(?:^|[.!?:;\n]|^\s*[-*#>]+)[\s\"'(\[*_`#>-]*$")

_OPENERS = (
    r"(?:many )?thanks(?: a lot| so much| again| you)?|thank you(?: so much| very much| again)?|thx|ty|cheers"
    r"|(?:great|nice|good|very good|well)(?: work| job| one| point| done)?|perfect|cool|all good|ok(?:ay)?(?: then)?"
    r"|yes|yep|yeah|yup|sure|right|alright|awesome|wonderful|excellent|lovely|brilliant|super|fantastic|amazing"
    r"|(?:sounds|looks) (?:good|great|fine)(?: to me)?|lgtm|that (?:did it|works|worked|helps|helped)|no worries"
    r"|got it|i see|fine|please|and|so|now|then"
)  # fmt: skip
_GOING_ON = (
    r"continue|go on|go ahead|go for it|carry on|proceed|keep (?:going|it)|next (?:step|one|part)|mov(?:e|ing) on|on we go"
    r"|resume|do (?:it|that|so|the (?:rest|same|others?))"
    r"|finish (?:it|up)|ship it"
    r"|commit (?:it|that|this)|push it|merge it|as (?:you|we) (?:proposed|said|suggested|discussed|planned)"
)  # fmt: skip
_SETTLED = (
    r"works?|worked|working|pass(?:es|ed)?|done|green|happy|pleased|fixed|solved|better|needed|wanted|helped|helpful|correct|clear"
    r"|that'?s (?:all|it|exactly)|makes sense|good|great|perfect|fine|ready|finished|up again"
)
_ASKS = re.compile(
    r"\?|\b(?:how|why|what|which|where|who|whom|whose|when|can you|could you|would you|should|but|except|however|instead)\b",
    re.IGNORECASE,
)


# Compiled on first use, which takes a millisecond: most prompts ask.
@cache
def _opening() -> re.Pattern[str]:
    return re.compile(rf"(?:(?:{_OPENERS})\b[\s,.!;:–-]*)+", re.IGNORECASE)


@cache
def _going_on() -> re.Pattern[str]:
    return re.compile(rf"(?:{_GOING_ON})\b", re.IGNORECASE)


@cache
def _settled_pattern() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_SETTLED})\b", re.IGNORECASE)


def asks_for_nothing(prompt: str) -> bool:
    """Return whether a prompt merely thanks, agrees or tells to go on, whatever it names meanwhile."""
    text = " ".join(prompt.split())
    if len(text.split()) > _LONGEST_QUIET or _ASKS.search(text):
        return False
    opening = _opening().match(text)
    rest = text[opening.end() :] if opening else text
    if all(word in STOP_WORDS or word in _POINTING for word in words_in(rest)):
        return True
    if _going_on().match(rest):
        return True
    return opening is not None and _settled_pattern().search(rest) is not None and not _commands(rest)


def _commands(text: str) -> bool:
    """Return whether a sentence begins with a verb of a new task."""
    first = _WORD.match(text)
    return first is not None and first[0].lower() in _TOLD


# Words that only point at what was talked about, and what is done with it.
_POINTING_WORDS = """
    again another back before first fine it last later latter left long minute moment next now ok okay one ones option other others
    please previous rest right same second still step then third those thing things third three time too two wait well whole yes
    no hm hmm oh let lets let's that's i'll we'll it's
"""
_DATES_WORDS = """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october
    november december english
"""

_TOLD_WORDS = """
    add adapt adjust apply ask build change check clean compare configure convert copy create debug define delete deploy
    describe document draft drop edit enable explain export extend extract find fix format generate get give help implement
    import improve include inspect install integrate introduce investigate list load look make migrate move open optimise
    optimize parse plan port prepare print publish put read refactor remove rename replace report restart revert review
    rewrite roll run search send set show sort speed split start stop summarise summarize switch take test translate
    try turn update upgrade use validate verify wire write
"""
# Everybody writes these in capitals, so that capitals do not make a name of them.
_ACRONYMS_WORDS = """
    api apis ascii cd changelog ci cli cpu crud css csv db dns eof eta fyi gmt gpu html http https id ide ids io ip jpeg json jwt
    license mr orm os pdf png pr prs qa ram readme rest rpc sdk sql ssh ssl svg tcp tls todo toml udp ui uri url urls utc utf
    uuid ux vm xml yaml
"""
_POINTING, _DATES, _TOLD, _ACRONYMS = (
    frozenset(words.split()) for words in (_POINTING_WORDS, _DATES_WORDS, _TOLD_WORDS, _ACRONYMS_WORDS)
)


def words_of(prompt: str) -> list[str]:
    """Return the words of a prompt that may name something, folded, each once, in their order.

    A compound (`redux-saga`) is one word. Words that everybody uses are left out unless they are written as a name.
    """
    found: dict[str, None] = {}
    for match in _WORD.finditer(prompt):
        word = _OWNED.sub("", match[0])
        parts = [part.lower() for part in _PART.findall(word)]
        is_capital = word[:1].isupper() and not _BEFORE_SENTENCE.search(prompt[: match.start()])
        common = all(
            part in STOP_WORDS
            or part in _DATES
            or part in _ACRONYMS
            or (part in EVERYDAY_WORDS and not is_capital)
            for part in parts
        )
        long_enough = len(word) >= _SHORTEST or (len(word) > 1 and word.isupper())
        is_code = "_" in word  # a setting, a function
        if parts and long_enough and not common and not is_code and any(map(str.isalpha, word)):
            found[fold(word)] = None
    return list(found)[:MOST_WORDS]


def words_in(text: str) -> list[str]:
    """Return all words of a text, folded, compounds in one piece."""
    return [fold(_OWNED.sub("", match[0])) for match in _WORD.finditer(text)]


def is_telling(name: str) -> bool:
    """Return whether a name is recognised in any case: it is not short and has a word that is not everybody's."""
    words = [part.lower() for part in _PART.findall(name)]
    return sum(map(len, words)) >= _SHORTEST and not all(
        word in EVERYDAY_WORDS or word in STOP_WORDS for word in words
    )


def fold(text: str) -> str:
    """Return a text in lower case and without accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def how_surely(word: str, texts: Iterable[str]) -> int:
    """Return how surely a folded word is a name, by the way in which entries write it: SURE, LIKELY or NO.

    LIKELY is a word that an entry begins with and that none has in lower case: where it is no ordinary word, it is a name.
    """
    is_inside = is_first = is_lower = is_odd = False
    for text in texts:
        for spelling, before in _occurrences(word, text):
            if spelling[:1].islower() and not before.strip() and _SENTENCES.search(text):
                is_odd = True  # nobody begins a text so, unless it is a name that is spelled so
            elif spelling[:1].isupper():
                is_first |= not before.strip()
                is_inside |= not before.strip() and _FULL_NAME.match(text) is not None
                is_inside |= not _BEFORE_SENTENCE.search(before)
            else:
                is_lower |= spelling[:1].islower()
            is_odd |= _is_odd(spelling)
    if is_odd or (is_inside and not is_lower):
        return SURE
    is_plural = word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return LIKELY if is_first and not is_lower and not is_plural else NO


def _is_odd(spelling: str) -> bool:
    """Return whether nobody writes an ordinary word so: with a capital inside, or in a few capitals."""
    inner = spelling[1:]
    has_capital = any(map(str.isupper, inner)) and not spelling.isupper()
    return has_capital or (spelling.isupper() and spelling.isalpha() and 1 < len(spelling) <= 5)


def is_about(word: str, text: str) -> bool:
    """Return whether an entry is about what a folded word names: the word stands at the head of its text."""
    return any(len(before) < _HEAD for _, before in _occurrences(word, text.partition("\n")[0]))


def _occurrences(word: str, text: str) -> list[tuple[str, str]]:
    """Return the spellings of a word in a text, each with the text before it."""
    found = []
    for match in _WORD.finditer(text):
        spelling = _OWNED.sub("", match[0])
        if fold(spelling) == word or (word in map(fold, _PART.findall(spelling)) and "-" in spelling):
            found.append((spelling, text[: match.start()]))
    return found
