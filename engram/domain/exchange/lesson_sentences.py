# ruff: noqa: E501 - patterns are easiest to read as a table, one per line
"""Paragraphs and sentences that state a lesson: by a label, or by their structure (a cause, a rule with its reason).

Precision comes first: a sentence counts only if it also names something (code, a product, a version) and is not a plan,
a question, a doubt or a report of work just done.
"""

from __future__ import annotations

import re

from engram.domain.typed import NamedTuple

LONGEST = 700  # characters of a lesson
LABELS = (
    (
        "lesson|lessons? learned|learned|learning|takeaway|insight|(?:key )?findings?|(?:for )?next time",
        "PATTERN_OUTCOME",
    ),
    ("root cause|cause|the cause was|(?:the )?explanation|(?:the )?diagnosis", "EDGE_CASE_DISCOVERY"),
    (
        "gotcha|pitfall|caveat|watch out|what went wrong|(?:one|the|a) (?:surprise|catch)|surprise",
        "EDGE_CASE_DISCOVERY",
    ),
    ("decision|decided|we decided", "ARCHITECTURAL_DECISION"),
    ("workaround|fix|the fix", "IMPLEMENTATION_FRICTION"),
    ("convention|preference", "PREFERENCE"),
    ("outcome|result", "OUTCOME"),
    ("remember|remember this|for the record", "FACT"),
)
RESULTS = "OUTCOME"
_MARK = r"^\W{0,12}(?:\d{1,3}[.)]\W{1,6})?"  # of a list, a heading, bold
LABEL = re.compile(
    _MARK + "(?:" + "|".join(f"(?P<l{n}>{words})" for n, (words, _) in enumerate(LABELS)) + r")\**\s?:\**\s+\S",
    re.IGNORECASE,
)  # fmt: skip
PHRASES = (
    (r"(?:the )?root cause (?:was|is) ", "EDGE_CASE_DISCOVERY"),
    # Not "it turns out it can …": out of context, "it" is unknown.
    (
        r"it turns out (?!(?:that )?(?:it|they|this|these|those|both|he|she|that's|i)\b)(?:that )?",
        "EDGE_CASE_DISCOVERY",
    ),
    (r"we decided (?:to|against|that) ", "ARCHITECTURAL_DECISION"),
    (r"(?:always|never) [^.]{10,} because ", "PATTERN_OUTCOME"),
)
PHRASE = re.compile(
    _MARK + "(?:" + "|".join(f"(?P<p{n}>{words})" for n, (words, _) in enumerate(PHRASES)) + ")",
    re.IGNORECASE,
)

CAUSE = "EDGE_CASE_DISCOVERY"
LIBRARY = "DEPENDENCY_BEHAVIOR"
RULE = "PREFERENCE"
STEPS = "WORKFLOW"
CHOICE = "ARCHITECTURAL_DECISION"
DETOUR = "IMPLEMENTATION_FRICTION"
SPEED = "PERFORMANCE_INSIGHT"
TESTS = "TESTING_STRATEGY"
API = "INTERFACE_LESSON"
GENERAL = "FACT"

_WHY = r"\b(?:because|since|otherwise|or else|so that|in order to)\b"
_BROKE = (
    r"(?:fail\w*|errors?|crash\w*|hangs?|hung|wrong|bugs?|broke\w*|lost|loses?|corrupt\w*|dropp?\w*|reject\w*|flaky|leak\w*"
    r"|oom\w*|killed|slow\w*|stale|useless|cut off|tim(?:es|ed) out|refus\w*|denied|stuck|duplicat\w*|missing|evict\w*"
    r"|never match\w*|ignor\w*|\b[45]\d\d\b|exceed\w*|overw\w*|mismatch\w*|gaps?|rebalanc\w*)"
)
_HERE = r"this (?:repo|repository|project|codebase|package|team|service)"
_NOT_MINE = r"(?![^.:]{0,30}\b(?:I|I'm|I've|I'll|we'll)\b)"


class Rule(NamedTuple):
    """A way to state a lesson: its pattern, the category it suggests, and whether it also counts for a person's words.

    A rule that is not `sure` counts only for a failure that was fixed: in a review, a plan or an explanation of code the
    same words describe the behaviour of code.
    """

    pattern: re.Pattern[str]
    category: str
    of_persons: bool = False
    sure: bool = True


def _rule(pattern: str, category: str, *, of_persons: bool = False, case: int = re.IGNORECASE) -> Rule:
    return Rule(re.compile(pattern, case), category, of_persons)


def _likely(pattern: str, category: str) -> Rule:
    return Rule(re.compile(pattern, re.IGNORECASE), category, sure=False)


_PERFORMANCE = re.compile(
    r"\b(?:most of the [\w ]{2,30}(?:was|is) spent|saves? (?:about |up to )?[\d.]+ ?(?:ms|s|%|MB|GB|minutes?)"
    r"|[\d.]+ ?(?:x|times) (?:faster|slower)|(?:layer )?cache was useless)\b",
    re.IGNORECASE,
)
_TESTING = re.compile(r"\b(?:integration|unit|e2e|end-to-end)? ?tests? (?:live|need|must|run|use|are kept)\b|\bmarker\b|\bfixtures?\b", re.IGNORECASE)  # fmt: skip
_INTERFACE = re.compile(r"\b(?:API|endpoint|webhook|SDK)\b[^.]{0,30}\b(?:returns?|expects?|answers?|sends?|takes?)\b", re.IGNORECASE)  # fmt: skip
_RELEASED = re.compile(r"(?:`[\w./@-]+`|\b[A-Z][\w.-]+) v?\d+(?:\.\d+)*|\b(?:before|since|until|after|from) v?\d+\.\d+|\bby default\b")  # fmt: skip

# Statements without a subject: enough to choose the category of a recorded text, but not a lesson in a conversation.
_BARE = (
    _rule(r"^prefers? \S[^.]* (?:over|to|instead of|rather than) \S", RULE),
    _rule(r"^(?:deploys?|releases?|publish(?:es)?|ships?) (?:via|with|through|by|from) ", STEPS),
)

# The first matching rule decides.
_RULES = (
    _rule(r"\b(?:I|we) (?:have )?(?:chose|chosen|picked|settled on|went with|(?:have )?decided|switched|migrated)\b.*\b(?:because|since)\b", CHOICE, of_persons=True),
    _rule(r"\bswitched (?:from [^.]{2,60} )?to [^.]{2,80}\b(?:because|since)\b", CHOICE, of_persons=True),
    _rule(r"\bwe (?:don't|do not|never|always|only) (?!know|see|need|have)\w+ .*\bbecause\b", CHOICE),
    _rule(r"\bwe (?:have )?agreed (?:with (?:the )?\w+ )?(?:that|to|on)\b", CHOICE, of_persons=True),
    _rule(r"\b(?:I|we) (?:chose|picked|settled on|went with)\b.*\b(?:rather than|over|instead of)\b.*: ", CHOICE),
    _rule(r"\bwe (?:have )?decided (?:to|against|on|that)\b", CHOICE, of_persons=True),
    _rule(r"\b(?:as a|the) workaround\b", DETOUR),
    _rule(r"^(?:please )?(?:always|never) \w+ [^.]{10,}(?:: |; | because | since | so | or | otherwise )", RULE, of_persons=True),
    _rule(r"^(?:please )?(?:always use|never use|never commit|never push|never force-push) \S", RULE, of_persons=True),
    _rule(r"(?:^|[,;] |\b(?:btw|and|also|that) )(?:(?!You\b|It\b|He\b|She\b|They\b)[A-Z]\w+|we|the (?:user|team|customer|client|maintainers?)) (?:all |strongly )?prefers?\b", RULE, of_persons=True, case=0),
    _rule(rf"\b{_HERE} (?:still )?(?:uses?|runs on) (?:`[^`]+`|[A-Z][\w.-]+) v?\d", GENERAL, of_persons=True),
    _rule(rf"\b{_HERE} (?:always |only )?(?:uses?|keeps|requires|needs|follows|expects)\b", RULE, of_persons=True),
    _rule(r"^in this (?:repo|repository|project|codebase),? (?!I\b)", RULE, of_persons=True),
    _rule(r"\b(?:must not|must never|may not) be? ?\w+ here\b|\bmust not use \w+ here\b", RULE, of_persons=True),
    _rule(r"^(?:we|" + _HERE + r") (?:always |only )?(?:deploys?|releases?|publish(?:es)?|ships?) (?:via|with|through|by|from) ", STEPS, of_persons=True),
    _rule(r"\b(?:migration|move|switch|upgrade) (?:from [^.]{2,40} )?to [^.,]{2,40} (?:improved|cut|reduced|halved|doubled|sped up|slowed|broke)\b", RESULTS, of_persons=True),
    _rule(r"^(?:for reference,? |note:? |here,? |btw,? )?we (?:always |only )?(?:use|deploy|pin|store|log|host|run)\b (?!\w+ing\b)", GENERAL, of_persons=True),
    _rule(r"\bmake sure (?:to|that)\b.*" + _WHY, STEPS),
    _likely(r"\bmust (?:be )?(?:run|start|called|set|done|happen|published|deployed|executed|built)\b.*(?:\b(?:before|after|from|first)\b|" + _WHY + ")", STEPS),
    _likely(r"\b(?:needs?|requires?)\b (?!to be done).*(?:" + _WHY + r"|\bto be set\b|; without)", DETOUR),
    _rule(r"\b(?:lesson(?:s)? learned|(?:one thing|what) (?:I|we) learned)\b", CAUSE),
    _rule(r"\bthe trick (?:was|is) to\b", CAUSE, of_persons=True),
    _rule(r"\b(?:was|were|is|are) (?:actually )?(?:being )?caused by\b", CAUSE),
    _rule(r"\b(?:it )?turn(?:s|ed) out\b(?! to be (?:easy|fine|simple))", CAUSE),
    _rule(r"\bI (?:found|discovered|noticed|learned) (?:out )?that\b", CAUSE),
    _likely(r"\b(?:real |actual |root |underlying )?(?:reason|problem|issue|cause|culprit|catch|root of the problem)\b[^.?]{0,40}(?:\b(?:was|is)\b(?: that)?|:) (?!(?:fixed|solved|resolved|gone|unclear|still|now|not)\b)", CAUSE),
    _rule(r"\b(?:real|actual|root|underlying) (?:cause|reason|problem)\b[^.?]{0,40}(?:\bwas\b|:)|\broot of the problem was\b", CAUSE),
    _rule(r"\b(?:reason|problem|issue|bug|culprit|catch)\b[^.?]{0,40}\bwas (?:simply |just )?that\b|^the reason is that\b", CAUSE),
    _rule(r"\bwhat (?:tripped|broke|caused|went wrong)\b[^.]{0,40}(?::| was\b| is\b)", CAUSE),
    _likely(r"^" + _NOT_MINE + r"(?=.*\b" + _BROKE + r").*\b(?:because|due to|came from|comes from|stems from|which is why)\b", CAUSE),
    _likely(r"^" + _NOT_MINE + r".*(?:, so|[,;:] (?:any|every|then)) [^.]*\b" + _BROKE, CAUSE),
    _likely(r"^" + _NOT_MINE + r".*\b(?:does not|doesn't|don't|do not|did not) (?:support|accept|work|allow|hono\w+|apply|regenerate)\b", LIBRARY),
    _likely(r"^" + _NOT_MINE + r".*\bonly (?:accepts?|supports?|works?|allows?|applies)\b", LIBRARY),
    _likely(r"^" + _NOT_MINE + r".*\b(?:silently|falls? back to)\b", LIBRARY),
    _likely(r"^" + _NOT_MINE + r".*\bby default\b.*(?:,|;|which)", LIBRARY),
    _likely(r"^use .{3,80} (?:instead of|rather than) .*(?::|because|since)", CAUSE),
    _likely(r"\bmost of the [\w ]{2,30}(?:was|is) spent\b", SPEED),
    _likely(r"^" + _NOT_MINE + r".*\b(?:returns?|expects?) [^.]*, so [^.]* must\b", API),
)  # fmt: skip
_PLACE = re.compile(r"^this is an? (?:[^.,;]{1,40} )?(?:repo|repository|monorepo|workspace|project|codebase|app|library)\b", re.IGNORECASE)  # fmt: skip
# Conventions that a person states in passing, not just for this once, and without naming any code.
_CONVENTIONS = (
    _PLACE,
    *(
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            r"(?:^|[:;,] )(?:please )?(?:always|never) (?!(?:mind|good|nice|been|again|an?|the|with|in|on|at|when|if|for|from|by|to|so)\b)[\w-]+ \S",
            r"(?:^|[:;,] )we (?:never|always|only|usually|generally|don't|do not) (?!see|saw|have|had|know|knew|need|want|think|remember|get|got|care|mind)\w+ \S",
            r"(?:^|[:;,] )I (?:\w+ly )?prefer (?!(?:the|that|this|these|those|it|an?|your|option)\b)[\w-]+ \S",
            r"^(?:\w+ ){1,4}(?:is|are) (?:always|never) \S",
            r"(?:^|[-–—:;] )(?:every|each|any) \S.* (?:goes|must|has|needs|gets|is) \S",
            r"^(?:before|after|when(?:ever)?|if) .*\b(?:run|use|call|ask|set|add|check|update|rebuild|regenerate)\b.*(?:\b(?:otherwise|because|since|or else|always|first)\b| [-–—] )",
            r"^(?:please )?(?:don't|do not) (?:ever )?(?:use|mock|stub|commit|push|edit|call|import|log|hard-?code) \S.*\b(?:in|for|from) (?:the |our )?(?:tests?|prod\w*|code|repo|fixtures?|migrations?|seeds?)\b",
            r"[,;] so (?:please )?(?:(?:we|you) (?:can't|cannot|must|may|have to)|don't|do not|never|always|only) \w+",
            r"^(?:please )?(?:name|call|prefix|spell|format) \S.*, (?:not|never) \S",
            r"^(?:house rules?\b|rules? (?:for|in|of|here)\b)|, ever\b",
            r"^(?:please )?(?:keep in mind|remember|mind|be aware|bear in mind|note)(?: that\b|:) ",
            r"^we(?:'re| are) on \S+ here\b|(?:^|[,;:] )(?:(?:but|and|so) )?(?:please )?(?:don't|do not) (?:use|run|call|commit|push) [^,]+, (?:it|they|that|this)\b",
            r"^nothing (?:gets?|is|goes?) (?:deployed|merged|released|pushed|published|committed|installed)\b",
            r"^(?:please )?use (?!(?:the|that|this|your|my|our|an?)\b)\S+(?: \S+)?, not (?!(?:the|that|this|your|my|our)\b)\S+",
            r"^(?:in general|as a rule|generally)\b|^(?:no \S.* )?from now on\b|, always: |^everything (?:in|that|under|which) .*[,;:]|\bplease use \S+(?: \S+)?, not \S",
            r"\beverywhere please\b|^(?:please )?(?:use|put|keep|write|name) [^,]+, (?:not|never) [^,]+, (?!please\b)\w+ \S",
            r"^(?:I|we) (?:stay|stick|settled|keep) (?:on|with|to) \S.*\b(?:until|since|because|as|not)\b",
            r"\b(?:is|are|goes?|exists?|stays?) \S.*\b(?:everywhere|only (?:in|at|on|for|through|via|by))\b.*(?:[,;:]| [-–—]) ",
            r"(?:^|[,;:] )\S+(?: \w+){0,3} (?:is|are|go|goes|get|gets) never \w+",
            r"(?:^|[,;:] )(?:\S+ ){1,5}(?:never|always) (?:go|goes|take|takes|have|has|stay|stays|be)\b.*[,;:–—-] ",
            r"^(?:please )?I (?:\w+ly )?prefer (?:that|it (?:when|if)) ",
            r"^(?:for|in) all \S.*\b(?:use|put|write|keep|name)\b",
            r"^(?:I|we) (?:have )?decided (?!to merge|to go ahead)(?:\w+ ){0,2}\w+ .*[,;:] ",
            r"^(?!you\b|I\b|it\b|we\b|this\b|that\b).*\b(?:must(?:n't)?|has to|have to|should (?:never|always)) \w+.*\b(?:because|since|so|otherwise|or else)\b",
            r"^(?:nothing|nobody|no \w+) \S.*\b(?:may|must|is allowed to)\b",
            r"^(?!(?:it|this|that|I)\b)(?:\S+ ){1,4}always (?!(?:crash|fail|hang|break|show|return|get|freez|stop|die|say|throw|see)\w*)\w+s\b",
            r"^(?:please )?(?:use|put|keep|write|name|run|add) .*\b(?:not|never|instead of|rather than)\b.*\b(?:because|since|otherwise|or else|always|everywhere|anywhere)\b",
            r"^(?:please )?(?:use|put|keep|write|name|run|add) [^,]+, (?:not|never) [^,]+, (?:in|inside|within|under|for) \S",
            r"^(?:in|for|on) (?:this|our) (?:\w+'s )?(?:repo|repository|project|codebase|tree|team|company)\b,? (?!I\b)",
            r"^(?:on|at|in|with) our \S",
            r"^for (?:any|every)(?:thing)? (?:in|under|that|touching|about|with) ",
            r"\b(?:legal|compliance|security|our (?:policy|style guide|auditors?)|the (?:auditors?|style guide)) (?:requires?|wants?(?! to (?:know|see|hear))|insists?|forbids?|says?)\b",
        )
    ),
)
_ONCE = re.compile(
    r"\b(?:for (?:this (?:run|time|one|task|pr|branch|demo)|now|today|once)|this (?:time|once)|today|tonight)\b",
    re.IGNORECASE,
)
_SPOKEN_LEAD = re.compile(
    r"^(?:(?:hm+|no(?= *[,.:;!–—-])|nope|yes|yep|ok(?:ay)?|btw|by the way|fyi|nice|great|good|perfect|thanks?|thank you|also|and|but|oh|ah|actually|just|one (?:\w+ )?thing(?: up ?front| more)?|background"
    r"|for (?:next time|the future|future reference|the record)|note|reminder|important|remember)\b[\s,.:;!–—-]*)+",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"`[^`]+`|\b\w+[_/]\w+|\b[a-z]+[A-Z]\w*|\b[A-Z]{2,}\w*|\b[A-Za-z]+\d+\w*|\b\w+\.(?:py|ts|js|go|rs|md|toml|ya?ml|json)\b|(?<=[a-z,;:’'`)] )[A-Z][a-z]\w+|--\w[\w-]+|\b\d+(?:\.\d+)+\b"
)
_DIGITS = re.compile(r"\b\d{2,}\b")
_NO_LESSON = re.compile(
    r"\b(?:I'll|I will|I'm going to|let me|let's|next,? I|I'd (?:suggest|recommend|rather|like)|I (?:suggest|recommend|suspect|wasn't able|couldn't|can't|cannot|misread)"
    r"|shall I|should I|do you want|would you|want me to|you could|we could|we should|feel free|let me know|we do this"
    r"|my (?:plan|recommendation)|option [a-d1-4]|this (?:pr|change|commit|diff|branch)|consider|worth (?:discussing|considering)"
    r"|pre-existing|line \d+|lines \d+|looking (?:again|at)|I (?:deliberately|only (?:renamed|changed))|honest answer|nothing to do|so I (?:\w+ed|left|kept|put|made|took)|to be filled|_{3,}|I (?:hadn't|forgot|had forgotten|missed|overlooked|mistyped)|my (?:last|earlier|previous|own) (?:edit|change|commit|fix|refactoring|mistake)|typo|turns? out (?:to be )?(?:harmless|fine|unnecessary)|as you (?:asked|said|wanted)|you asked)\b|:\d+-\d+\b|→",
    re.IGNORECASE,
)
_ANAPHORA = re.compile(
    rf"^(?!it turn|{_HERE} )(?:it|this|that|these|those|they|he|she|both|neither)\b", re.IGNORECASE
)
_SPLIT = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)[)*_\"”]*\s+(?=[A-Z`\"“(\[*_]|[a-z]\w*(?:['’]s\b|[A-Z_]))"
)
# Many people write without capitals.
_SPOKEN_SPLIT = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)\s+")
# In a review, a list of changes or a description of code: `(17) ⚠️ …`, "Issue: …", "`x.py` — new", "Falls back to …".
_REMARK = re.compile(
    r"^(?:\W*\(\d+\)|[^\w\s`\"'(\[]|(?:issue|problem|result|deduplication|fix)\b ?#?\d*:|`[^`]+`(?: \([^)]*\))? ?(?:[-—–:]|now\b)"
    r"|Test[A-Z]|(?:falls|uses|returns|adds|handles|skips|checks|currently|actually|looking at|now (?:that|I)|if|when|without|adding|one shared|the (?:tests?|change|fix|caller|args?|second|first)\b))",
    re.IGNORECASE,
)
# Work done or checked, the present state, and work to be done.
_DEED = re.compile(
    r"^\W*(?i:I|I've|I'm|I'd|we've|you|you'll|your|please|let|next|also|all|both|ready|open|the (?:fix|change|tests?|suite|build|spec))\b"
    r"|^(?!During|Nothing|Something|Everything|Anything|Being|Need|Indeed|Speed|Feed|Shared|Nested|Cached|Unused|Embedded|Generated)[A-Z][a-z]+(?:ed|ing)\b"
    r"|^(?:Ran|Reran|Re-ran|Put|Set|Made|Wrote|Took|Built|Rebuilt|Sent|Cut|Left|Kept|Got|Went|Did|Gave|Split|Bumped)\b|^(?:Instead, )?[Ww]e (?:only )?(?:added|modified|updated|fixed|removed|renamed|created|implemented)\b|^There(?:'s| is| are) |^\S+ is (?:in|up|live)\b|^[^,;:]*\b[Nn]ow\b|\b\d+ (?:tests?|specs?|passed|runs?|files?)\b|\btests? (?:pass|cover)|\bby a test\b|\bwe (?:can|could|should|may)\b"
    r"|\bnot (?:yet )?(?:applied|done|deployed|merged|included|touched)\b|\b(?:has|have) been\b|\b(?:was|were|is|are|has|have)n't (?:yet )?(?:tried|tested|merged|run|deployed|changed|covered|touched|included)\b|^Nothing (?:of (?:it|this)|else|here) (?:is|was|has)\b|\bwould be\b|\bdon't forget\b"
    r"|\b(?:I|I've|we've) (?:also )?(?:\w+ed|put|set|made|kept|left|ran|moved|wrote|am|have)\b"
)
_TODO = re.compile(r"^\s*[-*+]\s+\[[ xX]\]|^\s*\|")


def sentences(paragraph: str, *, spoken: bool = False) -> list[str]:
    """Return the sentences of a paragraph, without list marks; none for a task list or the row of a table.

    If `spoken` by a person, sentences may begin without a capital.
    """
    if _TODO.match(paragraph):
        return []
    text = re.sub(r"^[\s>*+#-]*(?:\d{1,3}[.)]\s+)?", "", paragraph).replace("**", "")
    return [part.strip() for part in (_SPOKEN_SPLIT if spoken else _SPLIT).split(text) if part.strip()]


def lesson_category(sentence: str, *, of_person: bool = False, of_fix: bool = False) -> str:
    """Return the category of the lesson that a sentence states; "" if it states none.

    With `of_person`, only decisions, preferences and rules of a person count. With `of_fix`, the sentence is about a
    failure that was fixed, so more ways to state a cause count.
    """
    if len(sentence) > LONGEST:
        return ""
    if (
        sentence.endswith(("?", ":"))
        or sentence.startswith(('"', "“"))
        or is_remark(sentence)
        or (_ANAPHORA.match(sentence) and not (of_person and _PLACE.match(sentence)))
    ):
        return ""
    is_rule = '"' not in sentence and not _ONCE.search(sentence)
    if of_person and is_rule and any(pattern.search(sentence) for pattern in _CONVENTIONS):
        return _refine(sentence, RULE)
    rule = next(
        (
            candidate
            for candidate in _RULES
            if (of_fix or candidate.sure) and candidate.pattern.search(sentence)
        ),
        None,
    )
    if rule is None or (of_person and not rule.of_persons) or not (rule.sure or not reports_action(sentence)):
        return ""
    if (
        rule.category != CHOICE
        and not (of_person and rule.category == RULE)
        and not names_something(sentence)
    ):
        return ""
    return _refine(sentence, rule.category)


def without_lead(sentence: str) -> str:
    """Return a person's sentence without a lead such as "hmm, " or "ok, btw "."""
    rest = _SPOKEN_LEAD.sub("", sentence, count=1)
    return rest[:1].upper() + rest[1:] if rest != sentence else sentence


def reports_action(sentence: str) -> bool:
    """Return whether a sentence reports what somebody did, checked, or will do, or the present state."""
    return _DEED.search(sentence) is not None


def is_remark(sentence: str) -> bool:
    """Return whether a sentence belongs to a plan, an offer, a review or a list of changes."""
    return _NO_LESSON.search(sentence) is not None or _REMARK.match(sentence) is not None


def names_something(sentence: str) -> bool:
    """Return whether a sentence names code, a product, a version or a number."""
    return _NAMES.search(sentence) is not None or _DIGITS.search(sentence) is not None


def stated_category(text: str) -> str:
    """Return the category of the lesson that a text states, by the same rules; "" for a text longer than a lesson."""
    if len(text) > LONGEST:
        return ""
    for paragraph in text.splitlines():
        labelled = labelled_category(paragraph)
        if labelled:
            return labelled
        for sentence in sentences(paragraph):
            rule = next(
                (candidate for candidate in (*_RULES, *_BARE) if candidate.pattern.search(sentence)), None
            )
            category = _refine(sentence, rule.category if rule is not None else "")
            if category:
                return category
    return ""


def labelled_category(paragraph: str) -> str:
    """Return the category of the label or fixed phrase at the start of a paragraph; "" if there is none."""
    label, phrase = LABEL.match(paragraph), PHRASE.match(paragraph)
    match = label or phrase
    if match is None or not match.lastgroup:
        return ""
    return (LABELS if label else PHRASES)[int(match.lastgroup[1:])][1]


def _refine(sentence: str, category: str) -> str:
    """Return a more specific category if the subject of a sentence suggests one."""
    if category in (CHOICE, DETOUR, STEPS):
        return category
    if _PERFORMANCE.search(sentence):
        return SPEED
    if _INTERFACE.search(sentence):
        return API
    if (
        category in (RULE, GENERAL, "")
        and _TESTING.search(sentence)
        and re.search(r"\btests?\b", sentence, re.IGNORECASE)
    ):
        return TESTS
    if category in (CAUSE, "") and _RELEASED.search(sentence):
        return LIBRARY if category or re.search(r"\bby default\b", sentence) else ""
    return category
