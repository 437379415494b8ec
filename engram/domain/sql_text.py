"""A look at SQL before SQLite prepares it: that cannot be stopped everywhere, and a short text can make it long.

Each mention of a common table expression is a copy of it: where one mentions another twice, and so on, thirty lines
are a thousand million copies.
"""

from __future__ import annotations

import re
from itertools import pairwise

from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 20_000  # characters
MOST_COPIES = 5_000
_TOKEN = re.compile(
    r"""(?P<nothing>\s+|--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*'?)"""
    r"""|(?P<quoted>"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?)"""
    r"""|(?P<variable>[$@:#][\w$:]+)|(?P<word>[\w$]+)|(?P<sign>.)""",
    re.DOTALL,
)


def check(sql: str) -> None:
    """Raises UsageError for a text that is empty, too long, or would be copied too often."""
    if not sql.strip():
        raise UsageError(
            "There is no SQL to run.", "For example: SELECT category, count(*) FROM lore GROUP BY 1"
        )
    if len(sql) > LONGEST:
        raise UsageError(
            f"The SQL has {len(sql):,} characters; at most {LONGEST:,} are read.",
            "Send long values as parameters.",
        )
    tokens = _tokens(sql)
    if any(one[0] in "$@:#" and len(one) > 1 and after == "(" for one, after in _pairs(tokens)):
        raise UsageError("A parameter cannot be followed by a bracket.", "Parameters look like :name.")
    if _copies(tokens) > MOST_COPIES:
        raise UsageError(
            "The WITH clauses mention each other too often.",
            "Mention each one once or twice, or ask in several steps.",
        )


def parameters(sql: str) -> list[str]:
    """The names of the values that a statement wants, each once."""
    return list(dict.fromkeys(token[1:] for token in _tokens(sql) if token[0] in "$@:" and len(token) > 1))


def _tokens(sql: str) -> list[str]:
    """Words, signs and quoted names, in small letters, without comments and texts."""
    found = []
    for token in _TOKEN.finditer(sql):
        if token.lastgroup == "nothing":
            continue
        text = token.group().lower()
        found.append(text[1:-1] if token.lastgroup == "quoted" else text)
    return found


def _copies(tokens: Sequence[str]) -> int:
    """At most so many copies SQLite makes of one expression: of each that is defined, as often as its name is said."""
    copies = 1
    names = [name for number, name in enumerate(tokens) if _is_defined(tokens, number)]
    for name in names:
        copies *= max(1, _mentions(tokens, name) - names.count(name))
        if copies > MOST_COPIES:
            break
    return copies


def _is_defined(tokens: Sequence[str], number: int) -> bool:
    """Whether `name [(columns)] AS [[NOT] MATERIALIZED] (` begins here."""
    at = number + 1
    if tokens[at : at + 1] == ["("]:
        at = next((end for end in range(at, len(tokens)) if tokens[end] == ")"), len(tokens)) + 1
    if tokens[at : at + 1] != ["as"]:
        return False
    rest = [token for token in tokens[at + 1 : at + 4] if token not in ("not", "materialized")]
    return rest[:1] == ["("]


def _mentions(tokens: Sequence[str], name: str) -> int:
    """How often a name stands for a table: neither behind a point nor before one."""
    return sum(
        token == name
        and (not number or tokens[number - 1] != ".")
        and tokens[number + 1 : number + 2] != ["."]
        for number, token in enumerate(tokens)
    )


def _pairs(tokens: Sequence[str]) -> list[tuple[str, str]]:
    return list(pairwise(tokens))
