"""The part of the Python API that inspects: links of entries, the activity log, figures, settings."""

from __future__ import annotations

from engram.api.api_base import Part, Words, words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.state.activity_table import ActivityLine
    from engram.domain.explore.insight import Insight
    from engram.domain.explore.metrics import Metric
    from engram.usecases.graph.links import Link
    from engram.usecases.recall.recall_log import Surfaced
    from engram.usecases.recording.record import RecordPreview
    from engram.usecases.store.configuration import Setting


class Looking(Part):
    """Links, past queries, previews of recording, the activity log and settings; part of `engram.app.Engram`."""

    def weigh(
        self,
        content: str,
        *,
        category: str = "",
        context: Words = (),
        tags: Words = (),
        files: Words = (),
        agent: str = "",
    ) -> RecordPreview:
        """Preview `record` without writing: near duplicates, contradictions, whether the entry would be pending.

        Raises ValidationError, SecretFoundError.
        """
        from engram.usecases.recording.record import Draft, preview

        draft = Draft(content, category, words(context), tags=words(tags), files=words(files), agent=agent)
        return preview(self.store, draft)

    def inject(self, text: str) -> str:
        """Return lore that answers `text` strongly, framed for a model's prompt; "" if there is none.

        It is automatic recall as hooks do it, with the same budget. Entries that this session has seen are only named
        by their refs. Raises StoreError.
        """
        from engram.domain.agents.prompt_intent import split_sentences, threshold_for
        from engram.usecases.agents.auto_recall import recall_for_text

        return recall_for_text(
            self.store, text, above=True, bar=threshold_for(text), sentences=split_sentences(text)
        )

    def links(self, name: str) -> list[Link]:
        """Return the links and backlinks of an entry: `.kind`, `.id`, `.title`, `.back`. Raises as `get`, StoreError."""
        from engram.usecases.graph.links import find_links

        return find_links(self.store, name)

    def surfaced(self, name: str, limit: int = 20) -> list[Surfaced]:
        """Return the last queries that an entry answered, newest first. Raises NotFoundError, AmbiguousError, StoreError."""
        from engram.usecases.recall.recall_log import list_recalls

        return list_recalls(self.store, name, limit)

    def configuration(self) -> list[Setting]:
        """Return all settings: `.key`, the `.value` in force, its `.origin` (default, store, user). Raises ConfigError."""
        from engram.usecases.store.configuration import configuration

        return configuration(self.store)

    def configure(self, name: str, text: str | None) -> object:
        """Set a key in your own file (None: unset it), and return the value now in force. Raises ConfigError, StoreError."""
        from engram.usecases.store.configuration import configure_own

        return configure_own(self.store, name, text)

    def live(self, since: int | None = None, limit: int = 100) -> list[ActivityLine]:
        """Return activity log entries, oldest first: those after the number `since`, else the latest `limit`.

        Pass the last `.number` as `since` next time. Raises UsageError, StoreError.
        """
        from engram.usecases.store.activity_log import entries

        return entries(self.store, since, limit)

    def metrics(self) -> list[Metric]:
        """Return counters, gauges and the latency of queries. Raises StoreError."""
        from engram.usecases.explore.metrics import metrics

        return metrics(self.store)

    def insight(self) -> Insight:
        """Return figures of the store: its growth, quality and use, unanswered queries, latencies. Raises StoreError."""
        from engram.usecases.explore.insight import compute_insight

        return compute_insight(self.store)
