"""The codec of lore files: bytes to an entry and back, and the smallest edit of a file someone else wrote."""

from __future__ import annotations

from engram.adapters.files.frontmatter import canonical, frontmatter
from engram.adapters.files.frontmatter.frontmatter import Entry, Problem, normalise
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


# Conversion between an entry and the values of its file: which are written, and which are defaults.


def build_lore(
    values: dict[str, Any], content: str, lore_id: str, created: datetime | None, categories: Categories
) -> Lore:
    """Build an entry from the values of a file (`said`, from `fields.parse`) and the defaults.

    `created` is the time of creation if the file has none; None: that of the id. `content` is normalised.
    """
    get = values.get
    category = get("category", DEFAULT_CATEGORY)
    created = get("created_at") or created or ulid.moment(lore_id)
    source_id, sources = get("source_id", ""), get("sources", ())
    # By position, in the order of the fields: names cost more than all the rest of this.
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
    """Return the confidence that the author stated: of a file of format 1 the prior, adjusted where a person edited."""
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
    """Return the thousandths of what `stated_text` writes: two decimals or three."""
    return int(shown.replace(".", "").ljust(4, "0"))


def normalize(lore: Lore) -> Lore:
    """Normalize an entry to what a file can hold: no blank edges, no empty context, no redundant `sources`."""
    content = normalise(lore.content)
    context = tuple([text for text in lore.context if text]) if "" in lore.context else lore.context
    sources = () if lore.sources == (lore.source_id,) else lore.sources
    if content == lore.content and context is lore.context and sources is lore.sources:
        return lore
    return lore._replace(content=content, context=context, sources=sources)


def file_values(lore: Lore) -> dict[str, Any]:
    """Return the values that the file of a normalized entry has to hold, in file form.

    With votes it is of format 1, which holds what they add up to as well.
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
    """Return the values that are left out of the file of this entry; None where a key is always written."""
    return {
        **Lore._field_defaults,
        **dict.fromkeys(("id", "category", "created_at")),
        "type": categories.type_of(lore.category),
        "confidence": None if lore.votes else stated_text(DEFAULT_PRIOR),
        "validation_count": 0,
        "updated_at": times.whole_milliseconds(lore.created_at),
    }


_NEVER = object()  # equal to no value: a key with it is always written
_MOST_PARSED = 8000  # files, which are a few KB each


class ParsedFiles:
    """Entries parsed during one operation, by the bytes of their canonical files, so that none is parsed twice."""

    def __init__(self) -> None:
        self._found: dict[tuple[bytes, Categories], Lore] = {}

    def find(self, raw: bytes, categories: Categories) -> Lore | None:
        """Return the entry of a file that was added; None for any other."""
        return self._found.get((raw, categories))

    def add(self, raw: bytes, categories: Categories, lore: Lore) -> None:
        """Keep the entry of a file, unless thousands are kept already."""
        if len(self._found) < _MOST_PARSED:
            self._found[raw, categories] = lore


class LoreFile(NamedTuple):
    """An entry and the bytes of its file.

    `adopted` is False where the file has no id yet: `lore.id` is then provisional. `aliases` are other names that it
    gives itself, `own` its properties that have the name of a field and are none.
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
    """Read an entry's file. `path` is relative to the store, `modified` the time of the file.

    A file without an id gets a provisional one from where it was `first_seen`, "" for its path.

    Raises LoreFileError with the line and what to do; nothing else.
    """
    known = parsed.find(raw, categories) if parsed is not None else None
    file = LoreFile(known, raw, True) if known else _read(raw, path, categories, modified, first_seen)
    if categories.in_place and ulid.is_undated(file.lore.id):
        return file._replace(lore=file.lore._replace(name=file_name(path)))
    return file


def _read(raw: bytes, path: str, categories: Categories, modified: datetime, first_seen: str) -> LoreFile:
    try:
        text = frontmatter.decode(raw, most_bytes(categories))
        lore = read_canonical(text, categories)
        return (
            LoreFile(lore, raw, True) if lore else read_any(text, raw, path, categories, modified, first_seen)
        )
    except Problem as problem:
        raise LoreFileError(path, problem.line, problem.message, problem.hint) from None


def most_bytes(categories: Categories) -> int:
    """Return how large the file of an entry may be: a note of a store in place is its maker's, and may be long."""
    return MAX_NOTE if categories.in_place else frontmatter.MAX_FILE


def read_own(raw: bytes, categories: Categories) -> Lore | None:
    """Return the entry of a file as Engram writes it; None: `read` takes it, or says what is wrong with it."""
    if categories.in_place:  # the name of a note's file counts, too
        return None
    try:
        return read_canonical(frontmatter.decode(raw, most_bytes(categories)), categories)
    except Problem:
        return None


def read_canonical(text: str, categories: Categories) -> Lore | None:
    """Return the entry of a file as Engram writes it, at a quarter of the cost; None: it takes the long way of `read`.

    It only ever accepts: every error, and every form it is not certain of, is left to the long way.
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
    """Read a file in any form, however a person left it. Raises Problem."""
    from engram.adapters.files.frontmatter import fields, keys

    if categories.in_place:
        return _read_note(text, raw, path, categories, modified, first_seen)
    document, entries = keys.load(text)
    values = fields.parse(entries, categories)
    lore = _lore(document, values, fields.foreign_date(entries), first_seen or path, categories, modified)
    _check(lore, document, entries, categories, MAX_CONTENT)
    return LoreFile(lore, raw, adopted=bool(values.get("id")), aliases=aliases_of(entries))


def _read_note(
    text: str, raw: bytes, path: str, categories: Categories, modified: datetime, first_seen: str
) -> LoreFile:
    """Read a note of a store in place: what is no value of a field is its own, and it may be long. Raises Problem."""
    from engram.adapters.files.frontmatter import fields, keys, own_properties

    try:
        document, entries = keys.load(text)
    except Problem:  # templates have properties that are no YAML yet
        document, entries = frontmatter.split(text), []
        if frontmatter.names_id(document.block):
            raise
    entries, apart = own_properties.engrams(entries)
    created = fields.foreign_date(entries)
    if not shows(document.body):  # an empty note is about what it is called
        document = document._replace(body=file_name(path))

    def built(values: dict[str, Any]) -> Lore:
        return _lore(document, values, created, first_seen or path, categories, modified)

    values, own = own_properties.parse(
        entries, categories, lambda said: check(built(said), categories, MAX_NOTE)
    )
    lore = built(values)
    _check(lore, document, entries, categories, MAX_NOTE)
    return LoreFile(lore, raw, bool(values.get("id")), aliases_of(entries), tuple({*own, *apart}))


def aliases_of(entries: list[Entry]) -> tuple[str, ...]:
    """Return the other names of a note: `aliases` or `alias`, a list or one text with commas."""
    from engram.adapters.files.frontmatter import fields

    said = [entry.value for entry in entries if entry.key in ("aliases", "alias")]
    return tuple(
        dict.fromkeys(name.strip() for value in said for name in fields.words(value) if name.strip())
    )


def write_new(lore: Lore, categories: Categories) -> bytes:
    """Return the canonical file of an entry. Raises ValidationError where no file can say it."""
    from engram.adapters.files.frontmatter import fields

    lore = _valid(lore, categories)
    wanted, left_out = file_values(lore), defaults(lore, categories)
    lines: list[str] = []
    for key in fields.KEYS:
        if wanted[key] != left_out[key]:
            lines += fields.lines(key, wanted[key])
    return encode("\n".join(lines) + "\n", "---\n", "---\n\n" + lore.content + "\n")


def rewrite(file: LoreFile, lore: Lore, categories: Categories) -> bytes:
    """Return the file edited to say `lore`: only the lines of what differs change. Raises ValidationError."""
    if lore == file.lore:
        return file.raw
    lore = _valid(lore, categories, limit_after(file.lore.content))
    if lore == file.lore:
        return file.raw
    from engram.adapters.files.frontmatter import edit

    document, entries, said, apart = _keys(file, categories)
    values = edit.Values(
        said,
        file_values(lore),
        _implied_values(file, lore, categories) | dict.fromkeys(apart, _NEVER),
        defaults(lore, categories) | dict.fromkeys(apart, _NEVER),
    )
    content = None if lore.content == file.lore.content else lore.content
    return edited(document, entries, values, edit.form(apart), content, most_bytes(categories))


def _keys(
    file: LoreFile, categories: Categories
) -> tuple[Document, list[Entry], dict[str, object], frozenset[str]]:
    """Split a file and read its keys and fields, without a YAML library where the form is our own.

    The last are the fields that are written with a prefix. Raises ValidationError for properties that are not YAML.
    """
    text = frontmatter.decode(file.raw, most_bytes(categories))
    document = frontmatter.split(text)
    lines = document.block.split("\n")[:-1]
    values = canonical.canonical_fields(lines, categories) if lines else None
    if values is not None:
        names = [line.partition(":")[0] for line in lines]
        return (
            document,
            [Entry(key, "", number, number + 1) for number, key in enumerate(names)],
            values,
            frozenset(),
        )
    from engram.adapters.files.frontmatter import fields, keys, own_properties

    try:
        document, entries = keys.load(text)
    except Problem as problem:
        message = f"Engram cannot add its fields to the properties of this note: line {problem.line}, {problem.message}."
        raise ValidationError("frontmatter", message, problem.hint) from None
    entries, apart = own_properties.engrams(entries, file.own)
    return document, entries, fields.parse(entries, categories), apart


def provisional_id(path: str) -> str:
    """Return the id (of time 0) of a file without one, by the path at which it was first seen; equal on all machines."""
    from hashlib import blake2b

    digest = blake2b(path.encode(errors="surrogatepass"), digest_size=10).digest()
    return ulid.encode(0, int.from_bytes(digest))


def _lore(
    document: Document,
    values: dict[str, Any],
    dated: datetime | None,
    first_seen: str,
    categories: Categories,
    modified: datetime,
) -> Lore:
    content = frontmatter.normalise(document.body)
    lore_id = values.get("id")
    if lore_id:
        return build_lore(values, content, lore_id, None, categories)
    created = dated or times.whole_seconds(modified)
    return build_lore(values, content, provisional_id(first_seen), created, categories)


def _check(lore: Lore, document: Document, entries: list[Entry], categories: Categories, most: int) -> None:
    """The rules of every entry, told with the line of the field that breaks one."""
    if not lore.content:
        raise Problem(document.body_line, "there is no text", "Write what was learned below the fields.")
    if len(lore.content) > most:
        message = f"the text has {len(lore.content):,} characters; an entry has at most {most:,}"
        raise Problem(document.body_line, message, "`engram import` splits a long note by its headings.")
    try:
        check(lore, categories, most)
    except ValidationError as error:
        lines = [entry.line for entry in entries if entry.key == error.field]
        line = lines[0] if lines else document.body_line
        raise Problem(line, error.message, error.hint or "Correct the line.") from None


def _valid(lore: Lore, categories: Categories, limit: int = MAX_CONTENT) -> Lore:
    """Return the entry in canonical form, checked. Raises ValidationError."""
    lore = normalize(lore)
    check(lore, categories, limit)
    if frontmatter.conflict_marker(lore.content) >= 0:
        message = "The content has a line that begins like a conflict marker of git."
        raise ValidationError("content", message, "Indent that line by a space.")
    return lore


def _implied_values(file: LoreFile, lore: Lore, categories: Categories) -> dict[str, object]:
    """Return what a reader of the edited file takes for a key that is not in it."""
    implied: dict[str, object] = defaults(lore, categories)
    if lore.votes:
        # What follows from the votes of format 1 is shown anew with them, but not added by an edit of something else.
        voted = (lore.votes, lore.merged_from) != (file.lore.votes, file.lore.merged_from)
        before = file_values(file.lore)
        for key in ("confidence", "validation_count"):
            implied[key] = None if voted else before[key]
    if file.adopted:
        implied["category"] = DEFAULT_CATEGORY
        implied["created_at"] = times.whole_milliseconds(ulid.moment(lore.id))
    return implied


def edited(
    document: Document,
    entries: list[Entry],
    values: Values,
    form: Form,
    content: str | None,
    most: int = frontmatter.MAX_FILE,
) -> bytes:
    """Return a file of at most `most` bytes, edited to say these values and this text (None: the one that it has).

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
    """Return the bytes of a file of at most `most`, refused where `read` would refuse them."""
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
