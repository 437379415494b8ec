"""Read changed files for the index: bytes, codec, secret check, embedding; a bad file becomes a problem, not an error."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.adapters.files.durable import atomic
from engram.adapters.files.frontmatter import codec
from engram.adapters.index.catalog import Entry, Known, Problem
from engram.adapters.index.writer import NewText
from engram.domain.admission.secrets import find_secrets
from engram.domain.entry.lore import searchable, text_digest
from engram.domain.errors import LoreFileError, NotFoundError, StoreError
from engram.domain.text.passages import passages
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import judgements
from engram.usecases.store.outside_changes import record_outside_changes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from engram.adapters.files.scan import FileStamp
    from engram.adapters.index.writer import GenerationWriter
    from engram.usecases.store.store import Store

_BATCH = 512
_QUICK_SLICES = 16  # of texts: so many vectors are made at once even if the model is slow
_MAX_BYTES = 256 * 1024


class Indexer:
    """Feeds files to a writer in batches and counts them."""

    def __init__(
        self,
        store: Store,
        writer: GenerationWriter,
        known: dict[str, Known],
        now: int,
        judged: Collection[str] = (),
    ) -> None:
        """`known` is what the catalog has of the files, `judged` are those to be read for their judgements; `now` is in ns."""
        self.added = 0
        self.changed = 0
        self.problems = 0
        self._store = store
        self._writer = writer
        self._known = known
        self._judged = judged
        self._now = now
        self._texts: list[NewText] = []
        self._entries: list[Entry] = []
        self._touched: list[tuple[int, int, int, int, str]] = []
        self._dead: list[int] = []
        self._outside: list[str] = []
        self._allowed = store.allowed_secrets
        self._model = None if writer.other_model else store.model
        self._quick = _QUICK_SLICES

    def index_file(self, path: str, stamp: FileStamp) -> None:
        """Read one file and pass on what it holds now."""
        before = self._known.get(path)
        try:
            raw = self._read(path, stamp)
        except NotFoundError:
            return
        except StoreError as error:
            self.add_problem(path, error.message, error.hint, stamp)
            return
        digest = atomic.digest(raw)
        if before is not None and before.digest == digest and _needs_no_reading(before, stamp):
            if path in self._judged:
                self._take(path, stamp, digest, raw, before)
            else:
                self._touched.append((*stamp, self._now, path))
            return
        self.added += before is None
        self.changed += before is not None
        self._note_outside(path, digest)
        self._take(path, stamp, digest, raw, before)

    def add_problem(
        self, path: str, message: str, hint: str = "", stamp: FileStamp | None = None, line: int = 0
    ) -> None:
        """Record a file that cannot be recalled."""
        before = self._known.get(path)
        if before is not None and before.row is not None:
            self._dead.append(before.row)
        self.problems += 1
        found = Problem(path, line, message, hint)
        self._entries.append(
            Entry(path, stamp or (0, 0, 0), "" if stamp else message, self._now, problem=found)
        )

    def remove_files(self, paths: Sequence[str]) -> None:
        """Forget files that do not exist any more."""
        for path in paths:
            before = self._known.get(path)
            if before is not None and before.row is not None:
                self._dead.append(before.row)
            self._note_outside(path, "")
        self._writer.remove(paths)

    def finish(self) -> None:
        """Pass on what is left."""
        self._writer.drop_rows(self._dead)
        self._writer.put(self._entries)
        self._writer.touch(self._touched)
        self._flush()
        if self._outside and self._store.files.journaled:
            record_outside_changes(self._store, self._outside)

    def _read(self, path: str, stamp: FileStamp) -> bytes:
        if stamp.size > _MAX_BYTES:
            raise StoreError(
                f"this file has {stamp.size:,} bytes; entries are small notes",
                "Split it with `engram import`, or move it out of the lore folder.",
            )
        return self._store.files.read(path)

    def _take(self, path: str, stamp: FileStamp, digest: str, raw: bytes, before: Known | None) -> None:
        modified = datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC)
        try:
            file = codec.read(raw, path, self._store.categories, modified, self._store.parsed)
        except LoreFileError as error:
            self._bad(path, stamp, digest, error.reason, error.hint, error.line)
            return
        # Ids look like tokens; without them most files need no closer look.
        text = raw.decode().replace(file.lore.id, "").replace(file.lore.source_id or file.lore.id, "")
        findings = find_secrets(text, self._allowed)
        if findings:
            first = findings[0]
            message = f"it holds what looks like a secret ({first.rule}), so it is not recalled or committed"
            hint = "Take the secret out and renew it; a false alarm goes into `secrets.allow`."
            self._bad(path, stamp, digest, message, hint, first.line)
            return
        lore = judgements.with_tally(self._store, file.lore)
        said = searchable(lore)
        mark = text_digest(said)
        self._index(Entry(path, stamp, digest, self._now, lore, file.adopted, None, None, mark), said, before)

    def _index(self, entry: Entry, text: str, before: Known | None) -> None:
        if before is not None and before.row is not None:
            if before.text_digest == entry.text_digest:
                self._entries.append(entry._replace(row=before.row, vector_check=before.vector_check))
                return
            self._dead.append(before.row)
        self._texts.append(NewText(entry, text))
        if len(self._texts) >= _BATCH:
            self._flush()

    def _bad(self, path: str, stamp: FileStamp, digest: str, message: str, hint: str, line: int) -> None:
        self.add_problem(path, message, hint, stamp, line)
        self._entries[-1] = self._entries[-1]._replace(digest=digest)

    def _flush(self) -> None:
        texts = [new.text for new in self._texts]
        parts = [passages(len(text)) for text in texts]
        vectors, there, tokens = None, list[bool](), list[bytes]()
        if self._model is not None and texts:
            vectors, there, tokens = self._model.embed_available(texts, parts, self._quick)
            self._quick = 0
        counts = [1 if number == 1 else number + 1 for number in parts]
        self._writer.add(self._texts, vectors, counts, there, tokens)
        self._texts = []

    def _note_outside(self, path: str, digest: str) -> None:
        if self._store.own_writes.pop(path, None) != digest:
            self._outside.append(path)


def _needs_no_reading(before: Known, stamp: FileStamp) -> bool:
    """Test whether equal bytes mean an equal entry: one without an id yet takes its dates from the file's time."""
    return before.adopted or before.stamp[0] == stamp.mtime_ns
