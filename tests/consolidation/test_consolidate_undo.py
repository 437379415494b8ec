"""A consolidation or a decision is one commit, and is undone byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

from apikit import QUEUE, TIDES, SetClock, dedicated, git, open_test_store, record_apart
from effort import examples

from engram.app import Engram
from engram.domain.consolidation.plan import DECAY, KINDS
from engram.usecases.opening.open_store import open_store
from engram.usecases.review.decisions import decide
from engram.usecases.review.review import review
from engram.usecases.store.commit import commit_pending
from engram.usecases.store.store import Caller
from tests.consolidation.test_consolidate import JITTER, SAME_JITTER, SLOW, SLOWER, contents


def filled(root: Path, clock: SetClock) -> Engram:
    """A dedicated store in which every kind of step is due."""
    store = open_test_store(dedicated(root), clock=clock)
    stale = store.record(TIDES, category="FACT").lore
    clock.advance(days=100)
    old = store.record(SLOW, category="FACT").lore
    for text in (JITTER, SAME_JITTER, QUEUE):
        record_apart(store, text, tags=("fleet",), context=("incident review",))
    store.record(SLOWER, category="FACT", relations=[("supersedes", old.id)])
    clock.advance(days=90)
    store.query("idempotent queue handlers")
    assert stale.id not in store.session_refs().values()
    session = Engram(open_store(str(root), Caller("s1", "x"), scope="session", clock=clock), background=False)
    session.record("The staging broker is reset on Mondays.", category="FACT", pinned=True)
    session.close()
    for _ in range(2):
        store.query("staging broker reset on Mondays")
    return store


def test_applying_is_one_commit_and_undo_redo_and_undo_restore_every_byte(
    tmp_path: Path, clock: SetClock
) -> None:
    store = filled(tmp_path / "store", clock)
    commit_pending(store.store, wait=30)
    before = contents(Path(store.path))
    commits = git(Path(store.path), "rev-list", "--count", "HEAD")
    plan = store.consolidate()
    assert {*plan.by_kind} == {*KINDS} - {DECAY}
    done = store.apply(plan)
    commit_pending(store.store, wait=30)
    after = contents(Path(store.path))
    assert done.done == plan.by_kind
    assert int(git(Path(store.path), "rev-list", "--count", "HEAD")) == int(commits) + 1
    assert git(Path(store.path), "log", "-1", "--format=%s").startswith(
        "consolidate: merge 1, supersede 1, archive 1,"
    )
    assert (store.apply(plan).done, contents(Path(store.path))) == ({}, after)
    for expected in (before, after, before):
        clock.advance(days=1)
        store.redo() if expected == after else store.undo()
        assert contents(Path(store.path)) == expected
    assert store.consolidate().by_kind == plan.by_kind
    commit_pending(store.store, wait=30)
    assert git(Path(store.path), "status", "--porcelain") == ""


def test_an_undo_keeps_what_was_changed_after_the_consolidation(tmp_path: Path, clock: SetClock) -> None:
    store = filled(tmp_path / "store", clock)
    before = contents(Path(store.path))
    plan = store.consolidate()
    store.apply(plan)
    (merge,) = [step for step in plan.steps if step.kind == "merge"]
    kept = Path(store.path) / merge.paths[0]
    kept.write_text(kept.read_text("utf-8").replace("tags: [fleet]", "tags: [fleet, later]"), "utf-8")
    store.undo()
    now = contents(Path(store.path))
    assert now.keys() == before.keys()
    differs = [path for path in before if now[path] != before[path]]
    assert [merge.lore[0] in path for path in differs] == [True]
    assert store.get(merge.lore[0]).lore.tags == ("fleet", "later")


def test_every_decision_can_be_undone_without_loss(tmp_path: Path, clock: SetClock) -> None:
    """Some dozens of decisions every day, 1,000 when thorough."""
    store = open_test_store(dedicated(tmp_path / "store"), clock=clock)
    count = examples(24, 1000)
    names = [f"host{number}" for number in range(count)]
    draft = tmp_path / "lore.jsonl"
    lines = [
        {"content": f"The cache of {name} is cleared at noon.", "category": "FACT", "status": "pending"}
        for name in names
    ]
    draft.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    store.import_markdown(str(draft))
    commit_pending(store.store, wait=60)
    before = {shown.lore.id: shown.lore for shown in store.list(limit=None).lore}
    items = review(store.store, kinds=["pending"]).items
    assert len(items) == count
    for item, decision in zip(items, ["accept", "reject", "archive"] * count, strict=False):
        decide(store.store, item, decision)
    commit_pending(store.store, wait=60)
    assert store.list().total == count - len(items[1::3])
    store.undo(count)
    after = {shown.lore.id: shown.lore for shown in store.list(limit=None).lore}
    assert {one: lore._replace(updated_at=before[one].updated_at) for one, lore in after.items()} == before
