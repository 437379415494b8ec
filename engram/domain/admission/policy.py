"""Permissions in a store by its own settings: guard rails for well-behaved agents.

Real access control is up to the git host: anyone who can write the files can do so without Engram.
"""

from __future__ import annotations

from engram.domain.errors import ConfigError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RECORD, JUDGE, FORGET = ACTIONS = ("record", "judge", "forget")
EVERYBODY = "*"


def denial_reason(
    members: Mapping[str, Sequence[str]],
    policies: Mapping[str, Sequence[str]],
    who: str,
    action: str,
    category: str,
) -> str:
    """Return why `who` may not perform an action on entries of a category, as a clause; "" if they may.

    Without `members` everybody may do everything; else the actions listed for their name, or for everybody else (`*`).
    `policies` lists who may change entries of a category at all.
    """
    if members and action not in members.get(who, members.get(EVERYBODY, ())):
        return f"`team.members` does not let {who} {action} here"
    named = policies.get(category)
    if named is not None and who not in named and EVERYBODY not in named:
        return f"`team.policies` leaves {category} to {', '.join(named) or 'nobody'}"
    return ""


def check_members(value: Mapping[str, object], at: str = "") -> None:
    """Raise ConfigError, with a message that begins with `at`, unless each member has a list of actions."""
    for name, actions in value.items():
        if not isinstance(actions, list) or any(action not in ACTIONS for action in actions):
            raise ConfigError(
                f"{at}team.members: '{str(name)[:80]}' must list the actions it allows, not {actions!r}.",
                f"Valid actions: {', '.join(ACTIONS)}.",
            )


def check_policies(value: Mapping[str, object], at: str = "") -> None:
    """Raise ConfigError, with a message that begins with `at`, unless each category has a list of names."""
    for category, names in value.items():
        if not isinstance(names, list) or any(not isinstance(name, str) or not name for name in names):
            raise ConfigError(
                f"{at}team.policies: '{str(category)[:80]}' must have a list of names, not {names!r}.",
                'For example: ARCHITECTURAL_DECISION = ["ada", "human"]',
            )
