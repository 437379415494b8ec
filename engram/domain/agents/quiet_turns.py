"""Prompts that ask for nothing: they thank, agree, go on, or remark on what was just done, whatever they name meanwhile."""

from __future__ import annotations

import re
from functools import cache

from engram.domain.agents.naming import words_in
from engram.domain.text.stop_words import STOP_WORDS

_LONGEST = 16  # words
_FIRST_WORD = re.compile(r"\w+")

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
    if len(text.split()) > _LONGEST or _ASKS.search(text):
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
    first = _FIRST_WORD.match(text)
    return first is not None and first[0].lower() in _TOLD


# Words that only point at what was talked about, and what is done with it.
_POINTING_WORDS = """
    again another back before first fine it last later latter left long minute moment next now ok okay one ones option other others
    please previous rest right same second still step then third those thing things third three time too two wait well whole yes
    no hm hmm oh let lets let's that's i'll we'll it's
"""
_TOLD_WORDS = """
    add adapt adjust apply ask build change check clean compare configure convert copy create debug define delete deploy
    describe document draft drop edit enable explain export extend extract find fix format generate get give help implement
    import improve include inspect install integrate introduce investigate list load look make migrate move open optimise
    optimize parse plan port prepare print publish put read refactor remove rename replace report restart revert review
    rewrite roll run search send set show sort speed split start stop summarise summarize switch take test translate
    try turn update upgrade use validate verify wire write
"""
_POINTING, _TOLD = frozenset(_POINTING_WORDS.split()), frozenset(_TOLD_WORDS.split())
