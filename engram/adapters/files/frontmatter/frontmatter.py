"""An entry file as text: its frontmatter, the body, and the content of the body; YAML scalars."""

from __future__ import annotations

import re
from functools import lru_cache

from engram.domain.entry import ulid
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    Value = str | list["Value"] | dict[str, "Value"]

# The opening `---` is line 1 of the file, so line 0 of the frontmatter is line 2 of the file.
FIRST_LINE = 2


class KeyEntry(NamedTuple):
    """A top-level key with its value. `start` and `end` are frontmatter lines from 0, `end` exclusive.

    `comment` is the comment after a one-line value, with the blanks before it, so that an edit can keep it.
    """

    key: str
    value: Value
    start: int
    end: int
    comment: str = ""

    @property
    def line(self) -> int:
        """The line of the key in the file, from 1."""
        return self.start + FIRST_LINE


class Problem(Exception):  # noqa: N818 - never leaves the codec, which turns it into a LoreFileError
    """Why a file cannot be read; `line` is a line of the file, from 1 (0: unknown)."""

    def __init__(self, line: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.hint = hint


def comment_of(tail: str) -> str:
    """Return the comment in the rest of a line after a value, with the blanks before it; "" if there is none."""
    return tail.rstrip(" \t") if tail.lstrip(" \t").startswith("#") else ""


MAX_FILE = 256 * 1024
MAX_FRONTMATTER = 16 * 1024
FENCE = "---"
BOM = "\ufeff"
# Compiled by `re` on first use: a valid file needs none of them.
_MARKER = r"(?m)^(?:<<<<<<<|>>>>>>>|\|\|\|\|\|\|\|) "
_ID_LINE = r"(?m)^id: *[\"']?([0-9A-Z]{26})\b"
_CONFLICTS = r"(?m)^conflicts:.*\n(?:[ -].*\n|\r?\n)*"


class Document(NamedTuple):
    """The text of a file, split into parts; all but `bom` and `body` are empty if it has no frontmatter.

    `opening` and `closing` are the `---` lines, `block` the lines between them, all with their line ends.
    """

    bom: str
    opening: str
    block: str
    closing: str
    body: str

    @property
    def newline(self) -> str:
        """The line end of the file's first line, used for new lines."""
        text = self.opening or self.body
        end = text.find("\n")
        return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"

    @property
    def body_line(self) -> int:
        """The line of the file where the content starts, from 1."""
        skipped = self.body[: content_start(self.body)]
        return 1 + f"{self.opening}{self.block}{self.closing}{skipped}".count("\n")


def decode(raw: bytes, limit: int = MAX_FILE) -> str:
    """Return the text of a file. Raises Problem if it has over `limit` bytes, a NUL or git's conflict markers, or is not UTF-8."""
    if len(raw) > limit:
        message = f"the file has {len(raw):,} bytes; the file of an entry has at most {limit:,}"
        raise Problem(0, message, "Keep the entry short and link to the large text, or `engram import` it.")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Problem(line, f"byte {error.start} is not UTF-8", "Save the file as UTF-8.") from None
    nul = text.find("\0")
    if nul >= 0:
        raise Problem(text.count("\n", 0, nul) + 1, "the file contains a NUL character", "Remove it.")
    marker = conflict_marker(text)
    if marker >= 0:
        line = text.count("\n", 0, marker) + 1
        raise Problem(
            line, "the file has git conflict markers", "Keep the right lines and delete the markers."
        )
    return text


def conflict_marker(text: str) -> int:
    """Return the position of git's first conflict marker at the start of a line; -1 if there is none.

    A lone `=======` does not count: markdown underlines headings with it.
    """
    # Searching for one character first is faster than searching for eight.
    suspect = "<" in text and "<<<<<<< " in text
    suspect = suspect or (">" in text and ">>>>>>> " in text)
    suspect = suspect or ("|" in text and "||||||| " in text)
    if not suspect:
        return -1
    found = re.search(_MARKER, text)
    return found.start() if found else -1


def split(text: str) -> Document:
    """Split a file at its fences. Raises Problem if a frontmatter with an id is not closed."""
    bom = BOM if text.startswith(BOM) else ""
    start = len(bom)
    first = text.find("\n", start)
    if first < 0 or text[start:first].rstrip() != FENCE:
        return Document(bom, "", "", "", text[start:])
    at = text.find("\n---", first)
    while at >= 0:
        end = text.find("\n", at + 1)
        end = len(text) if end < 0 else end + 1
        if text[at + 1 : end].rstrip() == FENCE:
            return Document(
                bom, text[start : first + 1], text[first + 1 : at + 1], text[at + 1 : end], text[end:]
            )
        at = text.find("\n---", at + 1)
    if names_id(text):  # as text of a new entry, it would get a second id
        message = "the frontmatter has an id but no closing `---` line"
        raise Problem(1, message, "Write `---` on a line of its own between the fields and the text.")
    return Document(bom, "", "", "", text[start:])


def names_id(block: str) -> bool:
    """Return whether a frontmatter has a line with a valid id, even if the rest cannot be parsed."""
    found = re.search(_ID_LINE, block)
    return found is not None and ulid.is_valid(found[1])


def check_size(block: str) -> None:
    """Raise Problem if a frontmatter is larger than 16 KiB, not counting `conflicts`.

    Conflicts hold whole bodies, which must not be lost; the limit for the file bounds them.
    """
    if len(block) * 4 <= MAX_FRONTMATTER:
        return
    size = len(block.encode())
    if size > MAX_FRONTMATTER:
        size = len(re.sub(_CONFLICTS, "", block).encode())
    if size > MAX_FRONTMATTER:
        message = f"the frontmatter has {size:,} bytes; at most {MAX_FRONTMATTER:,} are read"
        raise Problem(FIRST_LINE, message, "Move long text below the closing `---` line.")


def content_start(body: str) -> int:
    """Return the position of the first line that is not blank."""
    blank = body[: len(body) - len(body.lstrip())]
    return max(blank.rfind("\n"), blank.rfind("\r")) + 1


def normalise(body: str) -> str:
    """Return the content of a body: with line feeds only, without blank lines around it and blanks at its end."""
    text = body[content_start(body) :].rstrip()
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def replace_content(body: str, content: str, newline: str) -> str:
    """Return the body with other content between its leading and trailing blank lines; "" without content.

    An empty body gets a blank line above the content.
    """
    lead = trail = newline
    if body.strip():
        lead, trail = body[: content_start(body)], body[len(body.rstrip()) :]
    return lead + content.replace("\n", newline) + trail if content else ""


# YAML scalars: which strings may be plain, and how the others are quoted.
#
# A string is plain only if every YAML reader returns it unchanged, including readers of YAML 1.1 and 1.2 that
# convert `no`, `1:30` or `2026-11-21`.

# Patterns are strings, which `re` compiles on first use and caches: most runs need few of them.
# Characters that YAML 1.1 does not allow unescaped, or treats as line breaks (U+0085, U+2028, U+2029).
_UNSAFE = "\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
UNSAFE = f"[{_UNSAFE}]"
_NOT_ONE_LINE = f"[\t\n{_UNSAFE}]"
# NUL and lone surrogates have no escape that can be read back: they stay, and the whole text is refused.
_ESCAPED = '["\\\\\x01-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]'
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_FLOW_MARKS = r"[,?\[\]{}]"
_TYPED_WORDS = frozenset(("~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "=", "<<"))
_TYPED_LETTERS = frozenset("0123456789abcdefABCDEFnNiIxXoOtTzZ_.,:+- ")
_TYPED = (
    r"(?i)[-+]?\.(?:inf|nan)|[-+]?[.0-9][0-9_.,:]*(?:e[-+]?[0-9]*)?"
    r"|[-+]?0(?:x[0-9a-f_]+|o[0-7_]+|b[01_]+)|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t ].*)?"
)
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def is_readable(text: str) -> bool:
    """Return whether YAML needs no escapes for `text` (tabs and line feeds are fine)."""
    return text.replace("\n", "").isprintable() or not re.search(UNSAFE, text)


def reads_plain(text: str, flow: bool) -> bool:
    """Return whether `text`, plain on one line, is read back as the same string."""
    if not text or text[0] == " " or text[-1] in " :":
        return False
    if text[0] in _INDICATORS and (text[0] != "-" or text[1:2] in ("", " ")):
        return False
    if ": " in text or " #" in text or (flow and re.search(_FLOW_MARKS, text)):
        return False
    return text.isprintable() or not re.search(_NOT_ONE_LINE, text)


@lru_cache(maxsize=1024)  # names, words and ids of clones are repeated often
def scalar(text: str, flow: bool = False) -> str:
    """Return `text` as a YAML scalar of one line: plain if that is safe, else in double quotes."""
    plain = reads_plain(text, flow) and text[0] != "-" and not _is_typed(text)
    return text if plain else quote(text)


def _is_typed(text: str) -> bool:
    """Return whether some YAML reader converts the plain `text` to a number, time, boolean or null."""
    if text[0] in "0123456789+." and _TYPED_LETTERS.issuperset(text):
        return re.fullmatch(_TYPED, text) is not None
    return text.lower() in _TYPED_WORDS


class Bare(str):
    """A value that is written without quotes, since they would turn it into a string: a number, a date, true or false."""

    __slots__ = ()


def bare(text: str) -> str:
    """Return an unquoted value, as `Bare` if some YAML reader converts it to something else than a string."""
    return Bare(text) if text and _is_typed(text) else text


def quote(text: str) -> str:
    """Return `text` in double quotes; only quotes, backslashes and characters that YAML does not allow are escaped."""
    return f'"{re.sub(_ESCAPED, _escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    return _SHORT_ESCAPES.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
