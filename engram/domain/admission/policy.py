"""Who may do what in a store, by its own settings: guard rails for well-behaved agents.

The real permission is the git host's: whoever can write the files can write them without Engram.
"""

from __future__ import annotations

from engram.domain.errors import ConfigError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RECORD, JUDGE, FORGET = DEEDS = ("record", "judge", "forget")
EVERYBODY = "*"


def why_not(
    members: Mapping[str, Sequence[str]],
    policies: Mapping[str, Sequence[str]],
    who: str,
    deed: str,
    category: str,
) -> str:
    """Return why somebody may not do something to lore of a category, as a clause; "" where they may.

    Without members everybody may do everything; else what is said of their name, or of everybody else (`*`).
    `policies` name those who may touch lore of a category at all.
    """
    if members and deed not in members.get(who, members.get(EVERYBODY, ())):
        return f"`team.members` does not let {who} {deed} here"
    named = policies.get(category)
    if named is not None and who not in named and EVERYBODY not in named:
        return f"`team.policies` leaves {category} to {', '.join(named) or 'nobody'}"
    return ""


def check_members(value: Mapping[str, object], at: str = "") -> None:
    """Raise ConfigError unless each member has a list of deeds; its message begins with `at`."""
    for name, deeds in value.items():
        if not isinstance(deeds, list) or any(deed not in DEEDS for deed in deeds):
            raise ConfigError(
                f"{at}team.members: '{str(name)[:80]}' must list the actions it allows, not {deeds!r}.",
                f"Valid actions: {', '.join(DEEDS)}.",
            )


def check_policies(value: Mapping[str, object], at: str = "") -> None:
    """Raise ConfigError unless each category has a list of names; its message begins with `at`."""
    for category, names in value.items():
        if not isinstance(names, list) or any(not isinstance(name, str) or not name for name in names):
            raise ConfigError(
                f"{at}team.policies: '{str(category)[:80]}' must have a list of names, not {names!r}.",
                'For example: ARCHITECTURAL_DECISION = ["ada", "human"]',
            )
