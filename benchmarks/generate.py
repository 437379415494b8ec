"""Generate deterministic stores of engineering notes: `python benchmarks/generate.py FOLDER --count 10000 --seed 1`.

Entry number n of a seed is the same in every store, so a small store is the beginning of a large one.
Lengths are lognormal (median about 600 characters, at most 4,000), dates spread over two years.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING

import vocabulary
from scratch_store import FOLDER, make_plain, write_lore

from engram.domain.entry import ulid
from engram.domain.entry.categories import Categories
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import MAX_CONTENT, Lore, slug, title_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)
_PERIOD_SECONDS = 730 * 86_400
_MEDIAN_LENGTH, _LENGTH_SIGMA = 600, 0.75
_POOL_WORDS = 1 << 16
_CLONES = ("7Q2M4N8P", "K3J5H7G9", "X1Y2Z3W4")
_TAG_COUNT = 400

_TEMPLATES = (
    "The {0} {v} the {1} {s}.",
    "{0} {v} before the {1} of {2}, so {3} must come first.",
    "We saw `{0}` {s}: the {1} {v} and the {2} of {3} stays.",
    "Use {0} instead of {1} for {2}; {3} {v} otherwise.",
    "If {0} is {1}, {2} {v} without a word {s}.",
    "Set `{0}` to {n} — with the default the {1} {v} after {n2} seconds.",
    "`{0}` raises {1} when the {2} {v} {3} {s}.",
    "Cause: {0} and {1} share one {2}. Fix: give each {3} its own {4}.",
    "{0} costs {n} ms per {1}, {2} only {n2} ms, measured {s} with {3}.",
    "Do not take the {0} from {1}: {2} {v} it until the {3} ends.",
    "See {0}; the {1} of {2} says how {3} {v}, but not what {4} does {s}.",
    "Decided: {0} over {1}, because {2} {v} and nobody maintains {3}.",
)
_TITLES = (
    "{0} {v} {1}",
    "{0}: {1} and {2}",
    "How {0} {v} {1} {s}",
    "{0} fails with {1} {s}",
    "Prefer {0} to {1} for {2}",
)
_QUESTIONS = (
    "how do we handle {0} {1}",
    "{0} {1} {2}",
    "why does {0} fail {s}",
    "{0} {v} {1} with {2}",
    "what is the {0} of {1}",
    "{0} or {1} for {2}",
)


class Writer:
    """Makes the entries of one seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        random = Random(f"words of {seed}")
        self._pool = vocabulary.build(random).draw(random, _POOL_WORDS)
        self._categories = Categories()
        self._tags = vocabulary.names(random, _TAG_COUNT // 2) + vocabulary.TOOLS

    def lore(self, number: int) -> Lore:
        """Return the entry of this number."""
        random = Random(f"{self._seed} {number}")
        seconds = random.randrange(_PERIOD_SECONDS)
        lore_id = ulid.encode(
            int(_FIRST_DAY.timestamp() + seconds) * 1000 + number % 1000, random.getrandbits(80)
        )
        created = datetime.fromtimestamp(_FIRST_DAY.timestamp() + seconds, UTC)
        category = random.choice(self._categories.names)
        votes = self._votes(random)
        return Lore(
            lore_id,
            self._content(random),
            category,
            created,
            created,
            type=self._categories.type_of(category),
            prior=random.choice((500, 600, 700, 700, 700, 700, 800, 900)),
            votes=votes,
            last_validated=created if votes else None,
            context=(self._sentence(random, _TEMPLATES),) if random.random() < 0.3 else (),
            tags=tuple(dict.fromkeys(random.choices(self._tags, k=random.randint(0, 4)))),
            files=tuple(dict.fromkeys(vocabulary.paths(random, random.choice((0, 0, 1, 2))))),
            agent=random.choice(("human", "claude-code", "codex")),
            source_id=ulid.encode(0, self._seed),
        )

    def question(self, number: int) -> str:
        """Return a question in the words of entries: phrases, identifiers, errors, file paths."""
        return self._sentence(Random(f"question {self._seed} {number}"), _QUESTIONS)

    def _content(self, random: Random) -> str:
        length = min(
            MAX_CONTENT - 200, max(60, int(random.lognormvariate(math.log(_MEDIAN_LENGTH), _LENGTH_SIGMA)))
        )
        parts = [("# " if random.random() < 0.6 else "") + self._sentence(random, _TITLES)]
        size = len(parts[0])
        while size < length:
            part = self._block(random)
            parts.append(part)
            size += len(part) + 2
        return "\n\n".join(parts)[:MAX_CONTENT].rstrip()

    def _block(self, random: Random) -> str:
        """Return a paragraph, a list, some code, or an error as printed."""
        kind = random.random()
        if kind < 0.72:
            return " ".join(self._sentence(random, _TEMPLATES) for _ in range(random.randint(1, 4)))
        if kind < 0.86:
            return "\n".join("- " + self._sentence(random, _TEMPLATES) for _ in range(random.randint(2, 5)))
        words = self._words(random, 6)
        if kind < 0.95:
            return f"```python\nfor {words[0]} in {words[1]}:\n    {words[2]}({words[3]}, {words[4]}={random.randrange(99)})\n```"
        error, path = random.choice(self._pool), vocabulary.paths(random, 1)[0]
        return f'```\nFile "{path}", line {random.randrange(900)}, in {words[0]}\n{error}: {" ".join(words[1:])}\n```'

    def _sentence(self, random: Random, templates: Sequence[str]) -> str:
        return random.choice(templates).format(
            *self._words(random, 5),
            s=random.choice(vocabulary.SITUATIONS).strip(),
            v=random.choice(vocabulary.VERBS),
            n=random.randrange(1, 5000),
            n2=random.randrange(1, 300),
        )

    def _words(self, random: Random, count: int) -> list[str]:
        start = random.randrange(_POOL_WORDS - count)
        return self._pool[start : start + count]

    def _votes(self, random: Random) -> dict[str, Vote]:
        if random.random() < 0.75:
            return {}
        return {
            clone: Vote(80 * n, 0, n)
            for clone in _CLONES[: random.randint(1, 3)]
            for n in (random.randint(1, 2),)
        }


def lore_files(count: int, seed: int, first: int = 0) -> Iterator[tuple[str, Lore]]:
    """Yield the path (relative to the store) and entry of each number from `first` on."""
    writer = Writer(seed)
    for number in range(first, first + count):
        lore = writer.lore(number)
        yield f"{FOLDER}/{ulid.moment(lore.id):%Y/%m/%d}/{slug(title_of(lore.content))}--{lore.id}.md", lore


def questions(count: int, seed: int) -> list[str]:
    """Return `count` different questions."""
    writer = Writer(seed)
    found: dict[str, None] = {}
    number = 0
    while len(found) < count:
        found[writer.question(number)] = None
        number += 1
    return list(found)


def generate(root: str, count: int, seed: int) -> int:
    """Make a store outside git at `root`, which must not exist or be empty; returns its size in bytes."""
    make_plain(root)
    return write_lore(root, lore_files(count, seed))


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate one store and say how long it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    size = generate(os.path.abspath(options.folder), options.count, options.seed)
    print(f"{options.count:,} entries, {size / 1e6:.1f} MB, in {time.perf_counter() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
