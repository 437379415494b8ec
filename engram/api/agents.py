"""The part of the Python API for several agents: who they are, what they hand over, their context, and the upkeep."""

from __future__ import annotations

from types import MappingProxyType

from engram.api.api_base import Part, Words, words
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

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class Teaming(Part):
    """Several agents in one memory; `engram.app.Engram` has all of it. Without `agent` the caller is meant."""

    def register_agent(
        self,
        id: str,  # noqa: A002
        *,
        name: str = "",
        capabilities: Words = (),
        default_scope: str = "",
        settings: Mapping[str, str] = NO_SETTINGS,
        text: str = "",
    ) -> AgentProfile:
        """Write down what an agent is, in a file of the store; again: what differs. Raises UsageError, SecretFoundError."""
        from engram.domain.graph.team import AgentProfile
        from engram.usecases.graph.agent_profiles import register_agent

        profile = AgentProfile(id, name, words(capabilities), default_scope, tuple(settings.items()), text)
        return self._written(register_agent(self.store, profile))

    def team(self) -> list[KnownAgent]:
        """The registered agents, and those that were seen here: `.profile`, `.registered`, `.seen_at` (Unix seconds)."""
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
        """Hand work over to the agent `to`, or to whoever comes next; that agent sees it first, once.

        Raises UsageError, ValidationError, SecretFoundError, NotAllowedError, StoreError.
        """
        from engram.usecases.agents.handoffs import handoff
        from engram.usecases.graph.agent_profiles import store_of_agent

        where = store_of_agent(self.store, agent or self.store.caller.agent, scope)
        return self._written(handoff(where, summary, to=to, giver=agent, topic=topic, files=words(files)))

    def handoffs(self, agent: str | None = None) -> list[Handoff]:
        """What is handed over and not taken, the oldest first; `agent`: only what is for that one, or for anybody."""
        from engram.usecases.agents.handoffs import open_handoffs

        return open_handoffs(self.store, agent)

    def summarize(
        self, summary: str, *, participants: Words = (), files: Words = (), new: bool = False
    ) -> Conversation:
        """Keep the summary of this session's conversation, in the place of the one before; `new` begins another one.

        So does half an hour without a word. Raises ValidationError, SecretFoundError, NotAllowedError, StoreError.
        """
        from engram.usecases.agents.conversations import summarize

        return self._written(
            summarize(self.store, summary, participants=words(participants), files=words(files), new=new)
        )

    def conversations(self, limit: int = 10) -> list[Conversation]:
        """The latest summaries of sessions, newest first: `.lore`, and `.keys` with session, parent, participants."""
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
        """What to know for a topic, as `.text` of at most `max_tokens`: handoffs, lore, sessions, entities.

        At most `most` entries that answer it; without earlier sessions unless `sessions`, without entities unless
        `entities`. Handoffs that are shown count as taken over, unless not `take`.
        Raises UsageError, ValidationError, StoreError.
        """
        from engram.usecases.agents.context import get_context

        found = get_context(
            self.store, topic, max_tokens, agent=agent, scope=scope, take=take, most=most, sessions=sessions,
            entities=entities,
        )  # fmt: skip
        return self._written(found)

    def observe(self, text: str, *, agent: str = "", files: Words = (), scope: str = "") -> Observed:
        """Keep a text durably, at once; later it becomes pending lore, if there is something in it.

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
        """Active lore that matches every filter, the best answers to `text`, else the newest; `until` is a whole day.

        Raises UsageError, ValidationError, NotFoundError, StoreError.
        """
        from engram.usecases.recall.find import find

        return find(
            self.store, text, tags=words(tags), categories=words(categories), agents=words(agents), since=since,
            until=until, scope=scope, limit=limit,
        )  # fmt: skip

    def maintain(self, *, dry_run: bool = False) -> Maintained:
        """The periodic work: observations, migration, archive, garbage, old sessions, git's objects; `.steps` say what."""
        from engram.usecases.upkeep.maintain import maintain

        return self._written(maintain(self.store, dry_run=dry_run))
