"""Agents in a store: registration, changes, refusals, agents that are seen but not registered."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import QUEUE, SECRET, SetClock, cli, dedicated, git, ok
from team_kit import as_agent

from engram.domain.entry import times
from engram.domain.errors import SecretFoundError, UsageError


def test_registering_again_updates_fields_and_keeps_manual_edits(tmp_path: Path, clock: SetClock) -> None:
    root = dedicated(tmp_path / "store")
    with as_agent(root, "ada", clock) as ada:
        ada.register_agent("ada", name="Ada", capabilities=["review"], settings={"tone": "short"})
        file = root / "lore/agents/ada.md"
        written = file.read_text()
        assert written == (
            "---\nname: Ada\ncapabilities: [review]\nsettings: {tone: short}\nupdated_at: "
            f"{times.render(clock.moment)}\n---\n"
        )
        file.write_text(
            "---\n# ours\nname: Ada\nteam: billing # old\ncapabilities: [review]\n---\n\nReads all.\n"
        )
        done = ada.register_agent("ada", capabilities=["review", "go"], settings={"tone": "long: yes"})
        assert (done.name, done.capabilities, done.text) == ("Ada", ("review", "go"), "Reads all.")
        assert file.read_text() == (
            "---\n# ours\nname: Ada\nteam: billing # old\ncapabilities: [review, go]\n"
            f'settings: {{tone: "long: yes"}}\nupdated_at: {times.render(clock.moment)}\n---\n\nReads all.\n'
        )
        before = file.stat().st_mtime_ns
        assert ada.register_agent("ada") == done
        assert file.stat().st_mtime_ns == before
        assert ada.list().total == 0, "an agent is not lore"
    ok("status", cwd=root)
    assert git(root, "log", "--format=%s").splitlines()[:2] == ["change agent: ada", "register agent: ada"]


@pytest.mark.parametrize(
    ("given", "error"),
    [({"id": "../up"}, UsageError), ({"id": "Ada"}, UsageError), ({"id": "a" * 61}, UsageError),
     ({"id": "ada", "name": SECRET}, SecretFoundError), ({"id": "ada", "capabilities": ["x" * 201]}, UsageError),
     ({"id": "ada", "settings": {"a b": "c"}}, UsageError), ({"id": "ada", "default_scope": "nowhere"}, UsageError)],
)  # fmt: skip
def test_invalid_profiles_are_refused(
    root: Path, clock: SetClock, given: dict[str, object], error: type
) -> None:
    with as_agent(root, "ada", clock) as ada:
        with pytest.raises(error):
            ada.register_agent(**given)  # type: ignore[arg-type]
        assert not (root / "lore/agents").exists()


def test_unregistered_agents_are_listed_and_unreadable_files_skipped(root: Path, clock: SetClock) -> None:
    with as_agent(root, "bob", clock) as bob:
        bob.record(QUEUE, category="fact")
        (root / "lore/agents").mkdir()
        (root / "lore/agents/eve.md").write_bytes(b"\xff\xfe")
        (found,) = bob.team()
        assert (found.profile.id, found.registered) == ("bob", False)
        assert found.seen_at == clock.moment.timestamp()
    findings = cli("doctor", "--json", cwd=root).json["findings"]
    assert "eve.md" in str([one for one in findings if one["kind"] == "agent"])
