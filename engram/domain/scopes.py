"""Scopes: the stores visible from a folder, by name, with their settings.

Lore of a session is local and temporary, that of a project belongs to the team of one repository, that of a user to one
person. Each further scope is a team's store, with a name and an address in the user's own settings.
"""

from __future__ import annotations

from engram.domain.errors import UsageError
from engram.domain.settings import BUILT_IN_SCOPES, Settings, is_team_name
from engram.domain.typed import NamedTuple

SESSION, PROJECT, USER = BUILT_IN_SCOPES
TEAM = "team"
_PRIVATE = ("personal", "private", "local")  # other programs' names for a scope that only one person reads
_DAY = 86_400.0


class Scope(NamedTuple):
    """The settings of one scope. `retention_days` and `garbage_days` 0: forever. Only teams have `url` and `path`."""

    name: str
    weight: float
    retention_days: int
    url: str = ""
    path: str = ""
    readonly: bool = False
    garbage_days: int = 0

    @property
    def kind(self) -> str:
        """`session`, `project`, `user` or `team`."""
        return self.name if self.name in BUILT_IN_SCOPES else TEAM

    def horizon(self, now: float) -> float:
        """Return the time (Unix seconds) before which lore is past its retention; 0 for no limit.

        Lore of a session has no limit, as its whole store is deleted once it was unused for that long.
        """
        return now - self.retention_days * _DAY if self.retention_days and self.name != SESSION else 0.0

    def garbage_before(self, now: float) -> float:
        """Return the time (Unix seconds) before which unused entries are deleted; 0 for never."""
        return now - self.garbage_days * _DAY if self.garbage_days else 0.0


def scope_named(settings: Settings, name: str) -> Scope:
    """Return the scope of that name, as configured."""
    prefix = f"scopes.{name}."
    weight, days = settings.number(prefix + "weight"), int(settings.number(prefix + "retention_days"))
    garbage = 0 if name == SESSION else int(settings.number(prefix + "garbage_days"))
    if name in BUILT_IN_SCOPES:
        return Scope(name, weight, days, garbage_days=garbage)
    url, path = settings.text(prefix + "url"), settings.text(prefix + "path")
    return Scope(name, weight, days, url, path, settings.flag(prefix + "readonly"), garbage)


def weight_key(name: str) -> str:
    """Return the setting for the weight of a scope's scores."""
    return f"scopes.{name}.weight"


def scope_names(settings: Settings) -> tuple[str, ...]:
    """Return all known names: the built-in ones, then the teams."""
    return (*BUILT_IN_SCOPES, *settings.teams())


def check_scope(settings: Settings, name: str) -> str:
    """Return the name of a scope, for other programs' names, too. Raises UsageError."""
    known, teams = scope_names(settings), settings.teams()
    if name in known:
        return name
    if name in _PRIVATE:
        return USER
    if name == TEAM and len(teams) == 1:
        return teams[0]
    if name == TEAM and not teams:
        raise UsageError(
            "There is no team scope here.",
            "Add one: engram scope add NAME URL. The team of a repository shares `project`.",
        )
    raise UsageError(f"'{name[:60]}' is not a scope.", f"Scopes here: {', '.join(known)}.")


def check_team_name(name: str) -> str:
    """Return a name if it is valid for a team's scope. Raises UsageError."""
    if name in BUILT_IN_SCOPES:
        raise UsageError(f"The name {name} is taken.", f"{', '.join(BUILT_IN_SCOPES)} are always there.")
    if not is_team_name(name):
        raise UsageError(
            f"'{name[:60]}' cannot be the name of a scope.", "Use lower-case words with - between: team-ml."
        )
    return name


def past_retention(created_at: float, last_validated: float | None, pinned: bool, horizon: float) -> bool:
    """Whether an entry is past its scope's retention, so that it is not recalled. Times are in Unix seconds."""
    return not pinned and max(created_at, last_validated or 0.0) < horizon
