"""Record a few lessons of a transcript or document as pending entries, with their origin, for a person to review."""

from __future__ import annotations

import os
import stat

from engram.adapters.agents import transcript
from engram.domain.agents import fence
from engram.domain.agents.extraction import MOST, Extracted, Turn, extract, speaker_of, split_turns
from engram.domain.entry.lore import ACTIVE, PENDING
from engram.domain.errors import EngramError, NotFoundError, SecretFoundError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.recording import record as recording
from engram.usecases.similarity.near_duplicates import find_same, find_similar_or_by_text
from engram.usecases.store import judgements
from engram.usecases.store.code_repository import code_repository

if TYPE_CHECKING:
    from engram.usecases.recording.record import Draft, Recorded
    from engram.usecases.store.store import Store

MOST_BYTES = 32 * 1024 * 1024
CONFIDENCE = 0.5
NEW, RECORDED, KNOWN, REFUSED = "new", "recorded", "known", "refused"


class Outcome(NamedTuple):
    """The outcome for a candidate: `new` (dry run), `recorded`, `known` or `refused`; its id or that of its twin; the reason."""

    candidate: Extracted
    status: str
    id: str = ""
    why: str = ""


def extract_lore(
    store: Store, raw: bytes, name: str, *, most: int = MOST, dry_run: bool = False
) -> list[Outcome]:
    """Record at most `most` lessons of a transcript or document as pending entries; `name` is its origin.

    A lesson with a secret is refused, a known one is left out. Raises UsageError, StoreError.
    """
    if most < 1:
        raise UsageError(f"The limit must be at least 1, not {most}.")
    return [_keep(store, one, name, dry_run) for one in extract(_turns(raw), most)]


def read_source(path: str) -> bytes:
    """Read a file to extract from. Raises NotFoundError, and UsageError for one that is not regular or is too large."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            raise UsageError(
                f"{path} is not a regular file of at most {MOST_BYTES >> 20} MiB.",
                "Give the relevant part of it.",
            )
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None


def record_new(store: Store, draft: Draft) -> tuple[Recorded | None, str]:
    """Record a draft; if an entry says nearly the same, return its id instead, and confirm it if it says exactly that.

    Raises EngramError if the draft is refused.
    """
    lore, _ = recording.prepare(store, draft)
    twins = find_similar_or_by_text(store, lore)
    same = find_same(store, lore, [twin.path for twin in twins])
    if same is not None and same.lore.status == ACTIVE:
        judgements.confirm(store, same.lore, lore.agent, once=True)
    if same is not None or twins:
        return None, same.lore.id if same is not None else twins[0].id
    return recording.record(store, draft), ""


def _turns(raw: bytes) -> list[Turn]:
    """Return the turns of a transcript or document, without text that Engram itself had added."""
    texts = [(role, text) for role, kind, text in transcript.turns(raw) if kind == "text"]
    if texts:
        turns = [
            Turn(speaker_of(role), fence.remove_frames(text), f"message {number}")
            for number, (role, text) in enumerate(texts, 1)
        ]
        return [turn for turn in turns if not turn.text.lstrip().startswith("<")]
    text = fence.remove_frames(raw.decode("utf-8-sig", "replace"))
    if text.lstrip().startswith(("{", "[{")):
        return []  # a transcript in an unknown format
    return split_turns(text)


def _keep(store: Store, one: Extracted, name: str, dry_run: bool) -> Outcome:
    draft = recording.Draft(
        one.content,
        one.category if one.category in store.categories else "OBSERVATION",
        context=(f"Extracted from {name[:200]}, {one.where}",),
        confidence=CONFIDENCE,
        tags=one.tags,
        files=tuple(file for file in one.files if _is_here(store, file)),
        entities=one.entities,
        status=PENDING,
    )
    one = one._replace(category=draft.category, files=draft.files)
    try:
        if dry_run:
            lore, _ = recording.prepare(store, draft)
            twins = find_similar_or_by_text(store, lore)
            return Outcome(one, KNOWN, twins[0].id) if twins else Outcome(one, NEW)
        done, twin = record_new(store, draft)
    except SecretFoundError as error:
        hidden = one._replace(content="", files=(), entities=(), tags=())
        return Outcome(hidden, REFUSED, why=error.message)
    except EngramError as error:
        return Outcome(one, REFUSED, why=error.message)
    return Outcome(one, RECORDED, done.lore.id) if done else Outcome(one, KNOWN, twin)


def _is_here(store: Store, file: str) -> bool:
    """Return whether a file exists in the store's code repository; True if there is none."""
    repository = code_repository(store)
    return repository is None or os.path.lexists(os.path.join(repository.worktree, file))
