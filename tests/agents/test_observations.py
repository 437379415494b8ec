"""Observations are queued at once and made into pending entries later, within limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import SECRET, SetClock, lore_files
from team_kit import as_agent

from engram.domain.errors import UsageError, ValidationError
from engram.usecases.agents import observations
from engram.usecases.store.store import Caller


def test_an_observation_outlives_the_process_and_becomes_a_pending_entry(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        done = ada.observe(f"Root cause: the retry loop never sleeps. Token {SECRET}", files=["src/q.py"])
        assert (done.waiting, done.redacted) == (1, 1)
        ada.observe("The palette of the settings page seems to have been chosen by nobody at all.")
        ada.observe("ok")
        assert lore_files(root) == []
    with as_agent(root, "bob", clock) as bob:
        assert bob.maintain(dry_run=True).steps[0].number == 3
        assert bob.maintain().steps[0].number == 2
        assert bob.maintain().steps[0].number == 0
        found = bob.list(status="pending").lore
        assert {one.lore.agent for one in found} == {"ada"}
        cause = next(one.lore for one in found if "retry loop" in one.lore.content)
        assert SECRET not in cause.content
        assert cause.files == ("src/q.py",)
        assert {one.lore.category for one in found} >= {"OBSERVATION"}
        assert bob.store.caller == Caller("session of bob", "bob")


def test_observations_have_limits(root: Path, clock: SetClock, monkeypatch: pytest.MonkeyPatch) -> None:
    with as_agent(root, "ada", clock) as ada:
        for wrong in ("", "  \n", "x" * 8001):
            with pytest.raises(ValidationError):
                ada.observe(wrong)
        monkeypatch.setattr(observations, "MOST_A_MINUTE", 5)
        monkeypatch.setattr(observations, "MOST_WAITING", 7)
        for number in range(5):
            ada.observe(f"Number {number} was seen.")
        with pytest.raises(UsageError, match="within a minute"):
            ada.observe("One more.")
        clock.advance(minutes=2)
        assert [ada.observe("Later.").waiting for _ in range(2)] == [6, 7]
        with pytest.raises(UsageError, match="wait already"):
            ada.observe("Full.")
        monkeypatch.setattr(observations, "MOST_A_DAY", 1)
        ada.maintain()
        assert observations.waiting(ada.store) > 0, "the rest waits for tomorrow"
