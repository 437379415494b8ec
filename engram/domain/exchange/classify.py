"""Guess the category of a document or an entry: by clear signs only, else FACT.

Rules look at the title, the headings, the folders and the structure of the text, the most reliable first. A wrong
category costs more than a missing one (it decides how fast an entry decays and who filters it out), so a rule
without an explicit word requires two signs that agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from engram.domain.exchange.lesson_sentences import stated_category
from engram.domain.exchange.markdown_blocks import FENCE, TEXT, scan
from engram.domain.typed import NamedTuple

FACT = "FACT"
_MOST_READ = 100_000  # characters
_START = 200  # characters in which a text gets to the point
_OPENING = 600  # characters in which it names its subject

_LABELS = {
    "ARCHITECTURAL_DECISION": (
        "adr", "adrs", "decision", "decisions", "architecture decision", "decision record",
    ),
    "EDGE_CASE_DISCOVERY": ("gotcha", "gotchas", "edge case", "edge cases", "pitfall", "pitfalls", "caveat"),
    "FAILURE": (
        "postmortem", "postmortems", "post-mortem", "post-mortems", "incident", "incidents", "failure",
    ),
    "PATTERN_OUTCOME": ("pattern", "insight"),
    "PERFORMANCE_INSIGHT": ("performance",),
    "PLAN": ("plan", "plans", "roadmap"),
    "PREFERENCE": ("preference", "preferences", "convention", "conventions", "style guide"),
    "SESSION_SUMMARY": ("session summary", "session summaries"),
    "SKILL": ("skill", "skills"),
    "TESTING_STRATEGY": ("testing strategy", "test strategy"),
    "WORKFLOW": (
        "workflow", "howto", "howtos", "how-to", "how-tos", "runbook", "runbooks", "playbook", "playbooks",
    ),
}  # fmt: skip
_BY_LABEL = {label: category for category, labels in _LABELS.items() for label in labels}
# Labels too broad as names of folders.
_NOT_FOLDERS = frozenset({"pattern", "insight", "performance", "failure"})

# Patterns of titles are matched against lower case: ignoring case takes several times as long.
_LABEL = re.compile(r"([a-z][a-z -]{2,24}?)(?:[ -]?#?\d+)?\s*[:\u2013\u2014]\s+\S")
_ADR_HEADINGS = frozenset(
    {"status", "context", "decision", "consequences", "decision outcome", "considered options"}
)
_INCIDENT_HEADINGS = frozenset(
    {"root cause", "impact", "timeline", "resolution", "detection", "action items"}
)
_DECIDED = re.compile(r"\b(?:we|the team) (?:have )?(?:decided (?:to|on|against|that)|chose \S+ over)\b")
_REASON = re.compile(r"\b(?:because|instead of|rather than|over|so that|trade-?offs?)\b")
_ERROR_TITLE = re.compile(
    r"\berror:|\berror \d+|\b(?:fails|failed|failing|crash(?:es|ed|ing)?) (?:with|to|in|on|after)\b|"
    r"\b(?:segfaults?|(?:is|was) broken)\b|\b[a-z]\w+(?:error|exception):|\b(?:error|crash)$"
)
_ABOUT_ERRORS = re.compile(r"\b(?:handl|ignor|avoid|catch|mock|rais|display|custom|trap|without)\w*\b")
_ERROR_TEXT = re.compile(
    r"Traceback \(most recent call last\)|^[ \t]*(?:\w+\.)*\w*(?:Error|Exception)\b:?|"
    r"\b(?:error|fatal|panic)(?:\[\w+\])?: |"
    r"\b[A-Z]\w+(?:Error|Exception)\b|^[ \t]*(?:>[ \t]*)?error\b",
    re.MULTILINE | re.IGNORECASE,
)
_FAST_TITLE = re.compile(
    r"\b(?:performance|faster|speed(?:ing)? up|speedup|slow(?:er|ness)?|efficient(?:ly)?|"
    r"latency|bottlenecks?|memory usage)\b"
)
_FAST_TEXT = re.compile(
    r"\d\s*(?:ms|milliseconds?|µs|seconds?|minutes?|s\b|x\b|MiB|MB|GB|%|rows)|"
    r"times (?:as )?fast|faster|slow|inefficient",
    re.IGNORECASE,
)
_TEST_TITLE = re.compile(
    r"\b(?:py)?tests?\b|\btesting\b|\bpytest-\w+|\bmock(?:s|ed|ing)?\b|\bfixtures?\b|"
    r"\bcode coverage\b|\bflaky\b"
)
_TEST_TEXT = re.compile(
    r"\bdef test_|^[ \t]*(?:assert\b|@pytest\.|import pytest|import unittest)|"
    r"\b(?:describe|it|test)\(['\"]|\bpytest\b|#\[test\]|\bfunc Test[A-Z]|unittest",
    re.MULTILINE,
)
_NOT_OF_TESTS = re.compile(r"\b(?:when|after|if|once) (?:the |all )?tests\b|\bspeed test")
_HOW_TO = re.compile(r"how (?:to|we)\b")
_DOING = re.compile(
    r"(?:re)?(?:assign|compil|configur|creat|deploy|enabl|export|import|install|migrat|packag|publish|releas|"
    r"remov|rewrit|recover|sett|sign|switch|upgrad|uninstall)ing\b|set up\b|install\b|compile\b|deploy\b|"
    r"upgrade\b|migrate\b|create\b"
)
_DOING_LOOSELY = re.compile(r"(?:runn|build)ing\b|(?:run|build|add)\b")
_STEP = re.compile(r"^ {0,3}\d{1,2}[.)] \S", re.MULTILINE)
_SHELL_INFO = ("bash", "sh", "shell", "zsh", "console", "terminal", "shell-session", "powershell", "fish")
_SHELL_LINE = re.compile(
    r"^[ \t]*(?:\$ \S|(?:[$%#>] )?(?:sudo |uv |pipx? |npm |npx |brew |apt(?:-get)? |git |docker |cd |curl |"
    r"make |cargo |go |python3? |mkdir |wget |kubectl |heroku |flyctl |fly |gcloud |aws |vercel |\./))",
    re.MULTILINE,
)
_EDGE_TITLE = re.compile(
    r"\b(?:gotchas?|edge[- ]cases?|pitfalls?|quirks?|caveats?|surprising(?:ly)?|unexpected(?:ly)?|"
    r"(?:fails?|breaks?) (?:if|when|on)|(?:does not|doesn't|won't) work (?:if|when|with|on))\b"
)
_CHANGED_TITLE = re.compile(
    r"\b(?:deprecat\w+|deprecation|no longer|breaking changes?|incompatib\w+|"
    r"(?:removed|changed|renamed) in|backwards?[- ]compat\w+)\b"
)
_VERSION = re.compile(r"\bv?\d+\.\d+(?:\.\d+)?\b|\b[vV]\d+\b|\bversion \d+|\b[A-Z]\w+ \d+\b")
_RULE_TITLE = re.compile(
    r"(?:always|never|prefer|avoid|don't|do not)\b|(?:i|we|team) (?:always|never|prefer)\b"
)
_TODO = re.compile(r"^[ \t]*[-*+] \[ \] ", re.MULTILINE)
_DONE = re.compile(r"^[ \t]*[-*+] \[[xX]\] ", re.MULTILINE)
_PLAN_TITLE = re.compile(r"(?:to-?do|plans?|roadmap|next steps|implementation plan)\b")


class _Document(NamedTuple):
    written_title: str
    title: str  # in lower case
    content: str
    headings: frozenset[str]
    prose: str
    code: str
    shells: int
    folders: tuple[str, ...]


def guess_category(title: str, content: str, folder_words: Sequence[str] = ()) -> str:
    """Return the category of a document; FACT unless the signs are clear.

    `folder_words` are the names of its folders.
    """
    document = _read(title, content, folder_words)
    for rule in _RULES:
        found = rule(document)
        if found:
            return found
    return FACT


def _read(title: str, content: str, folders: Sequence[str]) -> _Document:
    content = content[:_MOST_READ]
    blocks = scan(content)
    fences = [block for block in blocks if block.kind == FENCE]
    code = [content[block.start : block.end] for block in fences]
    return _Document(
        written_title=title.strip(),
        title=title.strip().lower(),
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


def _by_label(document: _Document) -> str:
    match = _LABEL.match(document.title)
    return _BY_LABEL.get(match[1].strip(), "") if match else ""


def _by_headings(document: _Document) -> str:
    if len(document.headings & _ADR_HEADINGS) >= 3:
        return "ARCHITECTURAL_DECISION"
    if "root cause" in document.headings and len(document.headings & _INCIDENT_HEADINGS) >= 2:
        return "FAILURE"
    return ""


def _by_folder(document: _Document) -> str:
    return next(
        (
            _BY_LABEL[folder]
            for folder in document.folders
            if folder in _BY_LABEL and folder not in _NOT_FOLDERS
        ),
        "",
    )


def _by_decision(document: _Document) -> str:
    start = f"{document.title}\n{document.prose[:_START].lower()}"
    is_made = ("decided" in start or "chose" in start) and _DECIDED.search(start)
    return "ARCHITECTURAL_DECISION" if is_made and _REASON.search(document.prose) else ""


def _by_sentence(document: _Document) -> str:
    return stated_category(document.content)


def _by_rule(document: _Document) -> str:
    return "PREFERENCE" if _RULE_TITLE.match(document.title) else ""


def _by_failure(document: _Document) -> str:
    is_error = _ERROR_TITLE.search(document.title) and not _ABOUT_ERRORS.search(document.title)
    return "FAILURE" if is_error and _ERROR_TEXT.search(document.content) else ""


def _by_dependency(document: _Document) -> str:
    has_changed = _CHANGED_TITLE.search(document.title)
    is_named = has_changed and _VERSION.search(f"{document.written_title}\n{document.prose[:_OPENING]}")
    return "DEPENDENCY_BEHAVIOR" if is_named else ""


def _by_edge(document: _Document) -> str:
    return "EDGE_CASE_DISCOVERY" if _EDGE_TITLE.search(document.title) else ""


def _by_speed(document: _Document) -> str:
    is_fast = _FAST_TITLE.search(document.title) and _FAST_TEXT.search(document.prose)
    return "PERFORMANCE_INSIGHT" if is_fast else ""


def _by_tests(document: _Document) -> str:
    is_about = _TEST_TITLE.search(document.title) and not _NOT_OF_TESTS.search(document.title)
    return "TESTING_STRATEGY" if is_about and _TEST_TEXT.search(document.content) else ""


def _by_tasks(document: _Document) -> str:
    if "[ ]" not in document.prose:
        return ""
    todo, done = len(_TODO.findall(document.prose)), len(_DONE.findall(document.prose))
    return "PLAN" if todo > done and (todo >= 3 or _PLAN_TITLE.match(document.title)) else ""


def _by_steps(document: _Document) -> str:
    how_to = _HOW_TO.match(document.title)
    is_clear = _DOING.match(document.title)
    is_action = is_clear or _DOING_LOOSELY.match(document.title)
    steps = len(_STEP.findall(document.prose)) if how_to or is_action else 0
    if how_to and (steps >= 2 or document.code):
        return "WORKFLOW"
    return "WORKFLOW" if is_action and (steps >= 3 or document.shells >= (2 if is_clear else 5)) else ""


_RULES: tuple[Callable[[_Document], str], ...] = (
    _by_label, _by_headings, _by_folder, _by_decision, _by_sentence, _by_rule, _by_failure, _by_dependency, _by_edge,
    _by_speed, _by_tests, _by_tasks, _by_steps,
)  # fmt: skip
