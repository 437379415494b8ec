"""Which commit made the answer to a query what it is: found by asking the store as it was, halving the history each time."""

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
_WAIT_SECONDS = 5.0  # for another process that is committing


class Difference(NamedTuple):
    """What a commit changed of one entry in the answer: its places before and after, from 1; None: it is not there."""

    kind: str
    lore: Lore
    before: int | None
    after: int | None


class Bisected(NamedTuple):
    """The commit since which the answer is what it is, and what it changed; None where the answer was the same all along.

    `commits` is how many there were to choose from, `asked` how many of them were asked. `answer` is what it has been since.
    """

    commit: LogEntry | None
    differences: tuple[Difference, ...]
    answer: tuple[Lore, ...]
    commits: int
    asked: int


def bisect(
    store: Store, question: Question, start: str = "", end: str = "HEAD", progress: Progress = str
) -> Bisected:
    """Find the commit between two (a commit, tag or date; by default all of the history) that changed an answer.

    Where several did, it is one after which the answer is as at the end, and before which it was not. Judgements are in no
    commit of entries: all count as they do today. Raises NotFoundError, StoreError, UsageError, ValidationError.
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
    now = _words(answer(high))
    if _words(answer(low)) == now:
        return Bisected(None, (), answer(high), len(commits), len(known))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _words(answer(middle)) == now else (middle, high)
    (found,) = log(repository, "", 1, tip=commits[high])
    return Bisected(found, differences(answer(low), answer(high)), answer(high), len(commits), len(known))


def differences(before: Sequence[Lore], after: Sequence[Lore]) -> tuple[Difference, ...]:
    """Return what is different between two answers, in the order of the later one, then what went."""
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


def _words(answer: Sequence[Lore]) -> list[tuple[str, str]]:
    return [(lore.id, lore.content) for lore in answer]
