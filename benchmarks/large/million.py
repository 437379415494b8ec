"""A store of a million entries: `python benchmarks/large/million.py make FOLDER [--count 1000000]`, then `rebuild`, `graph`, `ask`.

The texts are passages of the Python packages on this machine, each joined with part of another one, so that their vectors have
neighbourhoods as real texts have; random words have none. Entry number n is the same in every store that one machine
makes. `make` writes files and commits in batches and goes on where it was interrupted; the others print what it costs to
make the index, the graph over its vectors, and to ask. About 8 GB of disk for a million, an hour to make everything.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import time
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from measuring import Cost, cost_of, median, peak_mb, resident_mb, run
from scratch_store import FOLDER, isolate

from engram.adapters.files.frontmatter import codec
from engram.domain.entry import ulid
from engram.domain.entry.categories import Categories
from engram.domain.entry.lore import Lore, slug, title_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engram.app import Engram
    from engram.usecases.store.store import Store

_START = datetime(2016, 1, 1, tzinfo=UTC)
_SECONDS = 3650 * 86_400
_PASSAGES = 120_000
_SHORTEST, _LONGEST, _JOINED = 200, 520, 160  # characters
_BATCH = 20_000
_SEED = 1
_SOURCES = (".py", ".md", ".rst", ".txt", ".pyi")
_MOST_OF_A_FILE = 400_000
_TABLE = re.compile(r"\d+\D{1,3}\d+\D{1,3}\d+\D{1,3}\d+")
_QUESTIONS, _WARMING = 100, 12


def passages() -> list[str]:
    """Passages of Python's library and the packages beside it, each once, in an order of their own."""
    found: dict[str, None] = {}
    for path in _texts():
        with open(path, encoding="utf-8", errors="ignore") as file:
            text = file.read(_MOST_OF_A_FILE)
        passage = ""
        for block in text.split("\n\n"):
            passage = f"{passage}\n\n{block}".strip()
            if len(passage) >= _SHORTEST:
                if passage.isprintable() or not _TABLE.search(passage):
                    found[passage[:_LONGEST].replace("\0", "").strip()] = None
                passage = ""
    every = list(found)
    Random(_SEED).shuffle(every)
    return every[:_PASSAGES]


def _texts() -> Iterator[str]:
    paths = sysconfig.get_paths()
    for top in dict.fromkeys([paths["stdlib"], paths["purelib"], paths["platlib"]]):
        for folder, folders, names in os.walk(top):
            folders.sort()
            for name in sorted(names):
                if name.endswith(_SOURCES):
                    yield os.path.join(folder, name)


def entry(number: int, texts: Sequence[str], categories: Categories) -> Lore:
    """The entry of this number: one passage, and the beginning of another one."""
    random = Random(f"{_SEED} {number}")
    own, other = texts[number % len(texts)], texts[random.randrange(len(texts))]
    content = own if number < len(texts) else f"{own}\n\n{other[:_JOINED].rpartition(' ')[0]}"
    seconds = random.randrange(_SECONDS)
    created = datetime.fromtimestamp(_START.timestamp() + seconds, UTC)
    lore_id = ulid.encode(int(_START.timestamp() + seconds) * 1000 + number % 1000, random.getrandbits(80))
    category = random.choice(categories.names)
    return Lore(
        lore_id,
        content.strip(),
        category,
        created,
        created,
        type=categories.type_of(category),
        prior=random.choice((500, 600, 700, 800)),
        agent="human",
        source_id=ulid.encode(0, _SEED),
    )


def make(root: str, count: int) -> None:
    """Make the store, or what is missing of it."""
    if not os.path.exists(root):
        from engram.usecases.opening.init import init

        init(root)
    texts, categories = passages(), Categories()
    print(f"{len(texts):,} passages", flush=True)
    while (first := _committed(root)) < count:
        began = time.process_time()
        _add_batch(root, first, min(first + _BATCH, count), texts, categories)
        print(f"{min(first + _BATCH, count):,} entries, {time.process_time() - began:.1f} CPU-s", flush=True)
    subprocess.run(["git", "-C", root, "read-tree", "HEAD"], check=True)


def _committed(root: str) -> int:
    """How many entries are there, by the subject of the last commit."""
    found = _git(root, "log", "-1", "--format=%s", check=False)
    return int(found.split()[1]) if found.startswith("Entries ") else 0


def _git(root: str, *words: str, check: bool = True) -> str:
    return subprocess.run(
        ["git", "-C", root, *words], check=check, stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout.strip()


def _add_batch(root: str, first: int, after: int, texts: Sequence[str], categories: Categories) -> None:
    """Write the files of a batch, then commit them: a batch without its commit is written again."""
    branch = _git(root, "symbolic-ref", "HEAD")
    before = _git(root, "rev-parse", "--verify", "--quiet", "HEAD", check=False)
    command = ["git", "-C", root, "fast-import", "--quiet", "--depth=0", "--force"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as importing:
        assert importing.stdin is not None
        send = importing.stdin.write
        paths = []
        made: set[str] = set()
        for number in range(first, after):
            lore = entry(number, texts, categories)
            raw = codec.write_new(lore, categories)
            folder = f"{FOLDER}/{ulid.moment(lore.id):%Y/%m/%d}"
            path = f"{folder}/{slug(title_of(lore.content))}--{lore.id}.md"
            if folder not in made:
                os.makedirs(f"{root}/{folder}", exist_ok=True)
                made.add(folder)
            with open(f"{root}/{path}", "wb") as file:
                file.write(raw)
            send(b"blob\nmark :%d\ndata %d\n" % (number + 1, len(raw)) + raw)
            paths.append((path, number + 1))
        subject = f"Entries {after}".encode()
        send(
            b"commit %s\ncommitter Benchmark <b@example.invalid> %d +0000\n" % (branch.encode(), time.time())
        )
        send(b"data %d\n%s\n" % (len(subject), subject))
        if before:
            send(b"from %s\n" % before.encode())
        for path, mark in paths:
            send(b"M 100644 :%d %s\n" % (mark, path.encode()))
        importing.stdin.close()
        if importing.wait():
            raise SystemExit("git fast-import failed")


def opened(root: str) -> Store:
    """The store, as a program that stays opens it."""
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.store.store import Caller

    return open_store(root, Caller("benchmark", "benchmark"))


def rebuild(root: str) -> None:
    """What making the index anew costs."""
    from engram.usecases.index.refresh import refresh

    store = opened(root)
    spent = cost_of(lambda: print(refresh(store, rebuild="measured")))
    say("rebuild, without the graph", spent)
    say("a look at every file", cost_of(lambda: refresh(store)))
    store.close()


def graph(root: str) -> None:
    """What the graph over the vectors costs."""
    from engram.usecases.index.vector_graph import make_graph

    store = opened(root)
    made = []
    spent = cost_of(lambda: made.append(make_graph(store)))
    generation = store.index.generation
    say(f"graph ({made}, {generation.graph_file if generation else None})", spent)
    store.close()


def ask(root: str) -> None:
    """What questions cost, warm and cold, and how soon an edit is found."""
    import engram

    asked = questions(_QUESTIONS + _WARMING)
    with engram.open(root) as store:
        say("the first question", cost_of(lambda: store.query(asked[0], keep=False)))
        for question in asked[:_WARMING]:
            store.query(question, keep=False)
        vectors = store.store.index.generation.vectors  # type: ignore[union-attr]
        print(f"with a graph: {vectors.wait_for_graph() if vectors is not None else False}")
        for strategy in ("hybrid", "words"):
            costs = [
                cost_of(lambda q=question, s=strategy: store.query(q, strategy=s, keep=False))  # type: ignore[misc]
                for question in asked[_WARMING:]
            ]
            say(f"warm, {strategy}, median of {_QUESTIONS}", median(costs))
        edit(store, root, "edited by hand")
        for number in range(5):
            edit(store, root, f"edited by hand, again ({number})")
        for number in range(3):
            store.record(f"The marmot {time.time_ns():x} waits for relay {number}.", category="FACT")
            say(
                "a question after a record",
                cost_of(lambda: store.query("marmot waits for relay", keep=False)),
            )
        say("warm, hybrid, afterwards", cost_of(lambda: store.query(asked[1], keep=False)))
    for options in ([], ["--strategy", "words"]):
        command = [sys.executable, "-m", "engram", "query", asked[2], *options]
        costs = [run(command, root).cost for _ in range(3)]
        say(f"cold {' '.join(options) or 'hybrid'}", median(costs))


def edit(store: Engram, root: str, name: str) -> None:
    """Write one file in place and ask for what it says now."""
    top = os.path.join(root, FOLDER)
    folder = next(one.path for one in os.scandir(top) if one.is_dir())
    while any(one.is_dir() for one in os.scandir(folder)):
        folder = next(one.path for one in os.scandir(folder) if one.is_dir())
    path = max(one.path for one in os.scandir(folder))
    word = f"zebra{time.time_ns():x}"
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"\nThe {word} stays.\n")
    found = []
    spent = cost_of(
        lambda: found.append(store.query(f"what about the {word}", min_confidence=0.0, keep=False))
    )
    shown = any(word in one.lore.content for answer in found for one in answer.lore)
    say(f"{name}, found: {shown}", spent)


def questions(count: int) -> list[str]:
    """A few words in a row of different passages."""
    random = Random("questions")
    found = []
    for text in random.sample(passages(), 2 * count):
        words = re.findall(r"[A-Za-z_]{3,}", text)
        if len(words) > 12:
            at = random.randrange(len(words) - 8)
            found.append(" ".join(words[at : at + 6]))
    return found[:count]


def say(what: str, spent: Cost) -> None:
    """One line of the figures."""
    print(
        f"{what:<50} {spent.cpu_ms:>10.1f} CPU-ms {spent.wall_ms:>10.1f} ms   {resident_mb():.0f} MB, peak {peak_mb():.0f} MB",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Make or measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("make", *MEASURES))
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=1_000_000)
    given = parser.parse_args(arguments)
    folder = os.path.abspath(given.folder)
    os.makedirs(folder, exist_ok=True)
    isolate(os.path.join(folder, "home"))
    root = os.path.join(folder, "store")
    if given.what == "make":
        make(root, given.count)
    else:
        MEASURES[given.what](root)
    return 0


MEASURES: dict[str, Callable[[str], None]] = {"rebuild": rebuild, "graph": graph, "ask": ask}


if __name__ == "__main__":
    sys.exit(main())
