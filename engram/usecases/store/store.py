"""An open store: its places, settings and parts, wired once and handed to every use case, and the clock they go by."""

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

# The embedding model of a store: opened when first needed, set aside while it gives no vectors, changed with the settings.

KEYS = tuple(
    [
        f"embedding.{name}"
        for name in ("provider", "questions", "path", "url", "model", "dimensions", "timeout", "key")
    ]
)
ASIDE_NS = 30_000_000_000
BUNDLED = "bundled"  # the provider whose model comes with Engram
READY = 0.9  # of all texts have a vector: from then on a question is answered by meaning too


class Meaning:
    """What turns texts into vectors for one store, as far as it can be asked."""

    def __init__(self, state: str, now_ns: Callable[[], int]) -> None:
        """`state` is the store's state folder, where vectors are kept that were costly to make."""
        self._state = state
        self._now_ns = now_ns
        self._model: Embedder | None = None
        self._settings: Settings | None = None
        self._opened_with: tuple[object, ...] | None = None
        self._aside_until = 0
        self._broken = False
        self._trouble = ""
        self._bundled: Embedder | None = None

    def model(self, settings: Settings) -> Embedder | None:
        """Return the provider that the settings name, also while it gives no vectors; None where it cannot be opened."""
        again = self._model is None and 0 < self._aside_until <= self._now_ns()
        if settings is self._settings and not again:  # they are replaced, never changed
            return None if self._broken else self._model
        self._settings = settings
        wanted = tuple([settings.get(key) for key in KEYS])
        if wanted != self._opened_with or again:
            self._opened_with, self._model = wanted, None
            self._broken, self._trouble, self._aside_until = False, "", 0
            try:
                self._model = _open_embedder(settings, self._state, self._now_ns)
            except EmbeddingError as error:
                self.give_up(error)
        return None if self._broken else self._model

    def bundled(self, settings: Settings) -> Embedder:
        """Return the bundled model, whatever the settings name. Raises EmbeddingError where the installation is damaged."""
        model = self.model(settings)
        if model is not None and model.name == BUNDLED:
            return model
        if self._bundled is None:
            from engram.adapters.embed.provider import open_embedder

            self._bundled = open_embedder(BUNDLED)
        assert self._bundled is not None
        return self._bundled

    def borrow(self, other: Meaning, settings: Settings) -> None:
        """Use the model that another store has loaded; where vectors are kept for each store, only ask together."""
        model = other.model(settings)
        if self._opened_with is not None or model is None:
            return
        if not model.costly:
            self._model, self._opened_with = model, tuple([settings.get(key) for key in KEYS])
        elif (mine := self.model(settings)) is not None:
            mine.share(model)

    def give_up(self, error: EmbeddingError) -> bool:
        """Go on without the model: for a while if it may come back (False), else for good (True)."""
        self._trouble = f"words only: {error.message} {error.hint}".strip()
        if isinstance(error, EmbeddingUnavailableError):
            self._aside_until = self._now_ns() + ASIDE_NS
            return False
        self._broken = True
        return True

    @property
    def is_aside(self) -> bool:
        """Whether the model failed just now and is not asked."""
        return self._now_ns() < self._aside_until

    def usable(self, model: Embedder | None, generation: Generation | None) -> Embedder | None:
        """Return the model, if it can be asked now and the index has vectors of it; else what stands in for it, if anything."""
        if model is None or self.is_aside:
            return None
        if generation is None or not lacks_vectors(generation):
            return model
        return model.substitute_for(generation.model)

    def notes(self, generation: Generation | None) -> list[str]:
        """Return why there is no search by meaning now; nothing where there is, or none is wanted."""
        if self._trouble and (self._broken or self._model is None or self.is_aside):
            return [self._trouble]
        if generation is not None and lacks_vectors(generation) and self.progress(generation):
            assert self._model is not None
            instead = (
                "the bundled vectors answer" if self._model.substitute_for(generation.model) else "words only"
            )
            return [f"{instead}: {self.progress(generation)}"]
        return []

    def progress(self, generation: Generation | None) -> str:
        """Return what is still to be made of the index's vectors, in a sentence; "" where nothing is, or no model is in use."""
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
    """Return whether the index has too few vectors of the model in use to be asked by meaning."""
    alive = generation.next_row - generation.dead
    return generation.other_model or generation.waiting > (1 - READY) * alive


def _open_embedder(settings: Settings, state: str, now_ns: Callable[[], int]) -> Embedder | None:
    from engram.adapters.embed.provider import open_embedder

    provider = settings.text("embedding.provider")
    endpoint = _endpoint(settings) if provider == "endpoint" else None
    symmetric = settings.text("embedding.questions") == "read"
    path = settings.text("embedding.path") or None
    return open_embedder(provider, path, endpoint, state, now_ns, symmetric=symmetric)


def _endpoint(settings: Settings) -> Endpoint:
    """Return what the settings say of the endpoint; the key from the environment counts before that of the file."""
    from engram.adapters.embed.endpoint import KEY_VARIABLE, Endpoint

    return Endpoint(
        settings.text("embedding.url"),
        settings.text("embedding.model"),
        os.environ.get(KEY_VARIABLE, "") or settings.text("embedding.key"),
        int(settings.number("embedding.dimensions")),
        settings.number("embedding.timeout"),
    )


class Clock:
    """The machine's clock and random numbers."""

    def now(self) -> datetime:
        """Return the present moment, UTC."""
        return datetime.fromtimestamp(self.nanoseconds() / 1e9, UTC)

    def nanoseconds(self) -> int:
        """Nanoseconds since 1970."""
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
    "" where every markdown file is an entry.

    `placement` is `dedicated`, `branch` (`root` is the hidden work tree of a code repository's branch of lore),
    `in-tree`, or `plain` for a folder outside git.
    `scope` is what this store is from where the caller stands: `session`, `project`, `user` or a team's name.
    """

    root: str
    folder: str
    state: str
    placement: str
    scope: str
    repository: Repository | None

    @property
    def home(self) -> str:
        """The folder that Engram's own files go to, relative to `root`."""
        return home_of(self.folder)

    @property
    def owns_branch(self) -> bool:
        """Whether the branch that is checked out is the store's own, so that Engram commits each change."""
        return self.repository is not None and self.placement in (DEDICATED, BRANCH)


class Stand(NamedTuple):
    """Where a caller stands: the store around them, whose `state` folder keeps refs and stores of sessions.

    `named` says that the call names its store itself, by a path or a scope, and so is about no other.
    """

    root: str
    state: str
    scope: str
    named: bool


class Caller(NamedTuple):
    """Who is calling: the session that refs belong to, the agent that records, and by which way (`cli`, `mcp`, …).

    `client` is the source that a client of a server names, "" for whoever names none.
    """

    session: str
    agent: str
    via: str = ""
    client: str = ""

    @property
    def who(self) -> str:
        """The agent; where none is known, a person."""
        return self.agent or HUMAN


BY_ITSELF = "maintenance"  # the session of what Engram does by itself, now and then


class Deed(NamedTuple):
    """What several operations have in common that are done, and taken back, as one: its id, and how many by scope.

    `judgements` has the ids of those that are lines of a ledger.
    """

    name: str
    operations: dict[str, int]
    judgements: set[str]


class Store:
    """One store, open. Use cases take it as their first argument; `lock` keeps its threads apart."""

    def __init__(self, places: Places, settings: Settings, clock: Clock, caller: Caller) -> None:
        """Nothing heavy happens here: index, model and state open on first use.

        `held_back` are settings of the store's file that do not count here, `notes` say what in it cannot be used.
        """
        self.places = places
        self.settings = settings
        self.clock = clock
        self.caller = caller
        self.lock = RLock()  # what threading.RLock gives, without its import
        self.categories = Categories(settings.table("store.categories"), in_place=not places.folder)
        self.files = LoreFolder(places.root, places.state, journaled=places.owns_branch)
        self.own_writes: dict[str, str] = {}
        self.degraded: list[str] = []
        self.scope = scope_named(settings, places.scope)
        self.held_back: tuple[HeldBack, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.state = StateDatabase(places.state, self.degraded.append)
        self.session_state = self.state  # where the refs of the session are: one numbering for all scopes
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
        self.deeds_of_lines: dict[str, str] = {}  # by the id of a line of the ledger, of this process's own
        self.durable: dict[str, DurableDatabase] = {}  # by path, opened by who needs one
        self.parsed: ParsedFiles | None = None  # what is parsed once, as long as an operation lasts
        self.ledgers = LedgerFolder(places.state)
        self.judged_mark: str | None = None  # of the ledgers as they were when they were last read
        self.belief: Belief | None = None  # whom this clone believes, while that mark is the same
        self._judgements: JudgementCache | None = None
        self.built_graph: BuiltGraph | None = None  # the graph built last
        self._index: Index | None = None
        self.meaning = Meaning(places.state, clock.nanoseconds)
        self._embedder: Embedder | None = None
        self._meaning_notes: list[str] = []
        self._source_id = ""
        self.original: Store | None = None  # the store that this is a copy of, for a rehearsal or of the past

    @property
    def note_ids(self) -> NoteIds:
        """Where notes without an id were first seen."""
        from engram.adapters.files.note_ids import NoteIds

        return NoteIds(self.places.root)

    def first_seen(self, path: str) -> str:
        """Return where a note in place was first seen; "" where that is its path."""
        return "" if self.places.folder else self.note_ids.first_seen(path)

    def ignore_rules(self) -> IgnoreRules | None:
        """Return what says which files of a whole store are no entries, as it is now; None for a folder of lore alone."""
        if self.places.folder:
            return None
        from engram.adapters.files.ignore import IgnoreRules

        repository = self.places.repository
        return IgnoreRules(self.places.root, repository.worktree if repository is not None else "")

    @property
    def repository(self) -> Repository:
        """The repository that the store is in: for whoever knows that there is one."""
        assert self.places.repository is not None
        return self.places.repository

    @property
    def model(self) -> Embedder | None:
        """The embedding provider, also while it gives no vectors; None where there is none or it is broken."""
        before, model = self._embedder, self.meaning.model(self.settings)
        if model is not before:
            self._embedder = model
            self._forget_index()
        return model

    @property
    def embedder(self) -> Embedder | None:
        """The embedding provider, if questions can be asked by meaning now (`degraded` says why not)."""
        model = self.model
        generation = self._index.generation if self._index is not None else None
        self._note_meaning(self.meaning.notes(generation))
        return self.meaning.usable(model, generation)

    @property
    def bundled_embedder(self) -> Embedder:
        """The bundled model: rules for equal texts are fitted to it, and clones have to agree whatever they search with."""
        return self.meaning.bundled(self.settings)

    @property
    def judgements(self) -> JudgementCache:
        """What was read of all ledgers: for whoever knows that there is one."""
        if self._judgements is None:
            from engram.adapters.state.judgement_cache import JudgementCache

            self._judgements = JudgementCache(self.places.state)
        return self._judgements

    def borrow_embedder(self, other: Store) -> None:
        """Use the model that another store has loaded, where the settings of both name the same."""
        if all(self.settings.get(key) == other.settings.get(key) for key in KEYS):
            self.meaning.borrow(other.meaning, self.settings)

    def give_up_meaning(self, error: EmbeddingError) -> None:
        """Go on without the embedding model: it cannot be asked now, or it turned out to be broken.

        Broken, it leaves an index of words: that of another model serves as well as one without.
        """
        if self.meaning.give_up(error):
            self._embedder = None
            self._forget_index()
        self._note_meaning(self.meaning.notes(None))

    def _note_meaning(self, notes: list[str]) -> None:
        """Say in `degraded` why there is no search by meaning, for as long as that is so."""
        if notes != self._meaning_notes:
            self.degraded[:] = [note for note in self.degraded if note not in self._meaning_notes] + notes
            self._meaning_notes = notes

    def _forget_index(self) -> None:
        if self._index is not None:
            self._index.drop()
            self._index = None

    @property
    def is_indexed(self) -> bool:
        """Whether this process has looked at the index."""
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
        """Stop being told of changes; the next query looks for itself."""
        if self.watch is not None:
            self.watch.close()
            self.watch = None

    @property
    def outside_path(self) -> str:
        """The file that lists what was changed without Engram, for the committer."""
        return os.path.join(self.places.state, "outside")

    @property
    def allowed_secrets(self) -> tuple[str, ...]:
        """What looks like a secret and is none, by the settings."""
        return self.settings.texts("secrets.allow")

    @property
    def source_id(self) -> str:
        """This clone's id: minted once, kept in the state folder, never in the work tree."""
        if not self._source_id:
            self._source_id = self.known_source_id or self._mint_source()
        return self._source_id

    @property
    def known_source_id(self) -> str:
        """This clone's id as far as it has one; "" before it wrote anything."""
        self._source_id = self._source_id or self.read_source() or self.remembered_source()
        return self._source_id

    @contextlib.contextmanager
    def calling(self, caller: Caller) -> Iterator[None]:
        """Within this, somebody else is calling."""
        before, self.caller = self.caller, caller
        try:
            yield
        finally:
            self.caller = before

    @property
    def source(self) -> str:
        """The short form of the source id, the key of this clone's votes."""
        return ulid.short(self.source_id)

    def close(self) -> None:
        """Close every file, also those of other scopes that were opened from here.

        A thread that is at work with the store is waited for, since SQLite crashes where a connection is closed that
        another thread uses; with one that takes very long the files stay open until the process ends.
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
        if self._index is not None:
            self._index.drop()
            self._index = None
        for database in self.durable.values():
            database.close()
        if self._judgements is not None:
            self._judgements.close()
        self.state.close()
        self.session_state.close()

    def __del__(self) -> None:
        """What nobody closed is closed; at the end of Python some parts may be gone already."""
        with contextlib.suppress(Exception):
            self.close()

    @property
    def source_path(self) -> str:
        """The file that has this clone's id."""
        return os.path.join(self.places.state, "source")

    def read_source(self) -> str:
        """Return the id in its file; "" where there is none that can be read."""
        try:
            with open(self.source_path, encoding="ascii") as file:
                text = file.read().strip()
        except (OSError, UnicodeDecodeError):
            return ""
        return text if ulid.is_valid(text) else ""

    def remembered_source(self) -> str:
        """Return the id that this clone's own ledgers have, where its file is there and cannot be read; else ""."""
        writers = self.ledgers.writers() if os.path.lexists(self.source_path) else []
        return writers[-1] if writers else ""

    def write_source(self, source: str) -> None:
        """Make this the clone's id; a folder in its place is renamed. Raises StoreError."""
        try:
            if os.path.isdir(self.source_path):
                rename_damaged(self.source_path)
        except OSError as error:
            raise atomic.unwritable(self.source_path, error) from None
        atomic.write(self.source_path, f"{source}\n".encode(), "source", 0o600)
        self._source_id = source

    def _mint_source(self) -> str:
        with self.files.lock():
            found = self.read_source()
            if not found:
                found = self.clock.new_id()
                if os.path.lexists(self.source_path):
                    self.degraded.append("the id of this clone could not be read, and it has a new one")
                self.write_source(found)
        return found
