"""Bringing the index in step with the files: one path, whether one file changed or all are new.

A rebuild is a refresh from nothing. Changes are noticed by the times of folders (cheap, every
time) and by the times of all files (a sweep: when there are few, when asked, or when due).
"""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index import file_scan, freshness
from engram.usecases.index.file_scan import Refreshed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.generation import Generation
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

    `thorough` looks at every file's time, and so does `sweep`; otherwise only as far as is cheap. `paths` are files
    known to have changed, and only they are looked at. `rebuild` (a reason) starts from nothing. Where much lore
    was replaced, a large index is made anew only for who asked to be `thorough`: the others wait for an answer.
    Raises IndexUnavailableError where the index cannot be written.
    """
    patient = bool(paths) or not thorough
    with store.lock:
        just_opened = store.index.generation is None
        generation = None if rebuild else store.index.look()
        if generation is not None and just_opened and generation.rules != freshness.rules(store):
            # Only when it is opened: two processes with different settings must not undo each other's work.
            rebuild = "the settings changed"
        elif generation is not None and just_opened and _is_of_another_model(store, generation, patient):
            rebuild = "it was made for another embedding model"
        elif generation is not None and not paths:
            freshness.watch(store, generation)
            thorough = thorough or sweep
            if not thorough and freshness.unchanged(store):
                return Refreshed()
            thorough = thorough or freshness.sweep_due(store, generation)
            if (
                not thorough
                and not freshness.heard(store)
                and not file_scan.folders_changed(store, generation)
            ):
                freshness.looked(store)
                return Refreshed()
        from engram.usecases.index.catch_up import catch_up  # mostly there is nothing to do

        return catch_up(store, thorough, paths, rebuild, progress, patient=patient)


def _is_of_another_model(store: Store, generation: Generation, patient: bool) -> bool:
    """Whether to make the index anew for the model in use. A large one goes on answering by words until somebody can wait.

    Without a model the words of any index will do.
    """
    if not generation.other_model or store.model is None:
        return False
    return not patient or generation.next_row - generation.dead <= freshness.SWEEP_ALWAYS
