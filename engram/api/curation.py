"""The part of the Python API for curation: the review queue, extraction, consolidation and worth."""

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
    """Curating an open store; part of `engram.app.Engram`."""

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
        """Return the review queue, by worth × certainty: `.items`, `.total`, `.by_kind`. Raises UsageError, StoreError.

        Filters select items about entries of these categories with all these tags, older than `older_than` days.
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
        """Decide about an item of the queue, given itself or the start of its id: one commit, which `undo` takes back.

        `days` is how long a snooze lasts, `result` your version of the entry that is kept; `dry_run` only returns the
        result. Raises NotFoundError, AmbiguousError, UsageError, ConflictError, ValidationError, SecretFoundError,
        StoreError.
        """
        from engram.usecases.review.decisions import decide, preview
        from engram.usecases.review.review import find_item

        wanted = find_item(self.store, item) if isinstance(item, str) else item
        if dry_run:
            return preview(self.store, wanted, decision)
        return self._written(decide(self.store, wanted, decision, days=days, result=result))

    def ask_again(self, done: Decided) -> None:
        """Take back a decision that changed no file (snooze, "both stay", accept); `undo` takes the others back."""
        from engram.usecases.review.decisions import reopen

        reopen(self.store, done)

    def extract(
        self, text: str | bytes, *, name: str = "text", limit: int = 10, dry_run: bool = False
    ) -> list[Outcome]:
        """Record what a transcript or document marks as learned as pending lore, and return the outcome of each candidate.

        `name` is the source. Raises UsageError, StoreError.
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
        """Return a plan that tidies the store: `.steps` with their results, `.withheld`, `.rehearsal`. It changes nothing.

        `kinds` are merge, supersede, archive, promote (default: all). `skip` and `confirm` name steps by id, start of
        an id, or kind: those to leave out, and those that need confirmation. `to` is the scope to promote to.
        `progress` gets the name of each step. Raises UsageError, NotFoundError, AmbiguousError, StoreError.
        """
        from engram.usecases.consolidation.consolidate import plan

        return plan(
            self.store, kinds=words(kinds), skip=words(skip), confirm=words(confirm), to=to, progress=progress
        )

    def apply(self, plan: Plan) -> Consolidated:
        """Carry out the selected steps of a plan as one commit, which `undo` reverts byte for byte. Idempotent.

        Raises StoreError, and ConflictError, before anything is written, if an entry was changed since.
        """
        from engram.usecases.consolidation.consolidate import apply

        return self._written(apply(self.store, plan))

    def worth(self, *names: str, limit: int | None = 20, sort: str = "importance") -> UsefulnessList:
        """Return how often entries were shown and helpful, their cost, and which past queries they alone answer.

        Of the named entries, else of all, the most important first. Raises NotFoundError, AmbiguousError, UsageError.
        """
        from engram.usecases.consolidation.usefulness import rate_usefulness

        return rate_usefulness(self.store, names, limit=limit, sort=sort)

    def worth_at_once(self, *ids: str) -> dict[str, dict[str, float]]:
        """Return `shown`, `tokens` and `importance` of entries by id, quickly, without running past queries again.

        Unknown ids are left out. Raises StoreError.
        """
        from engram.usecases.index.index_query import query_index
        from engram.usecases.lookup.hits import hits_of
        from engram.usecases.recall.usage import usefulness_of_each

        with self.store.lock:
            return usefulness_of_each(
                self.store, query_index(self.store, lambda found: hits_of(found, ids)).values()
            )

    def would_answer(self, name: str) -> WouldAnswer:
        """Return the past queries that would show an inactive entry if it were active: `.queries`, of `.asked`.

        Raises NotFoundError, AmbiguousError, StoreError.
        """
        from engram.usecases.recall.recall_preview import would_answer

        return would_answer(self.store, name)

    def check(self, *paths: str, since: str = "") -> CheckReport:
        """Check whether lore can be merged: `.remarks` with `.level` (error, warning), `.kind`, `.path`, `.line`, `.message`.

        It checks the files at or below `paths` (default: all), with `since` only those changed since a commit, branch
        or date. Raises UsageError, NotFoundError, StoreError.
        """
        from engram.usecases.review.check import check

        return check(self.store, paths, since)
