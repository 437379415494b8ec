"""Rebuilds a static embedding model: `python tools/train_embedding/train.py FOLDER [--only NAMES] [--repositories FOLDER]`.

Writes a model2vec folder, with its card's facts in SOURCES.json. docs/embedding.md says what each step does and why.
Needs the extra `train`. With all sources of the bundled model: tens of minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import TYPE_CHECKING

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(os.path.dirname(_HERE)), _HERE]

import numpy as np  # noqa: E402
from contrast import Stage, train  # noqa: E402
from sources import Pair, Source, listed, pairs_of  # noqa: E402
from teacher import FILES, LICENCE, MODEL, MODEL_SHA256, Teacher, teacher_folder  # noqa: E402
from word_pieces import frequent_words, read_tokenizer, with_words, words_of  # noqa: E402

from engram.adapters.embed.model_files import derived_files  # noqa: E402
from engram.adapters.embed.provider import BUNDLED_FOLDER  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

DIMENSIONS = 256
SEED = 0
_TITLE_TOKENS, _BODY_TOKENS, _BODY_CHARACTERS = 32, 96, 900
_SIF = 1e-4
_FIRST = Stage(steps=1100, rate=2e-3, batch=768)
_SECOND = Stage(steps=400, rate=1e-3, batch=768, teacher_weight=3.0)
_TAUGHT = 13_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", help="where the model is written")
    parser.add_argument(
        "--packages", default="packages", help="where packages are kept (default: %(default)s)"
    )
    parser.add_argument("--repositories", help="a folder with clones of the repositories in SOURCES.json")
    parser.add_argument("--only", default="", help="short names of sources, comma-separated (default: all)")
    parser.add_argument(
        "--steps", type=int, default=_FIRST.steps, help="of the first stage (default: %(default)s)"
    )
    parser.add_argument(
        "--taught", type=int, default=_TAUGHT, help="pairs the teacher reads (default: %(default)s)"
    )
    given = parser.parse_args(arguments)
    with open(os.path.join(BUNDLED_FOLDER, "SOURCES.json"), encoding="utf-8") as file:
        sources = listed(json.load(file), [name for name in given.only.split(",") if name])
    found = {source: pairs_of(source, given.packages, given.repositories) for source in sources}
    found = {source: pairs for source, pairs in found.items() if pairs}
    _say(
        f"{sum(map(len, found.values())):,} pairs of {len(found)} sources ({len(sources) - len(found)} not there)"
    )
    settings, table = trained(found, given.packages, given.steps, given.taught)
    save(given.folder, settings, table, _card(found))
    _say(f"saved {given.folder}")
    return 0


def trained(
    found: dict[Source, list[Pair]], packages: str, steps: int, taught: int
) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """The tokenizer.json and the table of vectors that the pairs lead to."""
    from tokenizers import Tokenizer

    random = np.random.default_rng(SEED)
    teacher = Teacher(packages)
    pairs = [pair for some in found.values() for pair in some]
    settings = read_tokenizer(teacher_folder(packages))
    table = first_table(teacher, words_of(settings))
    settings, table = grown(settings, table, pairs)
    _say(f"{len(table):,} words")
    tokenizer = Tokenizer.from_str(json.dumps(settings))
    titles = _ids(tokenizer, [pair.title for pair in pairs], _TITLE_TOKENS)
    bodies = _ids(tokenizer, [pair.body[:_BODY_CHARACTERS] for pair in pairs], _BODY_TOKENS)
    of_source = np.repeat(np.arange(len(found)), [len(some) for some in found.values()])
    train(table, titles, bodies, of_source, _FIRST._replace(steps=steps), random, say=_say)
    numbers = random.choice(len(pairs), min(taught, len(pairs)), replace=False)
    _say(f"the teacher reads {len(numbers):,} pairs")
    sides = [teacher.vectors([texts[i] for i in numbers]) for texts in _sides(pairs)]
    second = _SECOND._replace(steps=steps * _SECOND.steps // _FIRST.steps)
    train(table, titles, bodies, of_source, second, random, (numbers, sides[0], sides[1]), _say)
    return settings, table


def first_table(teacher: Teacher, words: Sequence[str]) -> NDArray[np.float32]:
    """The teacher's vector of each word alone, its main directions, and less for frequent words (SIF by rank)."""
    vectors = teacher.vectors([word.removeprefix("##") for word in words])
    centred = vectors - vectors.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred)
    table = centred @ directions[:, np.argsort(values)[::-1][:DIMENSIONS]]
    share = 1 / np.arange(2, len(words) + 2)
    table *= (_SIF / (_SIF + share / share.sum()))[:, None]
    return (table / np.linalg.norm(table, axis=1).mean()).astype(np.float32)


def grown(
    settings: dict[str, Any], table: NDArray[np.float32], pairs: Sequence[Pair]
) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """Both with the frequent words of the pairs, each starting from the mean of its pieces."""
    from tokenizers import Tokenizer

    new = frequent_words(settings, pairs)
    if not new:
        return settings, table
    pieces = [one.ids for one in Tokenizer.from_str(json.dumps(settings)).encode_batch(new)]
    rows = np.stack([table[ids].mean(axis=0) for ids in pieces])
    return with_words(settings, [*words_of(settings), *new]), np.concatenate([table, rows])


def save(folder: str, settings: dict[str, Any], table: NDArray[np.float32], card: dict[str, Any]) -> None:
    """Write a model2vec folder with int8 vectors, and the files that Engram derives from it."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer

    scale = 127 / np.abs(table).max()
    vectors = np.rint(table * scale).astype(np.int8)
    StaticModel(vectors, Tokenizer.from_str(json.dumps(settings)), normalize=True).save_pretrained(folder)
    with open(os.path.join(folder, "SOURCES.json"), "w", encoding="utf-8") as file:
        json.dump(card, file, ensure_ascii=False, indent=1)
    os.chmod(os.path.join(folder, "model.safetensors"), 0o644)  # safetensors makes it for its owner alone
    for name, content in derived_files(folder).items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


def _card(found: dict[Source, list[Pair]]) -> dict[str, Any]:
    teacher = {"packages": [MODEL[0], FILES], "weights_sha256": MODEL_SHA256, "licence": LICENCE}
    sources = [
        {
            "source": source.name,
            "commit": source.commit or None,
            "licence": source.licence,
            "pairs": len(pairs),
        }
        for source, pairs in found.items()
    ]
    return {"teacher": teacher, "pairs_total": sum(map(len, found.values())), "sources": sources}


def _sides(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [pair.title for pair in pairs], [pair.body for pair in pairs]


def _ids(tokenizer: Any, texts: Sequence[str], most: int) -> list[NDArray[np.int32]]:
    """The first tokens of each text without the unknown ones; a text without any is the padding's row."""
    unknown = tokenizer.token_to_id("[UNK]")
    found = []
    for one in tokenizer.encode_batch(list(texts), add_special_tokens=False):
        ids = [number for number in one.ids if number != unknown][:most]
        found.append(np.array(ids or [0], np.int32))
    return found


def _say(what: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")


if __name__ == "__main__":
    sys.exit(main())
