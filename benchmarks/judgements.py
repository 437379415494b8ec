"""What a large ledger of judgements costs: `python benchmarks/judgements.py [--entries 100k] [--lines 1000k] [--keep FOLDER]`.

`--years 10` measures a branch that grew for so long instead: each clone commits 110 times a month, as clones do that sync
all day, git packs it, and one process reads all of it. Twenty clones write 24 GB of versions to be packed, so that
`--clones 2` gives an answer in minutes: the ledgers of clones are packed apart.

A generated store whose branch of judgements has the ledgers of 20 clones, a thousand lines a clone and month, so many
months as that takes; all with real git. Measured are a vote in an open store, rebuilding the index without judgements,
with the cache of those that were read before and without it, and `engram sync` with new judgements on both sides. That is
measured as a whole process with every git it starts; beside it stand a sync that finds nothing to do, and git's own fetch
and push of the same objects.
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
from scratch_store import ROOT, isolate, write_lore

from engram.domain.entry import ulid
from engram.domain.judgements import ledger
from engram.domain.judgements.ledger import Judgement
from engram.domain.judgements.tally import without_accounts
from engram.usecases.opening.init import init

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BRANCH = "engram/judgements"
CLONES = 20
LINES = 1000  # of a clone in a month
COMMITS = 110  # of a clone in a month
JUDGED = 10_000  # entries, over years
EDITED = 0.3  # of the lines judge words that were changed since
VOTES = 50
Judged = tuple[str, str]  # an entry, and the digest of its words
BOTH = 1000
_RUNS = 5
_LAST_SECOND = (
    28 * 86_400 - 1
)  # of a month in which it is committed, so that no line seems to come from the past
_LAST_MONTH = 2026 * 12 + 9  # October 2026, counted from 0
_KINDS = [*["helpful"] * 12, *["not_relevant"] * 3, *["incorrect"] * 2, *["confirmed"] * 2, "retracted"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; always 0, since a missed target is a finding and not an error."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", default="100k", help="entries of the store (default: %(default)s)")
    parser.add_argument("--lines", default="1000k", help="judgements of them (default: %(default)s)")
    parser.add_argument("--years", type=int, default=0, help="measure a branch of so many years instead")
    parser.add_argument("--clones", type=int, default=CLONES, help="that wrote it (default: %(default)s)")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the generated store here and use it again")
    parser.add_argument("--output", help="also write the report to this file")
    given = parser.parse_args(arguments)
    entries, lines = count_of(given.entries), count_of(given.lines)
    with tempfile.TemporaryDirectory(prefix="engram-benchmark-") as temporary:
        isolate(os.path.join(temporary, "home"))
        os.environ["PYTHONPATH"] = os.pathsep.join([ROOT, os.path.join(ROOT, "tui")])
        compile_all()
        if given.years:
            group = Group(
                f"{given.years} years of {given.clones} clones",
                years(os.path.join(temporary, "years"), given.years, given.clones),
            )
            command = f"python benchmarks/judgements.py --years {given.years} --clones {given.clones}"
            return _report(group, command, given.output)
        kept = os.path.abspath(given.keep or temporary)
        source = judged_store(kept, entries, lines)
        scene = Scene(source, os.path.join(temporary, "scene"), entries)
        figures = list[Figure]()
        for measure in (scene.rebuilds, scene.votes, scene.syncs):
            figures += measure()
            print(*figures, sep="\n", file=sys.stderr, flush=True)  # the rest may take long
        group = Group(f"{entries:,} entries, {lines:,} judgements", figures)
        command = f"python benchmarks/judgements.py --entries {given.entries} --lines {given.lines}"
        return _report(group, command, given.output)


def _report(group: Group, command: str, output: str | None) -> int:
    text = report([group], describe_machine(), f"{datetime.now(UTC):%Y-%m-%d}", command)
    print(text)
    if output:
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


def years(root: str, count: int, clones: int) -> list[Figure]:
    """Measure a branch that clones wrote to for years: what git packs it to, and reading all of it once."""
    say(f"{count} years of {clones} clones: generating the branch")
    init(root)
    git(root, "config", "gc.auto", "0")
    made = (without_accounts(lore) for _, lore in generate.lore_files(JUDGED, SEED))
    judged = [(lore.id, ledger.words_digest(lore)) for lore in made]  # the entries themselves are not there
    fill_branch(root, judged, count * 12 * clones * LINES, COMMITS, clones)
    say("git repack")  # as `git gc` packs the loose objects that clones leave, which one pack of all is not
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


def judged_store(folder: str, entries: int, lines: int) -> str:
    """Return the store with that many judgements on its branch, made anew unless it is there."""
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
    root: str, entries: Sequence[Judged], lines: int, commits: int = 1, clones: int = CLONES
) -> None:
    """Write the ledgers of clones to the branch; of several commits for each clone and month nothing is packed as a difference."""
    months = -(-lines // (clones * LINES))
    words = ["git", "-C", root, "fast-import", "--quiet", *(["--depth=0"] if commits > 1 else [])]
    process = subprocess.Popen(words, stdin=subprocess.PIPE)
    assert process.stdin is not None
    for part in _commits(entries, months, commits, clones):
        process.stdin.write(part)
    process.stdin.close()
    assert process.wait() == 0


def _commits(entries: Sequence[Judged], months: int, commits: int, clones: int) -> Iterator[bytes]:
    chance = random.Random(SEED)
    sources = [ulid.encode(1_700_000_000_000 + number, chance.getrandbits(80)) for number in range(clones)]
    first = True
    for month in range(_LAST_MONTH - months, _LAST_MONTH):
        begins = int(datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC).timestamp() * 1000)
        for source in sources:
            made = [ledger.render(one) for one in month_of(entries, source, begins, chance)]
            for number in range(commits):
                raw = b"".join(made[: len(made) * (number + 1) // commits])
                path = ledger.path_of(source, ulid.encode(begins, 0))
                seconds = begins // 1000 + _LAST_SECOND * (number + 1) // commits
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
    entries: Sequence[Judged], source: str, begins: int, chance: random.Random
) -> Iterator[Judgement]:
    """The lines of a clone in a month that begins then (ms)."""
    last = ("", "")
    for number in range(LINES):
        line_id = ulid.encode(begins + number * 2_400_000, chance.getrandbits(80))
        kind, (entry, text), of = chance.choice(_KINDS), chance.choice(entries), ""
        if chance.random() < EDITED:
            text = f"{chance.getrandbits(48):012x}"
        if kind == "retracted" and last[0]:
            (of, entry), text = last, ""
        yield Judgement(line_id, entry, kind, of, text, "claude-code", source)
        last = (line_id, entry)


class Scene:
    """The store with a remote, in a folder of their own."""

    def __init__(self, source: str, folder: str, entries: int) -> None:
        self.here = os.path.join(folder, "here")
        self._folder, self._entries = folder, entries
        os.makedirs(folder)
        subprocess.run(["cp", "-a", "--reflink=auto", source, self.here], check=True)

    def rebuilds(self) -> list[Figure]:
        """Rebuild the index without judgements, without the cache and with it."""
        git(self.here, "branch", "-m", BRANCH, "aside")
        self._rebuild()  # what only the first process pays
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
            beside = (cost.cpu_ms - plain.cpu_ms) / 1000
            found.append(against(timed(name, cost, f"{beside:.1f} CPU-s more"), beside, limit, "CPU-s more"))
        return found

    def votes(self) -> list[Figure]:
        """A vote in an open store: until it is acknowledged, and until the next answer shows it."""
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
        """Syncs with new judgements on both sides, beside syncs with nothing to do."""
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
                self._judge(root)
            self._sync(there)
            bare.append(run(["git", "fetch", "-q", hub, f"{BRANCH}:refs/bare"], self.here).cost)
            git(self.here, "update-ref", "-d", "refs/bare")
            full.append(self._sync(self.here).cost)
            self._sync(there)
        without, done = median(idle), median(full)
        beside = Cost(done.cpu_ms - without.cpu_ms, done.wall_ms - without.wall_ms)
        return [
            timed("Sync, nothing to do", without),
            timed("`git fetch` of 1,000 judgements, alone", median(bare)),
            against(
                timed(f"Sync, {BOTH:,} judgements each side, beside one with nothing to do", beside),
                beside.wall_ms,
                300,
                "ms",
            ),
        ]

    def _judge(self, root: str) -> None:
        """A thousand lines more, as that many votes leave them."""
        import engram
        from engram.usecases.store import judgements

        with engram.open(root, background=False, session="benchmark") as store:
            listed = itertools.islice(store.list(limit=BOTH).lore, BOTH)
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
            time.sleep(1)  # what an earlier command left to the background is still at it

    def _state(self) -> str:
        return os.path.join(self.here, ".git", "engram")


def git(folder: str, *words: str) -> str:
    """The output of git in a folder."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"git {' '.join(words[:4])}: {done.stderr.decode()[-500:]}")
    return os.fsdecode(done.stdout).rstrip("\n")


def _checked(child: Child) -> Child:
    if child.code:
        raise RuntimeError(f"it failed ({child.code}): {child.errors[-2000:]}")
    return child


if __name__ == "__main__":
    sys.exit(main())
