"""Conversations: the parts of a session between long pauses, each with a summary that is kept as an entry.

A new summary within a conversation replaces the previous one. After a pause of more than half an hour, or if the caller
starts a new conversation, it becomes an entry of its own that names the previous one as its parent.
"""

from __future__ import annotations

import re

from engram.adapters.files.frontmatter import further_keys
from engram.domain.entry.lore import ACTIVE, Lore, check_content
from engram.domain.errors import EngramError, ValidationError
from engram.domain.graph.team import SUMMARY, SessionKeys, is_ongoing
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import query_index
from engram.usecases.recording import record as recording
from engram.usecases.recording.admission_policy import admit_change, author_of
from engram.usecases.store import activity_log, entry_writer
from engram.usecases.store.quarantine import without_quarantined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.adapters.index.catalog import Hit
    from engram.usecases.store.store import Store

_LATEST = 50  # summaries that are searched for a session's own


class Conversation(NamedTuple):
    """The summary of a conversation: its entry, its path, and its session; `new` if this call began the conversation.

    `pending` says why the summary waits for review; "" if it does not.
    """

    lore: Lore
    path: str
    keys: SessionKeys
    new: bool = False
    pending: str = ""


def summarize(
    store: Store,
    summary: str,
    *,
    participants: Sequence[str] = (),
    files: Sequence[str] = (),
    new: bool = False,
) -> Conversation:
    """Record the summary of the caller's current conversation; `new` begins another one.

    The caller counts as a participant. Raises ValidationError, SecretFoundError, NotAllowedError, StoreError.
    """
    content = recording.normalize_content(summary)
    check_content(content)
    entry_writer.refuse_secrets(store, "the summary", content, *participants, *files)
    with store.lock:
        latest = latest_of(store, store.caller.session)
        here = tuple(dict.fromkeys(name for name in (store.caller.agent, *participants) if name))
        if any(len(name) > 200 or not name.isprintable() for name in here):
            raise ValidationError("participants", "A participant is a name on one line.", "For example: ada")
        if latest is not None and not new and _is_open(store, latest):
            return _replace_summary(store, latest, content, here, files)
        keys = SessionKeys(store.caller.session, latest.lore.id if latest else "", here)
        draft = recording.Draft(content, SUMMARY, files=tuple(files), keys=keys._asdict())
        done = recording.record(store, draft)
        return Conversation(done.lore, done.path, keys, True, done.why)


def latest_of(store: Store, session: str) -> Conversation | None:
    """Return the latest summary of a session; None if it has none."""
    where = "category = ? AND status IN ('active', 'pending')"
    summaries = [hit for hit in _select(store, where, [SUMMARY]) if _may_name(store, hit, session)]
    return next((one for one in _load_all(store, summaries) if one.keys.session == session), None)


def recent(store: Store, limit: int, since: float = 0.0) -> list[Conversation]:
    """Return the latest active summaries that changed after `since` (Unix seconds), the newest first."""
    where = "category = ? AND status = ? AND updated_at > ?"
    found = _load_all(store, without_quarantined(store, _select(store, where, [SUMMARY, ACTIVE, since])))
    return [one for one, _ in zip(found, range(limit), strict=False)]


def keys_of(file: LoreFile, path: str) -> SessionKeys:
    """Return the session keys in the file of a summary. Raises LoreFileError."""
    keys, _ = further_keys.read(file.raw, path)
    return SessionKeys(
        further_keys.text_of(keys.get("session")),
        further_keys.text_of(keys.get("parent")),
        further_keys.words_of(keys.get("participants", "")),
    )


def _select(store: Store, where: str, values: Sequence[object]) -> list[Hit]:
    tail = f"ORDER BY updated_at DESC, id DESC LIMIT {_LATEST}"
    return query_index(store, lambda generation: generation.catalog.select(where, values, tail))


def _may_name(store: Store, hit: Hit, session: str) -> bool:
    """Return whether a file contains the longest part of a session's name that no quoting changes, to skip parsing most."""
    part = max(re.findall("[A-Za-z0-9]+", session), key=len, default="")
    return part.encode() in (store.files.read_if_possible(hit.path) or b"")


def _load_all(store: Store, hits: Sequence[Hit]) -> Iterator[Conversation]:
    for hit in hits:
        try:
            file = entry_writer.load(store, hit.path)
            if file.lore.id == hit.id:
                yield Conversation(file.lore, hit.path, keys_of(file, hit.path))
        except EngramError:
            continue


def _is_open(store: Store, latest: Conversation) -> bool:
    """Return whether the conversation of that summary continues."""
    last, now = latest.lore.updated_at.timestamp(), store.clock.now().timestamp()
    return is_ongoing(store.session_state.live.moments_of(store.caller.session, last), last, now)


def _replace_summary(
    store: Store, latest: Conversation, content: str, here: Sequence[str], files: Sequence[str]
) -> Conversation:
    entry_writer.check_allowed(store, "record", SUMMARY)
    keys = latest.keys._replace(participants=tuple(dict.fromkeys([*latest.keys.participants, *here])))

    why = ""

    def with_content(lore: Lore) -> Lore:
        nonlocal why
        after = lore._replace(content=content, files=tuple(dict.fromkeys([*lore.files, *files])))
        status, why = admit_change(store, lore, after, author_of(store))
        return after._replace(status=status)

    subject = f"summary: {latest.lore.title}"
    done = entry_writer.update(store, latest.path, latest.lore.id, with_content, subject, keys=keys._asdict())
    activity_log.note(store, "record", query=done.after.title, ids=[done.after.id])
    return Conversation(done.after, latest.path, keys, pending=why)
