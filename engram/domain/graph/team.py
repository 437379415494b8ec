"""Several agents in one memory: their profiles, when a conversation ends, and handoffs of work."""

from __future__ import annotations

from itertools import pairwise

from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entry.lore import Lore

LONGEST_ID = 60
MOST_CAPABILITIES = 50
MOST_SETTINGS = 50
LONGEST_VALUE = 200
PAUSE_SECONDS = 1800.0  # a longer pause ends the conversation
SUMMARY = "SESSION_SUMMARY"
HANDOFF, TAKEN_OVER = "handoff", "taken-over"
ANYBODY = ""
HANDED_OVER = "Handed over to you:"
_FOR = "handoff-for-"


class AgentProfile(NamedTuple):
    """A registered agent, kept in `agents/<id>.md` below the lore folder.

    `capabilities` are free words; `default_scope` is the scope of its handoffs and observations ("": the current one);
    `settings` are the agent's own names and values; `text` is a description in markdown.
    """

    id: str
    name: str
    capabilities: tuple[str, ...] = ()
    default_scope: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    text: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return the profile as JSON."""
        return {**self._asdict(), "capabilities": list(self.capabilities), "settings": dict(self.settings)}


class SessionKeys(NamedTuple):
    """The extra fields of a session summary: the session, the summary before it (`parent`), and the participants."""

    session: str = ""
    parent: str = ""
    participants: tuple[str, ...] = ()


def check_id(name: str) -> str:
    """Return an agent's id, which is also its file name, if it is valid. Raises UsageError."""
    words = name.split("-")
    if len(name) <= LONGEST_ID and name.isascii() and all(w.isalnum() and w == w.lower() for w in words):
        return name
    raise UsageError(
        f"'{name[:LONGEST_ID]}' is not a valid agent id.",
        f"Use lower-case words and digits with - between, at most {LONGEST_ID} characters: claude-code.",
    )


def normalize_profile(profile: AgentProfile) -> AgentProfile:
    """Normalize a profile: name, capabilities and settings become single lines. Raises UsageError if one is invalid."""
    capabilities = tuple(dict.fromkeys(_line("capability", text) for text in profile.capabilities))
    settings = tuple((_line("setting", name), _line(name, value)) for name, value in profile.settings)
    if len(capabilities) > MOST_CAPABILITIES or len(settings) > MOST_SETTINGS:
        raise UsageError(
            f"An agent has at most {MOST_CAPABILITIES} capabilities and {MOST_SETTINGS} settings."
        )
    if any(not name.isascii() or not name.replace("-", "_").isidentifier() for name, _ in settings):
        raise UsageError("The name of a setting must be a plain word.", "For example: tone=short")
    name = _line("name", profile.name) if profile.name else profile.id
    return AgentProfile(
        check_id(profile.id), name, capabilities, profile.default_scope, settings, profile.text
    )


def is_ongoing(moments: Sequence[float], last: float, now: float) -> bool:
    """Whether the conversation last active at `last` is still going on at `now`.

    `moments` are the times of activity in its session (all in Unix seconds). A long pause ends it.
    """
    activity = [last, *sorted(moment for moment in moments if last < moment < now), now]
    return all(after - before <= PAUSE_SECONDS for before, after in pairwise(activity))


def tag_for(agent: str) -> str:
    """Return the tag of a handoff to an agent, or to anybody ("")."""
    return _FOR + (agent.lower() or "anybody")


def handoff_receiver(lore: Lore) -> str:
    """Return the agent that a handoff is for; "" for anybody."""
    receivers = [tag.removeprefix(_FOR) for tag in lore.tags if tag.startswith(_FOR)]
    return ANYBODY if receivers in ([], ["anybody"]) else receivers[0]


def _line(what: str, text: str) -> str:
    line = " ".join(text.split())
    if not line or len(line) > LONGEST_VALUE or not line.isprintable():
        raise UsageError(
            f"A {what} must be one line of 1 to {LONGEST_VALUE} characters, not {text[:LONGEST_VALUE]!r}."
        )
    return line
