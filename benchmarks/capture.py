"""Measure how well capture finds the lessons in labelled ends of sessions, and how often a later prompt recalls them.

    python benchmarks/capture.py [--wrong]

The rules were tuned on `capture_dev/tuned.jsonl`; `capture_dev/unseen.jsonl` was labelled before them and only measured;
`capture_dev/strangers.jsonl` is by writers who had not seen the rules. Nearly half of the sessions hold no lesson.
`--wrong` also prints false positives and missed lessons. For some sessions, `capture_dev/prompts.jsonl` has their own prompt
and a later one.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from retrieval_set import load, store_documents
from scratch_store import isolate

from engram.domain.agents.extraction import AGENT, PERSON, Turn, extract, is_mere_change, speaker_of
from engram.domain.agents.fixes import ASKED, CHANGED, FAILED, PASSED, SAID, Step, find_fixes
from engram.usecases.agents.session_capture import Report, process_reports, submit_report
from engram.usecases.opening.open_store import open_store
from engram.usecases.recall.captured_recall import find_captured
from engram.usecases.store import captured
from engram.usecases.store.store import Caller, Clock

FOLDER = Path(__file__).parent / "capture_dev"
UNRELATED = FOLDER.parent / "recall_dev"  # entries and questions about other subjects
SETS = ("tuned", "unseen", "strangers")
MAX_ENTRIES = 3  # per event
_SAME_SHARE = 0.6  # two texts that share this part of the words of each are the same


class Ending(NamedTuple):
    """The end of a session: turns as (role, text), lessons as (text, category), and whether a failed command passed."""

    name: str
    turns: tuple[tuple[str, str], ...]
    lessons: tuple[tuple[str, str], ...]
    solved: bool = False


class Measured(NamedTuple):
    """What the rules captured: `right` of `taken` entries are lessons, `found` of `lessons` were captured."""

    endings: int
    lessons: int
    taken: int
    right: int
    found: int
    category: int
    wrong: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def precision(self) -> float:
        """The share of captured entries that state a labelled lesson."""
        return self.right / self.taken if self.taken else 1.0

    @property
    def recall(self) -> float:
        """The share of labelled lessons that were captured."""
        return self.found / self.lessons if self.lessons else 1.0


def endings(name: str) -> list[Ending]:
    """Read a set of labelled sessions."""
    rows = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]
    return [
        Ending(
            row["id"],
            tuple((role, text) for role, text in row["turns"]),
            tuple((one["text"], one["category"]) for one in row["lessons"]),
            row["solved"],
        )
        for row in rows
    ]


def measure(labelled: list[Ending]) -> Measured:
    """Capture entries from each session as the hooks do, and compare them with its labels."""
    taken = right = found = category = 0
    wrong, missed = list[str](), list[str]()
    for ending in labelled:
        entries = _captured(ending)
        taken += len(entries)
        for content, _ in entries:
            if _is_lesson(content, ending):
                right += 1
            else:
                wrong.append(f"{ending.name}: {content}")
        for text, wanted in ending.lessons:
            match = next((guessed for content, guessed in entries if _is_same(content, text)), "")
            found += bool(match)
            category += match == wanted
            if not match:
                missed.append(f"{ending.name}: {text}")
    lessons = sum(len(ending.lessons) for ending in labelled)
    return Measured(len(labelled), lessons, taken, right, found, category, tuple(wrong), tuple(missed))


class Returned(NamedTuple):
    """How many lessons were recalled for the same prompt and for another one, and how many wrong entries with the latter.

    Of `others` questions about other subjects, `disturbed` recalled an entry.
    """

    lessons: int
    same: int
    other: int
    wrong: int
    disturbed: int
    others: int


class _ShiftedClock(Clock):
    """A clock that can be set ahead by days."""

    ahead = 0

    def now(self) -> datetime:
        return super().now() + timedelta(days=self.ahead)


def measure_returns(folder: str, *, asked: bool) -> Returned:
    """Capture the lessons that have prompts in a new store in `folder`, with or without the prompt, and query each."""
    unrelated = load(str(UNRELATED))
    store_documents(f"{folder}/store", unrelated)
    known = {ending.name: ending for name in SETS for ending in endings(name)}
    rows = [json.loads(line) for line in (FOLDER / "prompts.jsonl").read_text("utf-8").splitlines()]
    clock = _ShiftedClock()
    store = open_store(f"{folder}/store", Caller("later", "benchmark"), clock=clock)
    try:
        for number, row in enumerate(rows):
            clock.ahead = number // 10  # capture has a daily limit
            _end_session(Path(folder, "t.jsonl"), known[row["id"]], row["asked"] if asked else "")
            submit_report(
                store, Report("session-end", "benchmark", row["id"], transcript=f"{folder}/t.jsonl")
            )
            process_reports(store)
        stored = {
            row["id"]: [lore.id for lore in captured.lessons(store) if _is_lesson(lore.content, known[row["id"]])]
            for row in rows
        }  # fmt: skip
        rows = [row for row in rows if stored[row["id"]]]
        same = other = wrong = 0
        for row in rows:
            same += any(lore.id in stored[row["id"]] for lore in find_captured(store, row["asked"]))
            found = [lore.id in stored[row["id"]] for lore in find_captured(store, row["later"])]
            other, wrong = other + any(found), wrong + found.count(False)
        questions = [*unrelated.queries.values(), *unrelated.unanswerable]
        disturbed = sum(bool(find_captured(store, question)) for question in questions)
        return Returned(len(rows), same, other, wrong, disturbed, len(questions))
    finally:
        store.close()


def _end_session(path: Path, ending: Ending, asked: str) -> None:
    """Write the transcript of a session with this end, in the format of Claude Code."""
    said = [
        (role, {"type": "text", "text": text})
        for role, text in ending.turns
        if role == "assistant" or not asked
    ]
    blocks: list[tuple[str, dict[str, object]]] = [("user", {"type": "text", "text": asked})] if asked else []
    if ending.solved:
        run: dict[str, object] = {"type": "tool_use", "name": "Bash", "input": {"command": "make check"}}
        edit: dict[str, object] = {"type": "tool_use", "name": "Edit", "input": {"file_path": "/w/a.py"}}
        failed: dict[str, object] = {
            "type": "tool_result",
            "tool_use_id": "1",
            "is_error": True,
            "content": "error: it failed",
        }
        passed: dict[str, object] = {"type": "tool_result", "tool_use_id": "2", "content": "ok"}
        blocks += [("assistant", {**run, "id": "1"}), ("user", failed), ("assistant", edit)]
        blocks += [("assistant", {**run, "id": "2"}), ("user", passed)]
    rows = [{"type": role, "message": {"role": role, "content": [block]}} for role, block in [*blocks, *said]]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def _is_lesson(content: str, ending: Ending) -> bool:
    return any(_is_same(content, text) for text, _ in ending.lessons)


def _captured(ending: Ending) -> list[tuple[str, str]]:
    """Return the (content, category) pairs that the hooks capture: explanations of fixes, then stated lessons."""
    turns = [Turn(speaker_of(role), text) for role, text in ending.turns]
    said = [Step(SAID, turn.text) for turn in turns if turn.speaker == AGENT]
    steps = [
        *(Step(ASKED, turn.text) for turn in turns if turn.speaker == PERSON),
        Step(FAILED, "make check", "error: it failed"),
        Step(CHANGED, "a.py"),
        Step(PASSED, "make check"),
        *said,
    ]
    solved = [(one.explanation, one.category) for one in find_fixes(steps if ending.solved else [])]
    stated = [(one.content, one.category) for one in extract(turns, MAX_ENTRIES) if not is_mere_change(one)]
    return [*solved, *(one for one in stated if not any(_is_same(one[0], text) for text, _ in solved))]


def _is_same(one: str, other: str) -> bool:
    first, second = _words(one), _words(other)
    return len(first & second) >= _SAME_SHARE * max(1, len(second)) and len(
        first & second
    ) >= _SAME_SHARE * len(first)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--wrong", action="store_true", help="print what was taken wrongly and what was missed"
    )
    options = parser.parse_args()
    print("| set | endings | lessons | taken | precision | recall | category right |")
    print("|---|---|---|---|---|---|---|")
    for name in SETS:
        got = measure(endings(name))
        share = got.category / max(1, got.found)
        print(
            f"| {name} | {got.endings} | {got.lessons} | {got.taken} | {got.precision:.2f} | {got.recall:.2f} | {share:.2f} |"
        )
        for line in (*(f"wrong: {one}" for one in got.wrong), *(f"missed: {one}" for one in got.missed)):
            if options.wrong:
                print(f"  {line}")
    print(
        "\n| captured | lessons | the same prompt again | another prompt | wrong ones | questions about other things |"
    )
    print("|---|---|---|---|---|---|")
    for asked in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            isolate(f"{folder}/home")
            returned = measure_returns(folder, asked=asked)
            name = "with what was asked" if asked else "without"
            same, other = returned.same / returned.lessons, returned.other / returned.lessons
            disturbed = returned.disturbed / returned.others
            print(
                f"| {name} | {returned.lessons} | {same:.2f} | {other:.2f} | {returned.wrong} | {disturbed:.3f} |"
            )


if __name__ == "__main__":
    main()
