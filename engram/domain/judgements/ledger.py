"""The format of ledgers of judgements: write, read and unite their lines, and name their files.

A ledger is an append-only file of JSON lines for each writer and month. The lines contain no weights:
`engram.domain.judgements.tally` adds them up. docs/lore-format.md specifies the format.
"""

from __future__ import annotations

import json
import re

from engram.domain.entry import ulid
from engram.domain.entry.confidence import Vote
from engram.domain.entry.people import plain_name
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeGuard

    from engram.domain.entry.lore import Lore

CONFIRMED, RETRACTED, SAME = "confirmed", "retracted", "same"

LARGEST_FILE = 8 * 1024 * 1024  # bytes; then the writer starts another file
LEGACY = "legacy"  # the folder of accounts from files of format 1
NAME_FILE = "who"  # the file next to a writer's ledgers with their name
RESTORED = "Restore judgements"  # the subject of a commit with lines that an earlier commit had
ERASED = "erased"
IGNORED = "ignored"  # in a clone's private folder: the sources that are ignored there
_MAX_LINE_LENGTH = 2000  # bytes
_MAX_VALUE_LENGTH = 100
_MAX_NUMBER = 1 << 31  # in a legacy line
_PATH = r"(..)/([0-9A-Z]{26})/(.{4})-(\d{4})(?:-[1-9]\d*)?\.jsonl"  # compiled on first use
_LEGACY_PATH = rf"{LEGACY}/[0-9A-Z]{{8}}-[0-9A-Z]\.jsonl"
_ULID = r"(0[0-9A-HJKMNP-TV-Z]{25})"  # with a time before the year 3084
# A line as written by `render`, or any other line (the last group).
_LINE = (
    rf'^(?:\{{"id":"{_ULID}","entry":"{_ULID}","kind":"([a-z_]{{1,100}})"(?:,"of":"([0-9A-Z]{{1,100}})")?'
    r'(?:,"text":"([0-9a-f]{1,100})")?(?:,"agent":"([\w.@+ -]{1,100})")?(?:,"client":"([\w.@+ -]{1,100})")?\}|(.+))$'
)


class Judgement(NamedTuple):
    """One line: the judgement of an entry by `source` (a ULID from the file's path), at the time in the line's own id.

    `of` is the line retracted, or the entry folded into this one. `text` is a digest of the text judged. `client` is the
    client of a server for whom the source recorded the judgement.
    """

    id: str
    entry: str
    kind: str
    of: str = ""
    text: str = ""
    agent: str = ""
    source: str = ""
    client: str = ""


class LegacyAccount(NamedTuple):
    """An account of votes from a file of format 1: thousandths up and down, and the number of helpful votes.

    `at` is the time of the last one (Unix ms, 0: never).
    """

    entry: str
    account: str
    vote: Vote
    at: int = 0

    @property
    def id(self) -> str:
        """The id of its line, the same in every clone."""
        from hashlib import blake2b  # takes 3 ms, and queries do not need it

        digest = blake2b(f"{self.entry} {self.account}".encode(), digest_size=10).digest()
        return ulid.encode(int(ulid.moment(self.entry).timestamp() * 1000), int.from_bytes(digest))


class EntryJudgements(NamedTuple):
    """The lines and accounts of some entries."""

    lines: list[Judgement]
    accounts: list[LegacyAccount]


class Parsed(NamedTuple):
    """The valid lines of a file, and the number of invalid ones."""

    judgements: list[Judgement]
    accounts: list[LegacyAccount]
    malformed: int


def path_of(source: str, line_id: str, part: int = 1) -> str:
    """Return the path of the file for a line of this writer. Git packs files well whose names have the same end."""
    month = ulid.moment(line_id).strftime("%y%m")
    more = f"-{part}" if part > 1 else ""
    return f"{source[10:12]}/{source}/{source[-4:]}-{month}{more}.jsonl"


def legacy_path(clone: str, entry: str) -> str:
    """Return the path of the file with a clone's (short id) accounts of an entry from files of format 1."""
    return f"{LEGACY}/{clone}-{entry[10]}.jsonl"


def name_path(source: str) -> str:
    """Return the path of the file with a writer's name."""
    return f"{source[10:12]}/{source}/{NAME_FILE}"


def source_of(path: str) -> str | None:
    """Return the writer of a ledger by its path; "" for legacy accounts, None for any other file."""
    if re.fullmatch(_LEGACY_PATH, path):
        return ""
    found = re.fullmatch(_PATH, path)
    if found is None or not ulid.is_valid(found[2]) or found[1] != found[2][10:12]:
        return None
    return found[2]


def writer_of(path: str) -> str:
    """Return the writer whose name the file at this path contains; "" for any other file."""
    source = path.split("/")[1] if path.count("/") == 2 and path.endswith(f"/{NAME_FILE}") else ""
    return source if ulid.is_valid(source) and path == name_path(source) else ""


def person_name(raw: bytes) -> str:
    """Return the name in such a file, safe to display: at most 40 letters, digits, spaces and `.-'`."""
    return plain_name(raw[:400].decode("utf-8", "replace"))


def render(judgement: Judgement) -> bytes:
    """Return the line of a judgement."""
    fields = {"id": judgement.id, "entry": judgement.entry, "kind": judgement.kind, "of": judgement.of}
    fields |= {"text": judgement.text, "agent": judgement.agent, "client": judgement.client}
    return _dump({key: value for key, value in fields.items() if value})


def render_account(account: LegacyAccount) -> bytes:
    """Return the line of an account."""
    up, down, n = account.vote
    fields: dict[str, object] = {"id": account.id, "entry": account.entry, "account": account.account}
    return _dump(fields | {"up": up, "down": down, "n": n} | ({"at": account.at} if account.at else {}))


def parse(raw: bytes, source: str) -> Parsed:
    """Read the lines of a writer's file (`source` "": legacy accounts), in any order and with either line end."""
    judgements, accounts, malformed = list[Judgement](), list[LegacyAccount](), 0
    rows, lines = split(raw) if source else ([], raw.split(b"\n"))
    for row in rows:
        if row[0]:
            judgements.append(Judgement(*row[:6], source, row[6]))
    for line in lines:
        if not line or line == b"\r":
            continue
        found = _parse_line(line, source)
        if isinstance(found, Judgement):
            judgements.append(found)
        elif found is not None:
            accounts.append(found)
        else:
            malformed += 1
    return Parsed(judgements, accounts, malformed)


def split(raw: bytes) -> tuple[list[tuple[str, str, str, str, str, str, str, str]], list[bytes]]:
    """Return the lines of a writer's file that are as written by `render`, and all others.

    The former are rows of the values of a `Judgement` without the source; a row without an id is no line. A single
    regular expression reads a million of them in about a second.
    """
    found = re.findall(_LINE, raw.decode("utf-8", "surrogateescape"), re.ASCII | re.MULTILINE)
    return found, [row[7].encode("utf-8", "surrogateescape") for row in found if row[7]]


def unite(one: bytes, other: bytes) -> bytes:
    """Merge two versions of a file: the longer if it starts with the other, else the union of the lines, sorted by id.

    Symmetric: every clone gets the same bytes.
    """
    one, other = _end_line(one), _end_line(other)
    if one.startswith(other):
        return one
    if other.startswith(one):
        return other
    lines: dict[str, bytes] = {}
    invalid = set[bytes]()
    for ended in [*one.split(b"\n"), *other.split(b"\n")]:
        line = ended.removesuffix(b"\r")
        fields = _load(line) if line else None
        if fields is None:
            invalid |= {line} if line else set()
            continue
        line_id = str(fields["id"])
        known = lines.get(line_id)
        lines[line_id] = line if known is None or known == line else _larger_line(known, line)
    return b"".join(
        [line + b"\n" for line in [*(lines[line_id] for line_id in sorted(lines)), *sorted(invalid)]]
    )


def words_digest(lore: Lore) -> str:
    """Return a digest of the text of an entry, to tell which text a judgement is about."""
    from hashlib import blake2b

    return blake2b("\n".join([lore.content, *lore.context]).encode(), digest_size=6).hexdigest()


def larger_accounts(accounts: Iterable[LegacyAccount]) -> dict[tuple[str, str], LegacyAccount]:
    """Return accounts by entry and name, with the larger of each number of those with the same key."""
    found: dict[tuple[str, str], LegacyAccount] = {}
    for new in accounts:
        key = new.entry, new.account
        known = found.get(key)
        found[key] = new if known is None else larger_of(known, new)
    return found


def larger_of(one: LegacyAccount, other: LegacyAccount) -> LegacyAccount:
    """Return an account with the larger of each number of two."""
    vote = Vote(*map(max, one.vote, other.vote))
    return LegacyAccount(one.entry, one.account, vote, max(one.at, other.at))


def _larger_line(one: bytes, other: bytes) -> bytes:
    """Return the larger of two lines with the same id; of accounts, a line with the larger numbers."""
    accounts = [found for line in (one, other) if isinstance(found := _parse_line(line, ""), LegacyAccount)]
    if len(accounts) == 2 and accounts[0][:2] == accounts[1][:2]:
        return render_account(larger_of(*accounts)).rstrip(b"\n")
    return max(one, other)


def _end_line(raw: bytes) -> bytes:
    return raw if not raw or raw.endswith(b"\n") else raw + b"\n"


def _dump(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _load(line: bytes) -> dict[str, object] | None:
    """Parse a JSON object with an id; return None for anything else."""
    if len(line) > _MAX_LINE_LENGTH:
        return None
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) and isinstance(fields.get("id"), str) else None


def _parse_line(line: bytes, source: str) -> Judgement | LegacyAccount | None:
    fields = _load(line)
    if fields is None:
        return None
    get = fields.get
    line_id, entry = get("id"), get("entry")
    if not (_is_id(line_id) and _is_id(entry)):
        return None
    if not source:
        return _parse_account(fields)
    values = get("kind"), get("of", ""), get("text", ""), get("agent", ""), get("client", "")
    if not all(
        isinstance(value, str) and len(value) <= _MAX_VALUE_LENGTH and value.isprintable() for value in values
    ):
        return None
    return Judgement(line_id, entry, *values[:4], source, values[4])  # type: ignore[arg-type]


def _parse_account(fields: Mapping[str, object]) -> LegacyAccount | None:
    up, down, n, at = (_parse_number(fields.get(key, 0)) for key in ("up", "down", "n", "at"))
    name = fields.get("account")
    if up is None or down is None or n is None or at is None or not isinstance(name, str):
        return None
    if not 0 < len(name) <= _MAX_VALUE_LENGTH or max(up, down, n) >= _MAX_NUMBER:
        return None
    found = LegacyAccount(str(fields["entry"]), name, Vote(up, down, n), at)
    return found if found.id == fields["id"] else None


def _parse_number(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < _MAX_NUMBER << 16 else None


def _is_id(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and ulid.is_valid(value)
