"""A demonstration to explore: a team of three with two clones, with every kind of entry that waits for a person.

Real repositories and real syncs; the texts are made up.
"""

# ruff: noqa: E501 - texts
from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import timedelta

from engram.adapters.git.run.runner import run
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.graph.link_entity import LinkRequest, link_entity
from engram.usecases.opening.init import init
from engram.usecases.opening.open_store import open_store
from engram.usecases.placement.clone import clone
from engram.usecases.placement.demo import HUB, SECONDS, make_hub, sync_fully
from engram.usecases.recording.edit import Edit, edit
from engram.usecases.recording.feedback import feedback
from engram.usecases.recording.record import Draft, record
from engram.usecases.store import remote
from engram.usecases.store.commit import commit_pending
from engram.usecases.store.store import DEDICATED, Caller, Clock, Store
from engram.usecases.sync.propose import propose
from engram.usecases.sync.sync import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.domain.entry.lore import Lore

ADA, BOB, CLEO = "Ada Lovelace", "Bob Kahn", "Cleo Wade"
PROPOSAL = "Search: what the load test showed"
_AUTHOR = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")


class Line(NamedTuple):
    """An entry of the demonstration: `days` ago it was recorded by `agent` ("": a person)."""

    category: str
    content: str
    days: float
    tags: tuple[str, ...] = ()
    agent: str = ""
    status: str = "active"
    expires: float = 0.0  # after so many days; 0: never


UPLOADS = "Uploads are limited to 100 MB by the gateway."
CACHE = "The report cache is warmed at deploy.\n\nIt takes 40 seconds."
CACHE_ADA = "The report cache is warmed at deploy.\n\nIt takes 90 seconds since the tables grew."
CACHE_BOB = "The report cache is warmed at deploy.\n\nIt takes 15 seconds on the new machines."
SHARED = "The staging database is restored from production every Sunday night."
ADAS = (
    Line("ARCHITECTURAL_DECISION", "Money is stored as integer cents, never as float.\n\nRounding differed between the ledger and the invoices.", 160, ("billing",)),
    Line("ARCHITECTURAL_DECISION", "The ledger is append-only; corrections are new lines.\n\nThe auditors asked for it.", 150, ("billing",)),
    Line("DEPENDENCY_BEHAVIOR", CACHE, 90, ("reports", "deploy")),
    Line("EDGE_CASE_DISCOVERY", "Sessions of the admin proxy expire after 12 hours of inactivity.", 80, ("auth",)),
    Line("FAILURE", "Retry with full jitter, because equal waits synchronised all clients of the queue.\n\nThe load test showed it.", 75, ("queue", "retry")),
    Line("PATTERN_OUTCOME", "Queue consumers are idempotent.\n\nThe broker delivers a message again when its ack is late.", 70, ("queue",), "claude-code"),
    Line("DEPENDENCY_BEHAVIOR", "A message of the broker has at most 256 KB; the rest is cut off.", 66, ("queue",), "claude-code"),
    Line("FACT", "The EU region has no GPU nodes; embeddings are computed in us-east.", 60, ("search", "deploy")),
    Line("FACT", UPLOADS, 58, ("uploads",)),
    Line("PATTERN_OUTCOME", "Migrations that rewrite a table run in batches of 5,000 rows.\n\nOne statement locked orders for eleven minutes.", 52, ("database",)),
    Line("FAILURE", "Do not reuse a database connection after a fork.\n\nBoth processes read the same answer.", 47, ("database",)),
    Line("FACT", "Feature flags are read at start; a change needs a restart of the workers.", 40, ("deploy",)),
    Line("FACT", "The status page is down for maintenance until the move is over.", 35, ("deploy",), "", "active", 20),
    Line("EDGE_CASE_DISCOVERY", "Invoices of customers without a country get the tax of the seller.", 31, ("billing",)),
    Line("ARCHITECTURAL_DECISION", "Secrets come from the vault at start; none is in an environment variable.", 28, ("auth",)),
    Line("DEPENDENCY_BEHAVIOR", "The CDN caches a redirect for a day, whatever its header says.", 26, ("deploy",), "claude-code"),
    Line("FACT", SHARED, 20, ("database",)),
    Line("FACT", "The integration tests need Node 22.", 6, ("ci",), "claude-code", "pending"),
    Line("PATTERN_OUTCOME", "Snapshot tests of the mailer are renewed with `make mail-snapshots`.", 3, ("ci",), "codex", "pending"),
)  # fmt: skip
CLEOS = (
    Line("ARCHITECTURAL_DECISION", "The search index is rebuilt from events, never copied between regions.", 44, ("search",)),
    Line("DEPENDENCY_BEHAVIOR", "The PDF renderer leaks 2 MB a page, so it is started anew after 200 of them.", 42, ("reports",)),
    Line("FAILURE", "Escape the wildcards that customers type.\n\nOne looked for `*` and took the cluster down.", 39, ("search",)),
    Line("EDGE_CASE_DISCOVERY", "Emoji in a customer's name break the CSV export to the bank.", 36, ("billing", "export")),
    Line("PATTERN_OUTCOME", "Synonyms are applied when a query is made, not when a document is indexed.", 33, ("search",)),
    Line("FACT", "Translations come from the content team on Thursdays.", 29, ("i18n",)),
    Line("FACT", "The colour of a chart is chosen by the account, not by the theme.", 25, ("reports",)),
    Line("PATTERN_OUTCOME", "Long exports go to object storage, and the mail has only the link.", 24, ("export",)),
    Line("FAILURE", "Sorting by a computed column read the whole table for each page.", 24, ("reports", "database")),
    Line("FACT", "Report numbers restart each year.", 23, ("reports",)),
    Line("DEPENDENCY_BEHAVIOR", "The mail provider rejects attachments above 18 MB although it says 25.", 21, ("mail",)),
)  # fmt: skip
BOBS = (
    Line("EDGE_CASE_DISCOVERY", "Sessions of the admin proxy expire after 30 minutes of inactivity.", 18, ("auth",), "claude-code"),
    Line("FAILURE", "Retry with full jitter, as equal waits had synchronised all clients of the queue.\n\nThe load test showed it again.", 16, ("queue", "retry")),
    Line("FACT", "Deploys are frozen on the last two days of a quarter.", 15, ("deploy",)),
    Line("ARCHITECTURAL_DECISION", "Events carry the time of the sender and of the server.", 14, ("queue",)),
    Line("FAILURE", "Never delete a topic of the broker while a consumer is paused.\n\nIts offsets start anew.", 12, ("queue",)),
    Line("PATTERN_OUTCOME", "A long job writes its progress to the table `jobs`.", 10, ("database",)),
    Line("EDGE_CASE_DISCOVERY", "A refund in another currency uses the rate of the day of the payment.", 10, ("billing",)),
    Line("FACT", "The health check of the gateway answers before its routes are loaded.", 9, ("deploy",)),
    Line("DEPENDENCY_BEHAVIOR", "The payment provider sends each webhook at least twice.", 8, ("billing",), "codex"),
)  # fmt: skip
PROPOSED = (
    Line("DEPENDENCY_BEHAVIOR", "The search engine answers in 40 ms up to 200 queries a second, then in 900 ms.", 2, ("search",)),
    Line("FACT", "When search is slow, restart its nodes one after another.", 2, ("search",)),
)  # fmt: skip
UPLOADS_PROPOSED = "Uploads are limited to 250 MB by the gateway since its last update."
ENTITIES = (
    LinkRequest("Gateway", type="tool", text="What every request from outside passes."),
    LinkRequest("Broker", type="tool", text="Carries events between the services."),
    LinkRequest("Ledger", type="tool", to="Broker", kind="uses"),
    LinkRequest("Search", type="tool", to="Broker", kind="uses"),
    LinkRequest("Gateway", to="Search", kind="uses"),
)
ABOUT = {"queue": "Broker", "search": "Search", "billing": "Ledger", "uploads": "Gateway"}  # entities by tag


def make_team(folder: str) -> str:
    """Create the clones of Ada and Bob in an empty folder; return the root of Ada's, which has the review queue.

    Takes some seconds. Raises GitError, StoreError.
    """
    with _ignore_author_variables():
        return _Team(os.path.realpath(folder)).make()


@contextmanager
def _ignore_author_variables() -> Iterator[None]:
    """Have git take authors from the clones' configuration rather than from the environment."""
    before = {name: os.environ.pop(name) for name in _AUTHOR if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(before)


def _set_author(root: str, person: str) -> None:
    """Configure a person as the author in a clone."""
    run(root, "config", "user.name", person)
    run(root, "config", "user.email", f"{person.split(maxsplit=1)[0].lower()}@example.org")


class Earlier(Clock):
    """A clock that is some hours behind, so that the order of actions is certain."""

    def __init__(self, hours: float) -> None:
        self._behind = int(hours * 3600e9)

    def nanoseconds(self) -> int:
        """Return the nanoseconds since 1970, some hours ago."""
        return super().nanoseconds() - self._behind


class _Team:
    """The clones while they are created."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._stores: dict[str, Store] = {}

    def make(self) -> str:
        """Create the hub and both clones; return the root of Ada's."""
        try:
            hub = os.path.join(self._root, HUB)
            make_hub(hub)
            first = os.path.join(self._root, "ada")
            run(self._root, "init", "--quiet", "--template=", "--initial-branch=main", first)
            _set_author(first, ADA)
            init(first, placement=DEDICATED)
            ada = self._open("ada", ADA, 3.5)
            remote.add(ada, "origin", hub)
            for wanted in ENTITIES:
                link_entity(ada, wanted)
            known = {line.content: self._record(ada, line) for line in ADAS}
            sync_fully(self._stores["ada"])
            clone(hub, os.path.join(self._root, "bob"))
            self._settle(known)
            self._propose(known[UPLOADS].id)
            sync_fully(self._stores["ada"])
            return first
        finally:
            for store in self._stores.values():
                store.close()

    def _settle(self, known: dict[str, Lore]) -> None:
        """Change both clones concurrently, then sync them."""
        ada = self._stores["ada"]
        bob = self._open("bob", CLEO, 2.5)  # who shares Bob's machine
        for line in CLEOS:
            self._record(bob, line)
        commit_pending(bob, wait=SECONDS)
        bob = self._open("bob", BOB, 1.5)
        for line in BOBS:
            self._record(bob, line)
        self._record(bob, Line("FACT", SHARED, 19, ("staging",)), again=True)  # becomes one entry with Ada's
        edit(bob, known[CACHE].id, Edit(content=CACHE_BOB))
        feedback(bob, helpful=[known[ADAS[0].content].id, known[ADAS[5].content].id])
        ada.clock = Clock()
        edit(ada, known[CACHE].id, Edit(content=CACHE_ADA))
        for who in ("bob", "ada", "bob"):
            sync_fully(self._stores[who])

    def _propose(self, upload: str) -> None:
        bob = self._stores["bob"]
        for line in PROPOSED:
            self._record(bob, line)
        edit(bob, upload, Edit(content=UPLOADS_PROPOSED))
        commit_pending(bob, wait=SECONDS)
        propose(bob, PROPOSAL, Options(timeout=SECONDS))

    def _open(self, name: str, person: str, ago: float) -> Store:
        """Open a clone for a person, with a clock that is `ago` hours behind."""
        if name in self._stores:
            self._stores.pop(name).close()
        root = os.path.join(self._root, name)
        _set_author(root, person)
        store = open_store(root, Caller("demo", ""), clock=Earlier(ago))
        self._stores[name] = store
        return store

    def _record(self, store: Store, line: Line, *, again: bool = False) -> Lore:
        at = store.clock.now() - timedelta(days=line.days)
        expires_at = at + timedelta(days=line.expires) if line.expires else None
        about = tuple(name for tag, name in ABOUT.items() if tag in line.tags)
        draft = Draft(
            line.content, line.category, tags=line.tags, entities=about, agent=line.agent, status=line.status,
            created_at=at, expires_at=expires_at,
        )  # fmt: skip
        return record(store, draft, again=again).lore
