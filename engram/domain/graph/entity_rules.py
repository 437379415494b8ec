"""The rules of entities: slugs, validation of fields, and resolving names."""

from __future__ import annotations

import re

from engram.domain.entry.lore import (
    FALLBACK,
    MAX_CONTENT,
    MAX_ITEMS,
    MAX_SLUG,
    MAX_WORD,
    check_text,
    check_words,
    slug,
)
from engram.domain.entry.named_files import DEVICES
from engram.domain.errors import AmbiguousError, ValidationError
from engram.domain.graph.entity import TYPES, Entity, Relationship, by_name
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

DEFAULT_TYPE = "concept"
RELATED = "related_to"  # the default kind of a relationship
OWN_KEYS = ("name", "type", "aliases", "relationships", "updated_at", "conflicts")
_KIND = re.compile(r"[a-z][a-z0-9_]{0,59}", re.ASCII)
_SINCE = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?", re.ASCII)
_METADATA_KEY = re.compile(r"[A-Za-z][\w-]{0,59}", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{8}", re.ASCII)
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)
_SEPARATORS = re.compile(r"[\s_./\u2010-\u2015-]+")


def slug_of(name: str) -> str:
    """Make a slug of a name: `c-plus-plus` of C++.

    A name without usable letters, such as 北京, becomes `entity-` and eight digits of its hash. Names reserved on Windows
    (`con`, `aux`) get the prefix `entity-`, too.
    """
    found = slug(name.replace("+", " plus ").replace("#", " sharp "))
    if found in DEVICES:
        return f"entity-{found}"
    if found != FALLBACK or name.strip().lower() == FALLBACK:
        return found
    from hashlib import blake2b

    return f"entity-{blake2b(key_of(name).encode(errors='replace'), digest_size=4).hexdigest()}"


def name_of_id(entity_id: str) -> str:
    """Return the name in an id of another memory: the part after the type in `person:ada`, or after the prefix in `entity-ada`."""
    kind, colon, name = entity_id.partition(":")
    found = (name if colon and kind.lower() in TYPES else entity_id).strip()
    rest = found.removeprefix("entity-")
    return found if rest in DEVICES or _HASH.fullmatch(rest) else rest  # a slug made by `slug_of`


def is_slug(text: str) -> bool:
    """Whether a text could be a slug."""
    return len(text) <= MAX_SLUG + len("-99") and _SLUG.fullmatch(text) is not None


def free_slug(name: str, taken: Collection[str]) -> str:
    """Choose the slug of a new entity: `net` for Net, and `net-2` for .NET if `net` is taken."""
    first = slug_of(name)
    number, found = 1, first
    while found in taken:
        number += 1
        found = f"{first}-{number}"
    return found


def is_since(text: str) -> bool:
    """Whether a text has the form of a year, a month or a day."""
    return _SINCE.fullmatch(text) is not None


def key_of(name: str) -> str:
    """Normalize a name for comparison: case, blanks, `-`, `_`, `.` and `/` do not matter; `+` and `#` do."""
    return _SEPARATORS.sub(" ", name.lower()).strip() or name.strip()


def match_name(entities: Sequence[Entity], name: str) -> tuple[str, ...]:
    """Return the slugs that a name means: exact matches, else those that ignore case and separators."""
    exact = tuple([entity.slug for entity in entities if name in (entity.slug, entity.name, *entity.aliases)])
    if exact:
        return exact
    key = key_of(name)
    return tuple([one.slug for one in entities if key in map(key_of, (one.slug, one.name, *one.aliases))])


def find_by_name(entities: Sequence[Entity], name: str) -> Entity | None:
    """Find an entity by name; None if there is none. Raises AmbiguousError."""
    slugs = match_name(entities, name)
    if len(slugs) > 1:
        found = [entity for entity in entities if entity.slug in slugs]
        raise AmbiguousError(
            f"'{name[:80]}' may mean {', '.join(slugs[:5])}.",
            "Use a slug, the name of the file.",
            tuple((entity.slug, entity.name) for entity in found),
        )
    return next((entity for entity in entities if entity.slug in slugs), None)


def resolve_relationships(entities: Sequence[Entity]) -> tuple[Entity, ...]:
    """Replace names and aliases in relationships with slugs."""
    slugs = {entity.slug for entity in entities}
    if all(link.to in slugs for entity in entities for link in entity.relationships):
        return tuple(entities)
    names = by_name(entities, key_of)
    return tuple([_resolve(entity, slugs, names) for entity in entities])


def _resolve(entity: Entity, slugs: set[str], names: Mapping[str, tuple[str, ...]]) -> Entity:
    if all(link.to in slugs for link in entity.relationships):
        return entity
    links = [link._replace(to=_slug_for(link.to, slugs, names)) for link in entity.relationships]
    return entity._replace(relationships=tuple(links))


def _slug_for(text: str, slugs: set[str], names: Mapping[str, tuple[str, ...]]) -> str:
    found = names.get(key_of(text), ())
    if text not in slugs and len(found) == 1:
        return found[0]
    return text if text in slugs or is_slug(text) else slug_of(text)


def check(entity: Entity) -> None:
    """Raise ValidationError at the first field that breaks its rule."""
    check_words("name", [entity.name])
    check_type(entity.type)
    check_words("aliases", entity.aliases)
    if len(entity.relationships) > MAX_ITEMS:
        message = f"{len(entity.relationships):,} relationships are too many; at most {MAX_ITEMS} fit."
        raise ValidationError("relationships", message)
    for relationship in entity.relationships:
        check_relationship(relationship)
    for key, value in entity.metadata:
        check_words("metadata", [key])
        check_text("metadata", value, MAX_CONTENT)


def check_type(kind: str) -> str:
    """Return a type if it is valid. Raises ValidationError."""
    if kind not in TYPES:
        raise ValidationError("type", f"Type cannot be '{kind[:40]}'.", f"Valid values: {', '.join(TYPES)}.")
    return kind


def check_relationship(relationship: Relationship) -> None:
    """Raise ValidationError if the kind is not a word, the target is missing, or the date is invalid."""
    if not _KIND.fullmatch(relationship.kind):
        message = f"The kind of a relationship cannot be '{relationship.kind[:40]}'."
        raise ValidationError("relationships", message, "One word in lower case, such as uses or works_on.")
    if not relationship.to.strip() or len(relationship.to) > MAX_WORD or not relationship.to.isprintable():
        message = f"A relationship ({relationship.kind}) has no target."
        raise ValidationError(
            "relationships", message, "Write the slug of the other one: {kind: uses, to: zookeeper}."
        )
    if relationship.since and not _is_date(relationship.since):
        message = f"Since cannot be '{relationship.since[:40]}'."
        raise ValidationError("relationships", message, "A date like 2024-01-31, 2024-01 or 2024.")


def _is_date(text: str) -> bool:
    if not _SINCE.fullmatch(text):
        return False
    from datetime import date

    try:
        date.fromisoformat(text + "-01-01"[len(text) - 4 :])
    except ValueError:
        return False
    return True


def check_metadata_key(key: str) -> str:
    """Return a metadata key if it is valid. Raises ValidationError."""
    if key in OWN_KEYS or not _METADATA_KEY.fullmatch(key):
        message = f"'{key[:40]}' is not a valid metadata key."
        raise ValidationError(
            "metadata", message, "Use letters, digits, `-` and `_`, but not the name of a field of entities."
        )
    return key
