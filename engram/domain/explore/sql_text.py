"""Bound the cost of SQL before SQLite prepares it, since preparing it can take exponential time and memory.

Each reference to a common table expression copies it: thirty of them, each referring twice to the one before, make a
billion copies. Likewise, each reference to a column of an inner SELECT copies its expression.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 20_000  # characters
MOST_COPIES = 5_000
MOST_TOKENS = 2_000_000  # after expansion; SQLite needs 100 bytes for each
_RESERVED = """
    all and as asc between by case cast collate cross desc distinct else end except exists from full glob group having in
    inner intersect is isnull join left like limit natural not notnull null offset on or order outer over partition
    recursive right select then union using values when where window with
"""
_KEYWORDS = frozenset(_RESERVED.split())
_TOKEN = re.compile(
    r"""(?P<skipped>\s+|--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*'?)"""
    r"""|(?P<quoted>"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?)"""
    r"""|(?P<variable>[$@:#][\w$:]+)|(?P<word>[\w$]+)|(?P<sign>.)""",
    re.DOTALL,
)
_CLAUSES = ("select", "from", "join", "on", "where", "group", "having", "order", "window")
_TABLES = ("from", "join")
_NAME = re.compile(r"[^\W\d][\w$]*")


def check(sql: str) -> None:
    """Raise UsageError for SQL that is empty, too long, or expands too much."""
    if not sql.strip():
        raise UsageError(
            "There is no SQL to run.", "For example: SELECT category, count(*) FROM lore GROUP BY 1"
        )
    if len(sql) > LONGEST:
        raise UsageError(
            f"The SQL has {len(sql):,} characters; at most {LONGEST:,} are allowed.",
            "Send long values as parameters.",
        )
    tokens = _tokenize(sql)
    if any(token[0] in "$@:#" and len(token) > 1 and after == "(" for token, after in pairwise(tokens)):
        raise UsageError(
            "A parameter cannot be followed by an opening parenthesis.", "Parameters look like :name."
        )
    if _count_copies(tokens) > MOST_COPIES:
        raise UsageError(
            "The WITH clauses refer to each other too often.",
            "Refer to each one once or twice, or query in several steps.",
        )
    if _count_tokens(tokens) > MOST_TOKENS:
        raise UsageError(
            "Columns of inner SELECTs are referred to too often.",
            "Refer to each one once or twice, or query in several steps.",
        )


def parameters(sql: str) -> list[str]:
    """Return the names of the parameters of a statement, without duplicates."""
    return list(dict.fromkeys(token[1:] for token in _tokenize(sql) if token[0] in "$@:" and len(token) > 1))


def _tokenize(sql: str) -> list[str]:
    """Split SQL into lower-case tokens without comments and strings; names that need quotes keep the opening quote."""
    found = []
    for token in _TOKEN.finditer(sql):
        if token.lastgroup == "skipped":
            continue
        text = token.group().lower()
        if token.lastgroup == "quoted":
            name = text[1:-1]
            text = name if _NAME.fullmatch(name) and name not in _KEYWORDS else f'"{name}'
        found.append(text)
    return found


def _count_copies(tokens: Sequence[str]) -> int:
    """Return an upper bound of the copies that SQLite makes of an expression, from the references to each defined name."""
    copies = 1
    names = [name for number, name in enumerate(tokens) if _is_name(name) and _is_defined(tokens, number)]
    for name in names:
        copies *= max(1, _count_references(tokens, name) - names.count(name))
        if copies > MOST_COPIES:
            break
    return copies


def _is_name(word: str) -> bool:
    """Return whether a token may be a name."""
    return word not in _KEYWORDS and (word[0] == '"' or _NAME.match(word) is not None)


def _is_defined(tokens: Sequence[str], number: int) -> bool:
    """Return whether `name [(columns)] AS [[NOT] MATERIALIZED] (` begins here."""
    index = number + 1
    if tokens[index : index + 1] == ["("]:
        index = (
            next((end for end in range(index + 1, len(tokens)) if tokens[end] in ("(", ")")), len(tokens)) + 1
        )
    if tokens[index : index + 1] != ["as"]:
        return False
    rest = [token for token in tokens[index + 1 : index + 4] if token not in ("not", "materialized")]
    return rest[:1] == ["("]


def _count_references(tokens: Sequence[str], name: str) -> int:
    """Count the references to a table: its name without a dot before or after."""
    return sum(
        token == name
        and (not number or tokens[number - 1] != ".")
        and tokens[number + 1 : number + 2] != ["."]
        for number, token in enumerate(tokens)
    )


class _Select:
    """An open SELECT in brackets: its own tokens, and the sizes of the SELECTs that it may copy.

    `known` is the size of the common table expressions so far. An `isolated` SELECT, which is a common table expression
    or in FROM, cannot refer to columns of the SELECT around it, only to those farther out.
    """

    def __init__(self, known: int = 0, *, is_cte: bool = False, isolated: bool = False) -> None:
        self.known, self.is_cte, self.isolated = known, is_cte, isolated
        self.inner, self.tokens, self.clause = 0, 0, ""
        self.references: Counter[str] = Counter()
        self.outer_references: Counter[str] = Counter()  # of isolated SELECTs
        self.aliases: set[str] = set()

    def size(self) -> int:
        """Bound the expanded size: a name may stand for any expression of an inner SELECT, an alias for one of this SELECT."""
        repeated = max(self.references.values(), default=0) + self.references["*"]
        own = max([self.references[name] for name in self.aliases], default=0)
        return max(1, own) * self.tokens + max(1, repeated) * (self.known + self.inner)

    def add(self, word: str, before: str) -> None:
        """Add a token; a name after `as` or after the end of an expression is an alias, except in FROM."""
        self.tokens += 1
        if word in _CLAUSES:
            self.clause = word
        elif word == "*" or _is_name(word):
            follows = before in ("as", ")") or before[:1].isdigit() or (before and _is_name(before))
            if follows and self.clause not in _TABLES:
                self.aliases.add(word)
            self.references[word] += before != "as"

    def close(self, inner: _Select) -> None:
        """Add a closed inner SELECT."""
        if inner.is_cte:
            self.known += inner.size()
        else:
            self.inner += inner.size()
        target = self.outer_references if inner.isolated else self.references
        target.update(inner.references + inner.outer_references)


def _count_tokens(tokens: Sequence[str]) -> int:
    """Return an upper bound of the tokens after SQLite flattens inner SELECTs into outer ones."""
    selects, brackets = [_Select()], [False]
    for number, word in enumerate(tokens):
        before, current = tokens[number - 1] if number else "", selects[-1]
        current.add(word, before)
        if word == "(":
            brackets.append(tokens[number + 1 : number + 2] in (["select"], ["with"], ["values"]))
            if brackets[-1]:
                is_cte = before in ("as", "materialized")
                isolated = is_cte or current.clause in _TABLES
                selects.append(_Select(current.known, is_cte=is_cte, isolated=isolated))
        elif word == ")" and len(brackets) > 1 and brackets.pop():
            selects[-2].close(selects.pop())
        if selects[-1].known + selects[-1].inner > MOST_TOKENS:
            break
    while len(selects) > 1:
        selects[-2].close(selects.pop())
    return selects[0].size()
