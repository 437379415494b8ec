"""Recording, putting, editing and forgetting with an idempotency key."""

from __future__ import annotations

from engram.adapters.files.frontmatter import codec
from engram.domain.errors import NotFoundError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.lookup.listing import Shown
from engram.usecases.lookup.resolve import resolve
from engram.usecases.recording import edit, forget, record, upsert
from engram.usecases.recording.admission_policy import Contradiction
from engram.usecases.recording.idempotency import once
from engram.usecases.recording.record import Recorded
from engram.usecases.recording.upsert import Put
from engram.usecases.similarity.near_duplicates import Similar
from engram.usecases.store import entry_writer, judgements

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from engram.domain.entry.lore import Lore
    from engram.usecases.recording.edit import Edit
    from engram.usecases.recording.idempotency import Attempt
    from engram.usecases.recording.record import Draft
    from engram.usecases.store.store import Store


def record_once(store: Store, draft: Draft, key: str) -> Recorded:
    """`record`, once for this key. Raises as that and as `once`."""

    def do(attempt: Attempt) -> dict[str, object]:
        done = _made_before(store, attempt) or record.record(store, draft, attempt.id)
        return {**done._asdict(), "lore": _text(store, done.lore)}

    found = once(store, key, ["record", draft._asdict()], do).answer
    twins = tuple(Similar(*twin) for twin in found["similar"])
    against = tuple(Contradiction(*one) for one in found["contradictions"])
    lore = _lore(store, found["lore"], found["path"])
    return Recorded(**{**found, "lore": lore, "similar": twins, "contradictions": against})


def put_once(
    store: Store, lore_id: str, draft: Draft, key: str, *, digest: str = "", new: bool = False
) -> Put:
    """`put`, once for this key. Raises as that and as `once`."""

    def do(_: Attempt) -> dict[str, object]:
        done = upsert.put(store, lore_id, draft, digest=digest, new=new)
        return {**done._asdict(), "shown": _packed(store, done.shown)}

    found = once(store, key, ["put", lore_id, draft._asdict(), digest, new], do).answer
    return Put(**{**found, "shown": _unpacked(store, found["shown"])})


def edit_once(store: Store, name: str, wanted: Edit, key: str, *, digest: str = "") -> Shown:
    """`edit`, once for this key. Raises as that and as `once`."""
    request = ["edit", name, vars(wanted), digest]
    found = once(store, key, request, lambda _: _packed(store, edit.edit(store, name, wanted, digest)))
    return _unpacked(store, found.answer)


def forget_once(store: Store, names: Sequence[str], key: str, *, digest: str = "") -> list[Shown]:
    """`forget`, once for this key. Raises as that and as `once`."""

    def do(_: Attempt) -> list[object]:
        return [_packed(store, one) for one in forget.forget(store, names, digest)]

    found = once(store, key, ["forget", list(names), digest], do)
    return [_unpacked(store, one) for one in found.answer]


def _made_before(store: Store, attempt: Attempt) -> Recorded | None:
    """Return what an attempt that was cut off recorded, also where another entry has taken it in."""
    if not attempt.again:
        return None
    try:
        found = resolve(store, attempt.id)
    except NotFoundError:
        return None
    status = "recorded" if found.id == attempt.id else "merged"
    return Recorded(entry_writer.load(found.store, found.path).lore, found.path, (), status, 0)


def _packed(store: Store, shown: Shown) -> dict[str, object]:
    return {**shown._asdict(), "lore": _text(store, shown.lore)}


def _unpacked(store: Store, found: dict[str, Any]) -> Shown:
    return Shown(**{**found, "lore": _lore(store, found["lore"], found["path"])})


def _text(store: Store, lore: Lore) -> str:
    """Return an entry as its file says it."""
    return codec.write_new(lore, store.categories).decode()


def _lore(store: Store, text: str, path: str) -> Lore:
    lore = codec.read(text.encode(), path, store.categories, store.clock.now()).lore
    return judgements.with_tally(store, lore)
