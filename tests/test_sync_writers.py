"""Eight processes record and judge in one clone while a ninth syncs it: what was acknowledged is everywhere, once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from effort import examples
from storekit import killed_at_exit, start
from sync_kit import Clones, files, opened

from engram.usecases.clone import clone

WRITERS = 8
WRITER = """
    import json, sys
    from engram.app import Engram
    from engram.usecases.open_store import open_store
    from engram.usecases.store import Caller

    root, name, lore, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    with Engram(open_store(root, Caller(name, "writer"))) as store:
        for number in range(count):
            made = store.record(f"{name} learnt {number}.", category="FACT").lore
            print(json.dumps([made.id, made.content]), flush=True)
            store.feedback(helpful=[lore], again=True)
            store.feedback(helpful=[made.id], again=True)
"""
SYNCER = """
    import sys
    from engram.app import Engram
    from engram.usecases.open_store import open_store
    from engram.usecases.store import Caller
    from engram.usecases.sync import Options, sync

    with Engram(open_store(sys.argv[1], Caller("syncer", "syncer")), background=False) as store:
        print("ready", flush=True)
        for line in sys.stdin:
            done = sync(store.store, Options(timeout=30.0))
            print(done.errors, flush=True)
"""


@pytest.mark.slow
def test_eight_writers_lose_nothing_while_a_ninth_process_syncs(tmp_path: Path) -> None:
    clones, each = Clones(tmp_path), examples(2, 12)
    lore = clones.record("a").id
    clones.settle()
    syncer = start(SYNCER, clones.root("a"), stdin=-1)
    writers = [start(WRITER, clones.root("a"), f"w{n}", lore, each) for n in range(WRITERS)]
    rounds = 0
    with killed_at_exit([syncer, *writers]):
        assert syncer.stdin is not None
        assert syncer.stdout is not None
        assert syncer.stdout.readline() == b"ready\n"
        while any(writer.poll() is None for writer in writers):
            syncer.stdin.write(b"\n")
            syncer.stdin.flush()
            # Meanwhile the other clone has something new, and judges the same lore.
            clones["b"].feedback(helpful=[lore], again=True)
            clones.sync("b")
            rounds += 1
            assert syncer.stdout.readline() == b"()\n"
        said = [json.loads(line) for writer in writers for line in writer.communicate()[0].splitlines()]
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    assert len(said) == WRITERS * each
    clones.settle()
    clones.assert_equal()
    clone(str(clones.hub), str(tmp_path / "fresh"))
    found = [shown.lore for shown in opened(tmp_path / "fresh", clones.clock, "c").list(limit=None).lore]
    assert Counter(one.id for one in found) == Counter([lore, *[one for one, _ in said]])
    by_id = {one.id: one for one in found}
    assert by_id[lore].validation_count == WRITERS * each + rounds
    for lore_id, text in said:
        assert by_id[lore_id].content == text
        assert by_id[lore_id].validation_count == 1
    assert files(tmp_path / "fresh") == files(clones.root("a"))
