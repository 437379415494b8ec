"""The history of an entry's confidence: its steps, newest first, and the value before one of them.

Mutants that make no difference: the day on which nothing has faded.
"""

from __future__ import annotations

from engram.domain.judgements.confidence_history import Course
from tests.judgements.test_tally import BOB, line, lore

LINES = [line(1), line(2, "incorrect", BOB), line(3, source=BOB)]


def test_each_step_has_the_confidence_before_and_after_it_and_the_helpful_count() -> None:
    course = Course(lore(), LINES, [])
    every = [(LINES[2], 630, 710, 2), (LINES[1], 780, 630, 1), (LINES[0], 700, 780, 1)]
    assert course.steps(9) == every
    assert course.steps(2) == every[:2]
    assert course.steps(0) == Course(lore(), [], []).steps(9) == []


def test_earlier_judgements_can_be_replayed_on_another_stated_confidence() -> None:
    course = Course(lore(), LINES, [])
    assert [course.upto(one.id, 500).full for one in (*LINES, line(4))] == [500, 580, 430, 510]
