"""Guess the language of a text from its letters and function words, to choose the rules of stemming.

English is the default unless another language is obvious: a few nouns between names and code prove nothing.
"""

from __future__ import annotations

import re

from engram.domain.text.stop_words import STOP_WORDS

# The most common function words that are not English; words shared by several languages count for each.
_FUNCTION_WORDS = {
    "german": """
        der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine wird werden wurde wurden ist sind
        sich nie als mit auf für von vom zum zur bei beim nach aus durch über unter zwischen wenn wie wer wir sie ihr ihre
        nur noch auch schon immer jede jeder jedes diese dieser dieses weil damit darf muss kann soll haben hatte wo warum
        welche welcher welches vor ohne gegen
    """,
    "french": """
        le la les de des du en un une est sont être été dans avec pour par sur sous sans qui que quoi dont où quand comment pourquoi
        nous vous ils elles leur leurs notre votre cette ces ce et ou mais ne pas plus jamais toujours aux chaque
        doit doivent peut peuvent quel quelle quels quelles après avant entre faut depuis
    """,
    "spanish": """
        el la los las de en un una unos unas del al es son está están fue con para por sin sobre entre desde hasta que quien cuando
        cuándo cómo dónde qué cuál cuáles donde como porque nuestro nuestra su sus este esta estos estas ese esa y o pero no
        nunca siempre cada debe deben puede pueden hay se lo le más después antes según
    """,
    "italian": """
        il la lo gli di della delle degli dello nella nelle nel alla alle un una uno è sono con per senza su tra fra che chi
        quando come dove perché quale quali questo questa questi queste nostro nostra e o ma non mai sempre ogni deve devono
        può possono si più dopo prima viene vengono
    """,
    "portuguese": """
        os um uma umas uns de da das do dos na nas no nos é são foi com para por sem sobre entre desde até que quem quando
        como onde porque qual quais este esta isto nosso nossa e ou mas não nunca sempre cada deve devem pode podem
        há se mais depois antes ao aos pela pelo
    """,
    "dutch": """
        de het een van voor met bij naar uit over onder tussen zonder niet geen wel ook maar wordt worden werd werden zijn
        heeft hebben moet moeten kan kunnen wij zij hun onze deze dit die dat wie hoe waar waarom wanneer welke als
        omdat altijd nooit elke nog alleen
    """,
    "swedish": """
        och att det som en ett den är var för med av på till från inte aldrig alltid utan om när hur vem vilka vilken vilket
        varför vi ni de dem denna detta dessa måste kan ska har hade blir varje efter före mellan
    """,
}
ENGLISH = "english"
RUSSIAN = "russian"  # also for other languages in Cyrillic letters, which share some endings
LANGUAGES = (*_FUNCTION_WORDS, RUSSIAN)
_MIN_WORDS = 2  # different function words of a language
_MIN_SHARE = 0.15  # of all words of a text, including repetitions
_ENGLISH_FACTOR = 1.5  # times the number of English ones: code with one foreign sentence stays English
_MAX_READ = 1000  # characters: some 160 words
_WORD = re.compile(r"[^\W\d_]+")
_LETTERS = bytes(byte if chr(byte).isalpha() else 32 for byte in range(128)) + b" " * 128
# A character that may be a letter beyond ASCII: no dashes, quotes, bullets, arrows, logic signs or lines.
_BEYOND = re.compile("[^\0-\x7f\u2010-\u2027\u2190-\u245f\u2500-\u2775]")

_LANGUAGES_OF: dict[str, tuple[str, ...]] = {}
for _language, _words in _FUNCTION_WORDS.items():
    for _word in _words.split():
        _LANGUAGES_OF[_word] = (*_LANGUAGES_OF.get(_word, ()), _language)


def language_of(text: str) -> str:
    """Return the language of a text, one of LANGUAGES, or English unless another is obvious."""
    head = text[:_MAX_READ]
    has_other_letters = not head.isascii() and _BEYOND.search(head) is not None
    words = _WORD.findall(head.lower()) if has_other_letters else _plain_words(head)
    if has_other_letters and 2 * sum(["\u0400" <= word < "\u0500" for word in words]) > len(words):
        return RUSSIAN
    known = _LANGUAGES_OF.keys() & words
    if len(known) < _MIN_WORDS or sum(map(words.count, known)) < _MIN_SHARE * len(words):
        return ENGLISH
    counts = {name: sum([name in _LANGUAGES_OF[word] for word in known]) for name in _FUNCTION_WORDS}
    best = max(counts, key=lambda name: counts[name])
    english = len({word for word in words if word in STOP_WORDS and best not in _LANGUAGES_OF.get(word, ())})
    return best if counts[best] >= max(_MIN_WORDS, _ENGLISH_FACTOR * english) else ENGLISH


def _plain_words(text: str) -> list[str]:
    """Return what `_WORD` finds in a text whose letters are all ASCII, in lower case, four times as fast."""
    return text.encode("ascii", "replace").lower().translate(_LETTERS).decode().split()
