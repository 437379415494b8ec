"""The part of the Python API that keeps a store in order: the review queue, extraction, consolidation and worth."""

from __future__ import annotations

from engram.api.api_base import Part, Words, words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.domain.consolidation.plan import Plan
    from engram.domain.entry.lore import Lore
    from engram.domain.review.review import Item
    from engram.usecases.agents.extract import Outcome
    from engram.usecases.consolidation.consolidate import Consolidated
    from engram.usecases.consolidation.usefulness import UsefulnessList
    from engram.usecases.recall.recall_preview import WouldAnswer
    from engram.usecases.review.check import CheckReport
    from engram.usecases.review.decisions import Decided
    from engram.usecases.review.review import Queue


class Curating(Part):
    """Tidying an open store up; `engram.app.Engram` has all of it."""

    def review(
        self,
        *,
        kinds: Words = (),
        agents: Words = (),
        categories: Words = (),
        tags: Words = (),
        older_than: float = 0.0,
        min_confidence: float = 0.0,
        max_confidence: float = 1.0,
        limit: int | None = None,
    ) -> Queue:
        """What waits for a person, by worth × certainty: `.items`, `.total`, `.by_kind`. Raises UsageError, StoreError.

        Only items about lore of these categories with all these tags, older than so many days, within these confidences.
        """
        from engram.usecases.review.review import EntryFilter, review

        wanted = EntryFilter(words(categories), words(tags), older_than, min_confidence, max_confidence)
        return review(self.store, kinds=words(kinds), agents=words(agents), wanted=wanted, limit=limit)

    def decide(
        self,
        item: str | Item,
        decision: str,
        *,
        days: float = 7.0,
        result: Lore | None = None,
        dry_run: bool = False,
    ) -> Decided:
        """Decide about an item of the queue, or what its id begins with: one commit, which `undo` takes back.

        `days` is how long a snooze lasts; `result` what you made of the entry that stays (see `dry_run`, which writes
        nothing), text and fields. Raises NotFoundError, AmbiguousError, UsageError, ConflictError, ValidationError,
        SecretFoundError, StoreError.
        """
        from engram.usecases.review.decisions import decide, preview
        from engram.usecases.review.review import find_item

        wanted = find_item(self.store, item) if isinstance(item, str) else item
        if dry_run:
            return preview(self.store, wanted, decision)
        return self._written(decide(self.store, wanted, decision, days=days, result=result))

    def ask_again(self, done: Decided) -> None:
        """Take back a decision that changed no file (a snooze, \"both stay\", letting in); `undo` takes the others back."""
        from engram.usecases.review.decisions import reopen

        reopen(self.store, done)

    def extract(
        self, text: str | bytes, *, name: str = "text", limit: int = 10, dry_run: bool = False
    ) -> list[Outcome]:
        """Record the few things that a transcript or document marks as learned, as pending lore; what became of each.

        `name` says where it is from. Raises UsageError, StoreError.
        """
        from engram.usecases.agents.extract import extract_lore

        raw = text.encode() if isinstance(text, str) else text
        return self._written(extract_lore(self.store, raw, name, most=limit, dry_run=dry_run))

    def consolidate(
        self,
        *,
        kinds: Words = (),
        skip: Words = (),
        confirm: Words = (),
        to: str = "",
        progress: Callable[[str], object] = str,
    ) -> Plan:
        """What tidying up would do: `.steps` with their results, `.withheld`, `.rehearsal`; changes nothing.

        `kinds` are merge, supersede, archive, promote (default: all). `skip` leaves steps out, `confirm` has
        those done that wait for a word, by id, start of an id, or kind; `to` is the scope that promotion across
        scopes proposes. `progress` gets the name of each step. Raises UsageError, NotFoundError, AmbiguousError, StoreError.
        """
        from engram.usecases.consolidation.consolidate import plan

        return plan(
            self.store, kinds=words(kinds), skip=words(skip), confirm=words(confirm), to=to, progress=progress
        )

    def apply(self, plan: Plan) -> Consolidated:
        """Do the selected steps of a plan as one commit, which `undo` takes back byte for byte; twice is once.

        Raises ConflictError, before anything is written, where an entry was changed since; StoreError.
        """
        from engram.usecases.consolidation.consolidate import apply

        return self._written(apply(self.store, plan))

    def worth(self, *names: str, limit: int | None = 20, sort: str = "importance") -> UsefulnessList:
        """How often entries were shown and helpful, what they cost, and which past queries they answer alone.

        Of the named lore, else of all, the most important first. Raises NotFoundError, AmbiguousError, UsageError.
        """
        from engram.usecases.consolidation.usefulness import rate_usefulness

        return rate_usefulness(self.store, names, limit=limit, sort=sort)

    def worth_at_once(self, *ids: str) -> dict[str, dict[str, float]]:
        """By id `shown`, `tokens` and `importance` of these entries, without asking any query: for a column of a list.

        An id that this store does not have is left out. Raises StoreError.
        """
        from engram.usecases.index.index_query import consult
        from engram.usecases.lookup.hits import hits_of
        from engram.usecases.recall.usage import usefulness_of_each

        with self.store.lock:
            return usefulness_of_each(
                self.store, consult(self.store, lambda found: hits_of(found, ids)).values()
            )

    def would_answer(self, name: str) -> WouldAnswer:
        """Which past queries would show this entry if nothing kept it out: `.queries`, of `.asked`.

        Raises NotFoundError, AmbiguousError, StoreError.
        """
        from engram.usecases.recall.recall_preview import would_answer

        return would_answer(self.store, name)

    def check(self, *paths: str, since: str = "") -> CheckReport:
        """Whether lore can be merged: `.remarks`, each with `.level` (error, warning), `.kind`, `.path`, `.line`, `.message`.

        Of the files at or below `paths` (default: all); with `since` (a commit, branch or date) of what changed since it.
        Raises UsageError, NotFoundError, StoreError.
        """
        from engram.usecases.review.check import check

        return check(self.store, paths, since)
