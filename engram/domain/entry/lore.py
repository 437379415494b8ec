"""Entries: their fields with defaults and rules, title, file name and JSON.

A NamedTuple, not a dataclass: the standard `dataclasses` module alone costs 13 ms of start-up,
a fifth of the budget of a whole `engram query`.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from engram.domain.entry import confidence, ulid
from engram.domain.entry.categories import SEMANTIC, TYPES, Categories
from engram.domain.entry.confidence import DEFAULT_PRIOR, Tally, Vote
from engram.domain.entry.times import render
from engram.domain.errors import ValidationError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

HUMAN = "human"  # the agent of entries written without one
ACTIVE, PENDING, ARCHIVED, SUPERSEDED = STATUSES = ("active", "pending", "archived", "superseded")
RELATION_KINDS = ("supersedes", "contradicts", "refines", "caused_by", "see_also")
MAX_CONTENT = 4000  # for entries written by Engram; a person's note may be longer
MAX_NOTE = 4 * 1024 * 1024  # bytes of its file
MAX_CONTEXT = 1000
MAX_TITLE = 120
_CLOSING_HASHES = r"\s+#+$"  # compiled by `re` at its first use
NO_VOTES: Mapping[str, Vote] = MappingProxyType({})


class Relation(NamedTuple):
    """A typed link from one entry to another."""

    kind: str
    id: str


class Conflict(NamedTuple):
    """A version that lost a merge: the field, its whole value, who wrote it and when (RFC 3339).

    `kept_source` and `kept_at` are the same for the version that won. All four are "" if unknown.
    """

    field: str
    value: str
    source: str
    at: str
    kept_source: str = ""
    kept_at: str = ""


class Settlement(NamedTuple):
    """A conflict settled by a person: its key (`conflict_key`), their choice, who and when (RFC 3339).

    `chose` is `kept`, `other` or `both`, or a digest of their own text.
    """

    of: str
    chose: str
    by: str
    at: str


class Lore(NamedTuple):
    """One piece of knowledge. Times are aware UTC datetimes.

    `prior` is the confidence stated by its author, in thousandths. `votes` and `last_validated` come from a file of format
    1, unless `tally` has the sum of the ledger's judgements: a store that reads an entry sets both, and neither is written
    to a file of format 2. `when` are its moments, as lines `kind: pattern`. `author` is git's name of the person who
    recorded it, directly or through `agent`. `name` is the file name of a person's note, "" for any other entry.
    """

    id: str
    content: str
    category: str
    created_at: datetime
    updated_at: datetime
    type: str = SEMANTIC
    status: str = ACTIVE
    prior: int = DEFAULT_PRIOR
    votes: Mapping[str, Vote] = NO_VOTES
    last_validated: datetime | None = None
    context: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    merged_from: tuple[str, ...] = ()
    importance: float | None = None
    pinned: bool = False
    expires_at: datetime | None = None
    agent: str = ""
    source_id: str = ""
    sources: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    settled: tuple[Settlement, ...] = ()
    when: tuple[str, ...] = ()
    author: str = ""
    tally: Tally | None = None
    name: str = ""

    @property
    def thousandths(self) -> int:
        """The confidence, 0..1000."""
        if self.tally is not None:
            return self.tally.confidence
        return confidence.derive(self.prior, self.votes, len(self.merged_from) if self.votes else 0)

    @property
    def accounts(self) -> Mapping[str, Vote]:
        """The contribution of each clone (short id), and of each account of format 1, to the confidence."""
        return self.votes if self.tally is None else self.tally.accounts

    @property
    def confidence(self) -> float:
        """The confidence, 0.00..1.00, with two decimals as in files."""
        return (self.thousandths + 5) // 10 / 100

    @property
    def state(self) -> str:
        """The confidence level: cold, warm, trusted or authoritative."""
        return confidence.state(self.thousandths)

    @property
    def validation_count(self) -> int:
        """The number of times it was marked helpful, in all clones."""
        if self.tally is not None:
            return self.tally.validation_count
        return sum(vote.n for vote in self.accounts.values())

    @property
    def title(self) -> str:
        """The first line of the content, without heading marks; for a note without a heading, its file name."""
        if self.name and not self.content.startswith("# "):
            return self.name
        return title_of(self.content)


def title_of(content: str) -> str:
    """Return the title of a text: its first line with any content, without `#` marks, at most 120 characters."""
    # Nearly always it is in the first line, and splitting a whole text into lines is most of the cost.
    return _find_title(content.partition("\n")[0]) or _find_title(content)


def _find_title(content: str) -> str:
    for line in content.splitlines():
        text = line.strip().strip("#*_`=- \t")
        if text:
            title = line.strip().lstrip("#").strip()
            if title.endswith("#"):
                title = re.sub(_CLOSING_HASHES, "", title)
            title = title or text
            return title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1].rstrip() + "…"
    return ""


# The JSON of an entry, as in every `--json` output, tool answer and export.


def lore_as_dict(lore: Lore, path: str) -> dict[str, object]:
    """Return every field of an entry as JSON values; `path` is its file relative to the store.

    Times are RFC 3339 strings. `context` is a string, a list if merges left several, or null.
    """
    return {
        "id": lore.id,
        "title": lore.title,
        "content": lore.content,
        "context": _context(lore.context),
        "category": lore.category,
        "confidence": lore.confidence,
        "stated": confidence.clamp(lore.prior) / 1000,
        "state": lore.state,
        "validation_count": lore.validation_count,
        "last_validated": _time(lore.last_validated),
        "type": lore.type,
        "status": lore.status,
        "tags": list(lore.tags),
        "files": list(lore.files),
        "entities": list(lore.entities),
        "when": list(lore.when),
        "relations": [{"kind": relation.kind, "id": relation.id} for relation in lore.relations],
        "merged_from": list(lore.merged_from),
        "importance": lore.importance,
        "pinned": lore.pinned,
        "expires_at": _time(lore.expires_at),
        "agent": lore.agent,
        "author": lore.author,
        "source_id": lore.source_id,
        "sources": list(lore.sources),
        "created_at": render(lore.created_at),
        "updated_at": render(lore.updated_at),
        "votes": {clone: vote._asdict() for clone, vote in lore.accounts.items()},
        "conflicts": [
            {
                "field": c.field,
                "value": c.value,
                "from": c.source,
                "at": c.at,
                "kept_from": c.kept_source,
                "kept_at": c.kept_at,
            }
            for c in lore.conflicts
        ],
        "settled": [one._asdict() for one in lore.settled],
        "disputed": _dispute(lore),
        "path": path,
    }


def _dispute(lore: Lore) -> str:
    if not lore.conflicts:
        return ""
    from engram.domain.entry.disputes import describe_dispute  # few entries need it

    return describe_dispute(lore)


def _context(context: tuple[str, ...]) -> str | list[str] | None:
    if len(context) > 1:
        return list(context)
    return context[0] if context else None


def _time(moment: datetime | None) -> str | None:
    return render(moment) if moment else None


# The rules of an entry's fields. Errors name the field, the problem and the allowed values.

MAX_WORD = 200
MAX_ITEMS = 200
_CONTENT_HINT = "Say what was learned, in 1 to 4000 characters."


def check(lore: Lore, categories: Categories, most: int = MAX_CONTENT) -> None:
    """Raise ValidationError at the first field that breaks its rule. The content may have `most` characters."""
    check_content(lore.content, most)
    for text in lore.context:
        check_text("context", text, MAX_CONTEXT)
    if lore.category not in categories:
        categories.parse(lore.category)
    _one_of("type", lore.type, TYPES)
    _one_of("status", lore.status, STATUSES)
    for field in ("tags", "files", "entities", "sources"):
        check_words(field, getattr(lore, field))
    if lore.when:
        from engram.domain.entry.moments import check_moments  # few entries have any

        check_moments(lore.when)
        check_words("when", lore.when)
    check_text("agent", lore.agent, MAX_WORD)
    check_text("author", lore.author, MAX_WORD)
    _check_ids("id", [lore.id])
    _check_ids("merged_from", lore.merged_from)
    _check_ids("relations", [relation.id for relation in lore.relations])
    for relation in lore.relations:
        _one_of("relations", relation.kind, RELATION_KINDS)
    if lore.importance is not None:
        check_fraction("importance", lore.importance)


def limit_after(*before: str) -> int:
    """Return the maximum length of a new version: if a previous one exceeds Engram's limit, that of a note's file."""
    return MAX_NOTE if max(map(len, before)) > MAX_CONTENT else MAX_CONTENT


def check_content(content: str, most: int = MAX_CONTENT) -> None:
    """Raise ValidationError unless the content has 1 to `most` characters, at least one of them visible."""
    if not content.strip():
        raise ValidationError("content", "The content is empty.", _CONTENT_HINT)
    if not shows(content):
        raise ValidationError("content", "The content has no visible characters.", _CONTENT_HINT)
    check_text("content", content, most, "Split it: `engram import` cuts long notes by their headings.")


def shows(content: str) -> bool:
    """Whether any character is visible; nearly always the first one is a letter."""
    if any(map(str.isalnum, content)):
        return True
    from engram.domain.text.safe_text import safe_text

    return bool(safe_text(content).strip())


def check_text(field: str, text: str, limit: int, hint: str = "") -> None:
    """Raise ValidationError if a text is longer than `limit` characters, has a NUL, or cannot be encoded as UTF-8."""
    if len(text) > limit:
        raise ValidationError(
            field, f"The {field} has {len(text):,} characters; at most {limit:,} fit.", hint
        )
    if "\0" in text:
        raise ValidationError(
            field, f"The {field} contains a NUL character.", "Remove it; lore is plain text."
        )
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            message = (
                f"The {field} contains half of a character at position {error.start} (a lone surrogate)."
            )
            raise ValidationError(field, message, "Send valid UTF-8 text.") from None


def check_words(field: str, words: Iterable[str]) -> None:
    """Raise ValidationError unless these are short one-line texts, none of them empty, and not too many."""
    found = tuple(words)
    if len(found) > MAX_ITEMS:
        raise ValidationError(field, f"{len(found):,} {field} are too many; at most {MAX_ITEMS} fit.")
    for word in found:
        if not word.strip():
            raise ValidationError(field, f"One of the {field} is empty.", "Leave it out.")
        if "\n" in word or "\r" in word:
            raise ValidationError(field, f"One of the {field} has a line break in it: {word[:40]!r}.")
        check_text(field, word, MAX_WORD)


def check_fraction(field: str, value: float) -> float:
    """Return a number if it is from 0 to 1 (not NaN). Raises ValidationError."""
    if not 0 <= value <= 1:
        raise ValidationError(field, f"{field} must be a number from 0.00 to 1.00, not {value}.")
    return value


def _one_of(field: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValidationError(field, f"{field} cannot be '{value}'.", f"Valid values: {', '.join(allowed)}.")


def _check_ids(field: str, ids: Iterable[str]) -> None:
    for found in ids:
        if not ulid.is_valid(found):
            raise ValidationError(
                field, f"'{found[:40]}' in {field} is not an entry id (a ULID of 26 characters)."
            )


# File names from titles: short, lower case, safe on every file system.

MAX_SLUG = 60
FALLBACK = "lore"

_APOSTROPHES = str.maketrans("", "", "'\u2019\u02bc")
_SLUG_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def slug(title: str) -> str:
    """Make a file name of 1 to 60 characters `[a-z0-9-]` from a title; "lore" if none of its letters can be kept.

    Accents are removed (é → e), and no word is cut but a first one that does not fit.
    """
    letters = "".join(letter if letter in _SLUG_LETTERS else " " for letter in _fold(title))
    words = letters.split()
    if not words:
        return FALLBACK
    name = words[0][:MAX_SLUG]
    for word in words[1:]:
        if len(name) + 1 + len(word) > MAX_SLUG:
            break
        name = f"{name}-{word}"
    return name


def _fold(title: str) -> str:
    text = title.lower().translate(_APOSTROPHES)
    if text.isascii():
        return text
    from engram.domain.text.plain_letters import without_accents

    return without_accents(text)


# The text of an entry that is indexed and embedded, and its digest.


def searchable(lore: Lore) -> str:
    """Return the text of an entry that is indexed and embedded: content, context, tags, files, entities."""
    extra = [*lore.context, " ".join(lore.tags), " ".join(lore.files), " ".join(lore.entities)]
    return "\n".join([lore.content, *[part for part in extra if part]])


def text_digest(text: str) -> str:
    """Return a short digest of an entry's searchable text; equal texts need no new vector."""
    from hashlib import blake2b  # a millisecond of start-up

    return blake2b(text.encode(), digest_size=12).hexdigest()


def words_mark(content: str) -> int:
    """Return a number that is equal for texts that differ only in trailing blanks, blank lines and composed letters."""
    from hashlib import blake2b

    if not content.isascii():
        import unicodedata

        content = unicodedata.normalize("NFC", content)
    lines = [line for line in map(str.rstrip, content.splitlines()) if line]
    return int.from_bytes(blake2b("\n".join(lines).encode(), digest_size=8).digest(), signed=True)
