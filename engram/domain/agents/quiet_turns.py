"""Recognize prompts that ask for nothing: thanks, agreement, a sign to continue, or a remark on finished work.

Each clause has to be quiet: thanks, a sign to continue, or a statement that all is well. A clause that gives an
instruction, states a wish or reports trouble makes the prompt a request, and so does one that fits neither description.
"""

from __future__ import annotations

import itertools
import re
from functools import cache

from engram.domain.text.plain_letters import without_accents
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 16  # words
_MOST_BETWEEN = 4  # words from "is" to "fine"
_CLAUSES = re.compile(r"[.!;:,()…]+(?=\s|$)|\s[-–—]+\s")
_SMILEYS = re.compile(r"(?:^|\s)[:;=]-?[()dp](?=\s|$)|<3")
_NO_TROUBLE = r"no (?:more )?(?:complaint|error|failure|issue|objection|problem|trouble|warning)s?"
_NO_REQUEST = re.compile(
    rf"\b(?:{_NO_TROUBLE}|no worries|never ?mind|what (?:i|we)|(?:you|one) who|nothing (?:left|else|more|further)"
    r"|(?:hasn't|haven't|never) (?:been|looked|felt|run|ran|worked) (?:this|so|that)"
    r"|was the (?:bug|issue|problem)|now instead of \d+)\b"
    r"|^(?:stop|wait|no)\W+not\b"
    r"|\b(?:error|failure|warning|problem|issue|bug|crash|leak)s?(?:'s| is| are| was| has| have| seems?)"
    r"(?: all| finally| now)* (?:gone|fixed|solved|away)\b"
)
_REQUEST = re.compile(
    r"\?|\b(?:how|why|what|which|where|who|whom|whose|when|(?:can|could|would) you|should|shall|must"
    r"|needs?|wants?|(?:have|has) to|(?:'d|would) like|but|except|however|instead"
    r"|not|never|nothing|nobody|still|yet|(?:al)?though|unfortunately|sadly|worse|only (?:for|if|in|on|with|works)"
    r"|works only|fail\w*|errors?|broken?|breaks|crash\w*|hangs?|hung|stuck|wrong|missing|lost|loses?|slow\w*"
    r"|bugs?|problems?|issues?|complain\w*|timeouts?|denie[sd]|reject\w*|refuse[sd]?|bounce[sd]|stale|late|down"
    r"|dead|red|throws|kill(?:s|ed)|leaks?|drops|dropped|looks off|odd|weird|strange)\b|n't\b|(?<!^)\bno\b"
)
_THANKS = (
    r"(?:many |much |big )?(?:thanks|thank (?:you|u|god|goodness)|thx|ty|ta|cheers|merci|danke)"
    r"(?: (?:a (?:lot|bunch|ton|million)|(?:so|very) much|again))*(?: (?:for|to) .*)?"
    r"|(?:also )?from \w+(?: and \w+)?$|(?:much )?appreciated?(?: it)?"
)
_CLOSING = re.compile(r"\b(?:thanks|thank you|thx|cheers)\W*$")
_PRAISE = (
    r"(?:great|nice|good|lovely|excellent|brilliant|wonderful|fantastic|amazing|perfect|super)"
    r" (?:\w+$|(?:stuff|work|job|one|point|catch|timing|night|news|to (?:hear|know|see))(?: (?:by|on|with|that)\b.*)?)"
    r"|well done|perfect|great|nice|neat|sweet|cool|awesome|wonderful|excellent|lovely|brilliant|super|gorgeous"
    r"|fantastic|amazing|bravo|congrats|glad|ha(?:h|ha)*|(?:he){2,}|lol|phew|whew|wow|yay|hoo?u?rr?ay|lgtm"
    r"|love it|that (?:did it|was it|works|worked|helps|helped)|you(?:'re| are) (?:the best|great|a star)|you rock"
)
_AGREES = (
    r"ok(?:ay)?|k|yes|y|yep|yeah|yup|sure|right|al(?:l )?right|all good|good|fine (?:by|for|with) \w+|fine|got it|i see$"
    r"|understood|agreed|noted|roger|gotcha|no worries(?: about .*)?|my (?:bad|fault)|(?:it |that )?happens$"
    r"|no problem|never ?mind|seen (?:it|that)"
    r"|(?:sounds|looks) (?:good|great|fine|right|reasonable|like a plan)(?: to me)?"
    r"|you (?:were|are) right(?: about\b.*)?|lgtm|fine by me"
)
_FILLS = (
    r"and|so|now|then|well|please|oh|a+h+|aha|hm+|just|also|let'?s"
    r"|(?:you|we) (?:can|may)(?! (?:relax|rest|close|drop|leave|forget|stop|ignore)\b)"
)
_GOES_ON = (
    r"continue|go (?:on|ahead|for it)|carry on|proceed|keep (?:going|it)|next (?:step|one|part|file|item|point)(?! is)"
    r"|mov(?:e|ing) on|on we go|resume|as (?:you|we) (?:proposed|said|suggested|discussed|planned)"
    r"|(?:i'?m )?off (?:to|now|home)|(?:i'?ll be )?back (?:in|after)|brb|bye|see you|(?:enough|done) (?:for|with)"
    r"|that's (?:all|it|exactly|just|what)|call(?:ing)? it a day|your turn|hold on"
    r"|(?:you can )?(?:leave|keep) .*\bas (?:it is|is|they are|before)$"
    r"|(?:i'?ll|(?:i|we) will|will|gonna) (?:pass|tell|let|show|forward|ask|do|check|handle|take|mention|say)\b.*"
    r"|(?:you|we) can (?:relax|rest|(?:close|drop|leave|forget|stop|ignore) (?:it|that|this|now))$"
    r"|(?:solved|done|fixed|sorted|merged)$|that's .*\b(?:done|finished|fixed|solved|sorted)$"
    r"|nothing (?:left|else|more|further)\b.*|(?:the )?\S+ one$|the \S+ (?:variant|option)$"
    r"|(?:poor|lucky|typical|good old) \w+$"
)
_DOES_IT = re.compile(r"\w+ (?:it|that|this|them|so|the (?:rest|same|others?))\b")
_IS_NOW = (
    r"(?:\S+ ){1,3}?(?:starts?|answers?|loads?|runs?|builds?|match(?:es)?|shows?|returns?|finds?|opens?|responds?|connects?"
    r"|compiles?|renders?|behaves?|fits?|agrees?|comes?|gets?|takes?) (?:\S+ ){0,4}now\b"
)
_WELL = (
    rf"\b(?:(?:after all|far so good|did the trick|adds? up|likes? it|loves? it|said yes|thumbs up|{_NO_TROUBLE}"
    r"|(?:happy|pleased) (?:with|about)"
    r"|(?:says?|said) (?:thanks|thank you|hi|hello|yes|ok|go|so|the same|well done|great|nice))\b"
    r"|(?:makes? sense|it was(?: \w+)?)$)"
)

# These say that all is well after a form of "to be" or "to look".
_GOOD_WORDS = """
    back beautiful better clean clear complete correct delivered done excellent fast faster fine finished fixed glad
    good great green happy healthy in lively live lovely merged nice ok okay online out perfect pleased quick quicker
    quiet ready resolved right settled solved sorted stable through up wonderful
"""
# These do so on their own.
_ACHIEVED_WORDS = """
    accepted agreed answered approved arrived confirmed finished helped landed paid pass passed passes replied signed
    succeeded thanked work worked working works
"""
_BEING_WORDS = """
    are be been came feels felt go goes got is look looks read reads runs seems shows sounds they're was we're were went
"""
_SAYING_WORDS = """
    can caught did does found gave had has have heard i'll i'm i've it'll knew likes loves made ran said says see sent
    she'll he'll they'll told took we'll we've will wrote
"""
_OBJECTS_WORDS = "a again all an everything fine her him it just me now the them these this those us well"
# Words that only refer to the conversation.
_POINTING_WORDS = """
    again already another back before better everyone exactly expected finally fine first guys here it last later
    latter left like long lot man mate minute moment more morning much next night now ok okay one ones option other others please
    previous quite rest right same second side still step then third those thing things three time today tonight too
    tomorrow two wait way well whole yes yesterday no hm hmm oh let lets let's that's i'll we'll it's
"""
_INSTRUCTING_WORDS = """
    add adapt adjust apply ask assign bill book build bump call change check clean clear close compare configure
    convert copy create debug define delete deploy describe document download draft drop edit embed enable ensure
    explain export extend extract feed fetch find fix format generate get give group have help hook implement import
    improve include index inspect install integrate introduce investigate invite list load look mail make migrate move
    open optimise optimize parse plan point port post prepare print publish pull push put read rebuild refactor reindex
    release remove rename replace report request rerun reset restart restore revert review rewrite roll run save
    schedule search send set show sort speed split start stop store summarise summarize swap switch sync take tell test
    translate try turn update upgrade upload use validate verify wire write
"""
_ASKING_WORDS = "am are can could did do does has is may was were will would"
_LINKS_WORDS = "also and just now please then"
_PREPOSITIONS_WORDS = "as at for from in into like of on over through to under via with without"
_GOOD, _ACHIEVED, _BEING, _SAYING, _OBJECTS, _POINTING, _INSTRUCTING, _ASKING, _LINKS, _PREPOSITIONS = (
    frozenset(words.split())
    for words in (
        _GOOD_WORDS, _ACHIEVED_WORDS, _BEING_WORDS, _SAYING_WORDS, _OBJECTS_WORDS, _POINTING_WORDS, _INSTRUCTING_WORDS,
        _ASKING_WORDS, _LINKS_WORDS, _PREPOSITIONS_WORDS,
    )
)  # fmt: skip


# Compiled on first use, since that takes some milliseconds and most prompts are requests.
@cache
def _opening() -> re.Pattern[str]:
    return re.compile(rf"(?:(?P<thanks>{_THANKS}|{_PRAISE})|(?P<agrees>{_AGREES})|{_FILLS})(?![\w'-])\s*")


@cache
def _going_on() -> re.Pattern[str]:
    return re.compile(rf"(?:{_GOES_ON})(?![\w-])|.*{_WELL}")


@cache
def _is_now() -> re.Pattern[str]:
    return re.compile(_IS_NOW)


def asks_for_nothing(prompt: str) -> bool:
    """Return whether a prompt merely thanks, agrees, says to continue, or remarks that all is well, whatever it names."""
    text = " ".join(without_accents(prompt).replace("’", "'").split())
    if len(text.split()) > _LONGEST or _REQUEST.search(_NO_REQUEST.sub("", text)):
        return False
    thanks = _CLOSING.search(text) is not None
    agrees = points = instructs = False
    statements: list[list[str]] = []
    for clause in _CLAUSES.split(_SMILEYS.sub(" ", text)):
        rest = clause.strip()
        if is_instruction(rest.split(), 1):
            return False
        while opening := _opening().match(rest):
            thanks |= opening["thanks"] is not None
            agrees |= opening["agrees"] is not None
            rest = rest[opening.end() :]
        words = rest.split()
        if _only_points(words) or _is_about_it(rest):
            points |= bool(words)
            instructs |= words[:1] != [] and words[0] in _INSTRUCTING
        elif _going_on().match(rest):
            agrees = True
        elif is_instruction(words):
            return False
        elif _is_now().match(rest) or _is_well(words):
            agrees = True
        else:
            statements.append(words)
    if not statements:
        return thanks or agrees or points
    return (thanks or agrees) and not instructs and all(_states(words, thanks) for words in statements)


def _only_points(words: Sequence[str]) -> bool:
    return all(word in STOP_WORDS or word in _POINTING or word.isdecimal() for word in words)


def _is_about_it(text: str) -> bool:
    """Return whether the object of a clause is "it" or the like, without further words: `commit it like that`."""
    match = _DOES_IT.match(text)
    return match is not None and _only_points(text[match.end() :].split())


def is_instruction(words: Sequence[str], start: int = 0) -> bool:
    """Return whether a clause is an instruction: a verb comes first, or after "and", and is no noun, as in `search works`.

    A question without its mark counts, too: `does search work`.
    """
    for at in range(start, len(words)):
        is_first = not at or words[at - 1] in _LINKS
        if is_first and words[at] in _INSTRUCTING and not _states(words[at + 1 : at + 2]):
            is_noun = words[at + 1 : at + 2] and words[at + 1] in _PREPOSITIONS and _is_well(words)
            if not is_noun:  # `upload through the proxy went fine`
                return True
    return not start and words[0] in _ASKING


def _is_well(words: Sequence[str]) -> bool:
    """Return whether a clause ends with a statement that all is well."""
    return any(
        _only_points(words[at + 1 :])
        and (
            word in _ACHIEVED
            or (word in _GOOD and any(map(_is_being, words[max(0, at - _MOST_BETWEEN) : at])))
        )
        for at, word in enumerate(words)
        if at
    )


def _is_being(word: str) -> bool:
    return word in _BEING or word.endswith("'s")


def _states(words: Sequence[str], loosely: bool = False) -> bool:
    """Return whether a clause is a statement, by its verb; `loosely` also by a word that may be one: `saffron finds them`."""
    for at, (word, after) in enumerate(itertools.zip_longest(words, words[1:], fillvalue="")):
        if word in _BEING or word in _ACHIEVED or word in _SAYING or (word.endswith("'s") and after in _GOOD):
            return True
        if loosely and at and word in _GOOD and _only_points(words[at + 1 :]):
            return True
        if word.endswith("ed") and words[at - 1 : at] not in (["the"], ["a"]):
            return True
        if (
            loosely
            and at
            and word.endswith("s")
            and (not after or after in _OBJECTS or after in _PREPOSITIONS)
        ):
            return True
    return False
