"""What comparing lore found out the last time, kept in the state folder: a cache, made anew where it is damaged."""

from __future__ import annotations

import contextlib
import json
import os

from engram.adapters.files.durable import atomic
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store import sync_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy

    from engram.adapters.index.near import Terms
    from engram.usecases.store.store import Store

FORMAT = 3
_NAME = "pairs.npz"


class Kept(NamedTuple):
    """For each lore that was compared its mark and its terms; and the pairs found, as lists of plain values."""

    marks: list[str]
    terms: Terms
    pairs: list[list[object]]


def load(store: Store, model: str) -> Kept | None:
    """What is kept, if it is whole and was made with this model."""
    import io
    import zipfile

    from engram.adapters.index.near import Terms
    from engram.adapters.numeric import numpy_module

    with contextlib.suppress(
        EngramError, OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile
    ):
        file = io.BytesIO(atomic.read(_path(store)))
        with numpy_module().load(file, allow_pickle=False) as found:
            facts = json.loads(found["facts"].tobytes())
            terms = Terms(found["starts"], found["terms"])
        if (
            facts["format"] == FORMAT
            and facts["model"] == model
            and len(terms.starts) == len(facts["marks"]) + 1
        ):
            return Kept(facts["marks"], terms, facts["pairs"])
    return None


def save(store: Store, model: str, kept: Kept) -> None:
    """Keep it; where that cannot be written the next call compares again."""
    import io

    from engram.adapters.numeric import numpy_module

    np = numpy_module()
    facts = {"format": FORMAT, "model": model, "marks": kept.marks, "pairs": kept.pairs}
    raw = np.frombuffer(json.dumps(facts, ensure_ascii=False).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, facts=raw, starts=kept.terms.starts, terms=kept.terms.terms)
    with contextlib.suppress(EngramError), store.files.lock():
        sync_state.replace(_path(store), file.getvalue())


def place(marks: Sequence[str], kept: Kept | None) -> numpy.ndarray:
    """For each mark its place among the kept ones, -1 for one that is new."""
    from engram.adapters.numeric import numpy_module

    known = {mark: number for number, mark in enumerate(kept.marks)} if kept else {}
    found: numpy.ndarray = numpy_module().array([known.get(mark, -1) for mark in marks], dtype=int)
    return found


def _path(store: Store) -> str:
    return os.path.join(store.places.state, _NAME)
