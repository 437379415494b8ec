"""Bring the index up to date with the files, in the same way whether one file changed or all are new.

A rebuild is a refresh of an empty index. Changes are detected by folder times (cheap, every time) and by the times of all
files (a sweep: in small stores, on request, or when due).
"""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index import file_scan, freshness
from engram.usecases.index.file_scan import Refreshed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.index import Generation
    from engram.usecases.index.catch_up import Progress
    from engram.usecases.store.store import Store


def refresh(
    store: Store,
    *,
    thorough: bool = True,
    sweep: bool = False,
    paths: Sequence[str] = (),
    rebuild: str = "",
    progress: Progress | None = None,
) -> Refreshed:
    """Bring the index up to date.

    `thorough` checks every file's time, and so does `sweep`; otherwise only cheap checks are made. `paths` are files
    known to have changed: only they are checked. `rebuild` (a reason) starts from an empty index. If much lore was
    replaced, a large index is rebuilt only for a `thorough` caller: the others are waiting for an answer.

    Raises IndexUnavailableError if the index cannot be written.
    """
    patient = bool(paths) or not thorough
    with store.lock:
        just_opened = store.index.generation is None
        generation = None if rebuild else store.index.look()
        if generation is not None and just_opened and generation.rules != freshness.settings_digest(store):
            # Only on opening: processes with different settings must not undo each other's work.
            rebuild = "the settings changed"
        elif generation is not None and just_opened and _must_rebuild_for_model(store, generation, patient):
            rebuild = "it was made for another embedding model"
        elif generation is not None and not paths:
            judgements_changed = freshness.judgements_changed(store, generation)
            freshness.start_watching(store, generation)
            thorough = thorough or sweep
            if not thorough and not judgements_changed and freshness.is_unchanged(store):
                return Refreshed()
            thorough = thorough or freshness.is_sweep_due(store, generation)
            if (
                not thorough
                and not judgements_changed
                and not freshness.has_reported_changes(store)
                and not file_scan.folders_changed(store, generation)
            ):
                freshness.mark_checked(store)
                return Refreshed()
        from engram.usecases.index.catch_up import catch_up  # imported late, as mostly nothing is to be done

        return catch_up(store, thorough, paths, rebuild, progress, patient=patient)


def _must_rebuild_for_model(store: Store, generation: Generation, patient: bool) -> bool:
    """Whether to rebuild the index for the current model. A large one answers from words until a caller can wait.

    Without a model, the words of any index are good enough.
    """
    if not generation.other_model or store.model is None:
        return False
    return not patient or generation.next_row - generation.dead <= freshness.SWEEP_ALWAYS
