"""Try upgrades and downgrades: `python tools/try_versions.py 100 300 650`, each a number of commits back or a revision.

Each older version is unpacked from git and run with this Python's packages: it makes a store and uses it, this version
reads the store and writes to it, the older one opens it and writes too, and this one reads it again. At each step, all
earlier data must be there, or the version must refuse the store in one sentence. Prints a table, and exits with 1 if
something is lost or a traceback is shown.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ENTRIES = 40
STORES = ("store", "there")  # ours, and a colleague's clone
RAW = re.compile(r"^Traceback|\[Errno|should not happen", re.MULTILINE)

Facts = dict[str, dict[str, Any]]


class RefusedError(Exception):
    """The version refuses this store; the message is its own."""


class Version(NamedTuple):
    """A checkout of Engram, and the folder with its users' homes and stores."""

    name: str
    code: Path
    root: Path

    def run(self, *words: str, at: str = "store", check: bool = True) -> str:
        """Return the output of a command. Raises RefusedError if it fails with a message, RuntimeError with a traceback."""
        done = subprocess.run(
            [sys.executable, "-m", "engram", *words], cwd=self.root / at, env=self._variables(at), capture_output=True,
            check=False, text=True,
        )  # fmt: skip
        output = done.stderr + done.stdout
        if RAW.search(output):
            raise RuntimeError(f"{self.name}: engram {' '.join(words)}: {output[-600:]}")
        if done.returncode and check:
            raise RefusedError(f"engram {words[0]}: {output.strip().splitlines()[0][:200]}")
        return done.stdout

    def json(self, *words: str) -> Any:
        """Return the JSON output of a command."""
        return json.loads(self.run(*words, "--json"))

    def _variables(self, at: str) -> dict[str, str]:
        home = self.root / f"home-{at}"
        places = {
            "HOME": ".",
            "XDG_CONFIG_HOME": "config",
            "XDG_DATA_HOME": "data",
            "XDG_STATE_HOME": "state",
        }
        found = {name: str(home / place) for name, place in places.items()}
        for who in ("AUTHOR", "COMMITTER"):
            found |= {f"GIT_{who}_NAME": at.title(), f"GIT_{who}_EMAIL": f"{at}@example.invalid"}
        return found | {
            "PATH": os.environ["PATH"], "PYTHONPATH": f"{self.code}{os.pathsep}{self.code / 'tui'}",
            "PYTHONDONTWRITEBYTECODE": "1", "GIT_CONFIG_NOSYSTEM": "1", "ENGRAM_SESSION": f"session-{at}",
            "ENGRAM_BACKGROUND": "inline", "ENGRAM_SYNC_SECONDS": "inf",
        }  # fmt: skip


def make_store(old: Version) -> None:
    """Make a store with a remote and a colleague's clone, with entries, votes, tags, settings, held entries and a session."""
    for name in STORES:
        (old.root / f"home-{name}").mkdir(parents=True)
        (old.root / name).mkdir()
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(old.root / "remote.git")], check=True)
    old.run("init", "--placement", "dedicated")
    rows = "".join(
        json.dumps({"content": f"Machine {number} of the depot is served every {number + 2} weeks.", "category": "fact"}) + "\n"
        for number in range(ENTRIES)
    )  # fmt: skip
    (old.root / "rows.jsonl").write_text(rows)
    old.run("import", "../rows.jsonl")
    old.run("remote", "add", "origin", "../remote.git")
    old.run("sync")
    (old.root / "there").rmdir()
    old.run("clone", "../remote.git", "../there")
    old.run("record", "The lathe is oiled by hand on Mondays.", "-c", "fact", at="there")
    old.run("sync", at="there")
    old.run("config", "trust.hold", "foreign", "--user")
    old.run("sync")
    old.run("config", "recall.limit", "7")
    old.run("record", "Only this session knows where the key lies.", "-c", "fact", "--scope", "session")
    with suppress(RefusedError):  # the oldest versions lack the command
        old.run("team", "observe", "The depot was closed, since the gate was frozen.")
    use_store(old, "older")


def use_store(version: Version, by: str) -> None:
    """Record, query, judge, edit, delete and undo."""
    text = f"The gate of {by} makes handlers idempotent, since brokers deliver twice."
    made = version.json("record", text, "-c", "fact", "--entity", "Kafka")["lore"]["id"]
    spare = version.json("record", f"A spare key of {by} hangs behind the boiler.", "-c", "fact")["lore"][
        "id"
    ]
    found = version.json("query", "which machine of the depot is served every 9 weeks")["lore"]
    machine = next(one["id"] for one in found if one["content"].startswith("Machine"))
    version.run("feedback", "--helpful", made)
    version.run("feedback", "--incorrect", machine)
    version.run("edit", made, "--add-tag", by)
    version.run("edit", machine, "--add-tag", "undone")
    version.run("undo")
    version.run("forget", spare, "--yes")


def read_facts(version: Version) -> Facts:
    """Return the facts that this version reads from the store, by kind and key."""
    listed = version.json("list", "--limit", "1000")["lore"]
    session = version.json("list", "--scope", "session", "--limit", "1000")["lore"]
    live = version.json("live", "--limit", "1000")["entries"]
    return {
        "entries": {one["id"]: (one["content"], one["category"]) for one in listed},
        "tags": {f"{one['id']} {tag}": True for one in listed for tag in one["tags"]},
        "votes": {one["id"]: one["votes"] for one in listed if one["votes"]},
        "held": {one["id"]: True for one in version.json("trust", "list")["held"]},
        "session": {one["id"]: one["content"] for one in session},
        "shown": dict(version.json("session")["session_refs"]),
        "activity": {f"{one['at']} {one['action']}": one["query"] for one in live},
        "settings": {"recall.limit": version.json("config", "recall.limit")["value"]},
        "history": {
            one["commit"]: one["subject"] for one in version.json("log", "--limit", "1000")["history"]
        },
    }


def find_lost(before: Facts, now: Facts, ignored: tuple[str, ...] = ()) -> list[str]:
    """Return the facts of `before` that are missing or different now, except for the kinds in `ignored`."""
    return [
        f"{kind}: {key} was {was!r}, is {now[kind].get(key)!r}"[:200]
        for kind, facts in before.items()
        for key, was in facts.items()
        if kind not in ignored and now[kind].get(key) != was
    ]


def read_step(
    verb: str, before: Facts | None, version: Version, ignored: tuple[str, ...] = ()
) -> tuple[Facts | None, str, list[str]]:
    """Return the facts that the version reads, a cell of the table, and lost facts."""
    try:
        now = read_facts(version)
    except RefusedError as refused:
        return None, f"refuses: {refused}", []
    lost = find_lost(before, now, ignored) if before else []
    count = ", ".join(
        f"{len(facts)} {kind}"
        for kind, facts in now.items()
        if kind in ("entries", "votes", "held", "history")
    )
    return now, f"{verb} {count}" + (f"; LOST {len(lost)}" if lost else ""), lost


# Facts that using a version changes: votes of the entries judged, and the refs shown.
CHANGES = ("votes", "shown")


def try_version(revision: str, place: Path) -> tuple[list[str], list[str]]:
    """Return the table row of a version, and lost facts."""
    commit = commit_of(revision)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    code, root = place / "code", place / "world"
    with tarfile.open(fileobj=io.BytesIO(archive)) as unpacked:
        unpacked.extractall(code, filter="data")
    root.mkdir()
    old, new = Version(f"{revision} ({commit[:8]})", code, root), Version("this version", ROOT, root)
    make_store(old)
    made_facts, made, lost = read_step("made", None, old)
    if made_facts is None or not all(made_facts.values()):
        empty = [kind for kind, facts in (made_facts or {}).items() if not facts]
        return [old.name, made], [f"the older version made no whole store: {empty}"]
    upgraded_facts, upgraded, newly_lost = read_step("reads", made_facts, new)
    lost += newly_lost
    use_store(new, "newer")
    written_facts, _, newly_lost = read_step("", upgraded_facts, new, CHANGES)
    lost += newly_lost
    kept_facts, downgraded, newly_lost = read_step(
        "reads", written_facts, old, ("votes", "tags", "activity", "shown", "history")
    )
    lost += newly_lost
    if kept_facts is not None:
        try:
            use_store(old, "again")
        except RefusedError as refused:
            downgraded += f"; refuses to write: {refused}"
    _, last, newly_lost = read_step("reads", written_facts, new, CHANGES)
    lost += newly_lost
    doctor = new.run("doctor", check=False).strip().splitlines()
    last += f"; doctor: {doctor[0][:80]}"
    return [old.name, made, upgraded, downgraded, last], lost


def commit_of(revision: str) -> str:
    """Return the commit of a revision, or of a number of commits back (as `git rev-list` counts)."""
    if revision.isdigit() and len(revision) < 6:
        words = ["rev-list", "--max-count=1", f"--skip={revision}", "HEAD"]
    else:
        words = ["rev-parse", f"{revision}^{{commit}}"]
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("versions", nargs="+")
    bad = 0
    print(
        "| older version | made by it | read by this version | then opened by it | read again by this version |"
    )
    print("|---|---|---|---|---|")
    for revision in parser.parse_args().versions:
        with tempfile.TemporaryDirectory(prefix="engram-versions-", ignore_cleanup_errors=True) as folder:
            row, lost = try_version(revision, Path(folder))
        print(f"| {' | '.join(row)} |", flush=True)
        for one in lost:
            print(f"lost: {one}")
        bad += len(lost)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
