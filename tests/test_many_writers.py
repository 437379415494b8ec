"""Many processes write one store at once, some of them killed: everything acknowledged is there, once."""

from __future__ import annotations

import json
import random
import selectors
import subprocess
from collections import Counter
from pathlib import Path
from typing import IO

import pytest
from storekit import (
    assert_settled,
    assert_sound,
    commit,
    engram_command,
    git,
    killed_at_exit,
    lines,
    opened,
    start,
    wait_until,
)

from engram.usecases.commit import has_work

WRITER = """
    import json, sys
    import engram
    root, name, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    words = "retry queue consumer broker timeout parser flaky cache session database".split()
    with engram.open(root, session=name) as store:
        print(json.dumps(["ready", name, 0, ""]), flush=True)
        for number in range(first, last):
            text = f"{words[number % 10]} {words[number // 10 % 10]} of {name} number {number}"
            recorded = store.record(text, category="FACT")
            print(json.dumps(["recorded", name, number, recorded.lore.id]), flush=True)
"""


class Crowd:
    """Writers that are started, listened to, killed and started again."""

    def __init__(self, root: Path, writers: int, each: int) -> None:
        self.root = root
        self.each = each
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.everybody: list[subprocess.Popen[bytes]] = []
        self.acknowledged: dict[str, str] = {}
        self.next: Counter[str] = Counter()
        self.rest: Counter[str] = Counter()
        self.selector = selectors.DefaultSelector()
        for number in range(writers):
            self.start(f"writer{number}")

    def start(self, name: str) -> None:
        """Start a writer where it stopped; a lore it may or may not have written when it was killed is left out."""
        process = start(WRITER, self.root, name, self.next[name], self.each)
        self.processes[name] = process
        self.everybody.append(process)
        assert process.stdout is not None
        self.selector.register(process.stdout, selectors.EVENT_READ, name)

    def listen(self) -> bool:
        """Hear what the writers say next; False when all have ended."""
        if not self.processes:
            return False
        for key, _ in self.selector.select(timeout=60):
            self.hear(key.data, key.fileobj)  # type: ignore[arg-type]
        return True

    def hear(self, name: str, stream: IO[bytes]) -> None:
        line = stream.readline()
        if line.endswith(b"\n"):
            what, _, number, lore_id = json.loads(line)
            if what == "recorded":
                self.acknowledged[lore_id] = f"{name} number {number}"
                self.next[name] = number + 1
            return
        self.selector.unregister(stream)
        process = self.processes.pop(name)
        _, trouble = process.communicate()
        assert process.returncode in (0, -9), trouble.decode()[-3000:]
        if process.returncode == -9:
            self.next[name] += 1
            self.start(name)

    def kill(self, chance: random.Random) -> None:
        name = chance.choice(sorted(self.processes))
        self.processes[name].kill()


def check(root: Path, acknowledged: dict[str, str]) -> None:
    """A fresh open finds everything acknowledged; history has each record once; nothing is left over."""
    with opened(root) as engram:
        listed = {shown.lore.id: shown.lore.content for shown in engram.list(limit=None).lore}
        assert {lore_id: text for lore_id, text in acknowledged.items() if text not in listed.get(lore_id, "")} == {}
        generation = engram.store.index.look()
        assert generation is not None
        assert generation.catalog.problems() == []
        assert generation.verify() == []
        commit(engram)
        assert not has_work(engram.store)
    commits = Counter(git(root, "log", "--grep=^record: ", "--format=%(trailers:key=Engram-Lore,valueonly,separator=)").split())
    assert commits == Counter(dict.fromkeys(listed, 1))
    assert_sound(root)
    assert_settled(root)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11,12,13,14,15,16,17,18])
def test_writers_that_are_killed_and_started_again_lose_nothing(tmp_path: Path, seed: int) -> None:
    root, chance = tmp_path / "store", random.Random(seed)
    opened(root).close()
    writers, each, kills = 2, 100, 60
    crowd = Crowd(root, writers, each)
    moments = sorted(chance.randrange(writers * each * 3 // 4) for _ in range(kills))
    with killed_at_exit(crowd.everybody):
        while crowd.listen():
            while moments and len(crowd.acknowledged) >= moments[0] and crowd.processes:
                moments.pop(0)
                crowd.kill(chance)
    assert moments == []
    assert len(crowd.acknowledged) >= writers * each - kills
    check(root, crowd.acknowledged)
