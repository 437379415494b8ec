"""The codec of lore files: bytes to an entry and back, and the smallest edit of an existing file."""

from __future__ import annotations

from engram.adapters.files.frontmatter import canonical, frontmatter
from engram.adapters.files.frontmatter.frontmatter import KeyEntry, Problem, normalise
from engram.domain.entry import confidence, times, ulid
from engram.domain.entry.categories import DEFAULT_CATEGORY, TYPES
from engram.domain.entry.confidence import DEFAULT_PRIOR, stated_text, two_decimals
from engram.domain.entry.lore import ACTIVE, MAX_CONTENT, MAX_NOTE, NO_VOTES, Lore, check, limit_after, shows
from engram.domain.entry.named_files import file_name
from engram.domain.errors import LoreFileError, ValidationError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from engram.adapters.files.frontmatter.edit import Form, Values
    from engram.adapters.files.frontmatter.frontmatter import Document
    from engram.domain.entry.categories import Categories


def build_lore(
    values: dict[str, Any], content: str, lore_id: str, created: datetime | None, categories: Categories
) -> Lore:
    """Build an entry from the values of a file, from `fields.parse`, and defaults.

    `created` is the creation time if the file has none; None for that of the id. `content` is normalised.
    """
    get = values.get
    category = get("category", DEFAULT_CATEGORY)
    created = get("created_at") or created or ulid.moment(lore_id)
    source_id, sources = get("source_id", ""), get("sources", ())
    # By position, in the order of the fields: keyword arguments would cost more than the rest of this function.
    return Lore(
        lore_id,
        content,
        category,
        created,
        get("updated_at", created),
        get("type") or categories.type_of(category),
        get("status", ACTIVE),
        _prior(values),
        get("votes") or NO_VOTES,
        get("last_validated"),
        get("context", ()),
        get("tags", ()),
        get("files", ()),
        get("entities", ()),
        get("relations", ()),
        get("merged_from", ()),
        get("importance"),
        get("pinned", False),
        get("expires_at"),
        get("agent", ""),
        source_id,
        () if sources == (source_id,) else sources,
        get("conflicts", ()),
        get("settled", ()),
        get("when", ()),
        get("author", ""),
    )


def _prior(values: dict[str, Any]) -> int:
    """Return the confidence that the author stated; for format 1 the prior, adjusted to an edited confidence."""
    shown: str | None = values.get("confidence")
    votes = values.get("votes") or NO_VOTES
    if not votes and "prior" not in values:
        return DEFAULT_PRIOR if shown is None else _parse_confidence(shown)
    prior, merged = values.get("prior", DEFAULT_PRIOR), len(values.get("merged_from", ()))
    derived = confidence.derive(prior, votes, merged)
    if shown is None or shown == two_decimals(derived):
        return prior if votes else derived
    return (
        confidence.prior_for(_parse_confidence(shown), votes, merged) if votes else _parse_confidence(shown)
    )


def _parse_confidence(shown: str) -> int:
    """Return a text of `stated_text`, with two decimals or three, in thousandths."""
    return int(shown.replace(".", "").ljust(4, "0"))


def normalize(lore: Lore) -> Lore:
    """Normalize an entry to the form that a file holds: no blank edges, no empty context, no redundant `sources`."""
    content = normalise(lore.content)
    context = tuple([text for text in lore.context if text]) if "" in lore.context else lore.context
    sources = () if lore.sources == (lore.source_id,) else lore.sources
    if content == lore.content and context is lore.context and sources is lore.sources:
        return lore
    return lore._replace(content=content, context=context, sources=sources)


def file_values(lore: Lore) -> dict[str, Any]:
    """Return the values in the file of a normalized entry, in file form.

    With votes the file has format 1, which also holds their sums.
    """
    found = lore._asdict()
    for name in ("created_at", "updated_at", "last_validated", "expires_at"):
        if found[name] is not None:
            found[name] = times.whole_milliseconds(found[name])
    if lore.votes:  # format 1
        derived = confidence.derive(lore.prior, lore.votes, len(lore.merged_from))
        found["confidence"] = two_decimals(derived)
        found["validation_count"] = sum(vote.n for vote in lore.votes.values())
    else:
        found["confidence"] = stated_text(confidence.clamp(lore.prior))
        found |= {"prior": DEFAULT_PRIOR, "validation_count": 0, "last_validated": None}
    return found


def defaults(lore: Lore, categories: Categories) -> dict[str, Any]:
    """Return the values that are left out of this entry's file; None for keys that are always written."""
    return {
        **Lore._field_defaults,
        **dict.fromkeys(("id", "category", "created_at")),
        "type": categories.type_of(lore.category),
        "confidence": None if lore.votes else stated_text(DEFAULT_PRIOR),
        "validation_count": 0,
        "updated_at": times.whole_milliseconds(lore.created_at),
    }


_UNEQUAL = object()  # equal to no value: a key with it is always written
_MAX_PARSED = 8000  # files of a few KB each


class ParsedFiles:
    """A cache of the entries parsed during one operation, by the bytes of their canonical files."""

    def __init__(self) -> None:
        self._found: dict[tuple[bytes, Categories], Lore] = {}

    def find(self, raw: bytes, categories: Categories) -> Lore | None:
        """Return the entry of a file; None if it was not added."""
        return self._found.get((raw, categories))

    def add(self, raw: bytes, categories: Categories, lore: Lore) -> None:
        """Add the entry of a file, unless the cache is full."""
        if len(self._found) < _MAX_PARSED:
            self._found[raw, categories] = lore


class LoreFile(NamedTuple):
    """An entry and the bytes of its file.

    `adopted` is False if the file has no id yet: `lore.id` is then provisional. `aliases` are other names of the note,
    `own` its own properties that have the name of a field.
    """

    lore: Lore
    raw: bytes
    adopted: bool
    aliases: tuple[str, ...] = ()
    own: tuple[str, ...] = ()


def read(
    raw: bytes,
    path: str,
    categories: Categories,
    modified: datetime,
    parsed: ParsedFiles | None = None,
    first_seen: str = "",
) -> LoreFile:
    """Read an entry's file. `path` is relative to the store, `modified` is the file's mtime.

    A file without an id gets a provisional one from the path where it was `first_seen` ("": `path`).

    Raises LoreFileError, which names the line, and nothing else.
    """
    known = parsed.find(raw, categories) if parsed is not None else None
    file = LoreFile(known, raw, True) if known else _read(raw, path, categories, modified, first_seen)
    if categories.in_place and ulid.is_undated(file.lore.id):
        return file._replace(lore=file.lore._replace(name=file_name(path)))
    return file


def _read(raw: bytes, path: str, categories: Categories, modified: datetime, first_seen: str) -> LoreFile:
    try:
        text = frontmatter.decode(raw, max_file_bytes(categories))
        lore = read_canonical(text, categories)
        return (
            LoreFile(lore, raw, True) if lore else read_any(text, raw, path, categories, modified, first_seen)
        )
    except Problem as problem:
        raise LoreFileError(path, problem.line, problem.message, problem.hint) from None


def max_file_bytes(categories: Categories) -> int:
    """Return the maximum size of an entry's file: notes of a store in place may be long."""
    return MAX_NOTE if categories.in_place else frontmatter.MAX_FILE


def read_own(raw: bytes, categories: Categories) -> Lore | None:
    """Return the entry of a file in canonical form; None for any other, which `read` reads or refuses."""
    if categories.in_place:  # a note's file name counts as well
        return None
    try:
        return read_canonical(frontmatter.decode(raw, max_file_bytes(categories)), categories)
    except Problem:
        return None


def read_canonical(text: str, categories: Categories) -> Lore | None:
    """Return the entry of a file in canonical form, at a quarter of the cost of `read_any`; None for any other.

    Errors, and forms that it is not sure of, are left to `read_any`.
    """
    end = text.find("\n---\n", 4) if text.startswith("---\n") else -1
    if not 0 < end < frontmatter.MAX_FRONTMATTER // 4:
        return None
    values = canonical.canonical_fields(text[4:end].split("\n"), categories)
    if values is None:
        return None
    content = frontmatter.normalise(text[end + 5 :])
    if not content or len(content) > MAX_CONTENT or not shows(content):
        return None
    lore = build_lore(values, content, values["id"], None, categories)
    return lore if lore.type in TYPES else None


def read_any(
    text: str, raw: bytes, path: str, categories: Categories, modified: datetime, first_seen: str = ""
) -> LoreFile:
    """Read a file in any form. Raises Problem."""
    from engram.adapters.files.frontmatter import fields, keys

    if categories.in_place:
        return _read_note(text, raw, path, categories, modified, first_seen)
    document, entries = keys.load(text)
    values = fields.parse(entries, categories)
    lore = _build(document, values, fields.foreign_date(entries), first_seen or path, categories, modified)
    _check(lore, document, entries, categories, MAX_CONTENT)
    return LoreFile(lore, raw, adopted=bool(values.get("id")), aliases=aliases_of(entries))


def _read_note(
    text: str, raw: bytes, path: str, categories: Categories, modified: datetime, first_seen: str
) -> LoreFile:
    """Read a note of a store in place, which may be long and have its own properties. Raises Problem."""
    from engram.adapters.files.frontmatter import fields, keys, own_properties

    try:
        document, entries = keys.load(text)
    except Problem:  # properties of templates need not be YAML
        document, entries = frontmatter.split(text), []
        if frontmatter.names_id(document.block):
            raise
    entries, prefixed = own_properties.resolve_prefixes(entries)
    created = fields.foreign_date(entries)
    if not shows(document.body):  # the content of an empty note is its name
        document = document._replace(body=file_name(path))

    def build(values: dict[str, Any]) -> Lore:
        return _build(document, values, created, first_seen or path, categories, modified)

    values, own = own_properties.parse(
        entries, categories, lambda found: check(build(found), categories, MAX_NOTE)
    )
    lore = build(values)
    _check(lore, document, entries, categories, MAX_NOTE)
    return LoreFile(lore, raw, bool(values.get("id")), aliases_of(entries), tuple({*own, *prefixed}))


def aliases_of(entries: list[KeyEntry]) -> tuple[str, ...]:
    """Return the aliases of a note: `aliases` or `alias`, a list or a comma-separated text."""
    from engram.adapters.files.frontmatter import fields

    values = [entry.value for entry in entries if entry.key in ("aliases", "alias")]
    return tuple(
        dict.fromkeys(name.strip() for value in values for name in fields.words(value) if name.strip())
    )


def write_new(lore: Lore, categories: Categories) -> bytes:
    """Return the canonical file of an entry. Raises ValidationError if no file can hold it."""
    from engram.adapters.files.frontmatter import fields

    lore = _validate(lore, categories)
    wanted, left_out = file_values(lore), defaults(lore, categories)
    lines: list[str] = []
    for key in fields.KEYS:
        if wanted[key] != left_out[key]:
            lines += fields.lines(key, wanted[key])
    return encode("\n".join(lines) + "\n", "---\n", "---\n\n" + lore.content + "\n")


def rewrite(file: LoreFile, lore: Lore, categories: Categories) -> bytes:
    """Return the file edited to hold `lore`: only the lines of values that differ change. Raises ValidationError."""
    if lore == file.lore:
        return file.raw
    lore = _validate(lore, categories, limit_after(file.lore.content))
    if lore == file.lore:
        return file.raw
    from engram.adapters.files.frontmatter import edit

    document, entries, current, prefixed = _read_keys(file, categories)
    values = edit.Values(
        current,
        file_values(lore),
        _implied_values(file, lore, categories) | dict.fromkeys(prefixed, _UNEQUAL),
        defaults(lore, categories) | dict.fromkeys(prefixed, _UNEQUAL),
    )
    content = None if lore.content == file.lore.content else lore.content
    return apply_edit(document, entries, values, edit.form(prefixed), content, max_file_bytes(categories))


def _read_keys(
    file: LoreFile, categories: Categories
) -> tuple[Document, list[KeyEntry], dict[str, object], frozenset[str]]:
    """Return a file split into parts, its keys, the values of its fields, and the fields that are written with a prefix.

    Canonical files need no YAML library. Raises ValidationError for properties that are not YAML.
    """
    text = frontmatter.decode(file.raw, max_file_bytes(categories))
    document = frontmatter.split(text)
    lines = document.block.split("\n")[:-1]
    values = canonical.canonical_fields(lines, categories) if lines else None
    if values is not None:
        names = [line.partition(":")[0] for line in lines]
        return (
            document,
            [KeyEntry(key, "", number, number + 1) for number, key in enumerate(names)],
            values,
            frozenset(),
        )
    from engram.adapters.files.frontmatter import fields, keys, own_properties

    try:
        document, entries = keys.load(text)
    except Problem as problem:
        message = f"Engram cannot add its fields to the properties of this note: line {problem.line}, {problem.message}."
        raise ValidationError("frontmatter", message, problem.hint) from None
    entries, prefixed = own_properties.resolve_prefixes(entries, file.own)
    return document, entries, fields.parse(entries, categories), prefixed


def provisional_id(path: str) -> str:
    """Return an id with time 0 for a file without one, from the path where it was first seen: equal on all machines."""
    from hashlib import blake2b

    digest = blake2b(path.encode(errors="surrogatepass"), digest_size=10).digest()
    return ulid.encode(0, int.from_bytes(digest))


def _build(
    document: Document,
    values: dict[str, Any],
    created: datetime | None,
    first_seen: str,
    categories: Categories,
    modified: datetime,
) -> Lore:
    content = frontmatter.normalise(document.body)
    lore_id = values.get("id")
    if lore_id:
        return build_lore(values, content, lore_id, None, categories)
    return build_lore(
        values, content, provisional_id(first_seen), created or times.whole_seconds(modified), categories
    )


def _check(
    lore: Lore, document: Document, entries: list[KeyEntry], categories: Categories, limit: int
) -> None:
    """Raise Problem, with the line of the field, if an entry breaks a rule."""
    if not lore.content:
        raise Problem(document.body_line, "there is no text", "Write what was learned below the fields.")
    if len(lore.content) > limit:
        message = f"the text has {len(lore.content):,} characters; an entry has at most {limit:,}"
        raise Problem(document.body_line, message, "`engram import` splits a long note by its headings.")
    try:
        check(lore, categories, limit)
    except ValidationError as error:
        lines = [entry.line for entry in entries if entry.key == error.field]
        line = lines[0] if lines else document.body_line
        raise Problem(line, error.message, error.hint or "Correct the line.") from None


def _validate(lore: Lore, categories: Categories, limit: int = MAX_CONTENT) -> Lore:
    """Return the normalized entry, checked. Raises ValidationError."""
    lore = normalize(lore)
    check(lore, categories, limit)
    if frontmatter.conflict_marker(lore.content) >= 0:
        message = "The content has a line that begins like a conflict marker of git."
        raise ValidationError("content", message, "Indent that line by a space.")
    return lore


def _implied_values(file: LoreFile, lore: Lore, categories: Categories) -> dict[str, object]:
    """Return the values that missing keys of the edited file stand for."""
    implied: dict[str, object] = defaults(lore, categories)
    if lore.votes:
        # In format 1, values derived from the votes are updated with them, but not added by an edit of other fields.
        votes_changed = (lore.votes, lore.merged_from) != (file.lore.votes, file.lore.merged_from)
        before = file_values(file.lore)
        for key in ("confidence", "validation_count"):
            implied[key] = None if votes_changed else before[key]
    if file.adopted:
        implied["category"] = DEFAULT_CATEGORY
        implied["created_at"] = times.whole_milliseconds(ulid.moment(lore.id))
    return implied


def apply_edit(
    document: Document,
    entries: list[KeyEntry],
    values: Values,
    form: Form,
    content: str | None,
    most: int = frontmatter.MAX_FILE,
) -> bytes:
    """Return a file of at most `most` bytes, edited to hold these values and this content (None: unchanged).

    A file without frontmatter gets one if there are values to write. Raises ValidationError.
    """
    from engram.adapters.files.frontmatter import edit

    newline = document.newline
    block = edit.edit(document.block, entries, values, newline, form)
    body = document.body if content is None else frontmatter.replace_content(document.body, content, newline)
    opening, closing = document.opening or (f"---{newline}" if block else ""), document.closing
    if opening and not closing:
        closing = f"---{newline}" if body[:1] in ("", "\r", "\n") else f"---{newline}{newline}"
    return encode(block, document.bom + opening, closing + body, most)


def encode(block: str, before: str, after: str, most: int = frontmatter.MAX_FILE) -> bytes:
    """Return the bytes of a file. Raises ValidationError if `read` would refuse it or it has more than `most` bytes."""
    try:
        frontmatter.check_size(block)
        raw = (before + block + after).encode()
        frontmatter.decode(raw, most)
    except UnicodeEncodeError:
        message = "A field contains half of a character (a lone surrogate)."
        raise ValidationError("frontmatter", message, "Send valid UTF-8 text.") from None
    except Problem as problem:
        raise ValidationError(
            "frontmatter", f"{problem.message[:1].upper()}{problem.message[1:]}.", problem.hint
        ) from None
    return raw
