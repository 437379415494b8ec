"""The cached answers of a replayer are those that a new one would give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apikit import SetClock, make_plain_store, open_test_store

from engram.domain.entry.lore import ACTIVE, ARCHIVED
from engram.usecases.consolidation.replay import open_replayer

if TYPE_CHECKING:
    from pathlib import Path

    from engram.domain.consolidation.usefulness import Answered
    from engram.usecases.consolidation.replay import Facts
    from engram.usecases.store.store import Store

PARTS = ("scheduler", "ledger", "gateway", "importer", "mailer", "indexer")
DEEDS = (
    "retries with jitter",
    "locks one row",
    "writes a heartbeat",
    "drops old sessions",
    "splits the batch",
)
QUERIES = [f"which {part} {deed}" for part in PARTS[:3] for deed in DEEDS] + ["qqq", "the", "ledgr batch"]


def fresh(store: Store, facts: dict[str, Facts]) -> dict[str, Answered]:
    with open_replayer(store) as replayer:
        replayer.set_facts(facts)
        return replayer.answers(QUERIES)


def test_cached_answers_equal_fresh_ones(tmp_path: Path) -> None:
    """Also if entries have relations, are archived and restored, and a file is rewritten."""
    engram = open_test_store(make_plain_store(tmp_path / "store"), clock=SetClock())
    lore = []
    for part in PARTS:
        for deed in DEEDS:
            links = [("see_also", lore[-1].lore.id)] if len(lore) % 3 else []
            text = f"The {part} {deed}.\n\nSeen with release {len(lore)} of the {part}."
            lore.append(engram.record(text, category="FACT", relations=links))
    engram.refresh()
    archived: dict[str, Facts] = {one.path: (ARCHIVED, one.lore.thousandths) for one in lore[::2]}
    colder: dict[str, Facts] = {one.path: (ACTIVE, 510) for one in lore[:6]}
    with open_replayer(engram.store) as replayer:
        before = replayer.answers(QUERIES)
        assert before == fresh(engram.store, {})
        for facts in (archived, archived | colder, colder):
            known = dict.fromkeys(archived, (ACTIVE, 0)) | facts
            known = {path: (status, of or 900) for path, (status, of) in known.items()}
            replayer.set_facts(known)
            after = replayer.answers(QUERIES)
            assert after == fresh(engram.store, known)
            assert after != before
        content = engram.store.files.read(lore[1].path).replace(b"scheduler", b"gateway")
        replayer.write({lore[1].path: content})
        written = replayer.answers(QUERIES)
    with open_replayer(engram.store) as replayer:
        replayer.set_facts(known)
        replayer.write({lore[1].path: content})
        assert replayer.answers(QUERIES) == written != after
