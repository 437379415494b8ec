"""Split a markdown document into the texts of entries: whole if it fits, else by its headings.

Also make titles from file names and tags from folders.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engram.domain.entry.lore import MAX_CONTENT, MAX_TITLE, slug, title_of
from engram.domain.exchange.document_pieces import Piece, cut, strip_leading_blank_lines
from engram.domain.exchange.markdown_blocks import HEADING, TEXT, Block, scan
from engram.domain.typed import NamedTuple

MIN_LIMIT = 40
_MARKUP = re.compile(r"\s*(?:[>|<]|!\[|\[!\[|[-*+][ \t]|\d{1,9}[.)][ \t]|https?://\S+$|    |\t)")
_DATE_PREFIX = re.compile(r"\d{4}[-_.]?\d{2}[-_.]?\d{2}[-_. T]+(?=.)")
_ULID_SUFFIX = re.compile(r"--[0-9A-HJKMNP-TV-Z]{26}$")
_DATE_LIKE = re.compile(r"(?:\d+|\d{4}[-_.](?:q[1-4]|w?\d{1,2})(?:[-_.]\d{1,2})?|[qw]\d{1,2})$")
_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".mdc", ".txt", ".text", ".rst")
_NAMELESS = frozenset({"readme", "index", "skill", "memory", "notes", "note"})
_GENERIC = frozenset(
    (
        *("articles", "archive", "archives", "assets", "blog", "content", "data", "doc", "docs"),
        *("documentation", "documents", "downloads", "draft", "drafts", "entries", "export", "exports"),
        *("file", "files", "home", "import", "imports", "inbox", "knowledge", "lib", "lore", "main"),
        *("markdown", "master", "md", "memories", "memory", "misc", "note", "notes", "other", "output"),
        *("pages", "post", "posts", "private", "public", "repo", "repos", "root", "src", "source"),
        *("stuff", "temp", "til", "tmp", "users", "vault", "wiki", "work"),
    )
)


class Part(NamedTuple):
    """The part of a document for one entry; `index` counts from 0.

    `level` is that of the heading above its beginning (1: the document's own).
    """

    title: str
    content: str
    level: int
    index: int  # type: ignore[assignment]  # a field may shadow tuple.index


class _Name(NamedTuple):
    """A document's title, and the number of the block that is its heading (-1: none)."""

    text: str
    heading: int = -1


def split_document(text: str, fallback_title: str, limit: int = MAX_CONTENT) -> tuple[Part, ...]:
    """Return the parts of a markdown document without frontmatter, each of 1..`limit` characters, in order.

    A document that fits is unchanged, apart from a title on top if it does not begin with one. Every part of a
    longer one begins with a self-explanatory heading, `# Document: Section`, with ` (2)` if an earlier part has
    that title. Apart from those headings, from lines that close and reopen cut blocks (fences, comments, heads
    of tables) and from blank space between parts, the parts are the document. A blank document has no part.
    Raises ValueError if `limit` is below 40.
    """
    if limit < MIN_LIMIT:
        raise ValueError(f"a part needs at least {MIN_LIMIT} characters")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = strip_leading_blank_lines(text).rstrip()
    if not text:
        return ()
    blocks = scan(text, 2)
    if len(text) <= limit and _is_title(text, blocks) and (title := title_of(text)):
        return (Part(title, text, 1, 0),)
    if len(blocks) == 2:
        blocks = scan(text)
    name = _find_name(text, blocks, fallback_title)
    content = text if _is_title(text, blocks) else f"# {_shorten(name.text, MAX_TITLE)}\n\n{text}"
    if len(content) <= limit:
        return (Part(title_of(content) or name.text, content, 1, 0),)
    return _Splitter(text, blocks, name, limit).parts()


def title_from_file_name(path: str) -> str:
    """Return a title from a file's name: `my-note_v2.md` → "My note v2"; a README is named after its folder."""
    folders, stem = _path_words(path)
    if stem.lower() in _NAMELESS and folders:
        stem = folders[-1]
    stem = _DATE_PREFIX.sub("", _ULID_SUFFIX.sub("", stem), count=1)
    words = " ".join(re.sub(r"[-_]+", " ", stem).split())
    first = words.split(" ", 1)[0]
    return words[:1].upper() + words[1:] if first.islower() else words


def tags_from_folders(path: str) -> tuple[str, ...]:
    """Return tags from the folders of a relative path, outermost first, without dates and words like `docs`."""
    slugs = [slug(folder) for folder in _path_words(path)[0] if any(letter.isalnum() for letter in folder)]
    return tuple(dict.fromkeys(tag for tag in slugs if tag not in _GENERIC and not _DATE_LIKE.match(tag)))


def _path_words(path: str) -> tuple[list[str], str]:
    *folders, name = path.replace("\\", "/").split("/")
    for suffix in _SUFFIXES:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            name = name[: -len(suffix)]
            break
    return [folder for folder in folders if folder.strip(".")], name


def _find_name(text: str, blocks: Sequence[Block], fallback: str) -> _Name:
    levels = [block.level for block in blocks if block.level]
    top = min(levels, default=0)
    if top and levels.count(top) == 1 and (top == 1 or blocks[0].level == top):
        heading = next(k for k, block in enumerate(blocks) if block.level == top)
        return _Name(_one_line(blocks[heading].title), heading)
    if blocks and blocks[0].kind != HEADING and _is_title(text, blocks):
        return _Name(title_of(text))
    title = (
        _one_line(fallback) or next((block.title for block in blocks if block.level), "") or title_of(text)
    )
    return _Name(_one_line(title) or "Untitled")


def _is_title(text: str, blocks: Sequence[Block]) -> bool:
    """Return whether a document begins with its title: a heading, or a single short line by itself."""
    if not blocks:
        return False
    first = blocks[0]
    if first.kind == HEADING:
        return True
    line = text[first.start : first.end]
    if (
        first.kind != TEXT
        or "\n" in line
        or len(line) > MAX_TITLE
        or not any(letter.isalnum() for letter in line)
    ):
        return False
    is_separate = (
        len(blocks) == 1 or text[first.end : blocks[1].start].count("\n") > 1 or blocks[1].kind == HEADING
    )
    return is_separate and not _MARKUP.match(line) and line.rstrip()[-1] not in ":,;"


def _one_line(text: str) -> str:
    return " ".join(text.split()).lstrip("# ")


def _shorten(text: str, most: int) -> str:
    """Return `text` in at most `most` characters, cut after a word if one ends in the second half."""
    if len(text) <= most:
        return text
    start = text[: most - 1]
    space = start.rfind(" ")
    return (start[:space] if space > most // 2 else start).rstrip(" ,;:.-/") + "…"


class _Splitter:
    """Cuts one long document and gives every piece its heading."""

    def __init__(self, text: str, blocks: Sequence[Block], name: _Name, limit: int) -> None:
        self.text, self.blocks, self.name = text, blocks, name
        self.most_title = min(MAX_TITLE, limit // 3)
        self.room = limit - len("# \n\n") - self.most_title
        self.paths = _paths(blocks, name.heading)
        self.numbers: dict[str, int] = {}

    def parts(self) -> tuple[Part, ...]:
        pieces = cut(self.text, self.blocks, self.room)
        bodies = [(piece, piece.body(self.text)) for piece in pieces]
        filled = [(piece, body) for piece, body in bodies if body.strip()]
        return tuple(self.part(index, piece, body) for index, (piece, body) in enumerate(filled))

    def part(self, index: int, piece: Piece, body: str) -> Part:
        block = self.blocks[piece.first]
        path = self.paths[piece.first]
        has_own_heading = index == 0 and piece.first == self.name.heading
        title = self.own_title(body) if has_own_heading else self.title(self.section(piece))
        content = body if has_own_heading else f"# {title}\n\n{body}"
        level = block.level or (self.blocks[path[-1]].level if path else 1)
        return Part(title_of(content) or title, content, level, index)

    def own_title(self, body: str) -> str:
        """Return the title of the first part, which begins with the document's own heading."""
        self.numbers.update({title_of(body): 1, self.compose("", ""): 1})
        return title_of(body)

    def section(self, piece: Piece) -> str:
        """Return the subject of a piece: the headings above it, and those in it of the same level as its first."""
        path = self.paths[piece.first]
        first = " / ".join(_one_line(self.blocks[k].title) for k in path)
        if not path or path[-1] != piece.first:
            return first
        level, names = self.blocks[piece.first].level, [first]
        most = self.most_title - len(self.name.text) - len(": ")
        for k in range(piece.first + 1, len(self.blocks)):
            block = self.blocks[k]
            if block.start >= piece.end:
                break
            if block.level == level and len(", ".join([*names, block.title])) <= most:
                names.append(_one_line(block.title))
        return ", ".join(names)

    def title(self, section: str) -> str:
        """Return a title that no earlier part has."""
        base = title = self.compose(section, "")
        while title in self.numbers:
            self.numbers[base] += 1
            title = self.compose(section, f" ({self.numbers[base]})")
        self.numbers[title] = 1
        return title

    def compose(self, section: str, suffix: str) -> str:
        most = self.most_title - len(suffix)
        if not section:
            return _shorten(self.name.text, most).rstrip("#") + suffix
        document = _shorten(self.name.text, max(most - len(section) - 2, most // 2))
        section = _shorten(section, most - len(document) - 2).rstrip("#")
        return f"{document}: {section}{suffix}"


def _paths(blocks: Sequence[Block], document: int) -> list[tuple[int, ...]]:
    """Return the headings above every block (a heading included), without the document's own."""
    found: list[tuple[int, ...]] = []
    path: tuple[int, ...] = ()
    for k, block in enumerate(blocks):
        if k == document:
            path = ()
        elif block.level:
            path = (*(above for above in path if blocks[above].level < block.level), k)
        found.append(path)
    return found
