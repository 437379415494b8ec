"""How the person and the agent that did something are named: for people to read, and as a prompt may have it."""

from __future__ import annotations

LONGEST_NAME = 40
PERSON = "human"  # the agent of what no agent wrote, `engram.domain.entry.lore.HUMAN`
_UNKNOWN = "unknown"
_NOBODY = "Engram <engram@localhost>"  # the author of merges, and of commits of people whom git does not name
_MARKS = ".-'"


def plain_name(text: str) -> str:
    """Return a name as it may be shown anywhere: letters, digits, spaces and `.-'`, 40 characters at most."""
    kept = "".join(one if one.isalnum() or one in _MARKS else " " for one in text[:400])
    return " ".join(kept.split())[:LONGEST_NAME].strip()


def byline(agent: str, author: str) -> str:
    """Return who did something: `Ada Lovelace`, or `claude-code for Ada Lovelace`.

    `agent` may be "" or `human`; `author` is git's name of the person (an address after it is left out), "" where that is
    not known.
    """
    name = plain_name(author.partition(" <")[0])
    if agent in ("", PERSON):
        return name or agent or _UNKNOWN
    return f"{agent} for {name}" if name else agent


def short_byline(agent: str, author: str, length: int) -> str:
    """Return `byline` for a column of so many characters, or what has the name first, so that both show when it is cut.

    `claude-code for Ada Lovelace`, else `claude-code for Ada`, else `Ada (claude-code)`.
    """
    first = plain_name(author.partition(" <")[0]).partition(" ")[0]
    for known in (byline(agent, author), byline(agent, first)):
        if len(known) <= length or not first:
            return known
    return first if agent in ("", PERSON) else f"{first} ({agent})"


def committer_name(author: str) -> str:
    """Return the name of the author of a commit (`name <email>`); "" where git named nobody."""
    return "" if author == _NOBODY else author.partition(" <")[0]


def committer_line(agent: str, author: str) -> str:
    """Return who made a commit, by its agent and its author (`name <email>`); `Engram` for what Engram did by itself."""
    if author == _NOBODY:
        return agent or "Engram"
    return byline(agent, author)
