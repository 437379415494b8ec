"""Put a mixed load on a store: `python tools/put_mixed_load.py [--minutes 5] [--entries 300]`.

Four clients (two over `engram mcp`, two over `engram serve`) record, query, judge and edit at the same time, while another
thread edits files by hand, commits with plain git and runs `git gc` and `engram maintain`. At the end, every acknowledged
record must be in the store, the repository must be intact, and the servers may have no more memory and open files than
servers started fresh on the same store and used for a while. Prints these figures, and exits with 1 if a check fails.
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

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

from mcp_server import Server
from scratch_store import ROOT, isolate

PAUSE = 0.25  # seconds between two calls of a client, as this is no test of speed
SAMPLE_SECONDS = 5.0
TOPICS = [
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
]
Samples = dict[str, list[tuple[float, int]]]  # by server: memory (MiB, without mapped files) and open files
FEWEST_CALLS = 400  # of all clients together, after which the caches of a fresh server are full
MAX_MEMORY_RATIO, MAX_MORE_FILES = 1.25, 8  # compared with a fresh server


class Load:
    """The shared state of all clients: when to stop, acknowledged records, failures."""

    def __init__(self, root: Path, seconds: float, fewest_calls: int = 0) -> None:
        self.root, self.end, self.fewest_calls = root, time.monotonic() + seconds, fewest_calls
        self.lock = threading.Lock()
        self.recorded: dict[str, str] = {}
        self.calls: dict[str, int] = {}
        self.failures: list[str] = []
        self.edited: set[str] = set()  # marks written by hand

    @property
    def is_running(self) -> bool:
        """Whether time is left, or fewer calls were made than `fewest_calls`."""
        return time.monotonic() < self.end or sum(self.calls.values()) < self.fewest_calls

    def count(self, what: str) -> None:
        """Count a call."""
        with self.lock:
            self.calls[what] = self.calls.get(what, 0) + 1

    def fail(self, what: str) -> None:
        """Note a failure."""
        with self.lock:
            self.failures.append(what[:300])

    def acknowledge(self, lore_id: str, mark: str) -> None:
        """Note an acknowledged record."""
        with self.lock:
            self.recorded[lore_id] = mark


def make_text(source: random.Random, mark: str) -> str:
    """Return a text that no other entry has."""
    words = " ".join(source.sample(TOPICS, 5))
    return (
        f"{mark} keeps its {words} at {source.randrange(10**9)}.\n\nMeasured {source.randrange(10**6)} times."
    )


def run_mcp_client(load: Load, server: Server, number: int) -> None:
    source, count = random.Random(number), 0
    while load.is_running:
        try:
            kind = source.random()
            if kind < 0.45:
                count += 1
                mark = f"mcp{number}-{count}"
                done = server.call("recall_record", content=make_text(source, mark), category="FACT")
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
        except Exception as error:  # noqa: BLE001 - errors are the result
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
        """Send a request and return the answer. Raises RuntimeError if it is an error."""
        self._connection.request(
            method, f"/api/v1{path}", None if body is None else json.dumps(body), self._headers
        )
        answer = self._connection.getresponse()
        raw = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {raw[:200]!r}")
        return json.loads(raw) if raw else None


def run_http_client(load: Load, api: Api, number: int) -> None:
    source, count, own = random.Random(100 + number), 0, list[str]()
    while load.is_running:
        try:
            kind = source.random()
            if kind < 0.4:
                count += 1
                mark = f"http{number}-{count}"
                done = api.ask("POST", "/lore", {"content": make_text(source, mark), "category": "FACT"})
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


def disturb(load: Load) -> None:
    """Edit files by hand, commit with plain git, collect garbage."""
    source, count = random.Random(7), 0
    while load.is_running:
        time.sleep(2)
        count += 1
        kind = count % 6
        try:
            if kind in (0, 1, 2):
                _edit_by_hand(load, source, f"byhand{count}")
            elif kind == 3:
                _git(load.root, "add", "lore", check=False)
                _git(
                    load.root, "commit", "-q", "-m", "by hand", check=False
                )  # there may be nothing to commit
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
    # Appended, so that the edit itself cannot undo what a client writes at the same time.
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


def watch(load: Load, pids: dict[str, int], samples: Samples) -> None:
    """Sample memory and open files of the servers every few seconds."""
    while load.is_running:
        for name, pid in pids.items():
            status = Path(f"/proc/{pid}/status").read_text()
            resident = re.search(r"RssAnon:\s+(\d+)", status)
            assert resident is not None
            samples.setdefault(name, []).append((int(resident[1]) / 1024, len(os.listdir(f"/proc/{pid}/fd"))))
        time.sleep(SAMPLE_SECONDS)


def check(load: Load, samples: Samples, fresh_samples: Samples) -> list[str]:
    """Return the failed checks; `fresh_samples` are of servers started afterwards."""
    failed = list(load.failures[:10])
    _engram(load.root, "status")
    texts = {path: path.read_text(encoding="utf-8") for path in (load.root / "lore").rglob("*.md")}
    history = "\n".join(texts.values())
    ids = set(re.findall(r"--([0-9A-Z]{26})\.md", "\n".join(map(str, texts))))
    ids |= set(re.findall(r"\b0[0-9A-HJKMNP-TV-Z]{25}\b", history))  # folded into another: `merged_from`
    lost = {lore_id: mark for lore_id, mark in load.recorded.items() if lore_id not in ids}
    failed += [f"lost: {mark} ({lore_id})" for lore_id, mark in list(lost.items())[:10]]
    for words in (("log", "-p", "--format=", "--", "lore"), ("fsck", "--full", "--no-dangling")):
        done = subprocess.run(["git", *words], check=False, cwd=load.root, capture_output=True)
        if done.returncode:
            failed.append(f"git {words[0]}: {done.stderr.decode('utf-8', 'replace')[:300]}")
        history += done.stdout.decode("utf-8", "replace")
    failed += [f"a hand edit is nowhere: {mark}" for mark in load.edited if f"{mark} was" not in history]
    for name, seen in samples.items():
        after = seen[len(seen) // 5 :]
        (memory, files), (end_memory, end_files), (fresh, fresh_files) = (
            _mean(part) for part in (after[:3], after[-3:], fresh_samples[name][-3:])
        )
        print(
            f"{name:7} memory {memory:.0f} → {end_memory:.0f} MiB (started anew: {fresh:.0f}),"
            f" open files {files:.0f} → {end_files:.0f} ({fresh_files:.0f})"
        )
        if end_memory > fresh * MAX_MEMORY_RATIO + 5:
            failed.append(f"{name} has {end_memory:.0f} MiB, started anew {fresh:.0f}")
        if end_files > fresh_files + MAX_MORE_FILES:
            failed.append(f"{name} has {end_files:.0f} open files, started anew {fresh_files:.0f}")
    return failed


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
        json.dumps({"content": make_text(source, f"first{number}"), "category": "FACT"}) + "\n"
        for number in range(entries)
    )
    (root.parent / "first.jsonl").write_text(rows)
    _engram(root, "import", str(root.parent / "first.jsonl"))
    load = Load(root, minutes * 60)
    samples = run_load(load, first=True)
    again = Load(root, minutes * 6, fewest_calls=FEWEST_CALLS)
    fresh_samples = run_load(again, first=False)
    load.failures += again.failures
    load.recorded |= again.recorded
    failed = check(load, samples, fresh_samples)
    print(
        f"{minutes:g} min, {len(load.recorded)} records acknowledged; {json.dumps(dict(sorted(load.calls.items())))}"
    )
    for one in failed:
        print(f"wrong: {one}")
    return 1 if failed else 0


def run_load(load: Load, *, first: bool) -> Samples:
    """Start the servers, run the clients, stop the servers, and return samples of these."""
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
    numbers = (1, 2) if first else (3, 4)  # so that texts differ from those of the first load
    work = [
        *(
            threading.Thread(target=run_mcp_client, args=(load, server, at))
            for server, at in zip(servers, numbers, strict=True)
        ),
        *(
            threading.Thread(target=run_http_client, args=(load, Api(int(found[1]), token), at))
            for at in numbers
        ),
        threading.Thread(target=watch, args=(load, pids, samples)),
    ]
    if first:
        work.append(threading.Thread(target=disturb, args=(load,)))
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
