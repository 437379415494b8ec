"""Find the commit that changed the answer to a query, by binary search: query the store as of past commits."""

from __future__ import annotations

from engram.adapters.git.read.history import LogEntry, log
from engram.adapters.git.read.revisions import changes_of, resolve
from engram.domain.errors import NotFoundError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.recall.query import query
from engram.usecases.store.commit import commit_quietly
from engram.usecases.store.version_paths import in_git, repository_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.domain.entry.lore import Lore
    from engram.usecases.recall.query import Question
    from engram.usecases.store.store import Store

    Progress = Callable[[str], object]

CAME, WENT, CHANGED, MOVED = "came", "went", "changed", "moved"
_WAIT_SECONDS = 5.0  # for another process to finish its commit


class Difference(NamedTuple):
    """What a commit changed about one entry of the answer: its places before and after, from 1 (None: absent)."""

    kind: str
    lore: Lore
    before: int | None
    after: int | None


class Bisected(NamedTuple):
    """The commit that changed the answer, its changes, and the answer since; None if the answer was always the same.

    `commits` is the number of commits searched, `asked` how many of them were queried.
    """

    commit: LogEntry | None
    differences: tuple[Difference, ...]
    answer: tuple[Lore, ...]
    commits: int
    asked: int


def bisect(
    store: Store, question: Question, start: str = "", end: str = "HEAD", progress: Progress = str
) -> Bisected:
    """Find the commit from `start` to `end` (commits, tags or dates; by default all of history) that changed an answer.

    If several did, it is one after which the answer is as at the end, and before which it was not. Judgements count as
    they do today, since the commits of entries do not include them.
    Raises NotFoundError, StoreError, UsageError, ValidationError.
    """
    repository = repository_of(store)
    with store.lock:
        commit_quietly(store, wait=_WAIT_SECONDS)
    first = resolve(repository, start) if start else ""
    commits = changes_of(repository, in_git(store, store.places.folder), first, resolve(repository, end))
    if not commits:
        raise NotFoundError("No commit there changed any entry.", "Give an earlier --from, or a later --to.")
    known: dict[int, tuple[Lore, ...]] = {}

    def answer(place: int) -> tuple[Lore, ...]:
        commit = commits[place] if place >= 0 else first
        if place not in known:
            progress(f"asking as of {commit[:10]}" if commit else "asking")
            asked = question._replace(as_of=commit, keep=False)
            known[place] = tuple([hit.lore for hit in query(store, asked).lore]) if commit else ()
        return known[place]

    low, high = -1, len(commits) - 1
    now = _texts(answer(high))
    if _texts(answer(low)) == now:
        return Bisected(None, (), answer(high), len(commits), len(known))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _texts(answer(middle)) == now else (middle, high)
    (found,) = log(repository, "", 1, tip=commits[high])
    return Bisected(found, differences(answer(low), answer(high)), answer(high), len(commits), len(known))


def differences(before: Sequence[Lore], after: Sequence[Lore]) -> tuple[Difference, ...]:
    """Return the differences between two answers, in the order of the later one, then the entries that went."""
    old = {lore.id: (place, lore) for place, lore in enumerate(before, 1)}
    new = {lore.id for lore in after}
    both = [lore.id for lore in before if lore.id in new]
    order = [lore.id for lore in after if lore.id in old]
    found = []
    for place, lore in enumerate(after, 1):
        at, earlier = old.get(lore.id, (None, lore))
        if at is None:
            found.append(Difference(CAME, lore, None, place))
        elif earlier.content != lore.content:
            found.append(Difference(CHANGED, lore, at, place))
        elif both.index(lore.id) != order.index(lore.id):
            found.append(Difference(MOVED, lore, at, place))
    found += [Difference(WENT, lore, place, None) for place, lore in old.values() if lore.id not in new]
    return tuple(found)


def _texts(answer: Sequence[Lore]) -> list[tuple[str, str]]:
    return [(lore.id, lore.content) for lore in answer]
