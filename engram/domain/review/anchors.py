"""Anchors of an entry in code: the identifiers and the versions of dependencies that it mentions."""

from __future__ import annotations

import re

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

MOST = 40
_SHORTEST = 3
_EQUAL = ("", "==", "===", "@", "~=", "^", "~")
_QUOTED = re.compile(r"`([^`\n]{2,80})`")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
# camelCase, PascalCase of several words, snake_case: not found in prose.
_CODE_LIKE = re.compile(r"\b(?:[a-z]+(?:[A-Z][a-z0-9]*)+|(?:[A-Z][a-z0-9]+){2,}|[A-Za-z]\w*_\w+)\b")
_VERSION = re.compile(
    r"(?<![\w./-])(@?[A-Za-z][\w.-]*(?:/[\w.-]+)*)[`\"'*]*\s{0,2}(?:version\s|release\s)?\s?"
    r"(===?|>=|<=|!=|~=|\^|~|<|>|@)?\s?[`\"'*]*v?(\d+(?:\.\d+)*)(?![\w%])"
)
_BOUNDS = {code: 32 for code in range(128) if not chr(code).isalnum()}


class VersionClaim(NamedTuple):
    """A version in a text: the package (normalized by `plain_name`), the operator, the numbers, and the claim as written."""

    name: str
    operator: str
    version: tuple[int, ...]
    text: str

    def holds_for(self, installed: str) -> bool:
        """Whether `installed`, an exact version or a range (`>=3.11`), fulfils the claim.

        Of a range, the first bound is compared: a text that mentions a bound means that bound.
        """
        actual = numbers(installed)
        if not actual:
            return False
        is_range = not installed.strip().lstrip("v")[:1].isdigit()
        wanted, found = _pad(self.version, actual)
        if self.operator in _EQUAL or is_range:
            return actual[: len(self.version)] == self.version or found == wanted
        return {
            ">=": found >= wanted,
            "<=": found <= wanted,
            ">": found > wanted,
            "<": found < wanted,
            "!=": found != wanted,
        }[self.operator]


def identifiers(text: str) -> list[str]:
    """Extract identifiers from a text, without duplicates: those in backticks, and words spelled like code. At most 40."""
    found = [name for quoted in _QUOTED.findall(text) for name in _NAME.findall(quoted)]
    found += _CODE_LIKE.findall(text)
    return [name for name in dict.fromkeys(found) if len(name) >= _SHORTEST][:MOST]


def code_names(text: str) -> list[str]:
    """Extract names from a text: whole backtick spans, and words spelled like code. At most 40."""
    quoted = [one.removesuffix("()") for one in _QUOTED.findall(text)]
    found = [one for one in quoted if re.fullmatch(r"[\w$.:-]+", one)] + _CODE_LIKE.findall(text)
    return [name for name in dict.fromkeys(found) if len(name) >= _SHORTEST][:MOST]


def plain_name(name: str) -> str:
    """Normalize the name of a package as PEP 503 does: lower case, `-` for `_` and `.`."""
    return re.sub(r"[-_.]+", "-", name.lower())


def first_words(names: Iterable[str]) -> frozenset[str]:
    """Return the first word of each plain name."""
    return frozenset(word for name in names for word in _words_of(name)[:1])


def may_name(text: str, first: frozenset[str]) -> bool:
    """Whether a text may name a package with one of these first words: a fast test before `version_claims`."""
    words = _words_of(text)
    # The last digit may belong to the version: `python3` is a version of `python`.
    return not (
        first.isdisjoint(words) and first.isdisjoint(word[:-1] for word in words if word[-1].isdigit())
    )


def _words_of(text: str) -> list[str]:
    return text.translate(_BOUNDS).lower().split()


def version_claims(text: str, known: Container[str]) -> list[VersionClaim]:
    """Extract the versions that a text mentions of the packages in `known` (plain names), without duplicates."""
    found = []
    for name, operator, number in _VERSION.findall(text):
        plain = plain_name(name)
        if plain in known:
            claim = f"{name} {operator + ' ' if operator else ''}{number}"
            found.append(VersionClaim(plain, operator, numbers(number), claim))
    return list(dict.fromkeys(found))[:MOST]


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: (8, 2, 1) for `8.2.1rc1`; empty if there are none."""
    match = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(int(part[:9]) for part in match[0].split(".")) if match else ()


def _pad(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    size = max(len(one), len(other))
    return one + (0,) * (size - len(one)), other + (0,) * (size - len(other))
