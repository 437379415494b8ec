"""The part of the Python API that looks: around an entry, at what was done here, at the settings."""

from __future__ import annotations

from engram.api.api_base import Part, Words, words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.state.activity_table import LiveEntry
    from engram.domain.explore.insight import Insight
    from engram.domain.explore.metrics import Metric
    from engram.usecases.graph.links import Link
    from engram.usecases.recall.recall_log import Surfaced
    from engram.usecases.recording.record import Weighed
    from engram.usecases.store.configuration import Setting


class Looking(Part):
    """Links, queries that an entry answered, what recording would answer, the activity log, settings: a part of `Engram`."""

    def weigh(
        self,
        content: str,
        *,
        category: str = "",
        context: Words = (),
        tags: Words = (),
        files: Words = (),
        agent: str = "",
    ) -> Weighed:
        """What `record` would answer, without writing: near twins, what it speaks against, whether it would wait.

        Raises ValidationError, SecretFoundError.
        """
        from engram.usecases.recording.record import Draft, weigh

        draft = Draft(content, category, words(context), tags=words(tags), files=words(files), agent=agent)
        return weigh(self.store, draft)

    def inject(self, text: str) -> str:
        """Lore that answers `text` strongly, framed for a model's prompt; "" for none.

        Of what this session was shown before only the refs. This is passive recall as hooks do it, with the same budget.
        Raises StoreError.
        """
        from engram.domain.agents.prompt_intent import bar_of, sentences_of
        from engram.usecases.agents.auto_recall import by_text

        return by_text(self.store, text, above=True, bar=bar_of(text), sentences=sentences_of(text))

    def links(self, name: str) -> list[Link]:
        """What an entry names and what names it: `.kind`, `.id`, `.title`, `.back`. Raises as `get`, StoreError."""
        from engram.usecases.graph.links import find_links

        return find_links(self.store, name)

    def surfaced(self, name: str, limit: int = 20) -> list[Surfaced]:
        """The last queries that an entry answered, newest first. Raises NotFoundError, AmbiguousError, StoreError."""
        from engram.usecases.recall.recall_log import list_recalls

        return list_recalls(self.store, name, limit)

    def configuration(self) -> list[Setting]:
        """Every setting: `.key`, the `.value` in force, its `.origin` (default, store, user). Raises ConfigError."""
        from engram.usecases.store.configuration import configuration

        return configuration(self.store)

    def configure(self, name: str, text: str | None) -> object:
        """Set a key in your own file from text (None: unset it); the value in force then. Raises ConfigError, StoreError."""
        from engram.usecases.store.configuration import configure_own

        return configure_own(self.store, name, text)

    def live(self, since: int | None = None, limit: int = 100) -> list[LiveEntry]:
        """What queries, tools and hooks did, oldest first: what came after number `since`, else the latest `limit`.

        An entry's `.number` is what to ask with next. Raises UsageError, StoreError.
        """
        from engram.usecases.store.activity_log import entries

        return entries(self.store, since, limit)

    def metrics(self) -> list[Metric]:
        """Counters, gauges and the latency of queries. Raises StoreError."""
        from engram.usecases.explore.metrics import metrics

        return metrics(self.store)

    def insight(self) -> Insight:
        """How much lore, how good, how used, which questions find nothing, how quick recall is. Raises StoreError."""
        from engram.usecases.explore.insight import insight

        return insight(self.store)
