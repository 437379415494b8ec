"""Pair failures with their fixes, by command: it failed, files were changed, and it passed.

A fix is kept only if the agent explained in a sentence what was wrong.
"""

from __future__ import annotations

import re

from engram.domain.agents.candidates import CHANGE, find_candidates
from engram.domain.agents.command_signals import commands_of
from engram.domain.agents.error_lines import find_identifying_error
from engram.domain.agents.explanations import find_explanation, reports_problem
from engram.domain.agents.fence import remove_frames
from engram.domain.agents.prompt_intent import topic_of
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

ASKED, SAID, FAILED, PASSED, CHANGED = "asked", "said", "failed", "passed", "changed"
_MOST_REPLIES = 3  # replies after the command passed that may explain the fix
_MOST_FILES = 8
_LONGEST_COMMAND = 80
_EXPLAINING = frozenset(
    {"EDGE_CASE_DISCOVERY", "DEPENDENCY_BEHAVIOR", "IMPLEMENTATION_FRICTION", "INTERFACE_LESSON",
     "PERFORMANCE_INSIGHT", "TESTING_STRATEGY", "WORKFLOW", "PATTERN_OUTCOME"}
)  # fmt: skip


class Step(NamedTuple):
    """A step of a session. `text` is a prompt (`asked`), a reply (`said`), a command (`failed`, `passed`) or a file (`changed`).

    `output` is that of a command that failed.
    """

    kind: str
    text: str
    output: str = ""


class Fix(NamedTuple):
    """A failure that was fixed: the sentence that explains it, its category, the command, its error, the files changed.

    `asked` is the topic of the prompts before it.
    """

    explanation: str
    category: str
    command: str
    error: str
    files: tuple[str, ...]
    asked: str = ""

    @property
    def content(self) -> str:
        """The fix as the text of an entry."""
        return f"{self.explanation}\n\nSeen as {describe_failure(self.command, self.error)}"


class _Failure(NamedTuple):
    command: str
    error: str
    at: int


def describe_failure(command: str, error: str) -> str:
    """Describe a command and the error with which it failed."""
    return f"`{command}` failing with: {error}"


def find_fixes(steps: Sequence[Step]) -> list[Fix]:
    """Return the fixes of a session, in order, each explanation once."""
    open_failures: dict[tuple[str, str], _Failure] = {}
    found: dict[str, Fix] = {}
    for at, step in enumerate(steps):
        if step.kind == FAILED:
            error = find_identifying_error(step.output).removeprefix(
                "E "
            )  # pytest marks lines of an error so
            for key, command in keys_of(step.text).items():
                if error:  # repeated failures count as the first
                    open_failures.setdefault(key, _Failure(command, error, at))
        elif step.kind == PASSED:
            closed = [open_failures.pop(key) for key in keys_of(step.text) if key in open_failures]
            for failure in closed[:1]:
                fix = _fix(steps, failure, at)
                if fix is not None:
                    found.setdefault(fix.explanation.casefold(), fix)
    return list(found.values())


def keys_of(line: str) -> dict[tuple[str, str], str]:
    """Return the keys by which commands of a line are paired (program and subcommand, or program and file), with their names."""
    keys = {}
    for one in commands_of(line):
        if not one.is_everyday:
            words = [one.program, *([one.subcommand] if one.subcommand else []), *one.files]
            keys[(one.program, one.subcommand)] = " ".join(words)[:_LONGEST_COMMAND]
        elif one.files and one.program.startswith(
            ("python", "node", "ruby", "perl", "php", "bash", "sh", "deno")
        ):
            keys[(one.program, one.files[0])] = f"{one.program} {one.files[0]}"[:_LONGEST_COMMAND]
    return keys


def _fix(steps: Sequence[Step], failure: _Failure, passed: int) -> Fix | None:
    """Return the fix of a failure; None if no file was changed in between, or the agent did not explain it."""
    between = steps[failure.at : passed]
    files = tuple(dict.fromkeys(step.text for step in between if step.kind == CHANGED))[:_MOST_FILES]
    if not files:
        return None
    after = [step for step in steps[passed:] if step.kind == SAID][:_MOST_REPLIES]
    texts = [step.text for step in between if step.kind == SAID] + [step.text for step in after]
    stated = [
        one
        for text in texts
        for one in find_candidates(remove_frames(text), of_fix=True)
        if one.category in _EXPLAINING and not (one.label == CHANGE and CHANGE not in one.content.casefold())
    ]
    prompts = [step.text for step in steps[: failure.at] if step.kind == ASKED]
    if not stated and reports_problem(prompts):
        stated = [one for step in after if (one := find_explanation(remove_frames(step.text))) is not None]
    if not stated:
        return None
    about = _words(f"{failure.error} {failure.command} {' '.join(files)}")
    # The last explanation is usually the right one, unless an earlier one shares more words with the error.
    _, best = max(enumerate(stated), key=lambda one: (len(_words(one[1].content) & about), one[0]))
    return Fix(best.content, best.category, failure.command, failure.error, files, topic_of(prompts))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]{3,}", text.casefold())) - STOP_WORDS
