"""A demonstration: two clones of a store disagree, and a sync merges them. Real repositories, no network."""

from __future__ import annotations

import os

from engram.adapters.git.run.layout import read_head
from engram.domain.entry.confidence import HELPFUL, INCORRECT, two_decimals
from engram.domain.errors import UsageError
from engram.domain.text.counted_nouns import entries
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.opening.init import init
from engram.usecases.opening.open_store import open_store
from engram.usecases.placement.clone import clone
from engram.usecases.recording.edit import Edit, edit
from engram.usecases.recording.feedback import feedback
from engram.usecases.recording.record import Draft, record
from engram.usecases.store import remote
from engram.usecases.store.commit import commit_pending
from engram.usecases.store.store import DEDICATED, Caller, Store
from engram.usecases.sync.sync import Options, Synced, sync

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore

HUB = "hub.git"
ADA, BOB = "ada", "bob"
FIRST, SECOND = "Retry a failed upload once.", "The first attempt after a deploy meets a cold cache."
SECONDS = 30.0  # timeout of each git command that talks to the remote


class Did(NamedTuple):
    """One step: whose clone, the command, and its result."""

    who: str
    command: str
    result: str


class Share(NamedTuple):
    """The share of a clone's votes in the confidence, in thousandths."""

    who: str
    thousandths: int


class Demo(NamedTuple):
    """The steps, the resulting entry, and whether both clones have the same bytes at the same commit.

    `path` is the entry's file and `text` its content; `before` is its initial confidence, in thousandths.
    """

    folder: str
    steps: tuple[Did, ...]
    path: str
    text: str
    before: int
    shares: tuple[Share, ...]
    after: int
    commit: str
    equal: bool


def demo(folder: str = "") -> Demo:
    """Run the demonstration in `folder` (missing or empty) and keep it, or in a temporary folder.

    Raises UsageError, GitError, StoreError.
    """
    if folder:
        return _Demonstration(new_folder(folder)).run()
    import tempfile

    with tempfile.TemporaryDirectory(prefix="engram-demo-", ignore_cleanup_errors=True) as root:
        return _Demonstration(root).run()


def new_folder(folder: str) -> str:
    """Create the folder of a demonstration that is kept, and return its path. Raises UsageError if it is not empty."""
    root = os.path.abspath(os.path.expanduser(folder))
    if os.path.exists(root) and (not os.path.isdir(root) or os.listdir(root)):
        raise UsageError(f"{root} already exists and is not an empty folder.", "Name another with --keep.")
    os.makedirs(root, exist_ok=True)
    return root


class _Demonstration:
    """A running demonstration."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._stores: dict[str, Store] = {}
        self._steps: list[Did] = []

    def run(self) -> Demo:
        """Run the demonstration and return it."""
        try:
            lore = self._agree()
            self._disagree(lore.id)
            self._settle()
            return self._outcome(lore)
        finally:
            for store in self._stores.values():
                store.close()

    def _agree(self) -> Lore:
        """Ada records an entry and syncs; Bob clones the store."""
        hub = os.path.join(self._root, HUB)
        make_hub(hub)
        ada = os.path.join(self._root, ADA)
        init(ada, placement=DEDICATED)
        store = self._open(ADA)
        remote.add(store, "origin", hub)
        lore = record(store, Draft(f"{FIRST}\n\n{SECOND}", "FACT", tags=("upload",))).lore
        self._add_step(ADA, f'engram record "{FIRST} …"', f"confidence {two_decimals(lore.thousandths)}")
        self._sync(ADA)
        bob = clone(hub, os.path.join(self._root, BOB))
        self._add_step(BOB, f"engram clone {HUB}", entries(bob.lore))
        self._open(BOB)
        return lore

    def _disagree(self, lore_id: str) -> None:
        """Both judge and edit the entry and change its category, unaware of each other."""
        self._judge(ADA, HELPFUL, lore_id)
        self._judge(BOB, INCORRECT, lore_id)
        for who, category in ((ADA, "EDGE_CASE_DISCOVERY"), (BOB, "DEPENDENCY_BEHAVIOR")):
            edit(self._stores[who], lore_id, Edit(category=category))
            self._add_step(who, f"engram edit L1 --category {category}", "")
        longer = f"{FIRST}\n\n{SECOND[:-1]} of 2 GB."
        self._edit(ADA, lore_id, longer, "deploy", '"… cold cache of 2 GB."')
        other = f"{FIRST.replace('once', 'twice')}\n\n{SECOND}"
        self._edit(BOB, lore_id, other, "network", '"… a failed upload twice."')

    def _settle(self) -> None:
        for who in (ADA, BOB, ADA):
            self._sync(who)

    def _outcome(self, lore: Lore) -> Demo:
        from engram.usecases.lookup.resolve import resolve
        from engram.usecases.store import entry_writer

        ada, bob = self._stores[ADA], self._stores[BOB]
        path = resolve(ada, lore.id).path
        file = entry_writer.load(ada, path)
        shares = tuple(
            Share(who, vote.up - vote.down)
            for who in (ADA, BOB)
            if (vote := file.lore.accounts.get(self._stores[who].source))
        )
        heads = [read_head(store.repository).oid or "" for store in (ada, bob)]
        equal = heads[0] == heads[1] and _read_tree(ada) == _read_tree(bob)
        return Demo(
            self._root, tuple(self._steps), path, file.raw.decode(), lore.thousandths, shares,
            file.lore.thousandths, heads[0], equal,
        )  # fmt: skip

    def _open(self, who: str) -> Store:
        store = open_store(os.path.join(self._root, who), Caller("demo", who))
        self._stores[who] = store
        return store

    def _judge(self, who: str, kind: str, lore_id: str) -> None:
        store = self._stores[who]
        (judged,) = (
            feedback(store, helpful=[lore_id]) if kind == HELPFUL else feedback(store, incorrect=[lore_id])
        )
        before, after = (two_decimals(round(value * 1000)) for value in (judged.previous, judged.current))
        self._add_step(who, f"engram feedback --{kind} L1", f"confidence {before} → {after}")

    def _edit(self, who: str, lore_id: str, content: str, tag: str, result: str) -> None:
        edit(self._stores[who], lore_id, Edit(content=content, add_tags=(tag,)))
        self._add_step(who, f"engram edit L1 --add-tag {tag} --content …", result)

    def _sync(self, who: str) -> None:
        done = sync_fully(self._stores[who])
        parts = [(done.pulled, "in"), (done.pushed, "out"), (done.conflicts, "conflict")]
        self._add_step(who, "engram sync", ", ".join(f"{count} {label}" for count, label in parts if count))

    def _add_step(self, who: str, command: str, result: str) -> None:
        self._steps.append(Did(who, command, result))


def sync_fully(store: Store) -> Synced:
    """Commit pending changes, and sync. Raises the first error of the sync."""
    commit_pending(store, wait=SECONDS)
    done = sync(store, Options(timeout=SECONDS))
    if done.errors:
        raise done.errors[0]
    return done


def make_hub(path: str) -> None:
    """Create an empty bare repository for the clones of a store to share."""
    from engram.adapters.git.run.runner import run

    run(os.path.dirname(path), "init", "--quiet", "--bare", "--template=", "--initial-branch=main", path)


def _read_tree(store: Store) -> dict[str, bytes]:
    """Return every file of a clone outside `.git`."""
    found = {}
    for folder, names, files in os.walk(store.places.root):
        names[:] = [name for name in names if name != ".git"]
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, store.places.root)] = file.read()
    return found
