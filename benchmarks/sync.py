"""How long a sync takes: `python benchmarks/sync.py [--sizes 10k,100k] [--keep FOLDER] [--output FILE]`.

A generated store, a bare remote and a second clone, all with real git on this machine's disk. Both clones change entries,
the second one pushes, and then `engram sync` in the first is measured as a whole process, including every git it starts. The
report also shows what git alone takes to fetch and push the same objects one after the other: no sync by git can take less.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from figures import Figure, Group, against, describe_machine, report, timed
from measuring import Cost, median, run
from run import compile_all, count_of, dedicated_store, say
from scratch_store import FOLDER, ROOT, isolate
from steady import ATTEMPTS, Steady, bare_python

from engram.adapters.files.frontmatter import codec
from engram.domain.entry.categories import Categories

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entry.lore import Lore

_TASK = """
import json, os, sys, time
from engram.usecases.opening.open_store import open_store
from engram.usecases.store.store import Caller
from engram.usecases.sync.sync import Options, sync

def spent():
    used = os.times()
    return [time.perf_counter(), sum(used[:4])]

began, stages = spent(), []
store = open_store(sys.argv[1], Caller("benchmark", "benchmark"))
done = sync(store, Options(), lambda what: stages.append([what, *spent()]))
stages.append(["end", *spent()])
assert done.errors == (), done.errors
print(json.dumps({"began": began, "stages": stages, "done": done.as_dict()}))
"""
_RUNS = 5


class Timed(NamedTuple):
    """One sync: its cost as a whole process, what it answered, and the cost of each stage."""

    cost: Cost
    done: dict[str, Any]
    stages: list[tuple[str, Cost]]


class Merged(NamedTuple):
    """A sync that merged, and git's own fetch and push of the same objects."""

    found: Timed
    fetch: Cost
    push: Cost


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; always 0, since a missed target is a finding and not an error."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10k,100k", help="store sizes (default: %(default)s)")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the generated stores here and use them again")
    parser.add_argument("--output", help="also write the report to this file")
    parser.add_argument(
        "--attempts", type=int, default=ATTEMPTS,
        help="how often what falls into a slow moment is measured at most (default: %(default)s)",
    )  # fmt: skip
    given = parser.parse_args(arguments)
    output = os.path.abspath(given.output) if given.output else ""
    with tempfile.TemporaryDirectory(prefix="engram-benchmark-") as temporary:
        isolate(os.path.join(temporary, "home"))
        _without_maintenance()
        os.environ["PYTHONPATH"] = os.pathsep.join([ROOT, os.path.join(ROOT, "tui")])
        compile_all()
        kept = os.path.abspath(given.keep or temporary)
        steady = Steady(lambda: bare_python(temporary), given.attempts)
        groups = [_size(kept, temporary, count_of(size), steady) for size in given.sizes.split(",")]
        command = f"python benchmarks/sync.py --sizes {given.sizes}"
        text = report(
            groups, [*describe_machine(), steady.summary()], f"{datetime.now(UTC):%Y-%m-%d}", command
        )
    print(text)
    if output:
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


def _without_maintenance() -> None:
    """Nothing is done beside what is measured."""
    folder = os.path.join(os.environ["XDG_CONFIG_HOME"], "engram")
    os.makedirs(folder)
    with open(os.path.join(folder, "config.toml"), "w", encoding="utf-8") as file:
        file.write("[maintain]\nauto = false\n")


def _size(kept: str, temporary: str, count: int, steady: Steady) -> Group:
    scene = Scene(dedicated_store(kept, count), os.path.join(temporary, f"scene-{count}"))
    say(f"{count:,} entries: first push")
    first = scene.sync()
    assert first.done["pushed"] >= count
    figures = [timed("First sync into an empty remote", first.cost, _shown(first))]
    scene.add_other()
    say(f"{count:,} entries: nothing to do")
    figures += steady(f"nothing to do at {count:,}", lambda: _no_op(scene))
    for both, limit in ((100, 1.0), (1000, 4.0)):
        if 2 * both <= count:
            say(f"{count:,} entries: {both} changed by both")
            name = f"{both:,} files changed here, the same {both:,} there"
            done: Merged = steady(f"{both:,} changed by both at {count:,}", lambda: scene.merged(both))  # noqa: B023 - called at once
            found = done.found
            figures.append(
                against(timed(name, found.cost, _shown(found)), found.cost.wall_ms / 1000, limit, "s")
            )
            bare = Cost(done.fetch.cpu_ms + done.push.cpu_ms, done.fetch.wall_ms + done.push.wall_ms)
            parts = f"wall ms: fetch {done.fetch.wall_ms:.0f}, push {done.push.wall_ms:.0f}"
            figures.append(
                timed("… bare git's fetch and push of the same, the remote's side included", bare, parts)
            )
    say(f"{count:,} entries: new ones come in")
    scene.edit_there(100)
    found = scene.sync()
    figures.append(timed("100 files changed there alone", found.cost, _shown(found)))
    scene.remove()
    return Group(f"{count:,} entries", figures)


def _no_op(scene: Scene) -> list[Figure]:
    scene.sync()
    whole = median([scene.sync().cost for _ in range(_RUNS)])
    fetch = median([run(["git", "fetch", "-q", "origin", "main"], scene.here).cost for _ in range(_RUNS)])
    beside = Cost(whole.cpu_ms - fetch.cpu_ms, whole.wall_ms - fetch.wall_ms)
    return [
        timed("Nothing to do, whole process", whole),
        timed("`git fetch` of it, alone", fetch),
        against(timed("Nothing to do, beside the fetch", beside), beside.wall_ms, 200, "ms"),
    ]


def _shown(found: Timed) -> str:
    """The stages of a sync with their wall time, git's own progress within one counted with it."""
    whole: dict[str, float] = {}
    for name, cost in found.stages:
        stage = name.partition(":")[0]
        whole[stage] = whole.get(stage, 0) + cost.wall_ms
    return f"wall ms: {', '.join(f'{name} {spent:.0f}' for name, spent in whole.items() if spent >= 10)}"


class Scene:
    """A store, its remote and another clone, in a folder of their own."""

    def __init__(self, source: str, folder: str) -> None:
        self.here, self.there = os.path.join(folder, "here"), os.path.join(folder, "there")
        self._folder, self._hub = folder, os.path.join(folder, "hub.git")
        self._fetching, self._pushed = (
            os.path.join(folder, "fetching.git"),
            os.path.join(folder, "pushed.git"),
        )
        os.makedirs(folder)
        subprocess.run(["cp", "-a", "--reflink=auto", source, self.here], check=True)
        _git(folder, "init", "-q", "--bare", "-b", _git(self.here, "branch", "--show-current"), self._hub)
        for setting in ("gc.auto", "maintenance.auto"):
            _git(self.here, "config", setting, "0")
        _git(self.here, "remote", "add", "origin", self._hub)
        _tidy(self.here)
        self._round = 0

    def add_other(self) -> None:
        """The clone whose changes come in; and, for git alone, a repository that fetches and one that is pushed to."""
        _git(self._folder, "clone", "-q", self._hub, self.there)
        for bare in (self._fetching, self._pushed):
            _git(self._folder, "clone", "-q", "--bare", self._hub, bare)
            for setting in ("gc.auto", "maintenance.auto"):
                _git(bare, "config", setting, "0")

    def sync(self) -> Timed:
        """`engram sync` here, as a process of its own."""
        child = run([sys.executable, "-c", _TASK, self.here], self._folder)
        if child.code:
            raise RuntimeError(f"the sync failed ({child.code}): {child.errors[-2000:]}")
        said = json.loads(child.output)
        marks = [["opening and committing", *said["began"]], *said["stages"]]
        stages = [
            (name, Cost((after[2] - cpu) * 1000, (after[1] - wall) * 1000))
            for (name, wall, cpu), after in pairwise(marks)
        ]
        return Timed(child.cost, said["done"], stages)

    def merged(self, count: int) -> Merged:
        """The sync after as many files were changed on both sides."""
        branch = _git(self.here, "branch", "--show-current")
        # As `engram sync` has it fetch: every object is looked at.
        words = ["git", "-c", "fetch.fsckObjects=true", "fetch", "-q", self._hub, f"{branch}:{branch}"]
        run(words, self._fetching)  # what came since the last time
        self.change(count)
        fetch = run(words, self._fetching)
        _git(self.there, "push", "-q", self._pushed, branch)
        found = self.sync()
        assert (found.done["merged"], found.done["conflicts"]) == (count, 0)
        push = run(["git", "push", "-q", self._pushed, branch], self.here)
        for done in (fetch, push):
            assert done.code == 0, done.errors
        return Merged(found, fetch.cost, push.cost)

    def change(self, count: int) -> None:
        """The same files are changed here and there, and pushed from there: a tag and a paragraph each."""
        paths = self._paths(count)
        for root, clone, end in ((self.here, 0, "start"), (self.there, 1, "end")):
            self._edit(root, paths, clone, end)
        _git(self.there, "push", "-q")
        _tidy(self.here)

    def edit_there(self, count: int) -> None:
        """Files are changed there alone."""
        _git(self.there, "pull", "-q", "--ff-only")
        self._edit(self.there, self._paths(count), 1, "end")
        _git(self.there, "push", "-q")

    def remove(self) -> None:
        """Make room for the next one."""
        shutil.rmtree(self._folder)

    def _paths(self, count: int) -> list[str]:
        """Files spread over the whole store, others in each round."""
        _git(self.there, "pull", "-q", "--ff-only")
        listed = _git(self.there, "ls-files", "-z", FOLDER).split("\0")
        lore = [path for path in listed if path.endswith(".md")]
        self._round += 1
        step = len(lore) // count
        return [lore[number * step + self._round % step] for number in range(count)]

    def _edit(self, root: str, paths: list[str], clone: int, end: str) -> None:
        for path in paths:
            absolute = os.path.join(root, *path.split("/"))
            with open(absolute, "rb") as file:
                raw = file.read()
            changed = codec.rewrite(
                found := codec.read(raw, path, Categories(), datetime.now(UTC)),
                _after(found.lore, clone, end),
                Categories(),
            )
            with open(absolute, "wb") as file:
                file.write(changed)
        _git(root, "commit", "-q", "-a", "-m", f"{len(paths)} changes")


def _after(lore: Lore, clone: int, end: str) -> Lore:
    stamp = lore.updated_at + timedelta(days=1 + clone)
    tagged = lore._replace(tags=(*lore.tags, f"seen-by-{clone}"), updated_at=stamp)
    if len(lore.content) > 3_900:  # no room for another paragraph
        return tagged
    text = f"Seen again.\n\n{lore.content}" if end == "start" else f"{lore.content}\n\nSeen elsewhere."
    return tagged._replace(content=text)


def _git(folder: str, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"git {' '.join(words[:4])}: {done.stderr.decode()[-500:]}")
    return os.fsdecode(done.stdout).rstrip("\n")


def _tidy(folder: str) -> None:
    """Bring index and git in step, as a command leaves a process behind to do."""
    import engram
    from engram.usecases.upkeep.background import tidy

    with engram.open(folder, background=False, session="benchmark") as store:
        tidy(store.store)


if __name__ == "__main__":
    sys.exit(main())
