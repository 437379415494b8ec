"""Show matching captured entries to an agent: after all other entries, and each once a session."""

from __future__ import annotations

from itertools import islice

from engram.adapters.state.hook_memory import SHOWN, HookMemory
from engram.domain.agents.captured_notes import CapturedNote, fence_notes
from engram.domain.recall import ranking
from engram.domain.recall.budget import tokens
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.recall.captured_recall import MOST, find_captured
from engram.usecases.store import activity_log
from engram.usecases.store.captured import ORIGIN, describe_age

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store


def append_captured(store: Store, text: str, question: str, *, failures: bool = True) -> str:
    """Append to a hook's text the captured entries that match and are new to this session.

    Without `failures`, entries that only report the failure of a tool are left out.
    """
    notes = frame_captured(store, find_captured(store, question, failures=failures), question)
    return "\n".join(part for part in (text, notes) if part)


def frame_captured(store: Store, found: Sequence[Lore], question: str) -> str:
    """Frame the first captured entries that are new to this session, and mark them as shown."""
    memory, now = HookMemory(store.state), store.clock.now().timestamp()
    if not found or not memory.is_on_disk:
        return ""
    unseen = (lore for lore in found if memory.mark(SHOWN, store.caller.session, lore.id, now))
    new = list(islice(unseen, MOST))
    notes = fence_notes([note_of(store, lore) for lore in new])
    if notes:
        activity_log.note(
            store, activity_log.QUERY, query=question, strategy=ORIGIN, strength=ranking.WEAK,
            ids=[lore.id for lore in new], tokens=tokens(notes),
        )  # fmt: skip
    return notes


def note_of(store: Store, lore: Lore) -> CapturedNote:
    """Return a captured entry as it is shown."""
    return CapturedNote(lore.content, lore.category, describe_age(lore, store.clock.now()))
