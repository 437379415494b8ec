"""The wording of a text: the words that carry meaning, and their order.

Two texts of nearly the same words mean the same only if neither has a word that the other lacks: a single word such as
"caddy" for "nginx" or "minutes" for "seconds", or a different order of words, changes the meaning.
"""

from __future__ import annotations

import re

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

# Words that negate a statement, and numbers written as words: the cosine of word vectors ignores them.

_NEGATIONS = """
no not never none nothing nobody neither nor without cannot cant wont dont doesnt didnt isnt arent wasnt werent
shouldnt couldnt wouldnt mustnt hasnt havent hadnt aint hardly barely unless
nicht kein keine keinen keinem keiner nie niemals ohne nichts pas jamais sans ni nunca ninguna sin non mai senza
"""

# Not "one", which is mostly a pronoun.
_NUMERALS = """
zero 0, two 2, three 3, four 4, five 5, six 6, seven 7, eight 8, nine 9, ten 10, eleven 11, twelve 12,
hundred 100, thousand 1000, million 1000000, twice 2, thrice 3, half 0.5
"""

_OPPOSITES = """
always ever / never seldom
enable enables enabled enabling on / disable disables disabled disabling off
before / after
increase increases increased raise raises raised / decrease decreases decreased lower lowers lowered reduce reduces reduced
more / less fewer
above over / below under
allow allows allowed permit permits permitted / forbid forbids forbidden deny denies denied prohibit prohibits prohibited
true / false
safe safely / unsafe unsafely
success succeed succeeds succeeded pass passes passed / failure fail fails failed
minimum min least smallest / maximum max most largest
first / last
ascending / descending
synchronous synchronously sync / asynchronous asynchronously async
public / private
faster fast / slower slow
good best prefer preferred use / bad worst avoid avoided
add adds added / remove removes removed drop drops dropped
open opens opened / close closes closed
start starts started / stop stops stopped
valid / invalid
possible / impossible
required mandatory must / optional
same / different
left / right
up / down
read reads / write writes
mutable / immutable
blocking / nonblocking
include includes included including / exclude excludes excluded excluding leave
all every any each / some only none
works work working / fail fails failed breaks broken error wrong
accept accepts accepted / reject rejects rejected refuse refuses refused
permanent permanently / temporary temporarily
keep keeps kept / discard discards discarded remove removes removed delete deletes deleted drop drops dropped
automatic automatically itself / manual manually yourself hand
return returns returned / raise raises throw throws
once / again every each
daily / weekly monthly hourly
enough / need needs require requires must
rightly correctly / wrongly
older / newer
local / global
client / server
inside / outside
present / missing absent
"""

NEGATIONS = frozenset(_NEGATIONS.split())
NUMERALS: dict[str, str] = dict(pair.split() for pair in _NUMERALS.split(","))
# Pairs of opposites: a text with one and a text with the other contradict each other.
OPPOSITES = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (line.split("/") for line in _OPPOSITES.strip().splitlines())
)


# The words of a text: runs of letters and digits, including an apostrophe within one.

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
PART = re.compile(r"[^\W_]+")

# All but letters, digits and ' become spaces: splitting at spaces is several times faster than a regular expression.
_SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"}


def words_in(text: str) -> list[str]:
    """Return the words of a text in order, as spelt."""
    if not text.isascii():
        return WORD.findall(text)
    found = text.translate(_SEPARATORS).split()
    if "'" not in text:
        return found
    return [word for token in found for word in ((token,) if "'" not in token else WORD.findall(token))]


# Words that may be missing. All others count: "only", "with", "from", "may", "all", "by", "was" …
_OPTIONAL_WORDS = """
a an the this that these those it its they them their we us our you your i my there here which who
is are be being been am do does did doing has have having and so then thus therefore hence as
of for in on at when where while if because just simply also please really actually
"""
# A clause that begins with one of these may come before or after the rest of its sentence.
_CLAUSE_WORDS = "in on at for when where while if under with without after before during because by"
_OPTIONAL, _CLAUSE_STARTS = frozenset(_OPTIONAL_WORDS.split()), frozenset(_CLAUSE_WORDS.split())
_EQUIVALENTS = {"cannot": ("can", "not"), "cant": ("can", "not"), "wont": ("will", "not"), "never": ("not",)}

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[.;:!?](?=\s|$)|\n")
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?![\d])")
_LINE_MARKS = re.compile(r"^[ \t]*(?:#+|[-*+>]|\d+\.)(?:[ \t]+|$)", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)\1")
_SYMBOL = re.compile(r"[<>=+*/%|&~^$@#\\{}\[\]]|!=|(?<!\w)-(?=\d)|(?<![\w-])--?[A-Za-z][\w-]*")
_CODE = re.compile(r"`([^`\n]+)`")
_SENTENCE_ENDS = frozenset(".;:!?\n")
_ARTICLES = frozenset(["a", "an", "the"])
_MAX_OWNER_SHIFT = 2  # words between the positions of an owner in "X's Y" and "the Y of X"


class Sentence(NamedTuple):
    """The stems of a sentence's meaningful words in order; `fronted`: it begins with a clause that could be at its end."""

    stems: tuple[str, ...]
    fronted: bool


class Wording(NamedTuple):
    """A parsed text: its sentences, the symbols and flags in order, the spans of code, and the owners.

    `spelled` maps each stem to its first spelling; `possessives` are the stems written as "X's", `of` those after "of".
    """

    sentences: tuple[Sentence, ...]
    spelled: Mapping[str, str]
    symbols: tuple[str, ...]
    code: frozenset[str]
    possessives: frozenset[str]
    of: frozenset[str]


def wording(text: str) -> Wording:
    """Parse a text."""
    plain = _EMPHASIS.sub(r"\2", _LINE_MARKS.sub("", text)).replace("’", "'")
    plain = _THOUSANDS.sub(lambda number: number[0].replace(",", ""), plain)
    parts: list[tuple[str, list[str]]] = []  # the first word of each sentence and its stems
    spelled: dict[str, str] = {}
    possessives, of = set[str](), set[str]()
    previous = "."
    for token in _TOKEN.findall(plain.casefold()):
        if token in _SENTENCE_ENDS:
            previous = token
            continue
        if previous in _SENTENCE_ENDS:
            parts.append((token, []))
        stems = _stems(token)
        parts[-1][1].extend(stems)
        for stem in stems:
            spelled.setdefault(stem, token)
        if token.endswith("'s"):
            possessives.update(stems)
        if previous == "of":
            of.update(stems)
        previous = previous if token in _ARTICLES and previous not in _SENTENCE_ENDS else token
    sentences = tuple(Sentence(tuple(stems), first in _CLAUSE_STARTS) for first, stems in parts if stems)
    symbols, code = tuple(_SYMBOL.findall(plain)), frozenset(_CODE.findall(plain))
    return Wording(sentences, spelled, symbols, code, frozenset(possessives), frozenset(of))


def difference(one: Wording, other: Wording) -> str:
    """Describe in a clause why two texts differ in meaning, word by word; "" if they do not."""
    first = [stem for sentence in one.sentences for stem in sentence.stems]
    second = [stem for sentence in other.sentences for stem in sentence.stems]
    unshared = sorted({**one.spelled, **other.spelled}[stem] for stem in {*first} ^ {*second})
    if unshared:
        return f"only one of them says {', '.join(unshared[:3])}{' …' if len(unshared) > 3 else ''}"
    if one.symbols != other.symbols:
        return "they differ in symbols or options"
    if len({span.casefold() for span in one.code ^ other.code}) < len(one.code ^ other.code):
        return "they write code in different case"
    owners = one.possessives & other.of | other.possessives & one.of
    if first == second or any(_is_moved(owner, first, second) for owner in owners):
        return ""
    reordered = len(one.sentences) == len(other.sentences) and all(
        map(_is_reordered, one.sentences, other.sentences)
    )
    return "" if reordered else "they say it in another order"


def stem(word: str) -> str:
    """Remove the English ending of a lower-case word: retries, retried and retrying get the same stem."""
    for ending in ("ing", "ied", "ies", "ed", "es", "s", "e", "y"):
        if (
            word.endswith(ending)
            and len(word) - len(ending) >= (4 if ending == "ing" else 3)
            and not word.endswith("ss")
        ):
            root = word[: -len(ending)] + ("i" if ending in {"ied", "ies", "y"} else "")
            return root[:-1] + "i" if root.endswith("y") else root
    return word


def _stems(token: str) -> list[str]:
    """Return the stems of a word: none if it is optional, two for a contraction, else one."""
    word = token.removesuffix("'s")
    if word.endswith("n't"):
        word = word.replace("'", "")
    if word in _EQUIVALENTS:
        return [*_EQUIVALENTS[word]]
    if word in NEGATIONS and word.endswith("nt"):
        return ["not"]
    word = NUMERALS.get(word, word).split("'")[0]
    return [] if word in _OPTIONAL else [stem(word)]


def _is_reordered(one: Sentence, other: Sentence) -> bool:
    """Whether two sentences are equal, or differ only in a clause that begins one and ends the other."""
    return one.stems == other.stems or _is_fronted(one, other) or _is_fronted(other, one)


def _is_fronted(one: Sentence, other: Sentence) -> bool:
    words = one.stems
    return one.fronted and any(words[cut:] + words[:cut] == other.stems for cut in range(1, len(words)))


def _is_moved(owner: str, one: list[str], other: list[str]) -> bool:
    """Whether only the position of this owner differs, and only a little: "tantivy's parser", "the parser of tantivy"."""
    if one.count(owner) != 1 or other.count(owner) != 1:
        return False
    if abs(one.index(owner) - other.index(owner)) > _MAX_OWNER_SHIFT:
        return False
    return [word for word in one if word != owner] == [word for word in other if word != owner]
