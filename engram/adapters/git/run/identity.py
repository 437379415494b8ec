"""The committer: the person that git's configuration names, or Engram itself if it names none."""

from __future__ import annotations

from engram.adapters.git.run.configuration import settings
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository

NAME = "Engram"
EMAIL = "engram@localhost"


def committer(repo: Repository) -> str:
    """`name <email>` from git's configuration (committer.*, then user.*), else Engram's own."""
    values = {key: value for key, value, _ in settings(repo)}
    name = values.get("committer.name") or values.get("user.name") or ""
    email = values.get("committer.email") or values.get("user.email") or ""
    return person(name, email)


def person(name: str, email: str) -> str:
    """Return `name <email>` without what git forbids in either, and with Engram's own where one is empty."""
    return f"{_clean(name) or NAME} <{_clean(email) or EMAIL}>"


def parse(text: str) -> str:
    """Return a `name <email>` or bare name, made safe to stand in a commit."""
    name, _, email = text.partition("<")
    return person(name, email)


def _clean(text: str) -> str:
    # Git's own crud rule (ident.c): no <>, no line ends or NUL, no punctuation at either end.
    kept = "".join(" " if character < " " or character in "<>\x7f" else character for character in text)
    return kept.strip(" .,:;\"\\'")
