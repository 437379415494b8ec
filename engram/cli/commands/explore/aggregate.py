"""`engram aggregate`: merge several lists of entries into one ranking."""

from __future__ import annotations

import os

from engram.cli.invocation import Call, text_or_stdin
from engram.cli.parsing import argument, declare, values_of
from engram.cli.tables import show_table
from engram.operations.explore import AGGREGATE

DESCRIPTION = (
    "Merge several lists of entries, such as the answers to three questions, by reciprocal rank fusion: entries\n"
    "near the top of many lists come first. A list is refs and ids separated by commas, best first; or a file with\n"
    "one on each line, or with what `engram query`, `list` or `sql` print with --json (- reads standard input)."
)
EXAMPLES = (
    "engram aggregate L1,L4,L2 L2,L3",
    "engram aggregate first.json second.json --limit 5",
)
_LARGEST = 4 << 20  # bytes of a file
ARGUMENTS = (
    argument("lists", "LIST", "refs and ids separated by commas, or a file", nargs="+"),
    *declare(AGGREGATE, k={"flags": ["-k"]}),
)


def run(call: Call) -> int:
    from engram.usecases.explore.aggregate import aggregate

    lists = [_parse_list(text) for text in call.arguments.lists]
    found = aggregate(call.store, lists, **values_of(call.arguments, AGGREGATE))
    call.output.document(found.as_dict())
    show_table(call.output, found)
    return 0


def _parse_list(given: str) -> list[str]:
    """Return the refs and ids of a list or a file. Raises UsageError if it is neither."""
    from engram.domain.entry import ulid
    from engram.domain.entry.refs import ref_number
    from engram.domain.errors import UsageError
    from engram.usecases.explore.aggregate import names_in

    if given == "-" or os.path.isfile(given):
        return names_in(_read(given), given)
    names = [name for name in (part.strip() for part in given.split(",")) if name]
    if not names or any(ref_number(name) is None and not ulid.is_valid(name.upper()) for name in names):
        raise UsageError(
            f"'{given[:60]}' is neither a list of refs and ids nor a file.", "For example: L1,L2"
        )
    return names


def _read(path: str) -> str:
    from engram.domain.errors import UsageError

    if path == "-":
        return text_or_stdin(path, "names")
    with open(path, "rb") as file:
        raw = file.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        raise UsageError(f"{path} is larger than {_LARGEST >> 20} MiB.", "Give a shorter list.")
    return raw.decode("utf-8", "replace")
