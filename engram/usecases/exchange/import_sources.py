"""Sources of an import: markdown documents and rows of JSON, as drafts of lore with their parts."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import PurePosixPath
from types import MappingProxyType

from engram.adapters.files.durable import atomic
from engram.adapters.files.foreign import interchange
from engram.adapters.files.foreign.tool_rows import EntityRow
from engram.adapters.files.frontmatter import codec, frontmatter, further_keys
from engram.adapters.files.frontmatter.fields import CONFLICT_KEYS, KEYS
from engram.adapters.files.frontmatter.frontmatter import Problem
from engram.domain.entry import confidence, times, ulid
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import (
    ACTIVE,
    MAX_CONTENT,
    RELATION_KINDS,
    Conflict,
    Lore,
    Relation,
    Settlement,
    title_of,
)
from engram.domain.errors import EngramError, LoreFileError
from engram.domain.exchange.classify import guess_category
from engram.domain.exchange.documents import split_document, tags_from_folders, title_from_file_name
from engram.domain.exchange.memory_kinds import JSON
from engram.domain.judgements.tally import DECAY
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.exchange.unmapped_fields import AS_PROPERTY, LeftOut, is_skipped_folder, to_keys
from engram.usecases.recording.record import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.domain.entry.categories import Categories

MARKDOWN = (".md", ".markdown", ".mdx")
MAX_BYTES = 10 * 1024 * 1024
_CONFIDENCE_OF_ROWS = 0.6
_ENGRAM_FIELDS = (
    "updated_at", "last_validated", "path", "source_id", "sources", "merged_from", "votes", "conflicts", "settled",
)  # fmt: skip
_PAST_FIELDS = (
    "created_at", "updated_at", "votes", "last_validated", "merged_from", "author", "source_id", "sources", "conflicts",
    "settled",
)  # fmt: skip
_NO_TIME = "0000000000"  # the start of the id of a file not adopted yet


class Source(NamedTuple):
    """A document or row: its place, its draft, and its text in parts that each fit an entry.

    `id` is set for an entry of Engram's own export, `created` if the time of writing is known, `entity` for an entity
    instead of a text; `kind` is the kind of memory of another tool. `keys` are properties to keep in the entry's file,
    `names` its names there, `related` its relations to others as (kind, name), `left_out` the data that became no field.
    """

    where: str
    draft: Draft
    parts: tuple[str, ...]
    id: str = ""
    created: datetime | None = None
    own: Lore | None = None
    validations: int = 0
    kind: str = ""
    entity: EntityRow | None = None
    keys: Mapping[str, str | tuple[str, ...]] = MappingProxyType({})
    author: str = ""
    names: tuple[str, ...] = ()
    related: tuple[tuple[str, str], ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def new_id(self, fresh: str) -> str:
        """Return an id for a part: with the time of writing, if known, and the random part of `fresh`."""
        if self.created is None:
            return fresh
        milliseconds = max(0, int(self.created.timestamp() * 1000))
        return ulid.encode(milliseconds, 0)[:10] + fresh[10:]

    def restore(self, lore: Lore, *, confidence_given: bool) -> Lore:
        """Return the entry with the data that only its own earlier file has: votes, times, sources."""
        if self.own is not None and lore.id == self.own.id:
            return with_past(lore, self.own, confidence_given=confidence_given)
        if self.validations:
            lore = lore._replace(votes={"IMPORTED": Vote(0, 0, self.validations)})
        return lore._replace(author=self.author) if self.author else lore


def markdown_sources(
    path: str, categories: Categories, problems: list[dict[str, object]]
) -> Iterator[Source]:
    """Yield the markdown files at `path`, in order; unreadable ones are added to `problems`."""
    for file, relative in files_below(path, problems):
        try:
            raw = read_file(file, MAX_BYTES)
            yield _document(raw, relative, _modification_time(file), categories)
        except (EngramError, OSError) as error:
            problems.append({"path": relative, **describe_problem(error)})


def describe_problem(error: EngramError | OSError) -> dict[str, str]:
    """Return the message and hint of a problem, without the path, which callers add."""
    if isinstance(error, LoreFileError):
        line = f"line {error.line}: " if error.line else ""
        return {"message": line + error.reason, "hint": error.hint}
    if isinstance(error, EngramError):
        return {"message": error.message, "hint": error.hint}
    return {"message": error.strerror or str(error), "hint": ""}


def row_sources(
    path: str, categories: Categories, problems: list[dict[str, object]], kind: str = "", *, own: bool = False
) -> Iterator[Source]:
    """Yield the rows of a JSON or JSON Lines file; unless `kind` names a tool, the rows show which one wrote them.

    `own` says that they are for a person's own store.
    """
    raw = read_file(os.path.realpath(path), interchange.MAX_BYTES)
    detected, rows, bad = interchange.read_rows(
        raw, _readable(os.path.basename(path)), "" if kind == JSON else kind, own=own
    )
    tool = "" if detected == JSON else detected
    problems += [{"path": item["where"], "message": item["message"], "hint": item["hint"]} for item in bad]
    for row in rows:
        entity = row.fields.get("entity")
        if isinstance(entity, EntityRow):
            yield Source(row.where, Draft("", ""), (), kind=tool, entity=entity)
        else:
            yield _row(row.fields, row.where, categories)._replace(kind=tool)


def files_below(
    path: str, problems: list[dict[str, object]], kinds: tuple[str, ...] = MARKDOWN
) -> Iterator[tuple[str, str]]:
    """Yield the files below a folder with these extensions, without hidden ones and links, as (absolute, relative) paths.

    An unreadable folder is added to `problems`.
    """
    if not os.path.isdir(path):
        # A file given by name may be a link.
        yield os.path.realpath(path), _readable(os.path.basename(path))
        return

    def unreadable(error: OSError) -> None:
        where = _readable(os.path.relpath(error.filename or path, path).replace(os.sep, "/"))
        message = f"this folder cannot be read: {error.strerror}"
        problems.append({"path": where, "message": message, "hint": "Check its owner and mode."})

    for folder, folders, names in os.walk(path, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not is_skipped_folder(name))
        for name in sorted(names):
            absolute = os.path.join(folder, name)
            if name.lower().endswith(kinds) and not name.startswith(".") and not os.path.islink(absolute):
                yield absolute, _readable(os.path.relpath(absolute, path).replace(os.sep, "/"))


def _readable(name: str) -> str:
    """Return a file's name as text: bytes that are not UTF-8 become question marks."""
    return name.encode("utf-8", "replace").decode()


def read_file(file: str, limit: int) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes. Raises LoreFileError, OSError."""
    found = os.stat(file)
    if not stat.S_ISREG(found.st_mode):  # opening a pipe would block until somebody writes into it
        raise LoreFileError(_readable(file), 0, "this is not a regular file", "Copy its text into one.")
    if found.st_size > limit:
        message = f"it has {found.st_size:,} bytes; at most {limit:,} are imported"
        raise LoreFileError(_readable(file), 0, message, "Split it first.")
    return atomic.read(os.path.abspath(file))


def _modification_time(file: str) -> datetime:
    """Return a file's modification time, UTC; 1970 if it is beyond the calendar."""
    try:
        return datetime.fromtimestamp(os.stat(file).st_mtime, UTC)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)


def _document(raw: bytes, relative: str, modified: datetime, categories: Categories) -> Source:
    try:
        text = frontmatter.decode(raw, MAX_BYTES)
        body = frontmatter.split(text).body
    except Problem as problem:
        raise LoreFileError(relative, problem.line, problem.message, problem.hint) from None
    head = text[: len(text) - len(body)]
    known = _fields(head, relative, modified, categories)
    properties = _properties(head)
    title = properties.get("title")
    fallback = title if isinstance(title, str) and title else title_from_file_name(relative)
    parts = tuple(part.content for part in split_document(body, fallback))
    if not parts:
        raise LoreFileError(relative, 0, "the document is empty", "There is nothing to import.")
    if known is not None and known.adopted and len(parts) == 1:
        return Source(relative, _draft_of(known.lore), (body,), known.lore.id, own=known.lore)
    source = _foreign(relative, parts, known.lore if known else None, head)
    return _with_properties(source, properties, is_known=known is not None)


def _properties(head: str) -> dict[str, object]:
    """Return the properties in the frontmatter of a document; none if it is not YAML."""
    if not head.strip("\ufeff"):
        return {}
    try:
        return dict(further_keys.read(f"{head}\n-\n".encode(), "")[0])
    except LoreFileError:
        return {}


def _with_properties(source: Source, properties: Mapping[str, object], *, is_known: bool) -> Source:
    """Return a source with the properties that are not Engram's fields: names, the author, and all others as keys."""
    aliases = _texts(properties.get("aliases") or properties.get("alias"))
    names = [PurePosixPath(source.where).stem, properties.get("title"), *aliases]
    author = properties.get("author") or properties.get("authors")
    used = ("title", "aliases", "alias", "date", "created", *(KEYS if is_known else ("tags",)))
    rest = {name: value for name, value in properties.items() if name not in used}
    author_names = ", ".join(_texts(author))[:200]
    if author_names:
        rest.pop("author", None)
        rest.pop("authors", None)
    keys = to_keys(rest, (*KEYS, "origin", "session", "parent", "participants"))
    left_out = [LeftOut(source.where, f"the property `{name}`", AS_PROPERTY) for name in keys]
    keys |= {"aliases": tuple(filter(None, aliases))} if any(aliases) else {}
    tags = source.draft.tags if is_known else (*source.draft.tags, *_texts(properties.get("tags")))
    draft = source.draft._replace(tags=tuple(dict.fromkeys(tags)))
    created = source.created or parse_time(properties.get("date")) or parse_time(properties.get("created"))
    texts = tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name))
    return source._replace(
        keys=keys, author=author_names, names=texts, left_out=tuple(left_out), draft=draft, created=created
    )


def _fields(head: str, relative: str, modified: datetime, categories: Categories) -> LoreFile | None:
    """Parse a document's frontmatter as Engram's own; None if there is none or it is another tool's."""
    if not head.strip("\ufeff"):
        return None
    try:
        return codec.read(f"{head}\n-\n".encode(), relative, categories, modified)
    except LoreFileError:
        return None


def _foreign(relative: str, parts: Sequence[str], known: Lore | None, head: str) -> Source:
    """Return the source for a document that Engram did not write: with tags from its folders and a guessed category."""
    tags = tags_from_folders(relative)
    own_tags = known.tags if known else ()
    has_category = known is not None and "\ncategory:" in "\n" + head
    guessed = guess_category(title_of(parts[0]), "\n\n".join(parts), tags)
    draft = Draft(
        content="",
        category=known.category if known is not None and has_category else guessed,
        context=(f"Imported from {relative}",) if known is None or not known.context else known.context,
        tags=tuple(dict.fromkeys([*tags, *own_tags])),
    )
    has_date = known is not None and any(
        f"\n{key}:" in "\n" + head for key in ("date", "created", "created_at")
    )
    return Source(
        relative, draft, tuple(parts), created=known.created_at if known is not None and has_date else None
    )


def _draft_of(lore: Lore) -> Draft:
    return Draft(
        "", lore.category, lore.context, lore.prior / 1000 if 0 <= lore.prior <= 1000 else None, lore.tags, lore.files,
        lore.entities, lore.relations, lore.type, lore.status, lore.agent, lore.importance, lore.pinned, lore.expires_at,
        when=lore.when,
    )  # fmt: skip


def _row(fields: Mapping[str, object], where: str, categories: Categories) -> Source:
    content, title = str(fields.get("content", "")), str(fields.get("title", ""))
    if title and title_of(content) != title:
        content = f"# {title}\n\n{content}"
    parts: tuple[str, ...] = (content,) if content.strip() else ()
    if len(content) > MAX_CONTENT:
        parts = tuple(part.content for part in split_document(content, title_of(content)))
    named = str(fields.get("category", ""))
    known = categories.known(named)
    category = known or guess_category(title or title_of(content), content)
    own = lore_of_row(fields, content, category)
    draft = Draft(
        content="",
        category=category,
        context=_texts(fields.get("context")),
        confidence=_number(fields.get("confidence"), _CONFIDENCE_OF_ROWS),
        tags=_texts(fields.get("tags")),
        files=_texts(fields.get("files")),
        entities=_texts(fields.get("entities")),
        relations=_relations(fields.get("relations")),
        status=str(fields.get("status") or ACTIVE),
        type=str(fields.get("type") or ""),
        agent=str(fields.get("agent") or ""),
        importance=_number(fields.get("importance"), None),
        pinned=bool(fields.get("pinned")),
        expires_at=parse_time(fields.get("expires_at")),
        when=_texts(fields.get("when")),
    )
    validations = fields.get("validation_count")
    given = fields.get("properties")
    properties = given if isinstance(given, dict) else {}
    properties = {**properties, **(_foreign_past(fields) if own is None else {})}
    properties |= {"category": named} if not known else {}
    keys = to_keys(properties, (*KEYS, "origin", "aliases"))
    return Source(
        where,
        draft,
        parts,
        own_id(str(fields.get("id", ""))),
        parse_time(fields.get("created_at")),
        own,
        validations if isinstance(validations, int) else 0,
        keys=keys,
        author=str(fields.get("author") or "") if own is None and fields.get("agent") else "",
        left_out=tuple([LeftOut(where, f"`{name}`", AS_PROPERTY) for name in keys]),
    )


def _foreign_past(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of another tool's row that an entry has its own values for; they are kept as properties."""
    names = ("id",) if not own_id(str(fields.get("id", ""))) else ()
    found = {name: fields[name] for name in (*names, *_ENGRAM_FIELDS) if name in fields}
    related = fields.get("relations")
    if isinstance(related, list) and len(_relations(related)) < len(related):
        found["relations"] = related
    return found


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),) if value else ()


def _number(value: object, otherwise: float | None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def _relations(value: object) -> tuple[Relation, ...]:
    found = _records(value, Relation._fields)
    return tuple(
        Relation(kind, other) for kind, other in found if kind in RELATION_KINDS and ulid.is_valid(other)
    )


def own_id(text: str) -> str:
    """Return the id if it is one of an entry that Engram wrote; "" for anything else, and for a provisional id."""
    return text if ulid.is_valid(text) and not text.startswith(_NO_TIME) else ""


def lore_of_row(fields: Mapping[str, object], content: str, category: str) -> Lore | None:
    """Return the past of an entry from a row of Engram's JSON (`fields` as `read_rows` returns them); None for other rows."""
    lore_id = own_id(str(fields.get("id", "")))
    if not lore_id or not ({"source_id", "votes"} & set(fields)):
        return None
    votes = _votes(fields.get("votes"))
    merged = tuple(name for name in _texts(fields.get("merged_from")) if ulid.is_valid(name))
    shown = fields.get("confidence")
    shown = round(shown * 1000) if isinstance(shown, float | int) else confidence.DEFAULT_PRIOR
    if "stated" in fields:
        # Judgements stay with the store that has their ledgers; the stated confidence is their sum, before decay.
        shown = confidence.clamp(shown + votes.get(DECAY, Vote()).down)
        votes = {}
    created = parse_time(fields.get("created_at")) or times.whole_seconds(ulid.moment(lore_id))
    return Lore(
        id=lore_id,
        content=content,
        category=category,
        created_at=created,
        updated_at=parse_time(fields.get("updated_at")) or created,
        prior=confidence.prior_for(shown, votes, len(merged)) if votes else shown,
        votes=votes,
        last_validated=parse_time(fields.get("last_validated")) if votes else None,
        merged_from=merged,
        agent=str(fields.get("agent", "")),
        author=str(fields.get("author", "")),
        source_id=str(fields.get("source_id", "")),
        sources=_texts(fields.get("sources")),
        conflicts=tuple([Conflict(*record) for record in _records(fields.get("conflicts"), CONFLICT_KEYS)]),
        settled=tuple(
            [Settlement(*record) for record in _records(fields.get("settled"), Settlement._fields)]
        ),
    )


def with_past(lore: Lore, own: Lore, *, confidence_given: bool) -> Lore:
    """Return an entry about to be imported with the past of `own`; the options of the import take precedence."""
    prior = own.prior
    if confidence_given:
        prior = confidence.prior_for(lore.prior, own.votes, len(own.merged_from)) if own.votes else lore.prior
    past = {name: getattr(own, name) for name in _PAST_FIELDS}
    return lore._replace(prior=prior, agent=lore.agent if own.agent else "", **past)


def parse_time(value: object) -> datetime | None:
    """Parse a time; None if it is invalid."""
    try:
        return times.parse(str(value)) if value else None
    except (ValueError, OverflowError):
        return None


def _votes(value: object) -> dict[str, Vote]:
    """Return votes by clone, from a value that `read_rows` has checked."""
    found = value if isinstance(value, dict) else {}
    return {str(clone): Vote(vote["up"], vote["down"], vote["n"]) for clone, vote in found.items()}


def _records(value: object, keys: Sequence[str]) -> list[list[str]]:
    """Return the values of these keys of each object in a list; "" for missing ones."""
    items = value if isinstance(value, list) else []
    return [[str(item.get(key, "")) for key in keys] for item in items if isinstance(item, dict)]
