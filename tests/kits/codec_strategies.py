"""Hypothesis strategies for the codec: entries, files and frontmatter, with nasty strings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from engram.adapters.files.frontmatter.frontmatter import conflict_marker, normalise
from engram.domain.entry import ulid
from engram.domain.entry.categories import TYPES, Categories
from engram.domain.entry.confidence import Vote, clamp
from engram.domain.entry.lore import RELATION_KINDS, STATUSES, Conflict, Lore, Relation, Settlement, shows
from engram.domain.entry.moments import LONGEST

CATEGORIES = Categories({"house_rule": "procedural"})
NASTY = (
    *("no", "Yes", "null", "~", "true", "1:30", "0123", "0x1F", "1e3", ".inf", "-.5"),
    *("2026-11-21", "=", "<<", "y", "- a", "-", "--flag", "---", "...", "# x", "a # b", "a #b"),
    *("a: b", "a:", ":a", ": ", "{a", "[b]", "a, b", "'q'", '"q"', "it's", 'say "x"'),
    *("back\\slash", "\\n", "&a", "*a", "!t", "%d", "@at", "`tick`", "|", ">", "?", "? a", "a?b"),
    *(" lead", "trail ", "  ", "tab\there", "\tlead", "\x85", "a\u2028b", "\u2029", "\ufeffbom"),
    *("\x07", "a\r\nb", "a\rb", "😀", "👩\u200d💻 team", "naïve 日本語", "\xa0nbsp", "\U000e0041tag"),
    *("\x7f", "\ufffe", "a\nb", "a\n", "\na", "a\n\nb\n", "a\n\n", "  a\nb", "a\n  b", "\ta\nb"),
    *("a\n \nb", "a\n  ", "\n", "a\n\t", "01234567890123456789012345"),
    *("12345678901234567890E123456", "c++", "c#", "area:db", "https://x.y/z?q=1#f"),
)

_LETTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
texts = st.one_of(
    st.sampled_from(NASTY),
    st.text(_LETTERS, max_size=30),
    st.text(st.sampled_from(" \n\t\r-:#'\"[]{},|>?&*!%@\\`ab1é😀\x85\u2028"), max_size=25),
    st.lists(st.sampled_from(NASTY), min_size=2, max_size=4).map(" ".join),
)
_chance = st.integers(0, (1 << 80) - 1)
all_ids = st.builds(ulid.encode, st.integers(0, 253_402_300_799_999), _chance)
# From 2024 to 2027; these contain a letter, so that they need no quotes.
_usual_ids = st.builds(ulid.encode, st.integers(1_720_000_000_000, 1_800_000_000_000), _chance)
times = st.integers(0, 4_000_000_000_000).map(
    lambda milliseconds: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
)


def _one_line(text: str) -> bool:
    return bool(text.strip()) and "\n" not in text and "\r" not in text


words = st.lists(texts.filter(_one_line), max_size=4).map(tuple)
contents = st.one_of(texts, st.lists(texts, min_size=2, max_size=5).map("\n".join)).map(normalise)
contents = contents.filter(lambda text: bool(text.strip()) and shows(text) and conflict_marker(text) < 0)
_votes_of_one = st.builds(Vote, st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 99))
votes = st.dictionaries(
    st.one_of(st.sampled_from(["K7QM2X9T", "12345678", "1E234567"]), texts.filter(bool)),
    _votes_of_one,
    max_size=3,
)
settled = st.lists(st.builds(Settlement, *[texts] * 4), max_size=2).map(tuple)
conflicts = st.lists(st.builds(Conflict, *[texts] * 6), max_size=2).map(tuple)


_usual_texts = st.sampled_from(["claude-code", "Seen in CI: twice", "a b, c (d) — é", "no", "01234567"])
_usual_words = st.lists(st.sampled_from(["api", "src/a_b.py", "github-actions", "v1.2"]), max_size=4)
_usual_votes = st.dictionaries(
    st.sampled_from(["K7QM2X9T", "ABCDEFGH", "7Q2M4N8P"]), _votes_of_one, max_size=3
)


_kinds = st.sampled_from(["command", "file", "tool", "error", "later-kind", "x_1"])
_usual_moments = st.lists(
    st.sampled_from(["command: git push", "file: src/**", "error: a b", "tool: WebFetch"]),
    max_size=3,
    unique=True,
).map(tuple)


def _moments_of(pairs: list[tuple[str, str]]) -> tuple[str, ...]:
    lines = [f"{kind}: {' '.join(text.split())}"[:LONGEST].strip() for kind, text in pairs if text.split()]
    return tuple(dict.fromkeys(lines))


_moments = st.lists(st.tuples(_kinds, texts), max_size=4).map(_moments_of)


def _fields(usual: bool) -> dict[str, st.SearchStrategy[object]]:
    """Return a strategy for each field of an entry."""
    said = _usual_words.map(tuple) if usual else words
    ids = _usual_ids if usual else all_ids
    related = st.builds(Relation, st.sampled_from(RELATION_KINDS), ids)
    tens = st.integers(0, 100).map((10).__mul__)
    context = st.lists(_usual_texts, max_size=1) if usual else st.lists(texts.filter(bool), max_size=3)
    return {
        "id": ids,
        "content": contents,
        "category": st.sampled_from(CATEGORIES.names),
        "created_at": times,
        "updated_at": times,
        "type": st.sampled_from(TYPES),
        "status": st.sampled_from(STATUSES),
        "prior": tens if usual else st.just(700) | st.integers(-2000, 3000),
        "votes": _usual_votes if usual else votes,
        "last_validated": st.none() | times,
        "context": context.map(tuple),
        "tags": said,
        "files": said,
        "entities": said,
        "when": _usual_moments if usual else _moments,
        "relations": st.lists(related, max_size=3).map(tuple),
        "merged_from": st.lists(ids, max_size=2).map(tuple),
        "importance": st.sampled_from([None, 0.0, 0.5, 0.75]) if usual else st.none() | st.floats(0, 1),
        "pinned": st.booleans(),
        "expires_at": st.none() | times,
        "agent": _usual_texts if usual else texts,
        "source_id": st.one_of(st.just(""), ids),
        "sources": st.lists(ids, max_size=3).map(tuple),
        "conflicts": st.just(()) if usual else conflicts,
        "settled": st.just(()) if usual else settled,
    }


# Creating a strategy costs ten times as much as a draw, so each is created once.
FIELDS = {usual: _fields(usual) for usual in (False, True)}


@st.composite
def lore(draw: st.DrawFn, usual: bool = False) -> Lore:
    """Generate any entry that a file can express, in canonical form; `usual`: a typical one with nothing to escape."""
    found = {name: draw(strategy) for name, strategy in FIELDS[usual].items()}
    if found["sources"] == (found["source_id"],):
        found["sources"] = ()
    return as_stored(Lore(**found))


def as_stored(found: Lore) -> Lore:
    """Return an entry as a file can express it: without the votes of format 1, there is only a stated confidence."""
    return found if found.votes else found._replace(prior=clamp(found.prior), last_validated=None)


_ID = "01JD6TQ8XW9YV3N5K7P2M4R6ST"


# Pieces of files as people write them; each is valid by itself, so that most combinations are readable.
_PIECES = {
    "id": [f"id: {_ID}\n", f"id: '{_ID}' # do not touch\n", ""],
    "category": [
        "category: FACT\n",
        "category: pattern-outcome   # changed my mind\n",
        'category: "workflow"\n',
        "",
    ],
    "confidence": [
        "confidence: 0.70\n",
        "confidence: .9 # sure\n",
        "confidence: 0.705\n",
        "confidence: 1\n",
        "",
    ],
    "prior": ["prior: 0.5\n", "prior: -0.25\n", "", ""],
    "votes": [
        "votes: {K7QM2X9T: {up: 160, down: 0, n: 2}}\n",
        "votes:\n  K7QM2X9T:\n    up: 80\n    n: 1\n",
        "",
        "",
    ],
    "count": ["validation_count: 7\n", "validation_count: many\n", ""],
    "context": [
        *(
            "context: seen in CI # twice\n",
            "context:\n- one\n# between\n- two\n\n",
            "context: |\n  a\n   b\n\n",
        ),
        *(
            "context: |+\n  kept\n\n\n",
            "context: >-\n    folded\n    text\n  # less indented\n",
            "context: ''\n",
            "",
        ),
        *(
            "context: plain\n  over lines\n\n",
            'context: "quoted\n  over lines" # c\n',
            "context:\n  # c\n  - |2+\n      x\n\n",
        ),
    ],
    "tags": [
        "tags: [a, b] # topics\n",
        "tags: a, b\n",
        "tags:\n  - a\n  - 'b'\n",
        "tags: [a,\n  b]\n",
        "tags:\n",
        "",
    ],
    "unknown": [
        "title: |+\n  My note\n\n",
        "title: x\n",
        "aliases:\n  deep: {x: [1, 2]}\n  # inner\n  more: y\n",
        "",
    ],
    "pinned": ["pinned: yes\n", "pinned: false\n", "", ""],
    "status": ["status: active\n", "status: Archived\n", ""],
    "type": ["type: semantic\n", ""],
    "importance": ["importance: 0.5\n", "importance: ~\n", ""],
    "created": [
        "created_at: 2026-01-02\n",
        "created_at: 2026-01-02T03:04:05+02:00 # local\n",
        "date: 2020-05-06\n",
        "",
    ],
    "conflicts": [
        "conflicts:\n  - field: content\n    value: |\n      other\n    from: X\n    at: 2026-01-01\n",
        "conflicts: []\n",
        "",
    ],
}
_BETWEEN = st.sampled_from(["", "", "# comment\n", "\n", "  # indented comment\n", "    \n", "\n\n# c\n\n"])
_PIECE = {name: st.sampled_from(pieces) for name, pieces in _PIECES.items()}
_ORDER = st.permutations(sorted(_PIECES))
_MARGIN = st.sampled_from(["", "", "", "  "])
_AROUND = st.sampled_from(["", "\n", " \n\n"])
_MARK = st.sampled_from(["", "", "\ufeff"])


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Generate a file as people edit it: any order, comments, blank lines, CRLF, BOM, no final newline."""
    names, margin = draw(_ORDER), draw(_MARGIN)
    block = draw(_BETWEEN) + "".join([draw(_PIECE[name]) + draw(_BETWEEN) for name in names])
    block = "".join([margin + line for line in block.splitlines(keepends=True)])
    body = draw(_AROUND) + draw(contents).replace("\r", "") + draw(_AROUND)
    text = f"---\n{block}---\n{body}" if draw(st.integers(0, 9)) else body
    if draw(st.booleans()):
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return (draw(_MARK) + text).encode()


# For each key, values that the fast path of the codec reads, and values that nearly fit it.
_VALUES = {
    "id": [_ID, _ID.lower(), "8" + _ID[1:], f'"{_ID}"', "0" * 26, f"{_ID} "],
    "category": ["FACT", "fact", "DECISION", "HOUSE_RULE", "house-rule", "NONE", "'FACT'", "FACT # c"],
    "type": ["semantic", "Semantic", "working", "other"],
    "status": ["active", "archived", "Active ", "gone"],
    "confidence": ["0.70", "1.00", "0.7", "0.705", "1.01", ".5", "0.70 # c", "-0.10", "0.\u0667\u0660"],
    "prior": ["0.50", "1.00", "0.705", "-0.25", "2", "x"],
    "votes": [
        *("{A: {up: 80, down: 0, n: 1}}", "{A: {up: 1, down: 2, n: 3}, B_1: {up: 0, down: 0, n: 0}}"),
        *("{A: {up: 1, down: 0, n: 1}, A: {up: 2, down: 0, n: 2}}", "{A: {up: 1,down: 0, n: 1}}", "{A: 1}"),
        *("{A: {up: 80}}", "{A: {up: -1, down: 0, n: 1}}", '{"1": {up: 1, down: 0, n: 1}}', "{A: {up: 1}"),
        *("{A: {up: 1, down: 0, n: 1}}}", "{{A: {up: 1, down: 0, n: 1}}", "{A: {up: \u0663, down: 0, n: 1}}"),
        *(
            "{A: {up: 1, down: 0, n: 1}}, ",
            "A: {up: 1, down: 0, n: 1}}",
            "{A: {up: 1, down: 0, n: 1}, ",
            "{}",
        ),
    ],
    "validation_count": ["0", "7", "\u0663", "many", "-1", "1" * 16],
    "last_validated": ["2026-11-21T09:30:00Z", "2026-11-21T09:30:00.001Z", "~", "null"],
    "context": [
        "Seen in CI, twice",
        '"a: b"',
        "'",
        '"',
        '""',
        '"a',
        'a"',
        "|",
        "|-",
        "x" * 1000,
        "x" * 1001,
        "{a: b}",
        "[a]",
    ],
    "tags": ["[a]", "[a, b-c]", "[]", "[-a]", "[a,b]", "[a, a]", "[a , b]", "a, b", "[a]]", "[a: b]", "~"],
    "files": [f"[{'x' * 200}]", f"[{'x' * 201}]", f"[{', '.join('a' * 201)}]", f"[{', '.join('a' * 200)}]"],
    "entities": ["[./a, ...]", "[null]", "[a.b/c-d_e]", '["a b"]', "[é]"],
    "when": [
        *(
            "[command: git push]",
            '[command: git push, file: "*.tf"]',
            "[]",
            "~",
            "git push",
            "command: git push",
        ),
        *(
            "[git push]",
            '["command: git push"]',
            "[Command: git push]",
            "[command:  git push]",
            "{command: [a, b]}",
        ),
        *(
            "[command: a, command: a]",
            "[later: x]",
            f"[error: {'x' * 193}]",
            f"[error: {'x' * 194}]",
            "[error: [a]]",
        ),
        f"[{', '.join(f'tool: t{number}' for number in range(12))}]",
        f"[{', '.join(f'tool: t{number}' for number in range(13))}]",
    ],
    "relations": [
        *("[]", f"[{{kind: refines, id: {_ID}}}]", f"[{{kind: Refines, id: {_ID}}}]", "[{kind: refines}]"),
        *(
            f"[{{kind: see_also, id: {_ID}}}, {{kind: refines, id: {_ID}}}]",
            f"[{{id: {_ID}, kind: refines}}]",
        ),
        *(f"[{{kind: refines, id: {_ID}}}]]", f"{{kind: refines, id: {_ID}}}", "[{kind: refines, id: x}]"),
    ],
    "merged_from": [f"[{_ID}]", f"[{_ID}, {_ID}]", "[x]", "[]"],
    "importance": ["0.5", "0.", "0.1_0", "1.0", "1e-3", "2", "nan", "~", "0.\u0663"],
    "pinned": ["true", "false", "True", "yes", "~", "maybe"],
    "expires_at": ["2027-01-01T00:00:00Z", "2027-01-01T00:00:00.5Z", "~", ""],
    "agent": ["human", "x" * 200, "x" * 201, "claude code", '"a: b"', '"a\\"b"', "'a'", "null", "é", "ﬁ"],
    "source_id": [_ID, '"00000000000000000000000001"', "x" * 201],
    "sources": [f"[{_ID}]", f"[{_ID}, x]", "[]"],
    "created_at": ["2026-11-20T09:30:00Z"],
    "updated_at": ["2026-11-22T09:30:00Z"],
    "conflicts": ["[]"],
    "other": ["x"],
}
_TIMES = (
    *("2026-11-21T09:30:00Z", "2026-11-21T09:30:00.001Z", "2026-11-21T09:30:00.0015Z", "2026-11-21"),
    *(
        "2026-11-21T09:30:00+00:00",
        "2026-11-21T09:30:00+02:00",
        "2026-11-21 09:30:00Z",
        "2026-W12-6T20:43:27Z",
    ),
    *("2026-11-21T09:30Z", "2026-11-21T09:30:00z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"),
    *(
        "2026-11-21T24:00:00Z",
        "2026-11-21#09:30:00Z",
        "2026-11-21T09:30:00,123Z",
        "x",
        "2026-13-01T00:00:00Z",
    ),
    *("20261121T093000Z", "2026-11-21T09:30:00Z # c", "2026-11-21T09:30:00.123456789Z"),
)


def _lines_of(name: str) -> st.SearchStrategy[str]:
    """Return values of a key; the first ones take the fast path, so that a doubtful value often stands among good ones."""
    known = [*_VALUES[name], *(_TIMES if name.endswith(("_at", "validated")) else ())]
    few, all_, nasty = (st.sampled_from(found) for found in (known[:2], known, NASTY))
    return st.one_of(few, few, all_, all_, nasty).map(lambda value: f"{name}: {value}")


_IDS = st.sampled_from([_ID] * 9 + _VALUES["id"])
_LINES = {name: _lines_of(name) for name in _VALUES}
_NAMES = st.lists(st.sampled_from(sorted(_VALUES)), max_size=3)
_LEAD, _END = st.sampled_from(["\n", "", "\n\n", " \n"]), st.sampled_from(["\n", "", "\r\n"])
_SLIPS = st.sampled_from([0, 0, 0, 0, 1, 2])
_SLIP = st.sampled_from([*" \n:#-,|\"'[]{}\t\\a\r\x85é", "---\n", "", "\x00"])


@st.composite
def nearly_canonical(draw: st.DrawFn) -> bytes:
    """Generate a file of single lines, each as Engram writes it or nearly so, with one or two errors."""
    found = ["id: " + draw(_IDS), *[draw(_LINES[name]) for name in draw(_NAMES)]]
    text = "---\n" + "\n".join(found) + "\n---\n"
    text += draw(_LEAD) + draw(contents) + draw(_END)
    for _ in range(draw(_SLIPS)):
        at = draw(st.integers(0, min(len(text), 200)))
        slip = draw(_SLIP)
        text = text[:at] + slip + text[at + draw(st.integers(0, 1)) :]
    return text.encode()


_ONE_LINE = st.sampled_from(NASTY).filter(lambda text: "\n" not in text and "\r" not in text)
_FORMS = (
    *("", "a", "0.70", "a b", "a # c", "'x' # c", '"x"  # c', '"a\\tb\\u00e9"', "[]", "{}"),
    *("[a, b]", "[a,b]", "[a, [b]]", "{a: b}", "{a: {b: c}, d: []}", "[{a: b}, c]", "[a: b]"),
    *("{a}", "{a: }", "[a, ]", "[ a ]", "[x] # c", "[x]# c", "{a: b, a: c}", "|", "|-", "|+"),
    *("|2", ">", ">-", "| # c", "&a b", "*a", "!t b", "[a", "'a", '"a', "[c#]", "[a #b]", "[a?]"),
    *('{"a": b}', '{"a":b}', "['a', \"b\"]", "-1", "- a", "a\\"),
)
_SCALARS = st.one_of(_ONE_LINE, st.sampled_from(_FORMS))
_KEYS = st.sampled_from(["alpha", "beta", "alpha-b", "tags", "_x", "'q'", "a b", "1", "? z", "é"])
_YAML_LINES = st.one_of(
    st.builds("{}: {}".format, _KEYS, _SCALARS),
    st.builds("{}:{}".format, _KEYS, _SCALARS),
    st.builds("{}- {}".format, st.sampled_from(["", "  ", "   "]), _SCALARS),
    st.builds("{}- {}: {}".format, st.sampled_from(["", "  "]), _KEYS, _SCALARS),
    st.builds("{}{}: {}".format, st.sampled_from(["  ", "    ", "      "]), _KEYS, _SCALARS),
    st.builds("{}{}".format, st.sampled_from([" ", "  ", "    ", "      "]), _SCALARS),
    st.sampled_from(
        ["", "# c", "  # c", "  ", "    ", " ", "\tx", "\t", "%x", "...", "alpha:", "beta: |", "beta: |2-"]
    ),
)
_SHAPES = (
    *("{}", "{} # note", "'{}'", '"{}"', '"{}"  # note', "[{}]", "[{}, {}] # note"),
    *("[{}, '{}', \"{}\"]", "{{{}: {}}}", "{{a: {}, b: [{}]}}"),
    *("[{{kind: {}, id: {}}}, {{kind: a}}]", "\n  - {}\n  - {}", "\n- {}\n- {}", "\n  {}: {}"),
    *("|\n  {}\n  {}", "|-\n  {}\n\n    {}\n", "|2\n    {}\n  {}", "|+\n  {}\n\n"),
    *(">\n  {}\n  {}", "{}\n  {}", "# {}", "", "\n  - |\n    {}\n    {}\n  - {}"),
    *("\n  - field: {}\n    value: |\n      {}\n    from: {}\n  - field: x", "\n# {}\n  - {}"),
)
_WORDS = st.one_of(
    st.sampled_from(["a", "b c", "0.70", "K7QM2X9T", "x/y.py", "é😀", "a:b", "it's", "-1", "c#", "a?", ""]),
    _ONE_LINE,
)


@st.composite
def _likely_blocks(draw: st.DrawFn) -> str:
    """Generate frontmatter in usual forms, with at most two characters inserted or removed."""
    lines = []
    for key in draw(st.lists(st.sampled_from(["alpha", "beta", "c-d", "_e", "F1"]), unique=True, max_size=4)):
        shape = draw(st.sampled_from(_SHAPES))
        lines.append(
            f"{key}: {shape.format(*[draw(_WORDS) for _ in range(shape.count('{}'))])}\n".replace(
                ": \n", ":\n"
            )
        )
        lines.append(draw(st.sampled_from(["", "", "# note\n", "\n", "  # note\n"])))
    text = "".join(lines)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + draw(st.sampled_from([*" \n:#-,|\"'[]{}\t\\a?", ""]))
            + text[at + draw(st.integers(0, 1)) :]
        )
    return text if text.endswith("\n") or not text else text + "\n"


blocks = st.one_of(
    _likely_blocks(),
    _likely_blocks(),
    st.lists(_YAML_LINES, max_size=7).map(lambda lines: "".join([line + "\n" for line in lines])),
)
