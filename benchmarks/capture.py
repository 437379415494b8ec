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

from engram.domain.agents.extraction import Turn, extract, speaker_of

FOLDER = Path(__file__).parent / "capture_dev"
TUNED, UNSEEN = SETS = ("tuned", "unseen")
MOST = 3  # entries that one event may leave
_SAME = 0.6  # of the words of a lesson and of what was taken, from which they are the same


class Ending(NamedTuple):
    """The end of a session: who said what, and the lessons in it with their categories."""

    name: str
    turns: tuple[tuple[str, str], ...]
    lessons: tuple[tuple[str, str], ...]


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
        )
        for row in rows
    ]


def measure(labelled: list[Ending]) -> Measured:
    """Extract from each ending as the hooks do, and compare with its labels."""
    taken = right = found = category = 0
    wrong, missed = list[str](), list[str]()
    for ending in labelled:
        turns = [Turn(speaker_of(role), text) for role, text in ending.turns]
        entries = extract(turns, MOST)
        taken += len(entries)
        for one in entries:
            if any(_is_same(one.content, text) for text, _ in ending.lessons):
                right += 1
            else:
                wrong.append(f"{ending.name}: {one.content}")
        for text, wanted in ending.lessons:
            match = next((one for one in entries if _is_same(one.content, text)), None)
            found += match is not None
            category += match is not None and match.category == wanted
            if match is None:
                missed.append(f"{ending.name}: {text}")
    lessons = sum(len(ending.lessons) for ending in labelled)
    return Measured(len(labelled), lessons, taken, right, found, category, tuple(wrong), tuple(missed))


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
