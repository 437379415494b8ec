"""Automatic syncs: when they are due, one at a time, later after failures, and only with consent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from apikit import cli, git, make_plain_store, ok
from effort import sampled
from storekit import wait_until
from sync_kit import SOON, ManyClock, bare, make_connected_store, open_test_store

from engram.adapters.files.durable.lock import FileLock
from engram.app import Engram
from engram.cli import background_process
from engram.domain.errors import RemoteError
from engram.domain.settings import Settings
from engram.usecases.store import sync_consent, sync_state
from engram.usecases.store.store import Caller
from engram.usecases.sync.auto_sync import (
    NEVER,
    can_sync,
    is_due,
    mark_change,
    retry_delay,
    seconds_until_due,
    start_session_sync,
    sync_if_due,
    sync_now,
)
from engram.usecases.sync.sync import sync
from engram.usecases.upkeep import background


def wishing(engram: Engram, **wanted: object) -> Engram:
    """The store with settings like `sync_interval=10`."""
    store = engram.store
    values = {key.replace("sync_", "sync."): value for key, value in wanted.items()}
    store.settings = Settings({**store.settings.items(), **values})
    return engram


@pytest.fixture
def clock() -> ManyClock:
    return ManyClock()


@pytest.fixture
def engram(tmp_path: Path, clock: ManyClock) -> Engram:
    """A store with something to push every 10 minutes, and an empty remote."""
    made = make_connected_store(tmp_path / "store", bare(tmp_path / "hub.git"), clock)
    sync_consent.grant(made.store, "origin")
    made.record("Worth keeping.", category="FACT")
    return wishing(made, sync_interval=10)


@pytest.fixture
def auto(monkeypatch: pytest.MonkeyPatch) -> None:
    """Automatic syncs as they are outside tests: half a minute after the last change."""
    monkeypatch.delenv("ENGRAM_SYNC_SECONDS")


def test_automatic_syncs_are_off_by_default(engram: Engram) -> None:
    assert seconds_until_due(wishing(engram, sync_interval=0).store) == NEVER
    assert not start_session_sync(engram.store)


def test_without_a_remote_or_a_repository_of_its_own_nothing_is_due(tmp_path: Path, clock: ManyClock) -> None:
    alone = wishing(open_test_store(tmp_path / "alone", clock), sync_interval=10)
    assert seconds_until_due(alone.store) == NEVER
    assert not start_session_sync(alone.store)
    assert sync_now(alone.store) is None
    assert sync_state.last(alone.store)["at"] is None, "it is no failure either"


def test_it_is_due_at_once_and_then_by_interval(engram: Engram, clock: ManyClock) -> None:
    store = engram.store
    done = sync_if_due(store)
    assert done is not None
    assert done.pushed == 1
    assert sync_if_due(store) is None
    clock.advance(minutes=9, seconds=59)
    assert not is_due(store)
    clock.advance(seconds=1)
    assert sync_if_due(store) is not None
    clock.advance(days=-300)  # a clock that was set back
    assert is_due(store)


def test_a_sync_by_hand_postpones_the_next_one(engram: Engram, clock: ManyClock) -> None:
    engram.sync()
    assert seconds_until_due(engram.store) == 600


def test_the_delay_grows_after_each_failure_and_is_short_again_after_a_success(
    engram: Engram, clock: ManyClock, tmp_path: Path
) -> None:
    store = engram.store
    hub = tmp_path / "hub.git"
    hub.rename(tmp_path / "gone.git")
    waits = []
    for _ in range(3):
        assert sync_if_due(store) is None
        waits.append(seconds_until_due(store))
        clock.advance(seconds=waits[-1])
    assert waits == [1200, 2400, 4800]
    last = sync_state.last(store)
    assert (last["failures"], last["succeeded"]) == (3, None)
    assert isinstance(last["error"], dict)
    (tmp_path / "gone.git").rename(hub)
    assert sync_if_due(store) is not None
    assert seconds_until_due(store) == 600
    assert sync_state.last(store)["failures"] == 0


def test_the_retry_delay_has_a_limit() -> None:
    assert [retry_delay(600, failures) for failures in (0, 1, 5, 6, 1000)] == [600, 1200, 19200, 21600, 21600]
    assert retry_delay(100_000, 50) == 100_000


@pytest.mark.usefixtures("auto")
def test_only_one_at_a_time(engram: Engram) -> None:
    with FileLock(os.path.join(engram.store.places.state, "auto-sync.lock")):
        assert sync_if_due(engram.store) is None
    assert sync_state.last(engram.store)["at"] is None
    assert sync_now(engram.store) is not None


DAMAGED = (
    "",
    "[]",
    "{}",
    '{"at": "x", "remote": "", "error": null, "succeeded": null, "failures": 1}',
    '{"at": 5, "remote": "", "error": null, "succeeded": null, "failures": "x"}',
)


@sampled("content", DAMAGED, everyday=2)
def test_a_damaged_record_of_the_last_sync_is_ignored(engram: Engram, content: str) -> None:
    Path(engram.store.places.state, "last-sync.json").write_text(content)
    assert is_due(engram.store)
    assert sync_if_due(engram.store) is not None


def started(patch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """What detached processes would have been started, instead of starting them."""
    found: list[tuple[str, bool]] = []
    patch.setattr(background, "start_detached", lambda root, *, sync=False: found.append((root, sync)))
    return found


def test_a_command_that_changes_nothing_starts_one_when_it_is_due(
    engram: Engram, clock: ManyClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = started(monkeypatch)
    engram.sync()
    background.after_command(engram.store, wrote=False)
    assert found == []
    clock.advance(minutes=10)
    background.after_command(engram.store, wrote=False)
    assert found == [(engram.path, False)]
    engram.sync()
    clock.advance(minutes=10)
    wishing(engram, **{"git.background": False})
    background.after_command(engram.store, wrote=False)
    assert len(found) == 2, "the sync stays in the background"
    monkeypatch.setenv("ENGRAM_BACKGROUND", "inline")
    background.after_command(engram.store, wrote=False)
    assert len(found) == 2


def settings_of_the_user(home: Path, text: str) -> None:
    (home / ".config/engram").mkdir(parents=True)
    (home / ".config/engram/config.toml").write_text(text, "utf-8")


def wait_for_the_sync(engram: Engram, hub: Path) -> None:
    wait_until(lambda: sync_state.last(engram.store)["succeeded"] is not None, "nothing was synced")
    assert "record: Worth keeping." in git(hub, "log", "main", "--format=%s")


def test_a_command_is_followed_by_a_real_sync(engram: Engram, home: Path, tmp_path: Path) -> None:
    settings_of_the_user(home, "[sync]\ninterval = 10\n")
    engram.store.close()
    ok("list", cwd=engram.path, ENGRAM_BACKGROUND="")
    wait_for_the_sync(engram, tmp_path / "hub.git")


@pytest.mark.usefixtures("auto")
def test_a_session_starts_with_a_real_sync_unless_that_is_turned_off(
    engram: Engram, home: Path, tmp_path: Path
) -> None:
    settings_of_the_user(home, "[sync]\nauto = false\n")
    assert ok("session", "start", "--json", cwd=engram.path).json["syncing"] is False
    (home / ".config/engram/config.toml").unlink()
    engram.store.close()
    assert ok("session", "start", "--json", cwd=engram.path).json["syncing"] is True
    wait_for_the_sync(engram, tmp_path / "hub.git")
    assert ok("session", "--json", cwd=engram.path).json["syncing"] is False


def test_a_program_that_stays_open_syncs_too(engram: Engram, home: Path, tmp_path: Path) -> None:
    settings_of_the_user(home, "[sync]\ninterval = 10\n")
    with Engram(engram.store):
        wait_for_the_sync(engram, tmp_path / "hub.git")


@pytest.mark.usefixtures("auto")
def test_the_settings_of_a_store_cannot_turn_on_automatic_syncs(tmp_path: Path) -> None:
    """A pulled configuration must not make a machine talk to the network."""
    engram = make_connected_store(tmp_path / "store", bare(tmp_path / "hub.git"), ManyClock())
    file = Path(engram.path, ".engram.toml")
    file.write_text(file.read_text("utf-8") + "\n[sync]\ninterval = 1\nauto = true\n", "utf-8")
    fresh = open_test_store(Path(engram.path), ManyClock())
    fresh.record("Not for others.", category="FACT")
    mark_change(fresh.store)
    assert seconds_until_due(fresh.store) == NEVER
    assert not start_session_sync(fresh.store)
    assert sync_now(fresh.store) is None
    assert cli("config", "sync.interval", "5", cwd=engram.path).code == 2
    assert cli("config", "sync.auto", "true", cwd=engram.path).code == 2


# --- consent, and changes to send


def by_a_person(engram: Engram) -> Engram:
    engram.store.caller = Caller("terminal", "", "cli")
    return engram


@pytest.fixture
def unsynced(tmp_path: Path, clock: ManyClock) -> Engram:
    """A store with a remote, never synced."""
    made = make_connected_store(tmp_path / "fresh", bare(tmp_path / "hub.git"), clock)
    made.record("Worth keeping.", category="FACT")
    return made


@pytest.mark.usefixtures("auto")
def test_the_first_sync_by_a_person_is_consent_and_one_by_an_agent_is_not(unsynced: Engram) -> None:
    unsynced.sync()
    assert not can_sync(unsynced.store)
    by_a_person(unsynced).sync(push=False)
    assert not can_sync(unsynced.store), "who only pulls did not say that anything may go out"
    unsynced.sync()
    assert can_sync(unsynced.store)


@pytest.mark.usefixtures("auto")
def test_a_failed_sync_is_not_consent(unsynced: Engram, tmp_path: Path) -> None:
    (tmp_path / "hub.git").rename(tmp_path / "gone.git")
    with pytest.raises(RemoteError):
        by_a_person(unsynced).sync()
    assert not can_sync(unsynced.store)


@pytest.mark.usefixtures("auto")
def test_consent_does_not_cover_a_changed_address(engram: Engram, tmp_path: Path) -> None:
    other = bare(tmp_path / "other.git")
    git(Path(engram.path), "remote", "set-url", "origin", str(other))
    mark_change(engram.store)
    assert sync_now(engram.store) is None
    assert git(other, "for-each-ref") == ""
    error = sync_state.last(engram.store)["error"]
    assert isinstance(error, dict)
    assert "not the one" in error["message"]
    by_a_person(engram).sync()
    assert sync_now(engram.store) is not None


@pytest.mark.usefixtures("auto")
def test_a_refusal_counts_until_it_is_withdrawn(engram: Engram) -> None:
    sync_consent.refuse(engram.store, "origin")
    by_a_person(engram).sync()
    assert not can_sync(engram.store)
    sync_consent.grant(engram.store, "origin")
    assert can_sync(engram.store)


@pytest.mark.usefixtures("auto")
def test_nothing_syncs_automatically_in_ci(engram: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    assert not start_session_sync(engram.store)
    assert seconds_until_due(engram.store) == NEVER


@pytest.mark.parametrize("content", ["", "allowed", "refused \nallowed", "\x00\xff", "maybe x\n"])
@pytest.mark.usefixtures("auto")
def test_a_damaged_consent_counts_as_none(engram: Engram, content: str) -> None:
    Path(engram.store.places.state, "sync-consent").write_text(content, "latin-1")
    assert not can_sync(engram.store)


@pytest.mark.usefixtures("auto")
def test_changes_are_sent_half_a_minute_after_the_last_one(engram: Engram, clock: ManyClock) -> None:
    store = wishing(engram, sync_interval=0).store
    assert seconds_until_due(store) == NEVER
    mark_change(store)
    clock.advance(seconds=20)
    assert seconds_until_due(store) == 10
    mark_change(store)
    assert seconds_until_due(store) == 30, "a further change moves it"
    clock.advance(days=-1)  # a clock that was set back
    assert seconds_until_due(store) == 30
    clock.advance(days=1, seconds=30)
    assert sync_if_due(store) is not None
    assert seconds_until_due(store) == NEVER


@pytest.mark.usefixtures("auto")
def test_changes_that_never_stop_are_sent_after_five_minutes(engram: Engram, clock: ManyClock) -> None:
    store = wishing(engram, sync_interval=0).store
    for _ in range(15):
        assert not is_due(store)
        mark_change(store)
        clock.advance(seconds=20)
    assert is_due(store)
    assert sync_if_due(store) is not None
    mark_change(store)
    assert seconds_until_due(store) == 30


@pytest.mark.usefixtures("auto")
def test_failed_syncs_are_retried_after_growing_delays(
    engram: Engram, clock: ManyClock, tmp_path: Path
) -> None:
    store = wishing(engram, sync_interval=0).store
    (tmp_path / "hub.git").rename(tmp_path / "gone.git")
    mark_change(store)
    clock.advance(seconds=30)
    waits = []
    for _ in range(3):
        assert sync_if_due(store) is None
        waits.append(seconds_until_due(store))
        clock.advance(seconds=waits[-1])
    assert waits == [60, 120, 240]
    (tmp_path / "gone.git").rename(tmp_path / "hub.git")
    assert sync_if_due(store) is not None


@pytest.mark.usefixtures("auto")
def test_changes_made_during_a_sync_wait_for_the_next(engram: Engram) -> None:
    store = wishing(engram, sync_interval=0).store
    mark_change(store)

    def write(_step: str) -> None:
        engram.store.clock.advance(seconds=1)  # type: ignore[attr-defined]
        mark_change(store)

    sync(store, SOON, write)
    assert seconds_until_due(store) == 30


@pytest.mark.usefixtures("auto")
def test_a_session_also_syncs_stores_of_other_scopes_that_may_sync(tmp_path: Path) -> None:
    project, hub = make_plain_store(tmp_path / "project"), bare(tmp_path / "hub.git")
    record = ("record", "--scope", "user", "--category", "FACT")
    ok(*record, "The first of my own.", cwd=project)
    ok("remote", "add", "origin", str(hub), "--scope", "user", cwd=project)
    assert background_process.main(str(project), sync=True) == 0
    assert git(hub, "for-each-ref") == ""
    ok("sync", "--scope", "user", cwd=project)
    ok(*record, "The second of my own.", cwd=project)
    assert background_process.main(str(project), sync=True) == 0
    assert "record: The second of my own." in git(hub, "log", "main", "--format=%s")
    logged = ok("live", "--scope", "user", "--json", cwd=project).json["entries"]
    assert [one["via"] for one in logged if one["action"] == "sync"] == ["cli", "background"]
