"""Learn the moments of an entry from the commands and files of the session in which it was captured or found helpful."""

from __future__ import annotations

import re

from engram.domain.agents.command_signals import commands_of, is_common_file
from engram.domain.entry.moments import COMMAND, FILE, LONGEST, Moment
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_FILES = 3  # a change of more files is about none of them in particular
# Subcommands that every session runs, whatever it is about.
_ROUTINE = frozenset(
    """
    add branch build check checkout ci clean clone commit compile config describe dev diff doc exec export fetch fmt
    format get grep help image images info init inspect install lint list log login logs ls new outdated plan ps pull
    reset restore run search serve show start stash stat status switch sync test tests top tree typecheck update
    validate version view watch
    """.split()  # noqa: SIM905 - a table to read
)
_PLAIN = re.compile(r"[a-z][\w:.-]*")


def moments_of(command: str = "", files: Sequence[str] = ()) -> list[str]:
    """Return the moments worth learning from a command line and from files (paths from the repository's top).

    A command's moment is its program and subcommand, such as `command: alembic upgrade`, unless every session runs it.
    """
    programs = [
        f"{one.program} {one.subcommand}"
        for one in commands_of(command)
        if one.subcommand
        and not one.is_everyday
        and _is_distinctive(one.subcommand)
        and _PLAIN.fullmatch(one.program)
    ]
    lines = [str(Moment(COMMAND, name)) for name in programs]
    if len(files) <= _MOST_FILES:
        lines += [
            str(Moment(FILE, f"/{file}"))
            for file in files
            if not is_common_file(file.rpartition("/")[2]) and not set("*?[") & set(file)
        ]
    return [line for line in dict.fromkeys(lines) if len(line) <= LONGEST]


def _is_distinctive(subcommand: str) -> bool:
    """Return whether few sessions run a subcommand; `test:unit` counts as `test`."""
    return not _ROUTINE & set(re.split(r"[:_.-]", subcommand)[:1])
