"""The categories of lore, their aliases, and the type that each implies."""

from __future__ import annotations

from engram.domain.errors import ValidationError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EPISODIC, SEMANTIC, PROCEDURAL, WORKING = TYPES = ("episodic", "semantic", "procedural", "working")

_BUILT_IN = {
    "ARCHITECTURAL_DECISION": SEMANTIC,
    "PATTERN_OUTCOME": SEMANTIC,
    "INTERFACE_LESSON": SEMANTIC,
    "EDGE_CASE_DISCOVERY": SEMANTIC,
    "IMPLEMENTATION_FRICTION": SEMANTIC,
    "TESTING_STRATEGY": SEMANTIC,
    "DEPENDENCY_BEHAVIOR": SEMANTIC,
    "PERFORMANCE_INSIGHT": SEMANTIC,
    "PREFERENCE": SEMANTIC,
    "FACT": SEMANTIC,
    "WORKFLOW": PROCEDURAL,
    "SKILL": PROCEDURAL,
    "OBSERVATION": EPISODIC,
    "FAILURE": EPISODIC,
    "TASK_RESULT": EPISODIC,
    "OUTCOME": EPISODIC,
    "SESSION_SUMMARY": EPISODIC,
    "PLAN": WORKING,
    "CONTEXT_NOTE": WORKING,
}

DEFAULT_CATEGORY = "FACT"  # of a file without a category
ALIASES = {
    "DECISION": "ARCHITECTURAL_DECISION",
    "PATTERN": "PATTERN_OUTCOME",
    "INSIGHT": "PATTERN_OUTCOME",
    "ERROR": "FAILURE",
    "TOOL_OBSERVATION": "OBSERVATION",
}

# Short names of categories, for lines about entries; the others are shown by their own names.
_SHORT_NAMES = {
    "ARCHITECTURAL_DECISION": "decision",
    "PATTERN_OUTCOME": "pattern",
    "INTERFACE_LESSON": "interface",
    "EDGE_CASE_DISCOVERY": "edge case",
    "IMPLEMENTATION_FRICTION": "friction",
    "TESTING_STRATEGY": "testing",
    "DEPENDENCY_BEHAVIOR": "dependency",
    "PERFORMANCE_INSIGHT": "performance",
    "CONTEXT_NOTE": "note",
}

# Categories of other tools; never written to lore files.
OTHER_WORDS = {
    "decision": "ARCHITECTURAL_DECISION",
    "architecture": "ARCHITECTURAL_DECISION",
    "bugfix": "EDGE_CASE_DISCOVERY",
    "discovery": "EDGE_CASE_DISCOVERY",
    "pattern": "PATTERN_OUTCOME",
    "learning": "PATTERN_OUTCOME",
    "config": "FACT",
    "preference": "PREFERENCE",
    "session_summary": "SESSION_SUMMARY",
}
_OF_TYPE = {EPISODIC: "OBSERVATION", SEMANTIC: "FACT", PROCEDURAL: "WORKFLOW", WORKING: "CONTEXT_NOTE"}


class Categories:
    """The categories that a store accepts: the built-in ones and those added in its configuration.

    `in_place`: its files are a person's own notes, so values in their properties that Engram does not know are the person's.
    """

    def __init__(self, added: Mapping[str, str] | None = None, *, in_place: bool = False) -> None:
        """`added` maps a new category's name to its type."""
        self.in_place = in_place
        self._types = dict(_BUILT_IN)
        for name, kind in (added or {}).items():
            self._types[fold(name)] = kind

    @property
    def names(self) -> tuple[str, ...]:
        """Every accepted name, in documented order."""
        return tuple(self._types)

    def __contains__(self, name: str) -> bool:
        """Whether `name` is an accepted category exactly as the files write it."""
        return name in self._types

    def parse(self, text: str) -> str:
        """Return the category that `text` names, in any case and with `-` or `_`.

        Raises ValidationError that lists the valid names.
        """
        name = self.known(text)
        if name:
            return name
        import difflib

        near = difflib.get_close_matches(fold(text), self._types, n=1)
        guess = f" Did you mean {near[0]}?" if near else ""
        raise ValidationError(
            "category",
            f"'{text}' is not a category.{guess}",
            "Valid categories: " + ", ".join(self.names) + ".",
        )

    def known(self, text: str) -> str:
        """Return the category that `text` names, as `parse` does; "" if it names none."""
        name = fold(text)
        name = ALIASES.get(name, name)
        return name if name in self._types else ""

    def near(self, word: str) -> str:
        """Return the category for another tool's category or the name of a type; "" if unknown."""
        kind = word.strip().lower()
        if kind in OTHER_WORDS or kind in _OF_TYPE:
            return OTHER_WORDS.get(kind) or _OF_TYPE[kind]
        return self.known(word)

    def type_of(self, category: str) -> str:
        """Return the type that a category implies (`semantic` if the category is unknown)."""
        return self._types.get(category, SEMANTIC)


def short_name(category: str) -> str:
    """Return a word or two for a category, for people and models: `dependency`, `edge case`."""
    return _SHORT_NAMES.get(category) or category.lower().replace("_", " ")


def fold(text: str) -> str:
    """Return a category as written in files: capitals and `_`."""
    return text.strip().upper().replace("-", "_").replace(" ", "_")


def parse_types(values: Iterable[str]) -> tuple[str, ...]:
    """Return the values as types of lore. Raises ValidationError if one is not."""
    found = tuple(value.strip().lower() for value in values)
    for value in found:
        if value not in TYPES:
            raise ValidationError(
                "type", f"'{value}' is not a type of lore.", f"Valid types: {', '.join(TYPES)}."
            )
    return found
