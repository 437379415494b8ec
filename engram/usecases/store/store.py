"""An open store: its places, settings, clock and parts, wired once and handed to every use case."""

from __future__ import annotations

import contextlib
import os
import time
from _thread import RLock
from datetime import UTC, datetime

from engram.adapters.embed.errors import EmbeddingError, EmbeddingUnavailableError
from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.ledger_folder import LedgerFolder
from engram.adapters.files.durable.write import LoreFolder
from engram.adapters.index.index import Generation, Index
from engram.adapters.state.connection import rename_damaged
from engram.adapters.state.database import StateDatabase
from engram.domain.entry import ulid
from engram.domain.entry.categories import Categories
from engram.domain.entry.lore import HUMAN
from engram.domain.entry.named_files import home_of
from engram.domain.scopes import scope_named
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engram.adapters.embed.endpoint import Endpoint
    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.files.frontmatter.codec import ParsedFiles
    from engram.adapters.files.ignore import IgnoreRules
    from engram.adapters.files.note_ids import NoteIds
    from engram.adapters.files.watch import FolderWatch
    from engram.adapters.git.run.layout import Repository
    from engram.adapters.state.durable import DurableDatabase
    from engram.adapters.state.judgement_cache import JudgementCache
    from engram.domain.graph.graph import BuiltGraph
    from engram.domain.judgements.tally import Belief
    from engram.domain.settings import Settings
    from engram.domain.similarity.equivalence import RecentText
    from engram.domain.similarity.pairs import KeptWords
    from engram.usecases.store.accepted_settings import HeldBack

KEYS = tuple(
    [
        f"embedding.{name}"
        for name in ("provider", "questions", "path", "url", "model", "dimensions", "timeout", "key")
    ]
)
ASIDE_NS = 30_000_000_000
BUNDLED = "bundled"  # the provider whose model comes with Engram
_MIN_COVERAGE = 0.9  # the share of entries that must have a vector before vectors are searched


class StoreModel:
    """The embedding model of a store: opened on first use, set aside while it fails, replaced when the settings change."""

    def __init__(self, state: str, now_ns: Callable[[], int]) -> None:
        """`state` is the store's state folder, where costly vectors are cached."""
        self._state = state
        self._now_ns = now_ns
        self._model: Embedder | None = None
        self._settings: Settings | None = None
        self._opened_with: tuple[object, ...] | None = None
        self._aside_until = 0
        self._broken = False
        self._problem = ""
        self._bundled: Embedder | None = None

    def model(self, settings: Settings) -> Embedder | None:
        """Return the provider that the settings name, even while it is set aside; None if it cannot be opened."""
        retry = self._model is None and 0 < self._aside_until <= self._now_ns()
        if settings is self._settings and not retry:  # settings are replaced, never mutated
            return None if self._broken else self._model
        self._settings = settings
        options = tuple([settings.get(key) for key in KEYS])
        if options != self._opened_with or retry:
            self._opened_with, self._model = options, None
            self._broken, self._problem, self._aside_until = False, "", 0
            try:
                self._model = _open_model(settings, self._state, self._now_ns)
            except EmbeddingError as error:
                self.disable(error)
        return None if self._broken else self._model

    def bundled(self, settings: Settings) -> Embedder:
        """Return the bundled model, whatever the settings name. Raises EmbeddingError if the installation is damaged."""
        model = self.model(settings)
        if model is not None and model.name == BUNDLED:
            return model
        if self._bundled is None:
            from engram.adapters.embed.provider import open_embedder

            self._bundled = open_embedder(BUNDLED)
        assert self._bundled is not None
        return self._bundled

    def borrow(self, other: StoreModel, settings: Settings) -> None:
        """Use the model that another store has loaded; of one whose vectors each store caches, only share the requests."""
        model = other.model(settings)
        if self._opened_with is not None or model is None:
            return
        if not model.costly:
            self._model, self._opened_with = model, tuple([settings.get(key) for key in KEYS])
        elif (mine := self.model(settings)) is not None:
            mine.share(model)

    def disable(self, error: EmbeddingError) -> bool:
        """Set the model aside for a while if it may recover (return False), else for good (return True)."""
        self._problem = f"words only: {error.message} {error.hint}".strip()
        if isinstance(error, EmbeddingUnavailableError):
            self._aside_until = self._now_ns() + ASIDE_NS
            return False
        self._broken = True
        return True

    @property
    def is_aside(self) -> bool:
        """Whether the model failed recently and is not used for now."""
        return self._now_ns() < self._aside_until

    def usable(self, model: Embedder | None, generation: Generation | None) -> Embedder | None:
        """Return the model, or its substitute while the index lacks its vectors; None if neither can be used now."""
        if model is None or self.is_aside:
            return None
        if generation is None or not lacks_vectors(generation):
            return model
        return model.substitute_for(generation.model)

    def notes(self, generation: Generation | None) -> list[str]:
        """Return why vectors of the configured model are not searched now; empty if they are, or if none is configured."""
        if self._problem and (self._broken or self._model is None or self.is_aside):
            return [self._problem]
        if generation is not None and lacks_vectors(generation) and self.progress(generation):
            assert self._model is not None
            fallback = (
                "the bundled vectors answer" if self._model.substitute_for(generation.model) else "words only"
            )
            return [f"{fallback}: {self.progress(generation)}"]
        return []

    def progress(self, generation: Generation | None) -> str:
        """Say which vectors of the index are still missing; "" if none are, or no model is in use."""
        if generation is None or self._model is None or self._broken:
            return ""
        if generation.other_model:
            return "the index is of another embedding model and is made anew in the background (now: `engram reindex`)"
        if not generation.waiting:
            return ""
        alive = generation.next_row - generation.dead
        return (
            f"{generation.waiting:,} of {alive:,} entries have no vector yet;"
            " they are made in the background (now: `engram reindex`)"
        )


def lacks_vectors(generation: Generation) -> bool:
    """Return whether the index has too few vectors of the current model to search them."""
    alive = generation.next_row - generation.dead
    return generation.other_model or generation.waiting > (1 - _MIN_COVERAGE) * alive


def _open_model(settings: Settings, state: str, now_ns: Callable[[], int]) -> Embedder | None:
    from engram.adapters.embed.provider import open_embedder

    provider = settings.text("embedding.provider")
    endpoint = _endpoint(settings) if provider == "endpoint" else None
    symmetric = settings.text("embedding.questions") == "read"
    path = settings.text("embedding.path") or None
    return open_embedder(provider, path, endpoint, state, now_ns, symmetric=symmetric)


def _endpoint(settings: Settings) -> Endpoint:
    """Return the configured endpoint; a key from the environment overrides the one in the settings."""
    from engram.adapters.embed.endpoint import KEY_VARIABLE, Endpoint

    return Endpoint(
        settings.text("embedding.url"),
        settings.text("embedding.model"),
        os.environ.get(KEY_VARIABLE, "") or settings.text("embedding.key"),
        int(settings.number("embedding.dimensions")),
        settings.number("embedding.timeout"),
    )


class Clock:
    """The system clock, and ids made from it and random bytes."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.fromtimestamp(self.nanoseconds() / 1e9, UTC)

    def nanoseconds(self) -> int:
        """Return nanoseconds since 1970."""
        return time.time_ns()

    def new_id(self) -> str:
        """Return a new ULID."""
        return ulid.encode(max(0, self.nanoseconds() // 1_000_000), int.from_bytes(os.urandom(10), "big"))


DEDICATED = "dedicated"
_CLOSE_SECONDS = 2.0
BRANCH = "branch"
IN_TREE = "in-tree"
PLAIN = "plain"


class Places(NamedTuple):
    """Where a store is. `root` and `state` are absolute; `folder` is the lore folder relative to `root`,
    "" if every markdown file is an entry.

    `placement` is `dedicated`, `branch` (`root` is the hidden work tree of a code repository's branch of lore),
    `in-tree`, or `plain` for a folder outside git.
    `scope` is the store's role for the caller: `session`, `project`, `user` or a team's name.
    """

    root: str
    folder: str
    state: str
    placement: str
    scope: str
    repository: Repository | None

    @property
    def home(self) -> str:
        """The folder of Engram's own files, relative to `root`."""
        return home_of(self.folder)

    @property
    def owns_branch(self) -> bool:
        """Whether the checked-out branch is the store's own, so that Engram commits each change."""
        return self.repository is not None and self.placement in (DEDICATED, BRANCH)


class Stand(NamedTuple):
    """The store around the caller's working folder; its `state` folder holds session refs and session stores.

    `named` says that the call names a store, by path or scope, so that no other scope is searched.
    """

    root: str
    state: str
    scope: str
    named: bool


class Caller(NamedTuple):
    """Who is calling: the session that refs belong to, the agent, and the front end (`via`: `cli`, `mcp`, …).

    `client` is the source that a client of a server sends, "" if it sends none.
    """

    session: str
    agent: str
    via: str = ""
    client: str = ""

    @property
    def who(self) -> str:
        """The agent, or HUMAN if none is known."""
        return self.agent or HUMAN


BY_ITSELF = "maintenance"  # the session of automatic maintenance


class Deed(NamedTuple):
    """A group of operations that is undone as one: its id, and the number of operations by scope.

    `judgements` has the ids of the operations that are ledger lines.
    """

    name: str
    operations: dict[str, int]
    judgements: set[str]


class Store:
    """One open store, the first argument of every use case; `lock` serializes its threads."""

    def __init__(self, places: Places, settings: Settings, clock: Clock, caller: Caller) -> None:
        """Set up the store without opening index, model or state, which happens on first use.

        `held_back` are settings of the store's file not accepted in this clone, `notes` say what in it is invalid.
        """
        self.places = places
        self.settings = settings
        self.clock = clock
        self.caller = caller
        self.lock = RLock()  # threading.RLock without importing threading
        self.categories = Categories(settings.table("store.categories"), in_place=not places.folder)
        self.files = LoreFolder(places.root, places.state, journaled=places.owns_branch)
        self.own_writes: dict[str, str] = {}
        self.degraded: list[str] = []
        self.scope = scope_named(settings, places.scope)
        self.held_back: tuple[HeldBack, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.state = StateDatabase(places.state, self.degraded.append)
        self.session_state = self.state  # has the session refs, numbered across all scopes
        self.stand = Stand(places.root, places.state, places.scope, named=True)
        self.others: dict[str, Store] = {}  # stores of other scopes that were opened from this one
        self.asked_ns = 0
        self.looked_ns = 0
        self.must_sweep = False
        self.watch: FolderWatch | None = None
        self.watchable = True
        self.recent: dict[str, RecentText] = {}
        self.pair_words: KeptWords | None = None  # for the search for near duplicates
        self.deed: Deed | None = None
        self.deeds_of_lines: dict[str, str] = {}  # deed ids by ledger line id, for lines of this process
        self.durable: dict[str, DurableDatabase] = {}  # by path, opened on demand
        self.parsed: ParsedFiles | None = None  # a cache of parsed files for the duration of an operation
        self.ledgers = LedgerFolder(places.state)
        self.judged_mark: str | None = None  # the mark of the ledgers when last read
        self.belief: Belief | None = None  # whose judgements this clone trusts, valid for that mark
        self._judgements: JudgementCache | None = None
        self.built_graph: BuiltGraph | None = None
        self._index: Index | None = None
        self.meaning = StoreModel(places.state, clock.nanoseconds)
        self._embedder: Embedder | None = None
        self._meaning_notes: list[str] = []
        self._source_id = ""
        self.original: Store | None = None  # the store that this one copies, for a replay or a past state

    @property
    def note_ids(self) -> NoteIds:
        """The record of the paths at which notes without an id were first seen."""
        from engram.adapters.files.note_ids import NoteIds

        return NoteIds(self.places.root)

    def first_seen(self, path: str) -> str:
        """Return the path at which a note without an id was first seen; "" if that is its current path."""
        return "" if self.places.folder else self.note_ids.first_seen(path)

    def ignore_rules(self) -> IgnoreRules | None:
        """Return the current rules for files that are no entries; None for a store with a lore folder."""
        if self.places.folder:
            return None
        from engram.adapters.files.ignore import IgnoreRules

        repository = self.places.repository
        return IgnoreRules(self.places.root, repository.worktree if repository is not None else "")

    @property
    def repository(self) -> Repository:
        """The store's repository; call it only for a store in git."""
        assert self.places.repository is not None
        return self.places.repository

    @property
    def model(self) -> Embedder | None:
        """The embedding provider, even while it is set aside; None if there is none or it is broken."""
        before, model = self._embedder, self.meaning.model(self.settings)
        if model is not before:
            self._embedder = model
            self._forget_index()
        return model

    @property
    def embedder(self) -> Embedder | None:
        """The embedding provider to search vectors with now, or None (`degraded` says why)."""
        model = self.model
        generation = self._index.generation if self._index is not None else None
        self._note_meaning(self.meaning.notes(generation))
        return self.meaning.usable(model, generation)

    @property
    def bundled_embedder(self) -> Embedder:
        """The bundled model: the thresholds for equal texts are fitted to it, and all clones must agree on them."""
        return self.meaning.bundled(self.settings)

    @property
    def judgements(self) -> JudgementCache:
        """The cache of all ledgers; call it only if there is a ledger, since it is created on first use."""
        if self._judgements is None:
            from engram.adapters.state.judgement_cache import JudgementCache

            self._judgements = JudgementCache(self.places.state)
        return self._judgements

    def borrow_embedder(self, other: Store) -> None:
        """Use the model that another store has loaded if both have the same embedding settings."""
        if all(self.settings.get(key) == other.settings.get(key) for key in KEYS):
            self.meaning.borrow(other.meaning, self.settings)

    def give_up_meaning(self, error: EmbeddingError) -> None:
        """Continue without the embedding model, which failed now or is broken.

        If it is broken, only the words of the index are used, whatever model its vectors are of.
        """
        if self.meaning.disable(error):
            self._embedder = None
            self._forget_index()
        self._note_meaning(self.meaning.notes(None))

    def _note_meaning(self, notes: list[str]) -> None:
        """Replace the notes on the model in `degraded` by these."""
        if notes != self._meaning_notes:
            self.degraded[:] = [note for note in self.degraded if note not in self._meaning_notes] + notes
            self._meaning_notes = notes

    def _forget_index(self) -> None:
        if self._index is not None:
            self._index.drop()
            self._index = None

    @property
    def is_indexed(self) -> bool:
        """Whether this process has opened the index."""
        return self._index is not None

    @property
    def index(self) -> Index:
        """The search index (not yet brought up to date)."""
        model = self.model
        if self._index is None:
            name, dimensions = (model.identity, model.dimensions) if model else ("", 0)
            self._index = Index(os.path.join(self.places.state, "index"), name, dimensions)
        return self._index

    def drop_watch(self) -> None:
        """Stop watching the folder; the next query scans it."""
        if self.watch is not None:
            self.watch.close()
            self.watch = None

    @property
    def outside_path(self) -> str:
        """The file that lists changes made without Engram, for the committer."""
        return os.path.join(self.places.state, "outside")

    @property
    def allowed_secrets(self) -> tuple[str, ...]:
        """Texts that look like secrets but are allowed by the settings."""
        return self.settings.texts("secrets.allow")

    @property
    def source_id(self) -> str:
        """This clone's id: generated once, kept in the state folder, never in the work tree."""
        if not self._source_id:
            self._source_id = self.known_source_id or self._create_source()
        return self._source_id

    @property
    def known_source_id(self) -> str:
        """This clone's id, or "" if it has none yet because it has not written anything."""
        self._source_id = self._source_id or self.read_source() or self.remembered_source()
        return self._source_id

    @contextlib.contextmanager
    def calling(self, caller: Caller) -> Iterator[None]:
        """Use another caller within the `with` block."""
        previous, self.caller = self.caller, caller
        try:
            yield
        finally:
            self.caller = previous

    @property
    def source(self) -> str:
        """The short form of the source id, the key of this clone's votes in format 1."""
        return ulid.short(self.source_id)

    def close(self) -> None:
        """Close every file, including those of other scopes that were opened from this store.

        Waits for a thread that is using the store, since SQLite crashes if a connection in use is closed. If that
        takes more than two seconds, the files stay open until the process ends.
        """
        if not self.lock.acquire(timeout=_CLOSE_SECONDS):
            return
        try:
            self._close()
        finally:
            self.lock.release()

    def _close(self) -> None:
        for other in self.others.values():
            other.close()
        self.others.clear()
        self.drop_watch()
        self._forget_index()
        for database in self.durable.values():
            database.close()
        if self._judgements is not None:
            self._judgements.close()
        self.state.close()
        self.session_state.close()

    def __del__(self) -> None:
        """Close what is still open; at interpreter exit some parts may be gone already."""
        with contextlib.suppress(Exception):
            self.close()

    @property
    def source_path(self) -> str:
        """The file with this clone's id."""
        return os.path.join(self.places.state, "source")

    def read_source(self) -> str:
        """Read this clone's id from its file; "" if it is missing or invalid."""
        try:
            with open(self.source_path, encoding="ascii") as file:
                text = file.read().strip()
        except (OSError, UnicodeDecodeError):
            return ""
        return text if ulid.is_valid(text) else ""

    def remembered_source(self) -> str:
        """Return the id of this clone's own ledgers if the id file exists but is unreadable; else ""."""
        writers = self.ledgers.writers() if os.path.lexists(self.source_path) else []
        return writers[-1] if writers else ""

    def write_source(self, source: str) -> None:
        """Write this clone's id; a folder in the place of its file is renamed. Raises StoreError."""
        try:
            if os.path.isdir(self.source_path):
                rename_damaged(self.source_path)
        except OSError as error:
            raise atomic.write_error(self.source_path, error) from None
        atomic.write(self.source_path, f"{source}\n".encode(), "source", 0o600)
        self._source_id = source

    def _create_source(self) -> str:
        with self.files.lock():
            found = self.read_source()
            if not found:
                found = self.clock.new_id()
                if os.path.lexists(self.source_path):
                    self.degraded.append("the id of this clone could not be read, and it has a new one")
                self.write_source(found)
        return found
