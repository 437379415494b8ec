"""Eight processes record and judge in one clone while a ninth syncs it: all acknowledged writes are everywhere, once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from effort import examples
from storekit import killed_at_exit, start
from sync_kit import Clones, files, open_test_store

from engram.usecases.placement.clone import clone

WRITERS = 8
# Forks of one process: starting Python eight times would cost more than all that they do.
WRITERS_APART = """
    import json, os, sys, traceback
    sys.path.insert(0, sys.argv[1])
    import storekit
    from engram.app import Engram
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.store.store import Caller

    root, writers, lore, count = sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])

    def write(name):
        with Engram(open_store(root, Caller(name, "writer"))) as store:
            for number in range(count):
                made = store.record(f"{name} learnt {number}.", category="FACT").lore
                sys.stdout.write(json.dumps([made.id, made.content]) + "\\n")  # at once: eight write to this pipe
                sys.stdout.flush()
                store.feedback(helpful=[lore], again=True)
                store.feedback(helpful=[made.id], again=True)

    storekit.read_ahead()
    for number in range(writers):
        if os.fork() == 0:
            code = 1
            try:
                write(f"w{number}")
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
    sys.exit(max(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(writers)))
"""
SYNCER = """
    import sys
    from engram.app import Engram
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.store.store import Caller
    from engram.usecases.sync.sync import Options, sync

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
    writers = start(WRITERS_APART, Path(__file__).parents[1] / "kits", clones.root("a"), WRITERS, lore, each)
    rounds = 0
    with killed_at_exit([syncer, writers]):
        assert syncer.stdin is not None
        assert syncer.stdout is not None
        assert syncer.stdout.readline() == b"ready\n"
        while writers.poll() is None:
            syncer.stdin.write(b"\n")
            syncer.stdin.flush()
            # Meanwhile the other clone has something new, and judges the same entry.
            clones["b"].feedback(helpful=[lore], again=True)
            clones.sync("b")
            rounds += 1
            assert syncer.stdout.readline() == b"()\n"
        output, trouble = writers.communicate()
    assert writers.returncode == 0, trouble.decode()[-3000:]
    said = [json.loads(line) for line in output.splitlines()]
    assert len(said) == WRITERS * each
    clones.settle()
    clones.assert_equal()
    clone(str(clones.hub), str(tmp_path / "fresh"))
    found = [
        shown.lore for shown in open_test_store(tmp_path / "fresh", clones.clock, "c").list(limit=None).lore
    ]
    assert Counter(one.id for one in found) == Counter([lore, *[one for one, _ in said]])
    by_id = {one.id: one for one in found}
    assert by_id[lore].validation_count == WRITERS * each + rounds
    for lore_id, text in said:
        assert by_id[lore_id].content == text
        assert by_id[lore_id].validation_count == 1
    assert files(tmp_path / "fresh") == files(clones.root("a"))
