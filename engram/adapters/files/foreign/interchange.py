"""Import and export JSON and JSON Lines: rows of fields, read tolerantly from exports of other memory tools.

A row is an object, or a string that is its content. A row that cannot be read becomes a problem with its place, and
the other rows are read. Whether the fields are valid is for the importer to check.
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
_WRAPPERS, _MAX_WRAPPERS = ("data", "result", "response", "graph", "export"), 4


class ImportRow(NamedTuple):
    """The fields found in one row, by name, and its place (`file.jsonl:12`, `file.json#3`).

    A row that is an entity has only the field `entity`, a `tool_rows.EntityRow`.
    """

    fields: dict[str, object]
    where: str


def read_rows(
    data: bytes, name: str, kind: str = "", *, own: bool = False
) -> tuple[str, tuple[ImportRow, ...], tuple[Problem, ...]]:
    """Read the rows of a JSON array, of an object that holds one (`{"lore": [...]}`), or of JSON Lines.

    Returns the tool that they are from (`kind`, else detected; "" for lore), rows and problems ({where, message, hint}).
    `where` is `name:line` for JSON Lines, `name#number` (from 1) for an array. For the fields see `fields_of`. `own`: the
    rows are for a person's own store. At most 64 MiB are read.
    """
    problem = _check_size(data, name)
    if problem:
        return kind, (), (problem,)
    values = list(_parse_rows(data, name))
    kind = kind or tool_rows.detect_kind(name, [value for _, value in values])
    return kind, *_convert_rows(tool_rows.translate_rows(kind, values, own=own))


def _check_size(data: bytes, name: str) -> Problem | None:
    if len(data) <= MAX_BYTES:
        return None
    hint = "Split it into smaller files and import them one by one."
    return _problem(name, f"The file has {len(data) >> 20} MiB; at most {MAX_BYTES >> 20} are read.", hint)


def _convert_rows(values: Iterable[tuple[str, object]]) -> tuple[tuple[ImportRow, ...], tuple[Problem, ...]]:
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
    """Return one document, `{"lore": [...]}`, indented and in UTF-8, for `read_rows` and for people."""
    return _encode(json.dumps({"lore": list(lore)}, ensure_ascii=False, indent=2) + "\n")


def write_jsonl(lore: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """Yield one line per entry, in UTF-8 with its line break."""
    for row in lore:
        yield _encode(json.dumps(row, ensure_ascii=False) + "\n")


def _encode(text: str) -> bytes:
    return safe_json(text).encode()  # an export may be printed on a terminal


def _problem(where: str, message: str, hint: str = "") -> Problem:
    return {"where": where, "message": message, "hint": hint}


def _parse_rows(data: bytes, name: str) -> Iterator[tuple[str, object]]:
    """Yield every row with its place, as parsed JSON or as a RowError."""
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
    for number, row in enumerate(_find_rows(whole), 1):
        yield f"{name}#{number}", row


def _opens_only(line: bytes) -> bool:
    """Return whether a first line only opens a document of many lines, so that the file is not JSON Lines."""
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
    except ValueError as error:  # a number with more digits than Python accepts
        return RowError(f"This JSON cannot be read: {error}.", "Leave the row out.")


def _find_rows(whole: object) -> list[object]:
    """Return the rows in a document: a list, the lists in an object, else the object itself."""
    for _ in range(_MAX_WRAPPERS):
        if isinstance(whole, list):
            return whole
        if not isinstance(whole, dict) or _is_row(whole):
            break
        lists = [whole[key] for key in _ROW_LISTS if isinstance(whole.get(key), list)]
        if lists:
            return [row for rows in lists for row in rows]
        inner = [whole[key] for key in _WRAPPERS if isinstance(whole.get(key), dict)]
        if not inner:
            break
        whole = inner[0]
    return [whole]


def _is_row(value: Mapping[str, object]) -> bool:
    """Return whether an object is itself a row rather than a wrapper of lists of them."""
    named = any(
        isinstance(value.get(key), str) for key in ("content", "text", "body", "memory", "title", "name")
    )
    return named or ("lore" not in value and isinstance(value.get("observation"), str))
