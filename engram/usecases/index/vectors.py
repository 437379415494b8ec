"""Make missing vectors in batches, while queries are still answered."""

from __future__ import annotations

import contextlib
import os

from engram.adapters.embed.errors import EmbeddingError, EmbeddingUnavailableError
from engram.adapters.files.durable.lock import FileLock
from engram.adapters.files.frontmatter import codec
from engram.adapters.index.catalog import Waiting, texts_without_vectors
from engram.adapters.index.damage import DamagedIndexError, converting_damage
from engram.adapters.index.writer import GenerationWriter
from engram.domain.entry.lore import text_digest
from engram.domain.errors import EngramError
from engram.domain.text.passages import passages
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.note_text import indexed_text, markup_of

if TYPE_CHECKING:
    import numpy

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.index.index import Generation
    from engram.usecases.index.catch_up import Progress
    from engram.usecases.store.store import Store

_BATCH = 64
_LOCK_SECONDS = 30.0


class Filled(NamedTuple):
    """The numbers of entries that got vectors and that wait, and why these do ("": another process makes them, or none wait)."""

    done: int = 0
    left: int = 0
    trouble: str = ""


def can_make_vectors(store: Store) -> bool:
    """Whether vectors are missing, there is a model to make them, and no process is making them."""
    generation = store.index.generation
    if generation is None or not (generation.other_model or generation.waiting) or store.model is None:
        return False
    if store.meaning.is_aside:
        return False
    with contextlib.suppress(OSError), _fill_lock(store).tried() as is_free:
        return is_free
    return False


def make_vectors(store: Store, progress: Progress | None = None) -> Filled:
    """Make the missing vectors; call `progress` with (done, total). Stops at a failure of the model."""
    with store.lock:
        generation, model = store.index.look(), store.model
    if generation is None or model is None or generation.other_model or not generation.waiting:
        return Filled(left=generation.waiting if generation is not None else 0)
    try:
        with _fill_lock(store).tried() as held:
            if not held:
                return Filled(left=generation.waiting)
            return _make(store, model, generation.waiting, progress)
    except OSError as error:
        return Filled(left=generation.waiting, trouble=str(error.strerror or error))


def _make(store: Store, model: Embedder, total: int, progress: Progress | None) -> Filled:
    done, after = 0, -1
    while True:
        with store.lock:
            generation = store.index.look()
            if generation is None or generation.model != model.identity:
                return Filled(done)  # rebuilt by another process, which continues
            with converting_damage():
                batch = texts_without_vectors(generation.catalog, after, _BATCH)
                left = generation.waiting
        if not batch:
            return Filled(done, left)
        after = batch[-1].row
        try:
            done += _embed_batch(store, model, batch)
        except EmbeddingError as error:
            if not isinstance(error, EmbeddingUnavailableError):
                store.give_up_meaning(error)
            return Filled(done, left, f"{error.message} {error.hint}".strip())
        except DamagedIndexError as error:
            store.index.mark_damaged(str(error))
            return Filled(done)
        if progress is not None:
            progress(min(done, total), total)


def _embed_batch(store: Store, model: Embedder, batch: list[Waiting]) -> int:
    """Make and store the vectors of a batch; returns how many. The store is not locked while the model runs."""
    texts = {text_ref: _read_text(store, text_ref) for text_ref in batch}
    readable = {text_ref: text for text_ref, text in texts.items() if text is not None}
    parts = [passages(len(text)) for text in readable.values()]
    rows = model.embed_parts(list(readable.values()), parts)
    found: dict[Waiting, numpy.ndarray] = {}
    start = 0
    for text_ref, parts_count in zip(readable, parts, strict=True):
        count = 1 if parts_count == 1 else parts_count + 1
        found[text_ref] = rows[start : start + count]
        start += count
    return _store(store, model, found)


def _store(store: Store, model: Embedder, found: dict[Waiting, numpy.ndarray]) -> int:
    """Write the vectors of texts that still lack them, under the index's write lock."""
    lock = FileLock(os.path.join(store.index.folder, "writer.lock"))
    with store.lock, lock.tried(_LOCK_SECONDS) as held:
        generation = store.index.look() if found and held else None
        if generation is None or generation.model != model.identity:
            return 0
        remaining = _keep_waiting(generation, found)
        with GenerationWriter(generation, bulk=False) as writer:
            writer.fill({text_ref.row: found[text_ref] for text_ref in remaining})
            writer.commit({})
        return len(remaining)


def _keep_waiting(generation: Generation, found: dict[Waiting, numpy.ndarray]) -> list[Waiting]:
    with converting_damage():
        first, last = min(found).row, max(found).row
        still_waiting = set(texts_without_vectors(generation.catalog, first - 1, last - first + 1))
    return [text_ref for text_ref in found if text_ref in still_waiting]


def _read_text(store: Store, text_ref: Waiting) -> str | None:
    """Read a text that lacks vectors from its file; None if the file has another text now."""
    try:
        raw = store.files.read(text_ref.path)
        file = codec.read(raw, text_ref.path, store.categories, store.clock.now())
        text = indexed_text(file.lore, markup_of(store, text_ref.path, file))
    except EngramError:
        return None
    return text if text_digest(text) == text_ref.text_digest else None


def _fill_lock(store: Store) -> FileLock:
    return FileLock(os.path.join(store.index.folder, "vectors.lock"))
