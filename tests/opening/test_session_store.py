"""The stores of sessions: kept apart, never in git, swept when nobody used them for long."""

from __future__ import annotations

import os
from pathlib import Path

from apikit import QUEUE, TIDES, SetClock, dedicated, git, lore_files, make_plain_store, ok
from hypothesis import given
from hypothesis import strategies as st
from scopes_kit import TRIAL

import engram
from engram.usecases.opening import session_store


def test_a_session_is_kept_apart_never_in_git_and_swept_when_nobody_used_it(tmp_path: Path) -> None:
    project = dedicated(tmp_path / "p")
    ok("record", TRIAL, "-c", "fact", "--scope", "session", cwd=project, ENGRAM_SESSION="one")
    ok("record", TIDES, "-c", "fact", "--scope", "session", cwd=project, ENGRAM_SESSION="two")
    assert git(project, "status", "--porcelain", "-uall") == ""
    assert "Trying" not in git(project, "log", "--format=%s")
    one = ok("query", "consumer deadline tide", "--json", cwd=project, ENGRAM_SESSION="one").json["lore"]
    assert [(hit["title"], hit["scope"]) for hit in one] == [(TRIAL, "session")]
    root = Path(session_store.session_root(str(project / ".git/engram"), "one"))
    assert len(lore_files(root)) == 1
    used = root / ".engram/used"
    old = os.stat(used).st_mtime_ns - 8 * 86_400 * 10**9
    os.utime(used, ns=(old, old))
    ok("record", QUEUE, "-c", "fact", cwd=project, ENGRAM_SESSION="one")
    assert root.is_dir(), "a session's own store is in use"
    os.utime(used, ns=(old, old))
    ok("list", cwd=project, ENGRAM_SESSION="two")
    assert not root.exists()
    assert os.listdir(root.parent) == ["s-two"]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=120),
        min_size=2,
        max_size=2,
        unique=True,
    )
)
def test_two_sessions_never_share_a_store_whatever_their_names(names: list[str]) -> None:
    one, two = (os.path.basename(session_store.session_root("/x", name)) for name in names)
    assert one.lower() != two.lower()
    assert all(len(name) <= 140 and name.isprintable() and "/" not in name for name in (one, two))


def test_sessions_are_kept_for_as_long_as_configured(tmp_path: Path) -> None:
    project, clock = make_plain_store(tmp_path / "p"), SetClock()
    ok("config", "scopes.session.retention_days", "30", "--user", cwd=project)
    with engram.open(project, scope="session", session="one", clock=clock) as store:
        store.record(TRIAL, category="FACT")
        store.query("deadline")
    for days, left in ((29, True), (2, False)):
        clock.advance(days=days)
        with engram.open(project, session="two", clock=clock):
            pass
        assert Path(session_store.session_root(str(project / ".engram"), "one")).exists() is left
