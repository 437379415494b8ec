"""Change lore files: read, compute, write, and retry if the file changed in between."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.adapters.files import scan as walk
from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change, Operation
from engram.adapters.files.frontmatter import codec
from engram.adapters.git.run.author import environment_author
from engram.domain.entry import times, ulid
from engram.domain.entry.lore import Lore, check, limit_after, slug
from engram.domain.errors import (
    ConflictError,
    EngramError,
    LoreFileError,
    NotFoundError,
    StaleError,
    StoreError,
)
from engram.domain.judgements.tally import accounts_of, without_accounts
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store import judgements, people

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.usecases.store.store import Store

_MAX_ATTEMPTS = 40
_VOTES_KEY = b"\nvotes:"
ANY = "*"  # in place of a digest: the entry must exist, with any text
NO_KEYS: Mapping[str, str | tuple[str, ...]] = {}


class Changed(NamedTuple):
    """An entry before and after a change, its path, and the digest of its file."""

    path: str
    before: Lore
    after: Lore
    digest: str = ""


def load(store: Store, path: str) -> LoreFile:
    """Read and parse one entry file. Raises NotFoundError, StoreError, LoreFileError."""
    raw = store.files.read(path)
    stamp = walk.stamp(store.files.absolute(path))
    modified = datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC) if stamp else store.clock.now()
    file = codec.read(raw, path, store.categories, modified, store.parsed, store.first_seen(path))
    return file._replace(lore=judgements.with_tally(store, file.lore))


def load_readable(store: Store, path: str) -> LoreFile | None:
    """Read and parse one entry file; None if it is missing or invalid."""
    try:
        return load(store, path)
    except EngramError:
        return None


def parse(store: Store, raw: bytes, path: str) -> LoreFile | None:
    """Parse bytes as the entry file at `path`; None if they are not one."""
    try:
        return codec.read(raw, path, store.categories, store.clock.now(), first_seen=store.first_seen(path))
    except LoreFileError:
        return None


def rewrite(store: Store, file: LoreFile, lore: Lore) -> bytes:
    """Return the content of the file changed to `lore`, in format 2; `write` moves its votes of format 1 to the ledger.

    Raises ValidationError.
    """
    return codec.rewrite(file, without_accounts(lore), store.categories)


def update(
    store: Store,
    path: str,
    lore_id: str,
    compute: Callable[[Lore], Lore],
    subject: str,
    digest: str = "",
    keys: Mapping[str, str | tuple[str, ...]] = NO_KEYS,
) -> Changed:
    """Replace an entry durably by the result of `compute`.

    `keys` are further keys of the file that are no fields. Raises StaleError if a `digest` is given and the file has
    another, NotFoundError if the file no longer holds that entry, ConflictError if it keeps changing.
    """
    for attempt in range(_MAX_ATTEMPTS):
        file = load(store, path)
        if file.lore.id != lore_id:
            raise NotFoundError(
                f"{path} no longer holds the entry {lore_id}.", "It was replaced just now; query again."
            )
        check_digest(file, digest)
        after = compute(file.lore)
        if after == file.lore and file.adopted and not keys:
            return Changed(path, file.lore, after, atomic.digest(file.raw))
        after = after._replace(updated_at=times.after(store.clock.now(), file.lore.updated_at))
        check(after, store.categories, limit_after(file.lore.content))
        more = keys
        named_by_engram = path.endswith(f"--{lore_id}.md")  # not a note that a person named
        if named_by_engram and after.title not in (file.lore.title, *file.aliases) and writes_aliases(store):
            # Old aliases stay, so that links to them keep working.
            more = {**keys, "aliases": (*file.aliases, after.title)}
        content = _with_keys(rewrite(store, file, after), more)
        operation = operation_for(store, after, subject, [Change(path, content, atomic.digest(file.raw))])
        try:
            write(store, [operation])
        except ConflictError:
            if attempt == _MAX_ATTEMPTS - 1:
                raise
            continue
        return Changed(path, file.lore, judgements.with_tally(store, after), atomic.digest(content))
    raise AssertionError("unreachable")


def check_digest(file: LoreFile, digest: str) -> None:
    """Raise StaleError unless the file has this digest; "" and ANY match every file."""
    if digest not in ("", ANY) and atomic.digest(file.raw) != digest:
        raise StaleError(
            f"Entry {file.lore.id} has changed since it was read.",
            "Read it again, then repeat the change with its current digest.",
            current=atomic.digest(file.raw),
        )


def create(
    store: Store, lore: Lore, subject: str, *, keys: Mapping[str, str | tuple[str, ...]] = NO_KEYS
) -> tuple[str, Operation]:
    """Return the path of a new entry and the operation that writes it; `keys` are further keys that are no fields."""
    change = new_file(store, lore, keys)
    return change.path, operation_for(store, lore, subject, [change])


def new_file(store: Store, lore: Lore, keys: Mapping[str, str | tuple[str, ...]] = NO_KEYS) -> Change:
    """Return the change that writes the file of a new entry, for an operation; see `create`."""
    path = new_path(store, lore)
    if writes_aliases(store):
        keys = {"aliases": (lore.title,), **keys}
    judgements.keep_accounts(store, accounts_of(lore))
    content = _with_keys(codec.write_new(without_accounts(lore), store.categories), keys)
    return Change(path, content, None)


def writes_aliases(store: Store) -> bool:
    """Return whether the title of an entry goes into its `aliases`, so that other programs find what `[[Title]]` means."""
    return not store.places.folder or store.settings.flag("store.aliases")


def _with_keys(content: bytes, keys: Mapping[str, str | tuple[str, ...]]) -> bytes:
    if not keys:
        return content
    from engram.adapters.files.frontmatter.further_keys import with_keys

    return with_keys(content, keys)


def check_allowed(store: Store, action: str, category: str = "", *, path: str = "") -> None:
    """Raise NotAllowedError if the store's settings do not permit the caller an action (`record`, `judge`, `forget`).

    The action is on entries of `category`, on the entry at `path` (read only if there are such settings), or, without
    both, on something other than entries.
    """
    if store.settings.get("team.members") or store.settings.get("team.policies"):
        from engram.usecases.store.guard_rails import check

        check(store, action, load(store, path).lore.category if path and not category else category)


def refuse_secrets(store: Store, what: str, *texts: str) -> None:
    """Raise SecretFoundError if one of these texts contains a secret; `what` ("the entity") names it in the message."""
    from engram.domain.admission.secrets import find_secrets, refuse

    for text in texts:
        findings = find_secrets(text, store.allowed_secrets)
        if findings:
            raise refuse(findings, what)


def check_writable(store: Store) -> None:
    """Raise StoreError if the scope is configured as read-only."""
    if store.scope.readonly:
        raise StoreError(
            f"The scope {store.scope.name} is read-only: nothing was changed.",
            "Copy the entry to a scope of your own first: engram promote REF --to user",
        )


def write(store: Store, operations: Sequence[Operation], *, brought_in: bool = False) -> None:
    """Carry out operations and note their files as written by this process.

    `brought_in` says that they come from the store's own remote; other writes to a read-only scope raise StoreError.
    """
    if not brought_in:
        check_writable(store)
        for operation in operations:
            for change in operation.changes:
                _move_accounts(store, change)
        author = environment_author()  # now, since another process may commit it
        operations = [operation._replace(author=operation.author or author) for operation in operations]
    deed = store.deed
    if deed is not None:
        operations = [
            operation._replace(trailers=(*operation.trailers, ("Engram-Deed", deed.name)))
            for operation in operations
        ]
    store.files.apply(operations)
    if deed is not None:
        deed.operations[store.places.scope] = deed.operations.get(store.places.scope, 0) + len(operations)
    for operation in operations:
        for change in operation.changes:
            store.own_writes[change.path] = "" if change.content is None else atomic.digest(change.content)


def _move_accounts(store: Store, change: Change) -> None:
    """Move the votes of a file of format 1 to the ledger before it is deleted or rewritten in format 2."""
    if change.before is None or (change.content is not None and _VOTES_KEY in change.content):
        return
    try:
        if _VOTES_KEY in store.files.read(change.path):
            judgements.keep_accounts(store, accounts_of(load(store, change.path).lore))
    except (NotFoundError, LoreFileError):
        return


def new_path(store: Store, lore: Lore) -> str:
    """Return `lore/YYYY/MM/DD/<slug>--<ULID>.md`, by the UTC date of the ULID."""
    return f"{store.places.home}/{ulid.moment(lore.id):%Y/%m/%d}/{slug(lore.title)}--{lore.id}.md"


def operation_for(
    store: Store, lore: Lore, subject: str, changes: Sequence[Change], details: Sequence[tuple[str, str]] = ()
) -> Operation:
    """Return an operation on entries, the first of them `lore`, with its commit subject and trailers."""
    details = [("Engram-Machine", people.published_machine(store)), *details]
    return operation(store, subject, changes, [("Engram-Lore", lore.id)], details)


def operation(
    store: Store,
    subject: str,
    changes: Sequence[Change],
    about: Sequence[tuple[str, str]] = (),
    details: Sequence[tuple[str, str]] = (),
) -> Operation:
    """Return an operation with its commit subject and trailers: `about`, then the caller, then `details`."""
    caller = [("Engram-Agent", store.caller.who), ("Engram-Session", store.caller.session)]
    trailers = [*about, *caller, ("Engram-Source", store.source), *details]
    clean = tuple((key, " ".join(value.split())) for key, value in trailers if value)
    return Operation(store.clock.new_id(), int(store.clock.now().timestamp()), subject, clean, tuple(changes))
