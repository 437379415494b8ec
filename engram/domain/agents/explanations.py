# ruff: noqa: E501 - patterns are read best in groups
"""Find the sentence of an agent's report that explains a problem.

A report says whether something works now, why it did not, and what was changed; the cause seldom has a label. So if the
prompt reported a problem, a sentence of the answer counts as the explanation if it names something, relates facts
(because, but, so, only, whereas, …), and tells neither what somebody did nor the present state. A report that
expresses doubt has no explanation.
"""

from __future__ import annotations

import re

from engram.domain.agents.candidates import Candidate, make_candidate, paragraphs
from engram.domain.agents.quiet_turns import is_instruction
from engram.domain.exchange.lesson_sentences import (
    CAUSE,
    is_remark,
    lesson_category,
    names_something,
    reports_action,
    sentences,
    stated_category,
    without_lead,
)
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHORTEST, _LONGEST = 40, 500
_LONGEST_PROMPT, _SHORT_REPLY, _ROUNDS = 400, 90, 3  # characters, characters, prompts
_LONGEST_REPORT = 2_000  # characters
_PROBLEM = re.compile(
    r"\b(?:why(?! (?:(?:are|is) there|(?:do|did|are|were) (?:we|you))\b)|fail\w*|errors?|broken?|breaks?|crash\w*|hang\w*|hung|slow\w*|wrong\w*|bugs?|flaky|leak\w*|tim(?:es|ed|ing) ?outs?"
    r"|timeouts?|stuck|shouldn't|unexpected\w*|weird|find out|missing|blank|empty|garbage|gaps?|lag\w*|off by|null|undefined|red|froze"
    r"|lost|loses?|refus\w*|denied|reject\w*|panic\w*|segfault\w*|killed|stops?|stopped|dies?|freez\w*|frozen|out of (?:memory|nowhere)"
    r"|help|debug|investigate|issues?|problems?|trouble|can't|cannot|couldn't|won't|doesn't|don't work|isn't|never|still|duplicat\w*|twice"
    r"|get [\w -]{2,40}\b(?:run|work|build|pass|start)\w*|not (?:work\w*|build\w*|start\w*|show\w*|load\w*|found)|mismatch\w*|corrupt\w*"
    r"|vanish\w*|disappear\w*|complain\w*|nonsense|gets? nothing|died|make \S+ (?:\w+ )?pass|no longer|takes? (?:\d|too|so|very|over|more)\w*|went from|miscompil\w*|flak\w+"
    r"|[45]\d\ds?)\b|\w[!?]{2}",
    re.IGNORECASE,
)
# The narrower list for instructions, which say "never" or "still" of anything.
_TROUBLE = re.compile(
    r"\b(?:fail\w*|errors?|broken?|crash\w*|hang\w*|hung|slow\w*|bugs?|flaky|leak\w*|timeouts?|stuck|wrong\w*|find out|debug|investigate|problems?|can't|cannot|won't|doesn't"
    r"|not (?:work\w*|build\w*|start\w*|show\w*|load\w*|found)|mismatch\w*|corrupt\w*|vanish\w*|disappear\w*|flak\w+|[45]\d\ds?)\b",
    re.IGNORECASE,
)
_FEWEST = 4  # words of a prompt that describes a symptom: "replays differ between phone and desk"
_NO_SYMPTOM = re.compile(
    r"^\W*(?:(?:or|and|but|so|then|now|next) )?(?:how|what'?s?|where|which|who|when|(?:can|could|would|will|should|shall|do|does|did|is|are|was|were|has|have|may)\b|please|pls|let|lets|let's|i'd|we'd|quick|i'm new"
    r"|(?:i|we) (?:want|need|would|will|think|prefer|like|decided|have to|always|never|use|merged?|added|changed|moved|made|pushed)|you|yes|no|ok|okay|thanks|thank|thx|great|good|nice|perfect|cool|agreed|sounds|looks)\b"
    r"|.*(?:\?|\b(?:is|are|was) (?:there|good|fine|ok|okay|great|nice|perfect)\b)",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"(?<=[.?!,;:])\s")
# "rotate the certificates"
_INSTRUCTS = re.compile(
    r"\W*(?!(?:after|since|on|in|at|with|when|if|for|from|under|during|once|as|all|only|some|both|half|until|before|by|why|how|what|where|who|does|do|is|are)\b)[a-z]+(?:[^s\W]|ss) (?:the|an?|our|my|your|this|that|these|those|all|me|some|any|every|it|them|with|for|up|out|back)\b",
    re.IGNORECASE,
)
_IS_FIXED = re.compile(
    r"\b(?:again|fixed|solved|resolved|gone|green|any ?more|no (?:errors|failures)|passes|without (?:errors|warnings)|stopped after|stable|down to|goes? through|succeeds?|no (?:issues found|changes)|not committed|untouched|(?:is|are|stays?) unchanged|working tree|up to date|(?:is|are) (?:decided|ready|done)|(?:was|were) (?:there|like that) before|(?:has|have|needs?) to be (?:re\w+|deployed|migrated|merged))\b|→|✅|✔",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"^(?:(?:that's|that is|that was|this is|this was|it's|it was|sorted|fixed|solved|found it|not an?|here's|(?:I )?learned|the (?:reason|short answer)|what happened|explanation|diagnosis|reason)\b[^:.–—]{0,60}(?::| [–—]) "
    r"|as it turns out, )(?=\S)",
    re.IGNORECASE,
)
_FIXED_LEAD_IN = re.compile(
    r"^[^:.]{5,80}\b(?:again|any ?more|no longer|works?|passe?s?|green|fixed)\b[^:.]{0,40}: (?=\S)",
    re.IGNORECASE,
)
_REMARKS = re.compile(
    r"^\W*(?:and|so|yes|no|given|note|ok(?:ay)?|sure|right|after|could not|error|done|sorted|fixed|my|what I|nothing (?:to be done|in)|compiles|both|mypy|eslint|ruff|clippy)\b|^[\"“]|^my first\b|\b(?:please|should|this time|you'll|you don't need|your discretion|(?:is|are) there because)\b",
    re.IGNORECASE,
)
_IN_DOUBT = re.compile(
    r"\b(?:not (?:yet )?(?:solved|confirmed|sure|certain)|I suspect|suspected\W|my (?:guess|theory)|hypothes[ie]s|narrowed it down"
    r"|possibly|(?:haven't|have not|couldn't|can't|wasn't able to|not been able to) (?:yet )?(?:been able|reproduce|confirm|find|fix)\w*"
    r"|I think I see|could be either)\b",
    re.IGNORECASE,
)
_RELATES = re.compile(
    r"\b(?:because|since|so|but|while|whereas|which|where|unless|until|without|only|as (?:the|its?|they|our|an?|`)|never|always|already"
    r"|still|even|instead|though|although|however|due to|came from|comes from|caused|must|ha(?:s|ve) to|differ\w*|as soon as|once|whenever|every|each|any"
    r"|at (?:import|module|load|build|compile|start\w*)|by default|rather than|treats?|ignor\w+|not|no|nothing|cannot"
    r"|(?:can|do|does|did|is|are|was|were|wo|had|has)n't|can't)\b|, and |; ",
    re.IGNORECASE,
)
_CAUSE_HEADING = re.compile(
    r"\b(?:causes?|why|what happen\w*|problems?|reasons?|explanation|diagnosis|went wrong|culprits?)\b",
    re.IGNORECASE,
)
_REFERS_BACK = re.compile(r"^\W*(?:this|that|these|those|they|he|she|it(?! (?:happen|fail|broke|came|only)\w*))\b", re.IGNORECASE)  # fmt: skip
_BOLD = re.compile(r"\*\*([^*]{2,40}?):?\*\*:?\s+")  # a heading on the same line
_OTHER_SECTION = re.compile(
    r"^\W*(?:(?:what )?(?:changed?|changes|did|i did)|(?:the )?fix|files?(?: (?:touched|changed))?|verif\w+|tests?|testing|next(?: steps)?"
    r"|follow-?ups?|not done|todo|open|results?|before|after|status|summary|done)\b\W*(?:\w+\W*){0,3}$",
    re.IGNORECASE,
)


def reports_problem(prompts: Sequence[str]) -> bool:
    """Return whether the last prompt, or one that it continues, reports something that does not work.

    Long prompts do not count: a specification also names cases in which something fails.
    """
    for prompt in reversed(prompts[-_ROUNDS:]):
        if len(prompt) <= _LONGEST_PROMPT and _reports(prompt):
            return True
        if len(prompt) > _SHORT_REPLY:
            break
    return False


def _reports(prompt: str) -> bool:
    """Return whether a prompt describes a problem; one that states a rule for the work does not."""
    if any(lesson_category(without_lead(one), of_person=True) for one in sentences(prompt, spoken=True)):
        return False
    first = _CLAUSE_END.split(prompt.strip(), maxsplit=1)[0].lower()
    if is_instruction(first.split()) or _INSTRUCTS.match(first):
        return _TROUBLE.search(prompt) is not None
    return _PROBLEM.search(prompt) is not None or (
        len(prompt.split()) >= _FEWEST and _NO_SYMPTOM.match(first) is None
    )


def find_explanation(report: str) -> Candidate | None:
    """Return the sentence of a report that explains the problem best; None if the report expresses doubt."""
    if len(report) > _LONGEST_REPORT or _IN_DOUBT.search(report):
        return None
    found: list[str] = []
    is_other = is_cause = False
    for _, part in paragraphs(report):
        if _is_heading(part):
            is_other = _OTHER_SECTION.match(part) is not None
            is_cause = _CAUSE_HEADING.search(part) is not None
            continue
        named = _BOLD.match(part)
        if named:
            is_other = _OTHER_SECTION.match(named[1]) is not None
        text = part[named.end() :] if named else part
        is_item = text[:1] in "-*+" or text[:1].isdigit()
        if not is_other and text[:1] not in "|>#" and (not is_item or is_cause):
            stated = [_LEAD_IN.sub("", _FIXED_LEAD_IN.sub("", one)) for one in sentences(text)]
            found += [one[:1].upper() + one[1:] for one in stated if _explains(one)]
    # Only the longest, since a second sentence is seldom a lesson of its own.
    longest = max(found, key=len, default="")
    return make_candidate(longest, stated_category(longest) or CAUSE, "")


def _is_heading(part: str) -> bool:
    return part.startswith("#") or (len(part.split()) <= 5 and part[-1:] not in ".!?…)")


def _explains(sentence: str) -> bool:
    return (
        _SHORTEST <= len(sentence) <= _LONGEST
        and not sentence.count("`") % 2
        and not sentence.endswith(("?", ":"))
        and not reports_action(sentence)
        and not _REMARKS.search(sentence)
        and not _IS_FIXED.search(sentence)
        and not _REFERS_BACK.match(sentence)
        and not is_remark(sentence)
        and not is_instruction(sentence.lower().split()[:2])
        and _RELATES.search(sentence) is not None
        and names_something(sentence)
    )
