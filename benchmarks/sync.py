"""Measure how long a sync takes: `python benchmarks/sync.py [--sizes 10k,100k] [--keep FOLDER] [--output FILE]`.

Uses a generated store, a bare remote and a second clone, with real git on this machine's disk. Both clones change entries, the
second one pushes, and then `engram sync` in the first is measured as a whole process, including every git it starts. The report
also has the time of bare git for fetching and pushing the same objects, which is the lower bound of a sync.
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
from scratch_store import FOLDER, PYTHON_PATH, git, isolate
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
    """A sync: its cost as a whole process, its result, and the cost of each stage."""

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
        help="most attempts at a measurement while the machine is slow (default: %(default)s)",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    output = os.path.abspath(options.output) if options.output else ""
    with tempfile.TemporaryDirectory(prefix="engram-benchmark-") as temporary:
        isolate(os.path.join(temporary, "home"))
        _without_maintenance()
        os.environ["PYTHONPATH"] = PYTHON_PATH
        compile_all()
        keep_folder = os.path.abspath(options.keep or temporary)
        steady = Steady(lambda: bare_python(temporary), options.attempts)
        groups = [
            _measure_size(keep_folder, temporary, count_of(size), steady) for size in options.sizes.split(",")
        ]
        command = f"python benchmarks/sync.py --sizes {options.sizes}"
        text = report(
            groups, [*describe_machine(), steady.summary()], f"{datetime.now(UTC):%Y-%m-%d}", command
        )
    print(text)
    if output:
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


def _without_maintenance() -> None:
    """Turn off automatic maintenance, which would disturb the measurements."""
    folder = os.path.join(os.environ["XDG_CONFIG_HOME"], "engram")
    os.makedirs(folder)
    with open(os.path.join(folder, "config.toml"), "w", encoding="utf-8") as file:
        file.write("[maintain]\nauto = false\n")


def _measure_size(keep_folder: str, temporary: str, count: int, steady: Steady) -> Group:
    scene = Scene(dedicated_store(keep_folder, count), os.path.join(temporary, f"scene-{count}"))
    say(f"{count:,} entries: first push")
    first = scene.sync()
    assert first.done["pushed"] >= count
    figures = [timed("First sync into an empty remote", first.cost, _list_stages(first))]
    scene.add_other()
    say(f"{count:,} entries: nothing to do")
    figures += steady(f"nothing to do at {count:,}", lambda: _measure_no_op(scene))
    for both, limit in ((100, 1.0), (1000, 4.0)):
        if 2 * both <= count:
            say(f"{count:,} entries: {both} changed by both")
            name = f"{both:,} files changed here, the same {both:,} there"
            done: Merged = steady(f"{both:,} changed by both at {count:,}", lambda: scene.measure_merge(both))  # noqa: B023 - called at once
            found = done.found
            figures.append(
                against(timed(name, found.cost, _list_stages(found)), found.cost.wall_ms / 1000, limit, "s")
            )
            bare = Cost(done.fetch.cpu_ms + done.push.cpu_ms, done.fetch.wall_ms + done.push.wall_ms)
            parts = f"wall ms: fetch {done.fetch.wall_ms:.0f}, push {done.push.wall_ms:.0f}"
            figures.append(
                timed("… bare git's fetch and push of the same, the remote's side included", bare, parts)
            )
    say(f"{count:,} entries: new ones come in")
    scene.edit_there(100)
    found = scene.sync()
    figures.append(timed("100 files changed there alone", found.cost, _list_stages(found)))
    scene.remove()
    return Group(f"{count:,} entries", figures)


def _measure_no_op(scene: Scene) -> list[Figure]:
    scene.sync()
    whole = median([scene.sync().cost for _ in range(_RUNS)])
    fetch = median([run(["git", "fetch", "-q", "origin", "main"], scene.here).cost for _ in range(_RUNS)])
    beside = Cost(whole.cpu_ms - fetch.cpu_ms, whole.wall_ms - fetch.wall_ms)
    return [
        timed("Nothing to do, whole process", whole),
        timed("`git fetch` of it, alone", fetch),
        against(timed("Nothing to do, beside the fetch", beside), beside.wall_ms, 200, "ms"),
    ]


def _list_stages(found: Timed) -> str:
    """List the stages of a sync with their wall time; git's progress counts for its stage."""
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
        self._fetching = os.path.join(folder, "fetching.git")
        self._pushed = os.path.join(folder, "pushed.git")
        os.makedirs(folder)
        subprocess.run(["cp", "-a", "--reflink=auto", source, self.here], check=True)
        git(folder, "init", "-q", "--bare", "-b", git(self.here, "branch", "--show-current"), self._hub)
        for setting in ("gc.auto", "maintenance.auto"):
            git(self.here, "config", setting, "0")
        git(self.here, "remote", "add", "origin", self._hub)
        _tidy(self.here)
        self._round = 0

    def add_other(self) -> None:
        """Add the clone whose changes come in and, for bare git, a repository that fetches and one to push to."""
        git(self._folder, "clone", "-q", self._hub, self.there)
        for bare in (self._fetching, self._pushed):
            git(self._folder, "clone", "-q", "--bare", self._hub, bare)
            for setting in ("gc.auto", "maintenance.auto"):
                git(bare, "config", setting, "0")

    def sync(self) -> Timed:
        """Run `engram sync` here in a process of its own. Raises RuntimeError."""
        child = run([sys.executable, "-c", _TASK, self.here], self._folder)
        if child.code:
            raise RuntimeError(f"the sync failed ({child.code}): {child.errors[-2000:]}")
        output = json.loads(child.output)
        marks = [["opening and committing", *output["began"]], *output["stages"]]
        stages = [
            (name, Cost((after[2] - cpu) * 1000, (after[1] - wall) * 1000))
            for (name, wall, cpu), after in pairwise(marks)
        ]
        return Timed(child.cost, output["done"], stages)

    def measure_merge(self, count: int) -> Merged:
        """Change `count` files on both sides, then measure a sync, and a fetch and push by bare git."""
        branch = git(self.here, "branch", "--show-current")
        # Check every object, as the fetch of `engram sync` does.
        words = ["git", "-c", "fetch.fsckObjects=true", "fetch", "-q", self._hub, f"{branch}:{branch}"]
        run(words, self._fetching)  # fetch what came since the last time
        self.change(count)
        fetch = run(words, self._fetching)
        git(self.there, "push", "-q", self._pushed, branch)
        found = self.sync()
        assert (found.done["merged"], found.done["conflicts"]) == (count, 0)
        push = run(["git", "push", "-q", self._pushed, branch], self.here)
        for done in (fetch, push):
            assert done.code == 0, done.errors
        return Merged(found, fetch.cost, push.cost)

    def change(self, count: int) -> None:
        """Add a tag and a paragraph to the same files here and there, and push from there."""
        paths = self._paths(count)
        for root, clone, end in ((self.here, 0, "start"), (self.there, 1, "end")):
            self._edit(root, paths, clone, end)
        git(self.there, "push", "-q")
        _tidy(self.here)

    def edit_there(self, count: int) -> None:
        """Change files there alone, and push."""
        git(self.there, "pull", "-q", "--ff-only")
        self._edit(self.there, self._paths(count), 1, "end")
        git(self.there, "push", "-q")

    def remove(self) -> None:
        """Remove the folder, to make room for the next one."""
        shutil.rmtree(self._folder)

    def _paths(self, count: int) -> list[str]:
        """Return paths spread over the whole store, different ones in each round."""
        git(self.there, "pull", "-q", "--ff-only")
        listed = git(self.there, "ls-files", "-z", FOLDER).split("\0")
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
                _edit_lore(found.lore, clone, end),
                Categories(),
            )
            with open(absolute, "wb") as file:
                file.write(changed)
        git(root, "commit", "-q", "-a", "-m", f"{len(paths)} changes")


def _edit_lore(lore: Lore, clone: int, end: str) -> Lore:
    stamp = lore.updated_at + timedelta(days=1 + clone)
    tagged = lore._replace(tags=(*lore.tags, f"seen-by-{clone}"), updated_at=stamp)
    if len(lore.content) > 3_900:  # no room for another paragraph
        return tagged
    text = f"Seen again.\n\n{lore.content}" if end == "start" else f"{lore.content}\n\nSeen elsewhere."
    return tagged._replace(content=text)


def _tidy(folder: str) -> None:
    """Bring index and git in step, as the background process of a command does."""
    import engram
    from engram.usecases.upkeep.background import tidy

    with engram.open(folder, background=False, session="benchmark") as store:
        tidy(store.store)


if __name__ == "__main__":
    sys.exit(main())
