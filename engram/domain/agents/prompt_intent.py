"""How a prompt is matched against lore: the threshold for its kind, its sentences, and the topic of several prompts.

A question wants one fact, and an entry about the same subject without that fact is no answer. An instruction or a report
is served by whatever is known about its subject, so a weaker match is enough. In a prompt of several sentences, one
may state the subject while the others say how to work.
"""

from __future__ import annotations

import re
from itertools import islice

from engram.domain.text.stop_words import STOP_WORDS, without_stop_words
from engram.domain.text.whole_words import first_words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Thresholds, as a share of the evidence that makes an answer strong.
QUESTION, INSTRUCTION, LONG_INSTRUCTION = 1.0, 0.77, 0.58
# Words: the threshold falls between the first two, since no single entry covers a long prompt; beyond the third, text was pasted.
_LONG_FROM, _LONG_TO, _PASTED_FROM = 20, 30, 60
_FEWEST_WORDS = 5  # words other than stop words in an instruction; fewer are keywords, or a turn that asks for nothing new
_SHORTEST_SENTENCE = 6  # words
_MOST_SENTENCES = 5
_FEWEST_TOPIC_WORDS = 3  # words other than stop words in a prompt that names its topic
_LATEST_PROMPTS = 2  # that name a topic
_LONGEST_PROMPT = 300  # characters
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
_BEGINS_AS_QUESTION = re.compile(
    r"\W*(?:(?:and|but|so|now|then|hi|hey|ok|okay)\b\W*)*"
    r"(?:(?:how|why|what|which|who|whom|whose|where|is|are|was|were|does|did|has|should|may)\b"
    r"|(?:can|could|would|will) (?!you\b|we\b|I\b)|when (?:do|does|did|is|are|was|were|can|should|will)\b)",
    re.IGNORECASE,
)
_REQUEST = re.compile(r"\W*(?:please|(?:can|could|would|will) (?:you|we|I))\b", re.IGNORECASE)


def threshold_for(prompt: str) -> float:
    """Return the threshold for a prompt, as a share of the evidence that makes an answer strong (0 to 1)."""
    words = prompt.lower().split()
    if len(without_stop_words(words)) < _FEWEST_WORDS or any(map(_is_question, _SENTENCES.split(prompt))):
        return QUESTION
    if len(words) > _PASTED_FROM:
        return INSTRUCTION
    length = min(1.0, max(0.0, (len(words) - _LONG_FROM) / (_LONG_TO - _LONG_FROM)))
    return INSTRUCTION - (INSTRUCTION - LONG_INSTRUCTION) * length


def split_sentences(prompt: str) -> list[str]:
    """Return the first sentences of a prompt that are long enough to be matched alone; none if it is a single sentence."""
    found = [sentence for sentence in _SENTENCES.split(prompt) if sentence.strip()]
    long_enough = [sentence.strip() for sentence in found if len(sentence.split()) >= _SHORTEST_SENTENCE]
    return long_enough[:_MOST_SENTENCES] if len(found) > 1 else []


def topic_of(prompts: Sequence[str]) -> str:
    """Return the latest prompts that name a topic, in one line of a few hundred characters; "" if none does."""
    lines = (first_words(" ".join(prompt.split()), _LONGEST_PROMPT) for prompt in reversed(prompts))
    topics = (line for line in lines if len(set(line.lower().split()) - STOP_WORDS) >= _FEWEST_TOPIC_WORDS)
    return " / ".join(reversed([*islice(topics, _LATEST_PROMPTS)]))


def _is_question(sentence: str) -> bool:
    has_mark = sentence.rstrip().endswith("?") and not _REQUEST.match(sentence)
    return has_mark or _BEGINS_AS_QUESTION.match(sentence) is not None
