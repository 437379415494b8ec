"""Names of the person and agent behind a change, for people to read and safe for prompts."""

from __future__ import annotations

LONGEST_NAME = 40
PERSON = "human"  # the agent of entries written without one, as `engram.domain.entry.lore.HUMAN`
_UNKNOWN = "unknown"
_NOBODY = "Engram <engram@localhost>"  # the author of merges, and of commits by people without a name in git
_MARKS = ".-'"


def plain_name(text: str) -> str:
    """Return a name that is safe to show anywhere: letters, digits, spaces and `.-'`, at most 40 characters."""
    cleaned = "".join(letter if letter.isalnum() or letter in _MARKS else " " for letter in text[:400])
    return " ".join(cleaned.split())[:LONGEST_NAME].strip()


def byline(agent: str, author: str) -> str:
    """Return who did something: `Ada Lovelace`, or `claude-code for Ada Lovelace`.

    `agent` may be "" or `human`; `author` is git's name of the person (an address after it is ignored), "" if unknown.
    """
    name = plain_name(author.partition(" <")[0])
    if agent in ("", PERSON):
        return name or agent or _UNKNOWN
    return f"{agent} for {name}" if name else agent


def short_byline(agent: str, author: str, length: int) -> str:
    """Return `byline` for a column of `length` characters, or a shorter form that begins with the name, in case it is cut.

    `claude-code for Ada Lovelace`, else `claude-code for Ada`, else `Ada (claude-code)`.
    """
    first = plain_name(author.partition(" <")[0]).partition(" ")[0]
    for line in (byline(agent, author), byline(agent, first)):
        if len(line) <= length or not first:
            return line
    return first if agent in ("", PERSON) else f"{first} ({agent})"


def committer_name(author: str) -> str:
    """Return the name of the author of a commit (`name <email>`); "" if it has none."""
    return "" if author == _NOBODY else author.partition(" <")[0]


def committer_line(agent: str, author: str) -> str:
    """Return who made a commit, from its agent and its author (`name <email>`); `Engram` for its own commits."""
    if author == _NOBODY:
        return agent or "Engram"
    return byline(agent, author)
