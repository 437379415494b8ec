"""How well the rules of capture find the lessons of labelled endings of sessions: `python benchmarks/capture.py [--wrong]`.

`capture_dev/tuned.jsonl` was looked at while the rules were written; `capture_dev/unseen.jsonl` was labelled before
them and only measured. About two in five endings hold no lesson at all. `--wrong` prints what was taken wrongly, too,
and what was missed.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import NamedTuple

from engram.domain.agents.extraction import AGENT, Turn, extract, speaker_of
from engram.domain.agents.fixes import CHANGED, FAILED, PASSED, SAID, Step, fixes

FOLDER = Path(__file__).parent / "capture_dev"
TUNED, UNSEEN = SETS = ("tuned", "unseen")
MOST = 3  # entries that one event may leave
_SAME = 0.6  # of the words of a lesson and of what was taken, from which they are the same


class Ending(NamedTuple):
    """The end of a session: who said what, the lessons in it with their categories, whether a failed command passed."""

    name: str
    turns: tuple[tuple[str, str], ...]
    lessons: tuple[tuple[str, str], ...]
    solved: bool = False


class Measured(NamedTuple):
    """What the rules took: how much of it is worth keeping, and how many lessons they found (shares of 1)."""

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
        """The share of what was taken that states a labelled lesson."""
        return self.right / self.taken if self.taken else 1.0

    @property
    def recall(self) -> float:
        """The share of the labelled lessons that was taken."""
        return self.found / self.lessons if self.lessons else 1.0


def endings(name: str) -> list[Ending]:
    """Return the labelled endings of a set."""
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
    """Extract from each ending as the hooks do, and compare with its labels."""
    taken = right = found = category = 0
    wrong, missed = list[str](), list[str]()
    for ending in labelled:
        entries = _captured(ending)
        taken += len(entries)
        for content, _ in entries:
            if any(_is_same(content, text) for text, _ in ending.lessons):
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


def _captured(ending: Ending) -> list[tuple[str, str]]:
    """Return what the hooks take from an ending, with its category: the explanation of a fix first, then what is stated."""
    turns = [Turn(speaker_of(role), text) for role, text in ending.turns]
    said = [Step(SAID, turn.text) for turn in turns if turn.speaker == AGENT]
    steps = [
        Step(FAILED, "make check", "error: it failed"),
        Step(CHANGED, "a.py"),
        Step(PASSED, "make check"),
        *said,
    ]
    solved = [(one.explanation, one.category) for one in fixes(steps if ending.solved else [])]
    stated = [(one.content, one.category) for one in extract(turns, MOST)]
    return [*solved, *(one for one in stated if not any(_is_same(one[0], text) for text, _ in solved))]


def _is_same(one: str, other: str) -> bool:
    first, second = _words(one), _words(other)
    return len(first & second) >= _SAME * max(1, len(second)) and len(first & second) >= _SAME * len(first)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--wrong", action="store_true", help="print what was taken wrongly and what was missed"
    )
    given = parser.parse_args()
    print("| set | endings | lessons | taken | precision | recall | category right |")
    print("|---|---|---|---|---|---|---|")
    for name in SETS:
        got = measure(endings(name))
        share = got.category / max(1, got.found)
        print(
            f"| {name} | {got.endings} | {got.lessons} | {got.taken} | {got.precision:.2f} | {got.recall:.2f} | {share:.2f} |"
        )
        for line in (*(f"wrong: {one}" for one in got.wrong), *(f"missed: {one}" for one in got.missed)):
            if given.wrong:
                print(f"  {line}")


if __name__ == "__main__":
    main()
