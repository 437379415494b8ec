"""The part of the Python API for teams of agents: profiles, handoffs, summaries, contexts, observations, upkeep."""

from __future__ import annotations

from engram.api.api_base import NOTHING, Part, Words, words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.domain.graph.team import AgentProfile
    from engram.usecases.agents.context import Context
    from engram.usecases.agents.conversations import Conversation
    from engram.usecases.agents.handoffs import Handoff
    from engram.usecases.agents.observations import Observed
    from engram.usecases.graph.agent_profiles import KnownAgent
    from engram.usecases.recall.find import Found
    from engram.usecases.recording.record import Recorded
    from engram.usecases.upkeep.maintain import Maintained


class Teaming(Part):
    """Agents that share a memory; part of `engram.app.Engram`. `agent` defaults to the caller."""

    def register_agent(
        self,
        id: str,  # noqa: A002
        *,
        name: str = "",
        capabilities: Words = (),
        default_scope: str = "",
        settings: Mapping[str, str] = NOTHING,
        text: str = "",
    ) -> AgentProfile:
        """Write or update the profile of an agent, a file of the store. Raises UsageError, SecretFoundError."""
        from engram.domain.graph.team import AgentProfile
        from engram.usecases.graph.agent_profiles import register_agent

        profile = AgentProfile(id, name, words(capabilities), default_scope, tuple(settings.items()), text)
        return self._written(register_agent(self.store, profile))

    def team(self) -> list[KnownAgent]:
        """Return the registered agents and those seen here: `.profile`, `.registered`, `.seen_at` (Unix seconds)."""
        from engram.usecases.graph.agent_profiles import list_agents

        return list_agents(self.store)

    def handoff(
        self,
        summary: str,
        *,
        to: str = "",
        agent: str = "",
        topic: str = "",
        files: Words = (),
        scope: str = "",
    ) -> Recorded:
        """Hand work over to the agent `to`, or to the next one; that agent sees it first, once.

        Raises UsageError, ValidationError, SecretFoundError, NotAllowedError, StoreError.
        """
        from engram.usecases.agents.handoffs import handoff
        from engram.usecases.graph.agent_profiles import store_of_agent

        where = store_of_agent(self.store, agent or self.store.caller.agent, scope)
        return self._written(handoff(where, summary, to=to, giver=agent, topic=topic, files=words(files)))

    def handoffs(self, agent: str | None = None) -> list[Handoff]:
        """Return the open handoffs, the oldest first; with `agent`, only those for that one or anybody."""
        from engram.usecases.agents.handoffs import open_handoffs

        return open_handoffs(self.store, agent)

    def summarize(
        self, summary: str, *, participants: Words = (), files: Words = (), new: bool = False
    ) -> Conversation:
        """Record the summary of this session's conversation, replacing the last one.

        `new`, or half an hour without activity, begins a new conversation.
        Raises ValidationError, SecretFoundError, NotAllowedError, StoreError.
        """
        from engram.usecases.agents.conversations import summarize

        return self._written(
            summarize(self.store, summary, participants=words(participants), files=words(files), new=new)
        )

    def conversations(self, limit: int = 10) -> list[Conversation]:
        """Return the latest session summaries, newest first: `.lore`, and `.keys` with session, parent, participants."""
        from engram.usecases.agents.conversations import recent

        with self.store.lock:
            return recent(self.store, limit)

    def get_context(
        self,
        topic: str,
        max_tokens: int = 1000,
        *,
        agent: str = "",
        scope: str = "",
        take: bool = True,
        most: int = 8,
        sessions: bool = True,
        entities: bool = True,
    ) -> Context:
        """Return the context for a topic, as `.text` of at most `max_tokens`: handoffs, lore, sessions, entities.

        It has at most `most` entries about the topic, earlier sessions only if `sessions`, entities only if `entities`.
        If `take`, the handoffs in it count as taken over. Raises UsageError, ValidationError, StoreError.
        """
        from engram.usecases.agents.context import get_context

        found = get_context(
            self.store, topic, max_tokens, agent=agent, scope=scope, take=take, most=most, sessions=sessions,
            entities=entities,
        )  # fmt: skip
        return self._written(found)

    def observe(self, text: str, *, agent: str = "", files: Words = (), scope: str = "") -> Observed:
        """Store a text durably, to become pending lore later if it holds any.

        Raises ValidationError, UsageError (too many), NotAllowedError, StoreError.
        """
        from engram.usecases.agents.observations import observe
        from engram.usecases.graph.agent_profiles import store_of_agent

        where = store_of_agent(self.store, agent or self.store.caller.agent, scope)
        return observe(where, text, agent=agent, files=words(files))

    def search(
        self,
        text: str = "",
        *,
        tags: Words = (),
        categories: Words = (),
        agents: Words = (),
        since: str = "",
        until: str = "",
        scope: str = "",
        limit: int = 10,
    ) -> Found:
        """Return active lore that matches every filter, best answers to `text` first, else the newest; `until` is inclusive.

        Raises UsageError, ValidationError, NotFoundError, StoreError.
        """
        from engram.usecases.recall.find import find

        return find(
            self.store, text, tags=words(tags), categories=words(categories), agents=words(agents), since=since,
            until=until, scope=scope, limit=limit,
        )  # fmt: skip

    def maintain(self, *, dry_run: bool = False) -> Maintained:
        """Do the periodic work: observations, migration, archive, garbage, old sessions, git's objects; see `.steps`."""
        from engram.usecases.upkeep.maintain import maintain

        return self._written(maintain(self.store, dry_run=dry_run))
