"""Measure the cost of a large ledger: `python benchmarks/judgements.py [--entries 100k] [--lines 1000k] [--keep FOLDER]`.

The judgements branch of a generated store has the ledgers of 20 clones, with a thousand lines per clone and month, over as many
months as needed; all with real git. Measures a vote in an open store; rebuilding the index without judgements, with a cache of
judgements and without one; and `engram sync` with new judgements on both sides, as a whole process with every git it starts, next
to a sync with nothing to do and to git's own fetch of the same objects.

`--years 10` instead measures a branch that grew for ten years: each clone commits 110 times a month, as clones do that sync all
day, git packs it, and one process reads all of it. Twenty clones write 24 GB of versions to pack; the ledgers of clones are packed
separately, so `--clones 2` gives an answer in minutes.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import generate
from figures import Figure, Group, against, describe_machine, report, timed
from measuring import Child, Cost, median, run
from run import SEED, compile_all, count_of, say
from scratch_store import PYTHON_PATH, git, isolate, write_lore

from engram.domain.entry import ulid
from engram.domain.judgements import ledger
from engram.domain.judgements.ledger import Judgement
from engram.domain.judgements.tally import without_accounts
from engram.usecases.opening.init import init

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BRANCH = "engram/judgements"
CLONES = 20
LINES = 1000  # per clone and month
COMMITS = 110  # per clone and month
JUDGED_ENTRIES = 10_000  # entries, over years
EDITED_SHARE = 0.3  # of the lines are about a text that was edited since
VOTES = 50
EntryDigest = tuple[str, str]  # an entry's id, and the digest of its words
NEW_PER_SIDE = 1000
_RUNS = 5
_LAST_SECOND = 28 * 86_400 - 1  # of commits in a month, so that no line seems to come from the past
_LAST_MONTH = 2026 * 12 + 9  # October 2026, counted from 0
_KINDS = [*["helpful"] * 12, *["not_relevant"] * 3, *["incorrect"] * 2, *["confirmed"] * 2, "retracted"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; always 0, since a missed target is a finding and not an error."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", default="100k", help="entries of the store (default: %(default)s)")
    parser.add_argument("--lines", default="1000k", help="judgements of them (default: %(default)s)")
    parser.add_argument("--years", type=int, default=0, help="measure a branch of this age instead")
    parser.add_argument(
        "--clones", type=int, default=CLONES, help="clones that wrote it (default: %(default)s)"
    )
    parser.add_argument("--keep", metavar="FOLDER", help="keep the generated store here and use it again")
    parser.add_argument("--output", help="also write the report to this file")
    options = parser.parse_args(arguments)
    entries, lines = count_of(options.entries), count_of(options.lines)
    with tempfile.TemporaryDirectory(prefix="engram-benchmark-") as temporary:
        isolate(os.path.join(temporary, "home"))
        os.environ["PYTHONPATH"] = PYTHON_PATH
        compile_all()
        if options.years:
            group = Group(
                f"{options.years} years of {options.clones} clones",
                years(os.path.join(temporary, "years"), options.years, options.clones),
            )
            command = f"python benchmarks/judgements.py --years {options.years} --clones {options.clones}"
            return _report(group, command, options.output)
        keep_folder = os.path.abspath(options.keep or temporary)
        source = prepare_store(keep_folder, entries, lines)
        scene = Scene(source, os.path.join(temporary, "scene"), entries)
        figures = list[Figure]()
        for measure in (scene.rebuilds, scene.votes, scene.syncs):
            figures += measure()
            print(*figures, sep="\n", file=sys.stderr, flush=True)  # the rest may take long
        group = Group(f"{entries:,} entries, {lines:,} judgements", figures)
        command = f"python benchmarks/judgements.py --entries {options.entries} --lines {options.lines}"
        return _report(group, command, options.output)


def _report(group: Group, command: str, output: str | None) -> int:
    text = report([group], describe_machine(), f"{datetime.now(UTC):%Y-%m-%d}", command)
    print(text)
    if output:
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


def years(root: str, count: int, clones: int) -> list[Figure]:
    """Measure a branch that clones wrote to for years: its packed size, and reading all of it once."""
    say(f"{count} years of {clones} clones: generating the branch")
    init(root)
    git(root, "config", "gc.auto", "0")
    made = (without_accounts(lore) for _, lore in generate.lore_files(JUDGED_ENTRIES, SEED))
    judged = [(lore.id, ledger.words_digest(lore)) for lore in made]  # the entries themselves are not needed
    fill_branch(root, judged, count * 12 * clones * LINES, COMMITS, clones)
    say(
        "git repack"
    )  # fast-import's one pack is not compressed like the loose objects of clones after `git gc`
    packed = run(["git", "repack", "-a", "-d", "-f", "-q"], root)
    assert packed.code == 0, packed.errors
    folder = os.path.join(root, ".git", "objects", "pack")
    pack = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    lines = sum(int(size) for size in git(root, "ls-tree", "-r", "--format=%(objectsize)", BRANCH).split())
    task = (
        "import sys; from engram.usecases.opening.open_store import open_store;"
        "from engram.usecases.store.store import Caller; from engram.usecases.store import judgements;"
        "store = open_store(sys.argv[1], Caller('benchmark', 'benchmark'));"
        "judgements.refresh(store); print(store.judgements.count())"
    )
    found = _checked(run([sys.executable, "-c", task, root], root))
    total = count * 12 * clones * LINES
    assert found.output.strip() == f"({total}, 0)", found.output
    share, seconds = pack / lines, found.cost.cpu_ms / 1000
    return [
        timed("`git repack -a -d -f` of all versions", packed.cost),
        against(
            Figure("Pack after it", more=f"{pack / 1e6:.1f} MB, of {lines / 1e6:.1f} MB of lines"),
            share,
            1.0,
            "of the lines",
        ),
        against(
            timed(f"Read all {total:,} judgements once", found.cost), seconds, 15.0 * clones / CLONES, "CPU-s"
        ),
    ]


def prepare_store(folder: str, entries: int, lines: int) -> str:
    """Return the store with that many judgements on its branch; make it unless it exists."""
    root = os.path.join(folder, f"judged-{entries}-{lines}")
    mark = f"{root}.made"
    if not os.path.exists(mark):
        say(f"{entries:,} entries and {lines:,} judgements: generating the store")
        shutil.rmtree(root, ignore_errors=True)
        init(root)
        for setting in ("gc.auto", "maintenance.auto"):  # nothing is packed while the store is copied
            git(root, "config", setting, "0")
        made = [(path, without_accounts(lore)) for path, lore in generate.lore_files(entries, SEED)]
        write_lore(root, made)
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", "Generated lore")
        fill_branch(root, [(lore.id, ledger.words_digest(lore)) for _, lore in made], lines)
        with open(mark, "w", encoding="ascii") as file:
            file.write(f"seed {SEED}\n")
    return root


def fill_branch(
    root: str, entries: Sequence[EntryDigest], lines: int, commits: int = 1, clones: int = CLONES
) -> None:
    """Write the ledgers of clones to the branch. With several commits per clone and month, nothing is packed as a delta."""
    months = -(-lines // (clones * LINES))
    words = ["git", "-C", root, "fast-import", "--quiet", *(["--depth=0"] if commits > 1 else [])]
    process = subprocess.Popen(words, stdin=subprocess.PIPE)
    assert process.stdin is not None
    for part in _commits(entries, months, commits, clones):
        process.stdin.write(part)
    process.stdin.close()
    assert process.wait() == 0


def _commits(entries: Sequence[EntryDigest], months: int, commits: int, clones: int) -> Iterator[bytes]:
    chance = random.Random(SEED)
    sources = [ulid.encode(1_700_000_000_000 + number, chance.getrandbits(80)) for number in range(clones)]
    first = True
    for month in range(_LAST_MONTH - months, _LAST_MONTH):
        month_start = int(datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC).timestamp() * 1000)
        for source in sources:
            made = [ledger.render(one) for one in month_of(entries, source, month_start, chance)]
            for number in range(commits):
                raw = b"".join(made[: len(made) * (number + 1) // commits])
                path = ledger.path_of(source, ulid.encode(month_start, 0))
                seconds = month_start // 1000 + _LAST_SECOND * (number + 1) // commits
                files = [(path, raw)]
                if first:
                    files.append((".gitattributes", b"* -text merge=union\n"))
                yield (
                    b"commit refs/heads/%s\ncommitter Benchmark <b@example.invalid> %d +0000\ndata 0\n"
                    % (BRANCH.encode(), seconds)
                )
                for name, data in files:
                    yield b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(data), data)
                first = False


def month_of(
    entries: Sequence[EntryDigest], source: str, month_start: int, chance: random.Random
) -> Iterator[Judgement]:
    """Yield the lines of a clone in the month that month_start at `month_start` (ms since 1970)."""
    last = ("", "")
    for number in range(LINES):
        line_id = ulid.encode(month_start + number * 2_400_000, chance.getrandbits(80))
        kind, (entry, text), of = chance.choice(_KINDS), chance.choice(entries), ""
        if chance.random() < EDITED_SHARE:
            text = f"{chance.getrandbits(48):012x}"
        if kind == "retracted" and last[0]:
            (of, entry), text = last, ""
        yield Judgement(line_id, entry, kind, of, text, "claude-code", source)
        last = (line_id, entry)


class Scene:
    """A copy of the store with a remote, in a folder of their own."""

    def __init__(self, source: str, folder: str, entries: int) -> None:
        self.here = os.path.join(folder, "here")
        self._folder, self._entries = folder, entries
        os.makedirs(folder)
        subprocess.run(["cp", "-a", "--reflink=auto", source, self.here], check=True)

    def rebuilds(self) -> list[Figure]:
        """Measure rebuilding the index without judgements, without the cache and with it."""
        git(self.here, "branch", "-m", BRANCH, "aside")
        self._rebuild()  # pays the costs of a first process
        plain = self._rebuild()
        git(self.here, "branch", "-m", "aside", BRANCH)
        found = [timed("Rebuild without judgements", plain)]
        for name, limit, fresh in (
            ("… reading all judgements anew", 6.0, True),
            ("… with the cache of those read before", 2.0, False),
        ):
            if fresh:
                for one in ("", "-wal", "-shm"):
                    path = os.path.join(self._state(), f"judgements.db{one}")
                    if os.path.exists(path):
                        os.unlink(path)
            cost = self._rebuild()
            extra = (cost.cpu_ms - plain.cpu_ms) / 1000
            found.append(against(timed(name, cost, f"{extra:.1f} CPU-s more"), extra, limit, "CPU-s more"))
        return found

    def votes(self) -> list[Figure]:
        """Measure a vote in an open store until it is acknowledged, and until an answer shows it."""
        say("votes")
        import engram

        acknowledged, shown = list[float](), list[float]()
        with engram.open(self.here, background=False, session="benchmark") as store:
            listed = [one.lore.id for one in store.list(limit=VOTES).lore]
            store.query("retry the broker")
            for lore_id in listed:
                began = time.perf_counter()
                store.feedback(helpful=lore_id)
                voted = time.perf_counter()
                counted = store.get(lore_id).lore.validation_count
                shown.append((time.perf_counter() - voted) * 1000)
                acknowledged.append((voted - began) * 1000)
                assert counted
        return [
            against(Figure(name, None, statistics.median(found)), statistics.median(found), 5, "ms")
            for name, found in (
                ("A vote in an open store, until it is acknowledged", acknowledged),
                ("… until an answer that shows it", shown),
            )
        ]

    def syncs(self) -> list[Figure]:
        """Measure syncs with new judgements on both sides, and syncs with nothing to do."""
        say("syncs")
        hub, there = os.path.join(self._folder, "hub.git"), os.path.join(self._folder, "there")
        git(self._folder, "init", "-q", "--bare", "-b", git(self.here, "branch", "--show-current"), hub)
        git(self.here, "remote", "add", "origin", hub)
        self._sync(self.here)
        git(self._folder, "clone", "-q", hub, there)
        self._sync(there)
        idle, full, bare = [], [], []
        for _ in range(_RUNS):
            idle.append(self._sync(self.here).cost)
            for root in (self.here, there):
                self._add_judgements(root)
            self._sync(there)
            bare.append(run(["git", "fetch", "-q", hub, f"{BRANCH}:refs/bare"], self.here).cost)
            git(self.here, "update-ref", "-d", "refs/bare")
            full.append(self._sync(self.here).cost)
            self._sync(there)
        without, done = median(idle), median(full)
        extra = Cost(done.cpu_ms - without.cpu_ms, done.wall_ms - without.wall_ms)
        return [
            timed("Sync, nothing to do", without),
            timed("`git fetch` of 1,000 judgements, alone", median(bare)),
            against(
                timed(f"Sync, {NEW_PER_SIDE:,} judgements each side, beside one with nothing to do", extra),
                extra.wall_ms,
                300,
                "ms",
            ),
        ]

    def _add_judgements(self, root: str) -> None:
        """Add a thousand lines, as that many votes do."""
        import engram
        from engram.usecases.store import judgements

        with engram.open(root, background=False, session="benchmark") as store:
            listed = itertools.islice(store.list(limit=NEW_PER_SIDE).lore, NEW_PER_SIDE)
            judgements.judge(store.store, [(one.lore, "helpful") for one in listed])
            store.refresh()

    def _sync(self, root: str) -> Child:
        task = (
            "import sys; from engram.usecases.opening.open_store import open_store;"
            "from engram.usecases.store.store import Caller; from engram.usecases.sync.sync import Options, sync;"
            "done = sync(open_store(sys.argv[1], Caller('benchmark', 'benchmark')), Options());"
            "assert done.errors == (), done.errors"
        )
        return _checked(run([sys.executable, "-c", task, root], self._folder))

    def _rebuild(self) -> Cost:
        say("rebuild")
        while True:
            done = _checked(run([sys.executable, "-m", "engram", "reindex", "--rebuild"], self.here))
            if done.output.startswith("Rebuilt"):
                return done.cost
            time.sleep(1)  # the background process of an earlier command is still running

    def _state(self) -> str:
        return os.path.join(self.here, ".git", "engram")


def _checked(child: Child) -> Child:
    if child.code:
        raise RuntimeError(f"the command failed ({child.code}): {child.errors[-2000:]}")
    return child


if __name__ == "__main__":
    sys.exit(main())
