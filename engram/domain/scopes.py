"""Scopes: the stores visible from a folder, by name, with their settings.

A session's lore is local and passes; a project's is the team's of one repository; a user's is one person's; each
further scope is a team's store, known by a name and an address in the user's own settings.
"""

from __future__ import annotations

from engram.domain.errors import UsageError
from engram.domain.settings import BUILT_IN_SCOPES, Settings, is_team_name
from engram.domain.typed import NamedTuple

SESSION, PROJECT, USER = BUILT_IN_SCOPES
TEAM = "team"
_PRIVATE = ("personal", "private", "local")  # what other programs call what only one person reads
_DAY = 86_400.0


class Scope(NamedTuple):
    """What the settings say of one scope. `retention_days` and `garbage_days` 0: for ever. `url` and `path` are of teams alone."""

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
        """Return the moment (Unix seconds) before which lore is past its retention; 0 where none is.

        A session's lore never is: its whole store goes when nobody used it for so long.
        """
        return now - self.retention_days * _DAY if self.retention_days and self.name != SESSION else 0.0

    def garbage_before(self, now: float) -> float:
        """Return the moment (Unix seconds) before which what is out of use is deleted; 0 where nothing is."""
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
    """Return the setting that says how much the score of a scope's lore weighs."""
    return f"scopes.{name}.weight"


def scope_names(settings: Settings) -> tuple[str, ...]:
    """Return all names that are known: the built-in ones, then the teams."""
    return (*BUILT_IN_SCOPES, *settings.teams())


def check_scope(settings: Settings, name: str) -> str:
    """Return the scope of that name, also where another program's word for it is given. Raises UsageError."""
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
    """`name`, if a team's scope may be called so. Raises UsageError."""
    if name in BUILT_IN_SCOPES:
        raise UsageError(f"The name {name} is taken.", f"{', '.join(BUILT_IN_SCOPES)} are always there.")
    if not is_team_name(name):
        raise UsageError(
            f"'{name[:60]}' cannot be the name of a scope.", "Use lower-case words with - between: team-ml."
        )
    return name


def past_retention(created_at: float, last_validated: float | None, pinned: bool, horizon: float) -> bool:
    """Return whether an entry is past its scope's retention, so that it is not recalled. Times in Unix seconds."""
    return not pinned and max(created_at, last_validated or 0.0) < horizon
