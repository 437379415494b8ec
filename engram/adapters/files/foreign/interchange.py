"""JSON and JSON Lines in and out: rows of lore fields, read tolerantly from what other memory tools export.

A row is an object (or a bare string: its content). What cannot be read becomes a problem that says where; it
never stops the rows beside it. Which fields are valid lore is for the importer to check.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from engram.adapters.files.foreign import tool_rows
from engram.adapters.files.foreign.import_fields import RowError, fields_of
from engram.domain.text.safe_text import safe_json
from engram.domain.typed import NamedTuple

MAX_BYTES = 64 * 1024 * 1024
MAX_ROWS = 200_000
MAX_PROBLEMS = 1000

Problem = dict[str, str]

_ROW_LISTS = (
    *("lore", "memories", "results", "items", "entries", "records", "notes", "observations", "facts"),
    *("documents", "rows", "data", "blocks", "entities", "relations"),
)
_HOLDERS, _MAX_HOLDERS = ("data", "result", "response", "graph", "export"), 4


class ImportRow(NamedTuple):
    """The lore fields found in one row, by name, and where it was (`file.jsonl:12`, `file.json#3`).

    A row that is an entity has the one field `entity`, a `tool_rows.EntityRow`.
    """

    fields: dict[str, object]
    where: str


def read_rows(
    data: bytes, name: str, kind: str = "", *, own: bool = False
) -> tuple[str, tuple[ImportRow, ...], tuple[Problem, ...]]:
    """Return the rows of a JSON array, of an object that holds one (`{"lore": [...]}`), or of JSON Lines.

    Returns which tool's they are (`kind`, else told by the rows; "" for lore), rows and problems ({where, message, hint}).
    `where` is `name:line` for JSON Lines, `name#number` (from 1) for an array. Fields are plain values: `content`, `title`,
    `category`, `agent`, … text; `tags`, `files`, `entities`, `context` lists of text; times RFC 3339 text; numbers checked
    to be in range. `own` says that they are for a person's own store. At most 64 MiB are read.
    """
    problem = _too_large(data, name)
    if problem:
        return kind, (), (problem,)
    values = list(_values(data, name))
    kind = kind or tool_rows.detect_kind(name, [value for _, value in values])
    return kind, *_read(tool_rows.translate_rows(kind, values, own=own))


def _too_large(data: bytes, name: str) -> Problem | None:
    if len(data) <= MAX_BYTES:
        return None
    hint = "Split it into smaller files and import them one by one."
    return _problem(name, f"The file has {len(data) >> 20} MiB; at most {MAX_BYTES >> 20} are read.", hint)


def _read(values: Iterable[tuple[str, object]]) -> tuple[tuple[ImportRow, ...], tuple[Problem, ...]]:
    rows: list[ImportRow] = []
    problems: list[Problem] = []
    for where, found in values:
        if len(rows) >= MAX_ROWS or len(problems) >= MAX_PROBLEMS:
            problems.append(
                _problem(where, "Reading stopped here: too many rows or problems.", "Split the file.")
            )
            break
        if isinstance(found, tool_rows.Left):
            problems += [_problem(where, f"Left out: {found.message}.", found.hint)] if found.hint else []
            continue
        if isinstance(found, tool_rows.EntityRow):
            rows.append(ImportRow({"entity": found}, where))
            continue
        if isinstance(found, RowError):
            problems.append(_problem(where, found.message, found.hint))
            continue
        try:
            fields, dropped = fields_of(found)
        except RowError as error:
            problems.append(_problem(where, error.message, error.hint))
            continue
        rows.append(ImportRow(fields, where))
        problems += [_problem(where, message, "The rest of the row was read.") for message in dropped]
    return tuple(rows), tuple(problems)


def write_json(lore: Iterable[Mapping[str, object]]) -> bytes:
    """Return one document, `{"lore": [...]}`, indented, UTF-8, for `read_rows` and for people."""
    return _encode(json.dumps({"lore": list(lore)}, ensure_ascii=False, indent=2) + "\n")


def write_jsonl(lore: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """Yield one line per entry, UTF-8, each with its line break: to be written as they come."""
    for row in lore:
        yield _encode(json.dumps(row, ensure_ascii=False) + "\n")


def _encode(text: str) -> bytes:
    return safe_json(text).encode()  # an export may be printed on a terminal


def _problem(where: str, message: str, hint: str = "") -> Problem:
    return {"where": where, "message": message, "hint": hint}


def _values(data: bytes, name: str) -> Iterator[tuple[str, object]]:
    """Yield every row with where it is, as parsed JSON or as the RowError it is."""
    data = _as_utf8(data)
    lines = data.split(b"\n")
    first = next((line for line in lines if line.strip()), b"")
    if not first:
        yield name, RowError("The file is empty.", "There is nothing to import from it.")
        return
    several = sum(1 for line in lines if line.strip()) > 1
    by_line = name.lower().endswith((".jsonl", ".ndjson")) and not _opens_only(first)
    if by_line or (several and isinstance(_parse(first), dict)):
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield f"{name}:{number}", _parse(line)
        return
    whole = _parse(data)
    if isinstance(whole, RowError):
        yield name, whole
        return
    for number, row in enumerate(_rows_of(whole), 1):
        yield f"{name}#{number}", row


def _opens_only(line: bytes) -> bool:
    """Return whether a first line is the start of a document over many lines, whatever the file's name says."""
    return line.strip() in (b"[", b"{")


def _as_utf8(data: bytes) -> bytes:
    encoding = json.detect_encoding(data)
    if encoding in ("utf-8", "utf-8-sig"):
        return data.removeprefix(b"\xef\xbb\xbf")
    return data.decode(encoding, "replace").encode("utf-8", "replace")


def _parse(data: bytes) -> object:
    """Return the parsed JSON, or a RowError that says why not."""
    try:
        return json.loads(data.decode())
    except UnicodeDecodeError as error:
        return RowError(
            f"This is not UTF-8 text (byte {error.start + 1}).", "Save it as UTF-8 and import it again."
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        return RowError(
            f"This is not JSON: {error.msg} at {place}.", "Correct it there, or leave the row out."
        )
    except RecursionError:
        return RowError("This is nested too deeply to be read.", "Lore needs rows of plain fields.")
    except ValueError as error:  # a number of more digits than Python reads
        return RowError(f"This JSON cannot be read: {error}.", "Leave the row out.")


def _rows_of(whole: object) -> list[object]:
    """Return the rows in a document: a list, the lists that an object holds, else the object itself."""
    for _ in range(_MAX_HOLDERS):
        if isinstance(whole, list):
            return whole
        if not isinstance(whole, dict) or _is_row(whole):
            break
        lists = [whole[key] for key in _ROW_LISTS if isinstance(whole.get(key), list)]
        if lists:
            return [row for rows in lists for row in rows]
        inner = [whole[key] for key in _HOLDERS if isinstance(whole.get(key), dict)]
        if not inner:
            break
        whole = inner[0]
    return [whole]


def _is_row(value: Mapping[str, object]) -> bool:
    """Return whether an object is itself an entry rather than a holder of lists of them."""
    named = any(
        isinstance(value.get(key), str) for key in ("content", "text", "body", "memory", "title", "name")
    )
    return named or ("lore" not in value and isinstance(value.get("observation"), str))
