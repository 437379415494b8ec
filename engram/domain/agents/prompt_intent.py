"""What a prompt asks of memory: whether it asks at all or tells, and its sentences; what several asked, for later.

A question wants one fact, and what is about the same thing without that fact is no answer. Somebody who says what to do, or
what happens, wants what is known of it: less is enough. In a prompt of several sentences one may say it all, among
others about how to work.
"""

from __future__ import annotations

import re
from itertools import islice

from engram.domain.text.stop_words import STOP_WORDS, without_stop_words
from engram.domain.text.whole_words import first_words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

QUESTION, TOLD, TOLD_AT_LENGTH = 1.0, 0.77, 0.58  # the share of what a strong answer needs that is enough
# Words of a prompt: from so many on less of it is in any one entry, to so many; beyond the last, text was pasted.
_LONGER, _LONG, _PASTED = 20, 30, 60
_FEWEST = 5  # words besides "the" and "it" of what tells something; fewer are keywords, or a turn that asks for nothing new
_SHORTEST = 6  # words of a sentence
_MOST = 5  # sentences
_FEWEST_ASKED = 3  # words besides "the" of a prompt that says what the work is about
_LATEST = 2  # prompts that say what it is about
_LONGEST = 300  # characters of each
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
_BEGINS_AS_QUESTION = re.compile(
    r"\W*(?:(?:and|but|so|now|then|hi|hey|ok|okay)\b\W*)*"
    r"(?:(?:how|why|what|which|who|whom|whose|where|is|are|was|were|does|did|has|should|may)\b"
    r"|(?:can|could|would|will) (?!you\b|we\b|I\b)|when (?:do|does|did|is|are|was|were|can|should|will)\b)",
    re.IGNORECASE,
)
_REQUEST = re.compile(r"\W*(?:please|(?:can|could|would|will) (?:you|we|I))\b", re.IGNORECASE)


def bar_of(prompt: str) -> float:
    """Return the share of what a strong answer needs that is enough for a prompt."""
    words = prompt.lower().split()
    if len(without_stop_words(words)) < _FEWEST or any(map(_is_question, _SENTENCES.split(prompt))):
        return QUESTION
    if len(words) > _PASTED:
        return TOLD
    longer = min(1.0, max(0.0, (len(words) - _LONGER) / (_LONG - _LONGER)))
    return TOLD - (TOLD - TOLD_AT_LENGTH) * longer


def sentences_of(prompt: str) -> list[str]:
    """Return the first sentences of a prompt that say something; none of a prompt that is a single one."""
    found = [sentence for sentence in _SENTENCES.split(prompt) if sentence.strip()]
    telling = [sentence.strip() for sentence in found if len(sentence.split()) >= _SHORTEST]
    return telling[:_MOST] if len(found) > 1 else []


def asked_in(prompts: Sequence[str]) -> str:
    """Return what the last of some prompts asked, in a line of a few hundred characters; "" where they say nothing."""
    lines = (first_words(" ".join(prompt.split()), _LONGEST) for prompt in reversed(prompts))
    telling = (line for line in lines if len(set(line.lower().split()) - STOP_WORDS) >= _FEWEST_ASKED)
    return " / ".join(reversed([*islice(telling, _LATEST)]))


def _is_question(sentence: str) -> bool:
    ends_so = sentence.rstrip().endswith("?") and not _REQUEST.match(sentence)
    return ends_so or _BEGINS_AS_QUESTION.match(sentence) is not None
