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
from effort import examples
from storekit import (
    assert_settled,
    assert_sound,
    commit,
    engram_command,
    git,
    killed_at_exit,
    lines,
    open_test_store,
    start,
    wait_until,
)

from engram.usecases.store.commit import has_work

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
        """Start a writer where it stopped; an entry it may or may not have written when it was killed is left out."""
        process = start(WRITER, self.root, name, self.next[name], self.each)
        self.processes[name] = process
        self.everybody.append(process)
        assert process.stdout is not None
        self.selector.register(process.stdout, selectors.EVENT_READ, name)

    def listen(self) -> bool:
        """Read the next messages of the writers; return False when all have ended."""
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
    with open_test_store(root) as engram:
        listed = {shown.lore.id: shown.lore.content for shown in engram.list(limit=None).lore}
        assert {
            lore_id: text for lore_id, text in acknowledged.items() if text not in listed.get(lore_id, "")
        } == {}
        generation = engram.store.index.look()
        assert generation is not None
        assert generation.catalog.problems() == []
        assert generation.verify() == []
        commit(engram)
        assert not has_work(engram.store)
    commits = Counter(
        git(
            root, "log", "--grep=^record: ", "--format=%(trailers:key=Engram-Lore,valueonly,separator=)"
        ).split()
    )
    assert commits == Counter(dict.fromkeys(listed, 1))
    assert_sound(root)
    assert_settled(root)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_writers_that_are_killed_and_started_again_lose_nothing(tmp_path: Path, seed: int) -> None:
    root, chance = tmp_path / "store", random.Random(seed)
    open_test_store(root).close()
    writers, each, kills = examples(4, 8), examples(15, 200), examples(3, 16)
    crowd = Crowd(root, writers, each)
    moments = sorted(chance.randrange(writers * each // 2) for _ in range(kills))
    with killed_at_exit(crowd.everybody):
        while crowd.listen():
            while moments and len(crowd.acknowledged) >= moments[0] and crowd.processes:
                moments.pop(0)
                crowd.kill(chance)
    assert moments == []
    assert len(crowd.acknowledged) >= writers * each - kills
    check(root, crowd.acknowledged)


JUDGE = """
    import json, sys
    import engram
    root, name, lore_id, kind, count = *sys.argv[1:5], int(sys.argv[5])
    with engram.open(root, session=name) as store:
        for _ in range(count):
            judged = store.feedback(**{kind: lore_id}, again=True)
            print(json.dumps(judged[0].validation_count), flush=True)
"""


def test_votes_of_two_processes_on_the_same_entry_all_count(tmp_path: Path) -> None:
    root, each = tmp_path / "store", examples(12, 25)
    with open_test_store(root) as engram:
        lore_id = engram.record("retry the broker", category="FACT", confidence=0.1).lore.id
        commit(engram)
    judges = [start(JUDGE, root, name, lore_id, "helpful", each) for name in ("one", "two")]
    with killed_at_exit(judges):
        for judge in judges:
            output, trouble = judge.communicate(timeout=60)
            assert judge.returncode == 0, trouble.decode()[-3000:]
            assert len(lines(output)) == each
    with open_test_store(root) as engram:
        assert engram.get(lore_id).lore.validation_count == 2 * each
        assert [hit.validation_count for hit in engram.feedback(helpful=lore_id, again=True)] == [
            2 * each + 1
        ]
        assert len(engram.log(limit=100)) == 2 * each + 2
    assert_sound(root)


READER = """
    import json, sys
    import engram
    root, wanted = sys.argv[1], sys.argv[2]
    with engram.open(root, session="reader", background=False) as store:
        store.query(wanted)
        print("ready", flush=True)
        for line in sys.stdin:
            answer = store.query(wanted, keep=False)
            said = [answer.strategy, [hit.lore.id for hit in answer.lore], list(answer.notes)]
            print(json.dumps(said), flush=True)
"""


def ask(reader: subprocess.Popen[bytes]) -> list[object]:
    """Let the reader run its query once; return the result."""
    assert reader.stdin is not None
    assert reader.stdout is not None
    reader.stdin.write(b"\n")
    reader.stdin.flush()
    said: list[object] = json.loads(reader.stdout.readline())
    return said


CHANGER = """
    import sys
    import engram
    from engram.usecases.recording.edit import Edit
    from engram.usecases.index.refresh import refresh
    root, what, lore_id = sys.argv[1:4]
    number = 0
    with engram.open(root, session="changer", background=False) as store:
        print("ready", flush=True)
        for _ in sys.stdin:
            number += 1
            if what == "rebuild":
                refresh(store.store, rebuild="test")
            else:
                store.edit(lore_id, Edit(content=f"retry the broker, version {number}"))
                store.refresh()
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["rebuild", "edit"])
def test_queries_miss_no_entry_while_another_process_changes_the_index(tmp_path: Path, what: str) -> None:
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        for number in range(130 if what == "edit" else 20):  # above 100 texts are replaced in place
            engram.record(f"cache the parser in session {number}", category="FACT")
        lore_id = engram.record("retry the broker", category="FACT").lore.id
        engram.refresh()
        commit(engram)
    changer = start(CHANGER, root, what, lore_id, stdin=subprocess.PIPE)
    reader = start(READER, root, "retry the broker", stdin=subprocess.PIPE)
    with killed_at_exit([changer, reader]):
        for process in (changer, reader):
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        assert changer.stdin is not None
        said = []
        for _ in range(examples(7, 40)):
            changer.stdin.write(b"\n")
            changer.stdin.flush()
            said += [ask(reader) for _ in range(3)]
        assert changer.poll() is None
    assert [answer for answer in said if answer[1] != [lore_id]] == []
    assert {str(answer[0]) for answer in said} == {"hybrid"}


@pytest.mark.slow
def test_commands_run_at_once_leave_a_committed_store(tmp_path: Path) -> None:
    root, texts = tmp_path / "store", [f"retry the broker, case {number}" for number in range(8)]
    open_test_store(root).close()
    command = ["record", "--category", "FACT", "--json", "--store", str(root)]
    script = "import sys; from engram.cli.main import main; sys.exit(main(sys.argv[1:]))"
    acknowledged: dict[str, str] = {}
    for batch in (texts[:4], texts[4:]):
        processes = [start(script, command[0], text, *command[1:]) for text in batch]
        with killed_at_exit(processes):
            for text, process in zip(batch, processes, strict=True):
                output, trouble = process.communicate(timeout=60)
                assert process.returncode == 0, trouble.decode()[-2000:]
                acknowledged[json.loads(output)["lore"]["id"]] = text
    with open_test_store(root) as engram:
        wait_until(lambda: not has_work(engram.store), "the commands left nobody who commits")
    status = json.loads(engram_command(root, "status", "--json", ENGRAM_BACKGROUND="inline").stdout)
    assert status["lore_count"] == len(texts)
    assert status["git"]["pending"] == 0
    wait_until(lambda: git(root, "status", "--porcelain") == "", "git's index does not get in step")
    check(root, acknowledged)
