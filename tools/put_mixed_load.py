"""Mixed load on one store: `python tools/put_mixed_load.py [--minutes 5] [--entries 300]`.

Four clients (two over `engram mcp`, two over `engram serve`) record, ask, judge and edit at once, while behind their backs
somebody edits files by hand, commits with plain git and runs `git gc` and `engram maintain`. In the end every record that
was acknowledged must be in the store, the repository whole, and the servers must have as much memory and as many open
files as servers started anew on the same store and used for a while: a store that grows takes more. Prints these, and
ends with 1 where one of them does not hold.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

Samples = dict[
    str, list[tuple[float, int]]
]  # of each server: memory (MiB, without mapped files) and open files

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

from mcp_server import Server  # noqa: E402
from scratch_store import ROOT, isolate  # noqa: E402

PAUSE = 0.25  # seconds between two calls of a client: the machine is not the subject
SAMPLE = 5.0
TOPICS = (
    "queue",
    "cache",
    "deploy",
    "index",
    "schema",
    "login",
    "retry",
    "backup",
    "metric",
    "timer",
    "cursor",
    "parser",
)
Samples = dict[
    str, list[tuple[float, int]]
]  # of each server: memory (MiB, without mapped files) and open files
LEAST = 400  # calls of all clients, by which a new server has met all that it keeps
MOST_GROWTH, MOST_FILES = 1.25, 8  # of memory, and of open files


class Load:
    """What all clients share: when to stop, what was acknowledged, what failed."""

    def __init__(self, root: Path, seconds: float, least: int = 0) -> None:
        self.root, self.until, self.least = root, time.monotonic() + seconds, least
        self.lock = threading.Lock()
        self.recorded: dict[str, str] = {}
        self.calls: dict[str, int] = {}
        self.failures: list[str] = []
        self.edited: set[str] = set()  # marks written by hand

    @property
    def goes_on(self) -> bool:
        """Return whether there is time left, or fewer calls were made than should be at least."""
        return time.monotonic() < self.until or sum(self.calls.values()) < self.least

    def count(self, what: str) -> None:
        """Count a call."""
        with self.lock:
            self.calls[what] = self.calls.get(what, 0) + 1

    def fail(self, what: str) -> None:
        """Note what should not have happened."""
        with self.lock:
            self.failures.append(what[:300])

    def acknowledge(self, lore_id: str, mark: str) -> None:
        """Note a record that a server said it has."""
        with self.lock:
            self.recorded[lore_id] = mark


def text_of(source: random.Random, mark: str) -> str:
    """Return a text that no other says."""
    words = " ".join(source.sample(TOPICS, 5))
    return (
        f"{mark} keeps its {words} at {source.randrange(10**9)}.\n\nMeasured {source.randrange(10**6)} times."
    )


def over_mcp(load: Load, server: Server, number: int) -> None:
    source, count = random.Random(number), 0
    while load.goes_on:
        try:
            kind = source.random()
            if kind < 0.45:
                count += 1
                mark = f"mcp{number}-{count}"
                done = server.call("recall_record", content=text_of(source, mark), category="FACT")
                load.acknowledge(_id_of(done), mark)
                load.count("mcp record")
            elif kind < 0.9:
                found = server.call("recall_query", query=" ".join(source.sample(TOPICS, 3)))
                load.count("mcp query")
                if kind > 0.75 and found.get("lore"):
                    ref = found["lore"][0].get("ref") or found["lore"][0]["id"]
                    server.call("recall_feedback", helpful=[ref])
                    load.count("mcp feedback")
            else:
                server.call("recall_status")
                load.count("mcp status")
        except Exception as error:  # noqa: BLE001 - what goes wrong is the result
            load.fail(f"mcp{number}: {error!r}")
        time.sleep(PAUSE)


def _id_of(done: dict[str, Any]) -> str:
    found = re.search(r"\b0[0-9A-HJKMNP-TV-Z]{25}\b", json.dumps(done))
    assert found is not None, done
    return found[0]


class Api:
    """One client of `engram serve`."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Return the answer to a request. Raises RuntimeError where it is an error."""
        self._connection.request(
            method, f"/api/v1{path}", None if body is None else json.dumps(body), self._headers
        )
        answer = self._connection.getresponse()
        raw = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {raw[:200]!r}")
        return json.loads(raw) if raw else None


def over_http(load: Load, api: Api, number: int) -> None:
    source, count, own = random.Random(100 + number), 0, list[str]()
    while load.goes_on:
        try:
            kind = source.random()
            if kind < 0.4:
                count += 1
                mark = f"http{number}-{count}"
                done = api.ask("POST", "/lore", {"content": text_of(source, mark), "category": "FACT"})
                own.append(_id_of(done))
                load.acknowledge(own[-1], mark)
                load.count("http record")
            elif kind < 0.55 and own:
                api.ask("PATCH", f"/lore/{source.choice(own)}", {"tags": [source.choice(TOPICS)]})
                load.count("http edit")
            elif kind < 0.9:
                api.ask("POST", "/query", {"query": " ".join(source.sample(TOPICS, 3))})
                load.count("http query")
            else:
                api.ask("GET", "/lore?limit=20")
                load.count("http list")
        except Exception as error:  # noqa: BLE001
            load.fail(f"http{number}: {error!r}")
        time.sleep(PAUSE)


def behind_their_backs(load: Load) -> None:
    """Edit files by hand, commit with plain git, collect garbage."""
    source, count = random.Random(7), 0
    while load.goes_on:
        time.sleep(2)
        count += 1
        kind = count % 6
        try:
            if kind in (0, 1, 2):
                _edit_by_hand(load, source, f"byhand{count}")
            elif kind == 3:
                _git(load.root, "add", "lore", check=False)
                _git(load.root, "commit", "-q", "-m", "by hand", check=False)  # there may be nothing
                load.count("plain commit")
            elif kind == 4:
                _git(load.root, "gc", "-q", check=False)  # a lock may be held
                load.count("gc")
            else:
                _engram(load.root, "maintain")
                load.count("maintain")
        except Exception as error:  # noqa: BLE001
            load.fail(f"behind: {error!r}")


def _edit_by_hand(load: Load, source: random.Random, mark: str) -> None:
    path = source.choice(sorted((load.root / "lore").rglob("*.md")))
    # Appended, as an editor that does not read anew would not do: what a client writes meanwhile must not be lost.
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n{mark} was here.\n")
    load.edited.add(mark)
    load.count("hand edit")


def _git(root: Path, *words: str, check: bool = True) -> str:
    return subprocess.run(["git", *words], cwd=root, check=check, capture_output=True, text=True).stdout


def _engram(root: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "engram", *words], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1, 4):
        raise RuntimeError(f"engram {words[0]} ended with {done.returncode}: {done.stderr[:200]}")
    return done.stdout


def watch(load: Load, pids: dict[str, int], into: Samples) -> None:
    """Note memory and open files of the servers every few seconds."""
    while load.goes_on:
        for name, pid in pids.items():
            status = Path(f"/proc/{pid}/status").read_text()
            resident = re.search(r"RssAnon:\s+(\d+)", status)
            assert resident is not None
            into.setdefault(name, []).append((int(resident[1]) / 1024, len(os.listdir(f"/proc/{pid}/fd"))))
        time.sleep(SAMPLE)


def judge(load: Load, samples: Samples, anew: Samples) -> list[str]:
    """Return what does not hold; `anew` are samples of servers started after it."""
    wrong = list(load.failures[:10])
    _engram(load.root, "status")
    texts = {path: path.read_text(encoding="utf-8") for path in (load.root / "lore").rglob("*.md")}
    whole = "\n".join(texts.values())
    ids = set(re.findall(r"--([0-9A-Z]{26})\.md", "\n".join(map(str, texts))))
    ids |= set(re.findall(r"\b0[0-9A-HJKMNP-TV-Z]{25}\b", whole))  # folded into another: `merged_from`
    lost = {lore_id: mark for lore_id, mark in load.recorded.items() if lore_id not in ids}
    wrong += [f"lost: {mark} ({lore_id})" for lore_id, mark in list(lost.items())[:10]]
    for words in (("log", "-p", "--format=", "--", "lore"), ("fsck", "--full", "--no-dangling")):
        done = subprocess.run(["git", *words], check=False, cwd=load.root, capture_output=True)
        if done.returncode:
            wrong.append(f"git {words[0]}: {done.stderr.decode('utf-8', 'replace')[:300]}")
        whole += done.stdout.decode("utf-8", "replace")
    wrong += [f"a hand edit is nowhere: {mark}" for mark in load.edited if f"{mark} was" not in whole]
    for name, seen in samples.items():
        after = seen[len(seen) // 5 :]
        (memory, files), (end_memory, end_files), (fresh, fresh_files) = (
            _mean(part) for part in (after[:3], after[-3:], anew[name][-3:])
        )
        print(
            f"{name:7} memory {memory:.0f} → {end_memory:.0f} MiB (started anew: {fresh:.0f}),"
            f" open files {files:.0f} → {end_files:.0f} ({fresh_files:.0f})"
        )
        if end_memory > fresh * MOST_GROWTH + 5:
            wrong.append(f"{name} has {end_memory:.0f} MiB, started anew {fresh:.0f}")
        if end_files > fresh_files + MOST_FILES:
            wrong.append(f"{name} has {end_files:.0f} open files, started anew {fresh_files:.0f}")
    return wrong


def _mean(part: list[tuple[float, int]]) -> tuple[float, float]:
    memory, files = zip(*part, strict=True)
    return sum(memory) / len(part), sum(files) / len(part)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--entries", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="engram-load-", ignore_cleanup_errors=True) as folder:
        isolate(os.path.join(folder, "home"))
        os.environ |= {"PYTHONPATH": ROOT, "ENGRAM_TRACEBACK": "1"}
        return run(Path(folder) / "store", arguments.minutes, arguments.entries)


def run(root: Path, minutes: float, entries: int) -> int:
    root.mkdir()
    _engram(root, "init", "--placement", "dedicated")
    source = random.Random(1)
    rows = "".join(
        json.dumps({"content": text_of(source, f"first{number}"), "category": "FACT"}) + "\n"
        for number in range(entries)
    )
    (root.parent / "first.jsonl").write_text(rows)
    _engram(root, "import", str(root.parent / "first.jsonl"))
    load = Load(root, minutes * 60)
    samples = put(load, first=True)
    again = Load(root, minutes * 6, least=LEAST)
    anew = put(again, first=False)
    load.failures += again.failures
    load.recorded |= again.recorded
    wrong = judge(load, samples, anew)
    print(
        f"{minutes:g} min, {len(load.recorded)} records acknowledged; {json.dumps(dict(sorted(load.calls.items())))}"
    )
    for one in wrong:
        print(f"wrong: {one}")
    return 1 if wrong else 0


def put(load: Load, *, first: bool) -> Samples:
    """Start the servers, let the clients work, end the servers; returns what they took meanwhile."""
    token = "load-" + "".join(random.Random(2).choices("abcdef0123456789", k=40))
    serving = subprocess.Popen(
        [sys.executable, "-m", "engram", "serve", "--port", "0", "--rate", "0"],
        cwd=load.root, env={**os.environ, "ENGRAM_HTTP_TOKEN": token}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert serving.stdout is not None
    found = next(hit for line in serving.stdout if (hit := re.search(r"127\.0\.0\.1:(\d{4,5})\b", line)))
    servers = [Server(str(load.root)), Server(str(load.root))]
    samples: Samples = {}
    pids = {"mcp 1": servers[0].pid, "mcp 2": servers[1].pid, "serve": serving.pid}
    numbers = (1, 2) if first else (3, 4)  # so that no text is said again
    work = [
        *(
            threading.Thread(target=over_mcp, args=(load, server, at))
            for server, at in zip(servers, numbers, strict=True)
        ),
        *(threading.Thread(target=over_http, args=(load, Api(int(found[1]), token), at)) for at in numbers),
        threading.Thread(target=watch, args=(load, pids, samples)),
    ]
    if first:
        work.append(threading.Thread(target=behind_their_backs, args=(load,)))
    try:
        for one in work:
            one.start()
        for one in work:
            one.join()
    finally:
        for server in servers:
            server.__exit__()
        serving.send_signal(signal.SIGINT)
        serving.wait(20)
    return samples


if __name__ == "__main__":
    sys.exit(main())
