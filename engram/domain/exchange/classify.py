"""Guess the category of a document or an entry: by clear signs only, else FACT.

Rules look at the title, the headings, the folders and how the text is built, the surest first. A wrong
category costs more than a missing one (it decides how fast lore fades and who filters it out), so a rule
without an explicit word to go by asks for two signs that agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from engram.domain.exchange.lesson_sentences import stated_category
from engram.domain.exchange.markdown_blocks import FENCE, TEXT, scan
from engram.domain.typed import NamedTuple

FACT = "FACT"
_READ = 100_000  # characters, more than enough to tell
_START, _OPENING = (
    200,
    600,
)  # characters in which a text comes to its point, in which it names what it is about

_LABELS = {
    "ARCHITECTURAL_DECISION": (
        "adr",
        "adrs",
        "decision",
        "decisions",
        "architecture decision",
        "decision record",
    ),
    "EDGE_CASE_DISCOVERY": ("gotcha", "gotchas", "edge case", "edge cases", "pitfall", "pitfalls", "caveat"),
    "FAILURE": (
        "postmortem",
        "postmortems",
        "post-mortem",
        "post-mortems",
        "incident",
        "incidents",
        "failure",
    ),
    "PATTERN_OUTCOME": ("pattern", "insight"),
    "PERFORMANCE_INSIGHT": ("performance",),
    "PLAN": ("plan", "plans", "roadmap"),
    "PREFERENCE": ("preference", "preferences", "convention", "conventions", "style guide"),
    "SESSION_SUMMARY": ("session summary", "session summaries"),
    "SKILL": ("skill", "skills"),
    "TESTING_STRATEGY": ("testing strategy", "test strategy"),
    "WORKFLOW": (
        "workflow",
        "howto",
        "howtos",
        "how-to",
        "how-tos",
        "runbook",
        "runbooks",
        "playbook",
        "playbooks",
    ),
}
_BY_LABEL = {label: category for category, labels in _LABELS.items() for label in labels}
_NOT_FOLDERS = frozenset(
    {"pattern", "insight", "performance", "failure"}
)  # too broad as the name of a folder

_LABEL = re.compile(r"([A-Za-z][A-Za-z -]{2,24}?)(?:[ -]?#?\d+)?\s*[:\u2013\u2014]\s+\S")
_ADR_HEADINGS = frozenset(
    {"status", "context", "decision", "consequences", "decision outcome", "considered options"}
)
_INCIDENT_HEADINGS = frozenset(
    {"root cause", "impact", "timeline", "resolution", "detection", "action items"}
)
_DECIDED = re.compile(
    r"\b(?:we|the team) (?:have )?(?:decided (?:to|on|against|that)|chose \S+ over)\b", re.IGNORECASE
)
_ERROR_TITLE = re.compile(
    r"\berror:|\berror \d+|\b(?:fails|failed|failing|crash(?:es|ed|ing)?) (?:with|to|in|on|after)\b|"
    r"\b(?:segfaults?|(?:is|was) broken)\b|\b[A-Z]\w+(?:Error|Exception):|\b(?:error|crash)$",
    re.IGNORECASE,
)
_ABOUT_ERRORS = re.compile(
    r"\b(?:handl|ignor|avoid|catch|mock|rais|display|custom|trap|without)\w*\b", re.IGNORECASE
)
_ERROR_TEXT = re.compile(
    r"Traceback \(most recent call last\)|^[ \t]*(?:\w+\.)*\w*(?:Error|Exception)\b:?|"
    r"\b(?:error|fatal|panic)(?:\[\w+\])?: |"
    r"\b[A-Z]\w+(?:Error|Exception)\b|^[ \t]*(?:>[ \t]*)?error\b",
    re.MULTILINE | re.IGNORECASE,
)
_FAST_TITLE = re.compile(
    r"\b(?:performance|faster|speed(?:ing)? up|speedup|slow(?:er|ness)?|efficient(?:ly)?|"
    r"latency|bottlenecks?|memory usage)\b",
    re.IGNORECASE,
)
_FAST_TEXT = re.compile(
    r"\d\s*(?:ms|milliseconds?|µs|seconds?|minutes?|s\b|x\b|MiB|MB|GB|%|rows)|"
    r"times (?:as )?fast|faster|slow|inefficient",
    re.IGNORECASE,
)
_TEST_TITLE = re.compile(
    r"\b(?:py)?tests?\b|\btesting\b|\bpytest-\w+|\bmock(?:s|ed|ing)?\b|\bfixtures?\b|"
    r"\bcode coverage\b|\bflaky\b",
    re.IGNORECASE,
)
_TEST_TEXT = re.compile(
    r"\bdef test_|^[ \t]*(?:assert\b|@pytest\.|import pytest|import unittest)|"
    r"\b(?:describe|it|test)\(['\"]|\bpytest\b|#\[test\]|\bfunc Test[A-Z]|unittest",
    re.MULTILINE,
)
_NOT_OF_TESTS = re.compile(r"\b(?:when|after|if|once) (?:the |all )?tests\b|\bspeed test", re.IGNORECASE)
_HOW_TO = re.compile(r"how (?:to|we)\b", re.IGNORECASE)
_DOING = re.compile(
    r"(?:re)?(?:assign|compil|configur|creat|deploy|enabl|export|import|install|migrat|packag|publish|releas|"
    r"remov|rewrit|recover|sett|sign|switch|upgrad|uninstall)ing\b|set up\b|install\b|compile\b|deploy\b|"
    r"upgrade\b|migrate\b|create\b",
    re.IGNORECASE,
)
_DOING_LOOSELY = re.compile(r"(?:runn|build)ing\b|(?:run|build|add)\b", re.IGNORECASE)
_STEP = re.compile(r"^ {0,3}\d{1,2}[.)] \S", re.MULTILINE)
_SHELL_INFO = ("bash", "sh", "shell", "zsh", "console", "terminal", "shell-session", "powershell", "fish")
_SHELL_LINE = re.compile(
    r"^[ \t]*(?:\$ \S|(?:[$%#>] )?(?:sudo |uv |pipx? |npm |npx |brew |apt(?:-get)? |git |docker |cd |curl |"
    r"make |cargo |go |python3? |mkdir |wget |kubectl |heroku |flyctl |fly |gcloud |aws |vercel |\./))",
    re.MULTILINE,
)
_EDGE_TITLE = re.compile(
    r"\b(?:gotchas?|edge[- ]cases?|pitfalls?|quirks?|caveats?|surprising(?:ly)?|unexpected(?:ly)?|"
    r"(?:fails?|breaks?) (?:if|when|on)|(?:does not|doesn't|won't) work (?:if|when|with|on))\b",
    re.IGNORECASE,
)
_CHANGED_TITLE = re.compile(
    r"\b(?:deprecat\w+|deprecation|no longer|breaking changes?|incompatib\w+|"
    r"(?:removed|changed|renamed) in|backwards?[- ]compat\w+)\b",
    re.IGNORECASE,
)
_VERSION = re.compile(r"\bv?\d+\.\d+(?:\.\d+)?\b|\b[vV]\d+\b|\bversion \d+|\b[A-Z]\w+ \d+\b")
_RULE_TITLE = re.compile(
    r"(?:always|never|prefer|avoid|don't|do not)\b|(?:i|we|team) (?:always|never|prefer)\b", re.IGNORECASE
)
_TODO = re.compile(r"^[ \t]*[-*+] \[ \] ", re.MULTILINE)
_DONE = re.compile(r"^[ \t]*[-*+] \[[xX]\] ", re.MULTILINE)
_PLAN_TITLE = re.compile(r"(?:to-?do|plans?|roadmap|next steps|implementation plan)\b", re.IGNORECASE)


class _Document(NamedTuple):
    title: str
    content: str
    headings: frozenset[str]
    prose: str
    code: str
    shells: int
    folders: tuple[str, ...]


def guess_category(title: str, content: str, folder_words: Sequence[str] = ()) -> tuple[str, str]:
    """Return the category of a document and why, in a few words; FACT unless the signs are clear.

    `folder_words` are the names of the folders it was found in.
    """
    document = _read(title, content, folder_words)
    for rule in _RULES:
        found = rule(document)
        if found:
            return found
    return FACT, "no clear sign of another category"


def _read(title: str, content: str, folders: Sequence[str]) -> _Document:
    content = content[:_READ]
    blocks = scan(content)
    fences = [block for block in blocks if block.kind == FENCE]
    code = [content[block.start : block.end] for block in fences]
    return _Document(
        title=title.strip(),
        content=content,
        headings=frozenset(block.title.casefold().strip(" :.0123456789") for block in blocks if block.level),
        prose="\n\n".join(content[block.start : block.end] for block in blocks if block.kind == TEXT),
        code="\n".join(code),
        shells=sum(_is_shell(text) for text in code),
        folders=tuple(folder.casefold().replace("_", "-") for folder in folders),
    )


def _is_shell(fence: str) -> bool:
    info = fence.lstrip(" \t>`~").split("\n", 1)[0].strip().casefold()
    return info in _SHELL_INFO or (info in ("", "text") and bool(_SHELL_LINE.search(fence)))


def _by_label(document: _Document) -> tuple[str, str] | None:
    match = _LABEL.match(document.title)
    label = match[1].strip().casefold() if match else ""
    return (
        (_BY_LABEL[label], f"the title begins with '{match[1].strip()}'")
        if match and label in _BY_LABEL
        else None
    )


def _by_headings(document: _Document) -> tuple[str, str] | None:
    if len(document.headings & _ADR_HEADINGS) >= 3:
        return "ARCHITECTURAL_DECISION", "it has the headings of a decision record"
    if "root cause" in document.headings and len(document.headings & _INCIDENT_HEADINGS) >= 2:
        return "FAILURE", "it has the headings of an incident report"
    return None


def _by_folder(document: _Document) -> tuple[str, str] | None:
    for folder in document.folders:
        if folder in _BY_LABEL and folder not in _NOT_FOLDERS:
            return _BY_LABEL[folder], f"it lies in a folder named {folder}"
    return None


def _by_decision(document: _Document) -> tuple[str, str] | None:
    match = _DECIDED.search(f"{document.title}\n{document.prose[:_START]}")
    if not match or not re.search(
        r"\b(?:because|instead of|rather than|over|so that|trade-?offs?)\b", document.prose
    ):
        return None
    return "ARCHITECTURAL_DECISION", f"it says '{match[0]}' and gives a reason"


def _by_failure(document: _Document) -> tuple[str, str] | None:
    match = _ERROR_TITLE.search(document.title)
    if not match or _ABOUT_ERRORS.search(document.title) or not _ERROR_TEXT.search(document.content):
        return None
    return "FAILURE", f"the title says '{match[0]}' and the text quotes one"


def _fast(document: _Document) -> tuple[str, str] | None:
    match = _FAST_TITLE.search(document.title)
    if not match or not _FAST_TEXT.search(document.prose):
        return None
    return "PERFORMANCE_INSIGHT", f"the title says '{match[0]}' and the text tells how much or why"


def _by_dependency(document: _Document) -> tuple[str, str] | None:
    match = _CHANGED_TITLE.search(document.title)
    if not match or not _VERSION.search(f"{document.title}\n{document.prose[:_OPENING]}"):
        return None
    return "DEPENDENCY_BEHAVIOR", f"the title says '{match[0]}' and a version is named"


def _edge(document: _Document) -> tuple[str, str] | None:
    match = _EDGE_TITLE.search(document.title)
    return ("EDGE_CASE_DISCOVERY", f"the title says '{match[0]}'") if match else None


def _rule(document: _Document) -> tuple[str, str] | None:
    match = _RULE_TITLE.match(document.title)
    return ("PREFERENCE", f"the title begins with '{match[0]}'") if match else None


def _by_tests(document: _Document) -> tuple[str, str] | None:
    match = _TEST_TITLE.search(document.title)
    if not match or _NOT_OF_TESTS.search(document.title) or not _TEST_TEXT.search(document.content):
        return None
    return "TESTING_STRATEGY", f"the title says '{match[0]}' and the text shows tests"


def _by_tasks(document: _Document) -> tuple[str, str] | None:
    if "[ ]" not in document.prose:
        return None
    todo, done = len(_TODO.findall(document.prose)), len(_DONE.findall(document.prose))
    if todo > done and (todo >= 3 or _PLAN_TITLE.match(document.title)):
        return "PLAN", f"{todo} boxes wait to be ticked"
    return None


def _by_steps(document: _Document) -> tuple[str, str] | None:
    how_to = _HOW_TO.match(document.title)
    surely = _DOING.match(document.title)
    doing = surely or _DOING_LOOSELY.match(document.title)
    steps = len(_STEP.findall(document.prose)) if how_to or doing else 0
    if how_to and (steps >= 2 or document.code):
        return "WORKFLOW", f"the title says '{how_to[0]}' and the text shows the way"
    if doing and (steps >= 3 or document.shells >= (2 if surely else 5)):
        return "WORKFLOW", f"the title says '{doing[0]}' and the text has steps or commands to run"
    return None


def _by_sentence(document: _Document) -> tuple[str, str] | None:
    category = stated_category(document.content)
    return (category, "a sentence of it states one") if category else None


_RULES: tuple[Callable[[_Document], tuple[str, str] | None], ...] = (
    *(
        _by_label,
        _by_headings,
        _by_folder,
        _by_decision,
        _by_sentence,
        _rule,
        _by_failure,
        _by_dependency,
        _edge,
        _fast,
        _by_tests,
        _by_tasks,
        _by_steps,
    ),
)
