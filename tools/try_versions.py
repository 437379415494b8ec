"""Upgrade and downgrade: `python tools/try_versions.py 100 300 650`, each a number of commits back or a revision.

For each older version, unpacked from git and run with this Python's packages: it makes a store and uses it, this version
reads the store and writes to it, the older one opens that and writes too, and this one reads it again. At each step what
was known before must be there, or the version must refuse in one sentence. Prints a table, and ends with 1 where something
is lost or a traceback is shown.
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
    """The version does not open this store; the message is what it says."""


class Version(NamedTuple):
    """A checkout of Engram and the folder that is its users' whole world."""

    name: str
    code: Path
    world: Path

    def run(self, *words: str, at: str = "store", check: bool = True) -> str:
        """Return what a command prints. Raises RefusedError where it fails with a sentence, RuntimeError without one."""
        done = subprocess.run(
            [sys.executable, "-m", "engram", *words], cwd=self.world / at, env=self._variables(at), capture_output=True,
            check=False, text=True,
        )  # fmt: skip
        said = done.stderr + done.stdout
        if RAW.search(said):
            raise RuntimeError(f"{self.name}: engram {' '.join(words)}: {said[-600:]}")
        if done.returncode and check:
            raise RefusedError(f"engram {words[0]}: {said.strip().splitlines()[0][:200]}")
        return done.stdout

    def json(self, *words: str) -> Any:
        """Return the JSON that a command prints."""
        return json.loads(self.run(*words, "--json"))

    def _variables(self, at: str) -> dict[str, str]:
        home = self.world / f"home-{at}"
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


def make(old: Version) -> None:
    """Make a store with a remote and a colleague, and use it: entries, votes, tags, settings, what is held, a session."""
    for name in STORES:
        (old.world / f"home-{name}").mkdir(parents=True)
        (old.world / name).mkdir()
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(old.world / "remote.git")], check=True)
    old.run("init", "--placement", "dedicated")
    rows = "".join(
        json.dumps({"content": f"Machine {number} of the depot is served every {number + 2} weeks.", "category": "fact"}) + "\n"
        for number in range(ENTRIES)
    )  # fmt: skip
    (old.world / "rows.jsonl").write_text(rows)
    old.run("import", "../rows.jsonl")
    old.run("remote", "add", "origin", "../remote.git")
    old.run("sync")
    (old.world / "there").rmdir()
    old.run("clone", "../remote.git", "../there")
    old.run("record", "The lathe is oiled by hand on Mondays.", "-c", "fact", at="there")
    old.run("sync", at="there")
    old.run("config", "trust.hold", "foreign", "--user")
    old.run("sync")
    old.run("config", "recall.limit", "7")
    old.run("record", "Only this session knows where the key lies.", "-c", "fact", "--scope", "session")
    with suppress(RefusedError):  # the oldest have no such command
        old.run("team", "observe", "The depot was closed, since the gate was frozen.")
    use(old, "older")


def use(version: Version, by: str) -> None:
    """Record, ask, judge, edit, delete and undo, as any day."""
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


def known(version: Version) -> Facts:
    """Return what this version knows of the store, by kind and key."""
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


def missing(before: Facts, now: Facts, but: tuple[str, ...] = ()) -> list[str]:
    """Return what was known before and is not now, or is another."""
    return [
        f"{kind}: {key} was {was!r}, is {now[kind].get(key)!r}"[:200]
        for kind, facts in before.items()
        for key, was in facts.items()
        if kind not in but and now[kind].get(key) != was
    ]


def step(
    does: str, before: Facts | None, version: Version, but: tuple[str, ...] = ()
) -> tuple[Facts | None, str, list[str]]:
    """Return what the version knows, a cell of the table, and what is lost."""
    try:
        now = known(version)
    except RefusedError as refused:
        return None, f"refuses: {refused}", []
    lost = missing(before, now, but) if before else []
    count = ", ".join(
        f"{len(facts)} {kind}"
        for kind, facts in now.items()
        if kind in ("entries", "votes", "held", "history")
    )
    return now, f"{does} {count}" + (f"; LOST {len(lost)}" if lost else ""), lost


# What a version writes between two looks changes by itself: votes and tags of what it judges, what was shown last.
CHANGES = ("votes", "shown")


def try_version(revision: str, place: Path) -> tuple[list[str], list[str]]:
    """Return the row of a version, and what was lost."""
    commit = commit_of(revision)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    code, world = place / "code", place / "world"
    with tarfile.open(fileobj=io.BytesIO(archive)) as unpacked:
        unpacked.extractall(code, filter="data")
    world.mkdir()
    old, new = Version(f"{revision} ({commit[:8]})", code, world), Version("this version", ROOT, world)
    make(old)
    first, made, lost = step("made", None, old)
    if first is None or not all(first.values()):
        empty = [kind for kind, facts in (first or {}).items() if not facts]
        return [old.name, made], [f"the older version made no whole store: {empty}"]
    seen, upgraded, gone = step("reads", first, new)
    lost += gone
    use(new, "newer")
    written, _, gone = step("", seen, new, CHANGES)
    lost += gone
    again, downgraded, gone = step("reads", written, old, ("votes", "tags", "activity", "shown", "history"))
    lost += gone
    if again is not None:
        try:
            use(old, "again")
        except RefusedError as refused:
            downgraded += f"; refuses to write: {refused}"
    _, last, gone = step("reads", written, new, CHANGES)
    lost += gone
    doctor = new.run("doctor", check=False).strip().splitlines()
    last += f"; doctor: {doctor[0][:80]}"
    return [old.name, made, upgraded, downgraded, last], lost


def commit_of(revision: str) -> str:
    """Return the commit of a revision, or the one so many commits back of all (`git rev-list`)."""
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
