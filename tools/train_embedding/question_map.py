"""Fits the map of questions for the provider `neural`: `python tools/train_embedding/question_map.py FILE [--only NAMES]`.

The map turns the bundled model's vector of a question into the transformer's space. It is learnt from pairs of the
bundled model's own sources, never from an evaluation set. docs/embedding.md says what each step does and why. Needs the
extra `train`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(os.path.dirname(_HERE)), _HERE]

import numpy as np  # noqa: E402
from sources import Pair, listed, pairs_of  # noqa: E402
from teacher import Teacher  # noqa: E402

from engram.adapters.embed.neural import MAPPED_SHARE  # noqa: E402
from engram.adapters.embed.provider import BUNDLED_FOLDER, open_embedder  # noqa: E402
from engram.adapters.embed.question_map import MATRIX, SCALES  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SEED = 0
_OF_A_SOURCE = 700  # pairs of one source, at most: no subject is to prevail
_HELD_OUT = 1500
_RIDGE = 10.0
_TINY = 1e-12
_BODY = 400  # characters of a longer text that the transformer reads: about an entry


class Read(NamedTuple):
    """Unit rows of the same pairs: short texts by the bundled model and by the transformer, longer ones by both."""

    static: NDArray[np.float32]
    titles: NDArray[np.float32]
    static_bodies: NDArray[np.float32]
    bodies: NDArray[np.float32]


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, report on pairs that were left out, and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", help="where the map is written")
    parser.add_argument(
        "--packages", default="packages", help="where packages are kept (default: %(default)s)"
    )
    parser.add_argument("--repositories", help="a folder with clones of the repositories in SOURCES.json")
    parser.add_argument("--only", default="", help="short names of sources, comma-separated (default: all)")
    given = parser.parse_args(arguments)
    with open(os.path.join(BUNDLED_FOLDER, "SOURCES.json"), encoding="utf-8") as file:
        sources = listed(json.load(file), [name for name in given.only.split(",") if name])
    random = np.random.default_rng(SEED)
    pairs: list[Pair] = []
    for source in sources:
        found = pairs_of(source, given.packages, given.repositories)
        chosen = random.permutation(len(found))[:_OF_A_SOURCE]
        pairs += [found[number] for number in sorted(chosen)]
        _say(f"{source.short}: {len(found):,} pairs, {len(chosen):,} chosen")
    pairs = [pairs[number] for number in random.permutation(len(pairs))]
    read = _read(pairs, given.packages)
    learnt, left = _cut(read, 0, len(pairs) - _HELD_OUT), _cut(read, len(pairs) - _HELD_OUT, len(pairs))
    found = ridge(learnt)
    _say(report(left, found))
    _save(given.file, found)
    return 0


def ridge(read: Read) -> NDArray[np.float32]:
    """The matrix that comes nearest to the transformer's vectors of all texts, (bundled dimensions, transformer's)."""
    given, wanted = (
        np.concatenate([read.static, read.static_bodies]),
        np.concatenate([read.titles, read.bodies]),
    )
    own = given.T @ given + _RIDGE * np.eye(given.shape[1], dtype=np.float32)
    found: NDArray[np.float32] = np.linalg.solve(own, given.T @ wanted)
    return found


def report(read: Read, matrix: NDArray[np.float32]) -> str:
    """How well each longer text is found among all by its short one: mean reciprocal rank by each way of asking."""
    mapped = read.static @ matrix
    mapped /= np.linalg.norm(mapped, axis=1, keepdims=True)
    bundled, asked = read.static @ read.static_bodies.T, mapped @ read.bodies.T
    ways = {
        "bundled": bundled,
        "mapped": asked,
        "both": MAPPED_SHARE * bundled + (1 - MAPPED_SHARE) * asked,
        "transformer": read.titles @ read.bodies.T,
    }
    return ", ".join(f"{name} {_reciprocal_rank(scores):.4f}" for name, scores in ways.items())


def _reciprocal_rank(scores: NDArray[np.float32]) -> float:
    ranks = 1 + (scores > np.diag(scores)[:, None]).sum(axis=1)
    return float((1 / ranks).mean())


def _cut(read: Read, start: int, end: int) -> Read:
    return Read(*[rows[start:end] for rows in read])


def _save(path: str, matrix: NDArray[np.float32]) -> None:
    """Write the map, a row for each number of the transformer's vectors: in numbers of one byte, each row with a scale."""
    from safetensors.numpy import save_file

    scales = np.abs(matrix.T).max(axis=1).clip(min=_TINY) / 127
    rows = np.rint(matrix.T / scales[:, None]).astype(np.int8)
    save_file({MATRIX: rows, SCALES: scales.astype(np.float32)}, path)
    os.chmod(path, 0o644)  # safetensors makes it for its owner alone


def _read(pairs: Sequence[Pair], packages: str) -> Read:
    """The vectors of pairs, made once: they are all of the work."""
    titles, bodies = [pair.title for pair in pairs], [pair.body for pair in pairs]
    key = hashlib.sha256("\0".join([*titles, *bodies]).encode("utf-8", "replace")).hexdigest()[:16]
    path = os.path.join(packages, f"read-{key}.npz")
    if not os.path.exists(path):
        _say(f"the transformer reads {len(pairs):,} pairs")
        bundled = open_embedder("bundled")
        assert bundled is not None
        teacher = Teacher(packages)
        made = Read(
            bundled.embed(titles),
            teacher.vectors(titles),
            bundled.embed([body[:_BODY] for body in bodies]),
            teacher.vectors(bodies, _BODY),
        )
        np.savez(path, **{name: rows.astype("float16") for name, rows in made._asdict().items()})
    with np.load(path) as file:
        return Read(*[file[name].astype("float32") for name in Read._fields])


def _say(what: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")


if __name__ == "__main__":
    sys.exit(main())
