"""Several agents in one memory: what is known of an agent, when a conversation ends, how work is handed over."""

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
PAUSE_SECONDS = 1800.0  # without a word for longer than this, the next word begins a new conversation
SUMMARY = "SESSION_SUMMARY"
HANDOFF, TAKEN_OVER = "handoff", "taken-over"
ANYBODY = ""
HANDED_OVER = "Handed over to you:"
_FOR = "handoff-for-"


class AgentProfile(NamedTuple):
    """A registered agent, kept in `agents/<id>.md` below the lore folder.

    `capabilities` are words of its own; `default_scope` is where it hands over and observes ("": here); `settings` are
    names and values that mean something to it; `text` is what else is said of it, in markdown.
    """

    id: str
    name: str
    capabilities: tuple[str, ...] = ()
    default_scope: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    text: str = ""

    def as_dict(self) -> dict[str, object]:
        """The profile as JSON."""
        return {**self._asdict(), "capabilities": list(self.capabilities), "settings": dict(self.settings)}


class SessionKeys(NamedTuple):
    """What the file of a session's summary says beside the fields of lore: whose session, after which, with whom.

    `parent` is the id of the summary of the conversation before it in the session.
    """

    session: str = ""
    parent: str = ""
    participants: tuple[str, ...] = ()


def checked_id(name: str) -> str:
    """The id of an agent, which is the name of its file too. Raises UsageError."""
    words = name.split("-")
    if len(name) <= LONGEST_ID and name.isascii() and all(w.isalnum() and w == w.lower() for w in words):
        return name
    raise UsageError(
        f"'{name[:LONGEST_ID]}' cannot be the id of an agent.",
        f"Use lower-case words and digits with - between, at most {LONGEST_ID} characters: claude-code.",
    )


def checked_profile(profile: AgentProfile) -> AgentProfile:
    """The profile, with every text on one line. Raises UsageError for what is too long or too much."""
    capabilities = tuple(dict.fromkeys(_line("capability", text) for text in profile.capabilities))
    settings = tuple((_line("setting", name), _line(name, value)) for name, value in profile.settings)
    if len(capabilities) > MOST_CAPABILITIES or len(settings) > MOST_SETTINGS:
        raise UsageError(
            f"An agent has at most {MOST_CAPABILITIES} capabilities and {MOST_SETTINGS} settings."
        )
    if any(not name.isascii() or not name.replace("-", "_").isidentifier() for name, _ in settings):
        raise UsageError("The name of a setting is a plain word.", "For example: tone=short")
    name = _line("name", profile.name) if profile.name else profile.id
    return AgentProfile(
        checked_id(profile.id), name, capabilities, profile.default_scope, settings, profile.text
    )


def goes_on(moments: Sequence[float], last: float, now: float) -> bool:
    """Whether the conversation last heard of at `last` is still going on `now`.

    `moments` are those at which its session did something (all in Unix seconds): between two of them there is no pause.
    """
    heard = [last, *sorted(moment for moment in moments if last < moment < now), now]
    return all(after - before <= PAUSE_SECONDS for before, after in pairwise(heard))


def tag_for(agent: str) -> str:
    """The tag of work that is handed over to an agent, or to anybody."""
    return _FOR + (agent.lower() or "anybody")


def receiver(lore: Lore) -> str:
    """Whom a handoff is for; "" for anybody."""
    named = [tag.removeprefix(_FOR) for tag in lore.tags if tag.startswith(_FOR)]
    return ANYBODY if named in ([], ["anybody"]) else named[0]


def _line(what: str, text: str) -> str:
    line = " ".join(text.split())
    if not line or len(line) > LONGEST_VALUE or not line.isprintable():
        raise UsageError(
            f"A {what} is one line of 1 to {LONGEST_VALUE} characters, not {text[:LONGEST_VALUE]!r}."
        )
    return line
