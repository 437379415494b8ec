"""Notes of coding agents and memory tools as sources of an import: rules, auto-memory, MEMORY.md, basic-memory."""

from __future__ import annotations

import os
import re

from engram.adapters.files.foreign import tool_notes
from engram.adapters.files.frontmatter import frontmatter
from engram.adapters.files.frontmatter.fields import KEYS
from engram.adapters.files.frontmatter.frontmatter import Problem
from engram.domain.entry.lore import MAX_CONTENT, MAX_TITLE, slug, title_of
from engram.domain.entry.moments import FILE, LONGEST, MOST, Moment
from engram.domain.entry.note_markup import RULES_TAG
from engram.domain.errors import EngramError, LoreFileError
from engram.domain.exchange.classify import guess_category
from engram.domain.exchange.documents import split_document, title_from_file_name
from engram.domain.exchange.memory_kinds import BASIC_MEMORY, CLAUDE_MEMORY, MEMORY_FOLDER, RULES, find_kind
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.exchange.import_sources import (
    MARKDOWN,
    MAX_BYTES,
    Source,
    describe_problem,
    files_below,
    parse_time,
    read_file,
)
from engram.usecases.exchange.unmapped_fields import AS_PROPERTY, STAYS, LeftOut, to_keys
from engram.usecases.recording.record import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.files.foreign.tool_notes import Note
    from engram.domain.entry.categories import Categories

SECTION = 800  # characters; longer logs are cut at their headings, since they are about many things
_FIELDS = (
    "title", "name", "description", "tags", "created", "created_at", "date", "category", "author", "aliases", "id",
)  # fmt: skip
_INDEX = "memory.md"
_AUTO_MEMORY_CATEGORIES = {
    "user": "PREFERENCE",
    "feedback": "PREFERENCE",
    "project": "FACT",
    "reference": "FACT",
}
_WILDCARD = re.compile(r"[*?\[]|/$")  # in a pattern for more than one file
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)")


def note_sources(
    kind: str, path: str, categories: Categories, problems: list[dict[str, object]], left_out: list[LeftOut]
) -> Iterator[Source]:
    """Yield the notes of that kind at `path`, in order.

    Unreadable ones are added to `problems`, those without content to `left_out`.
    """
    for file, relative in files_below(path, problems, (*MARKDOWN, ".mdc")):
        try:
            source = _source(kind, read_file(file, MAX_BYTES), relative, categories)
        except (EngramError, OSError) as error:
            problems.append({"path": relative, **describe_problem(error)})
            continue
        if source is None:
            left_out.append(LeftOut(relative, "only leads to other files, or is Engram's own", STAYS))
        else:
            yield source


def _source(kind: str, raw: bytes, relative: str, categories: Categories) -> Source | None:
    try:
        note = tool_notes.read_note(frontmatter.decode(raw, MAX_BYTES))
    except Problem as problem:
        raise LoreFileError(relative, problem.line, problem.message, problem.hint) from None
    is_index = os.path.basename(relative).lower() == _INDEX
    text = tool_notes.without_index(note.text) if is_index else note.text
    has_index = text != note.text
    if not tool_notes.says_something(text):
        return None  # an index of other notes, or rules that Engram itself wrote
    is_single = kind == BASIC_MEMORY or (kind == CLAUDE_MEMORY and not is_index and bool(note.head))
    given = note.head.get("title") or note.head.get("name") or _describe_rule(kind, note)
    if given and not text.startswith("#"):
        text = f"# {given}\n\n{text}"
    limit = MAX_CONTENT if is_single or kind == RULES else SECTION
    parts = tuple(
        part.content for part in split_document(text, given or title_from_file_name(relative), limit)
    )
    known = find_kind(kind)
    files, when, is_complete = _parse_globs(note.head.get("globs", "") if kind == RULES else "")
    draft = Draft(
        content="",
        category=_find_category(kind, note, text, categories),
        context=_context(note, given),
        tags=_tags(kind, note, text),
        files=files,
        when=when,
        entities=tuple(tool_notes.names_linked(text)[:50]) if kind == BASIC_MEMORY else (),
        agent=known.agent if known else "",
    )
    fields = (*_FIELDS, "globs") if is_complete else _FIELDS
    rest = {note.written[name]: value for name, value in note.head.items() if name not in fields}
    keys = to_keys(rest, KEYS)
    left_out = [LeftOut(relative, f"the property `{name}`", AS_PROPERTY) for name in keys]
    left_out += [LeftOut(relative, "lines that lead to other notes", STAYS)] if has_index else []
    aliases = tuple(tool_notes.split_list(note.head.get("aliases", "")))
    keys |= {"aliases": aliases} if aliases else {}
    own_names = (given, os.path.splitext(os.path.basename(relative))[0], note.head.get("permalink", ""))
    return Source(
        relative, draft, parts, created=parse_time(_find_date(kind, note, relative)), kind=kind, keys=keys,
        author=note.head.get("author", "")[:200], names=tuple(dict.fromkeys([*filter(None, own_names), *aliases])),
        related=tuple(tool_notes.relations(text)) if kind == BASIC_MEMORY else (), left_out=tuple(left_out),
    )  # fmt: skip


def _find_category(kind: str, note: Note, text: str, categories: Categories) -> str:
    if kind == CLAUDE_MEMORY and note.head.get("type", "").lower() in _AUTO_MEMORY_CATEGORIES:
        return _AUTO_MEMORY_CATEGORIES[note.head["type"].lower()]
    named = [note.head.get("category", "")]
    if kind == BASIC_MEMORY:
        observed = tool_notes.observed_categories(text)
        named += observed if len(observed) == 1 else []  # a note with several categories has none
    for name in filter(None, named):
        try:
            return categories.parse(name)
        except EngramError:
            continue
    guessed = guess_category(title_of(text), text, ())
    return "PREFERENCE" if kind == RULES and guessed == "FACT" else guessed


def _describe_rule(kind: str, note: Note) -> str:
    """Return the one-line description of a rule of Cursor; "" if there is none."""
    description = note.head.get("description", "")
    return description if kind == RULES and len(description) <= MAX_TITLE else ""


def _context(note: Note, title: str) -> tuple[str, ...]:
    description = note.head.get("description", "")
    return (description[:1000],) if description and description != title else ()


def _tags(kind: str, note: Note, text: str) -> tuple[str, ...]:
    tags = [
        *note.tags,
        *([RULES_TAG] if kind == RULES else []),
        *(tool_notes.hashtags(text) if kind == BASIC_MEMORY else []),
    ]
    return tuple(dict.fromkeys(filter(None, (slug(tag) for tag in tags))))


def _parse_globs(globs: str) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Return the files that the globs of a rule name, the moments they make, and whether these express all globs."""
    patterns = tool_notes.patterns(globs)
    moments = [Moment(FILE, pattern) for pattern in patterns if not pattern.startswith("!")]
    moments = [moment for moment in moments if len(str(moment)) <= LONGEST][:MOST]
    plain = [moment.pattern for moment in moments if not _WILDCARD.search(moment.pattern)]
    files = tuple(path.removeprefix("./").lstrip("/") for path in plain)
    return files, tuple(map(str, moments)), bool(moments) and len(moments) == len(patterns)


def _find_date(kind: str, note: Note, relative: str) -> str:
    date = next((note.head[key] for key in ("created", "created_at", "date") if note.head.get(key)), "")
    day = _DAY.search(os.path.basename(relative)) if kind == MEMORY_FOLDER else None
    return date or (day[1] if day else "")
