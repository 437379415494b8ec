"""Bring the index up to date with the files: the same way whether one file changed or all are new.

A rebuild is a refresh from nothing. Changes are noticed by the times of folders (cheap, every time) and by the times of
all files (a sweep: in small stores, on request, or when due).
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

    `thorough` checks every file's time, and so does `sweep`; otherwise only what is cheap is checked. `paths` are
    files known to have changed: only they are checked. `rebuild` (a reason) starts from nothing. If much lore was
    replaced, a large index is rebuilt only for a `thorough` caller: the others wait for an answer.

    Raises IndexUnavailableError if the index cannot be written.
    """
    patient = bool(paths) or not thorough
    with store.lock:
        just_opened = store.index.generation is None
        generation = None if rebuild else store.index.look()
        if generation is not None and just_opened and generation.rules != freshness.settings_digest(store):
            # Only when it is opened: two processes with different settings must not undo each other's work.
            rebuild = "the settings changed"
        elif generation is not None and just_opened and _is_of_another_model(store, generation, patient):
            rebuild = "it was made for another embedding model"
        elif generation is not None and not paths:
            judged = freshness.is_judged_since(store, generation)
            freshness.start_watching(store, generation)
            thorough = thorough or sweep
            if not thorough and not judged and freshness.is_unchanged(store):
                return Refreshed()
            thorough = thorough or freshness.is_sweep_due(store, generation)
            if (
                not thorough
                and not judged
                and not freshness.has_reported_changes(store)
                and not file_scan.folders_changed(store, generation)
            ):
                freshness.mark_checked(store)
                return Refreshed()
        from engram.usecases.index.catch_up import catch_up  # mostly there is nothing to do

        return catch_up(store, thorough, paths, rebuild, progress, patient=patient)


def _is_of_another_model(store: Store, generation: Generation, patient: bool) -> bool:
    """Test whether to rebuild the index for the model in use; a large one answers by words until somebody can wait.

    Without a model the words of any index will do.
    """
    if not generation.other_model or store.model is None:
        return False
    return not patient or generation.next_row - generation.dead <= freshness.SWEEP_ALWAYS
