"""Lore, files and frontmatter for the property tests of the codec: nasty strings on purpose."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from engram.adapters.files.frontmatter import conflict_marker, normalise
from engram.domain import ulid
from engram.domain.categories import TYPES, Categories
from engram.domain.confidence import Vote
from engram.domain.lore import RELATION_KINDS, STATUSES, Conflict, Lore, Relation

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
ids = st.builds(ulid.encode, st.integers(0, 253_402_300_799_999), st.integers(0, (1 << 80) - 1))
times = st.integers(0, 4_000_000_000_000).map(
    lambda milliseconds: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
)


def _one_line(text: str) -> bool:
    return bool(text.strip()) and "\n" not in text and "\r" not in text


words = st.lists(texts.filter(_one_line), max_size=4).map(tuple)
contents = st.one_of(texts, st.lists(texts, min_size=2, max_size=5).map("\n".join)).map(normalise)
contents = contents.filter(lambda text: bool(text.strip()) and conflict_marker(text) < 0)
votes = st.dictionaries(
    st.one_of(st.sampled_from(["K7QM2X9T", "12345678", "1E234567"]), texts.filter(bool)),
    st.builds(Vote, st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 99)),
    max_size=3,
)
relations = st.lists(st.builds(Relation, st.sampled_from(RELATION_KINDS), ids), max_size=3).map(tuple)
conflicts = st.lists(st.builds(Conflict, texts, texts, texts, texts), max_size=2).map(tuple)


@st.composite
def lore(draw: st.DrawFn) -> Lore:
    """Any lore that a file can say, in canonical form."""
    source = draw(st.one_of(st.just(""), ids))
    sources = draw(st.lists(ids, max_size=3).map(tuple))
    return Lore(
        id=draw(ids),
        content=draw(contents),
        category=draw(st.sampled_from(CATEGORIES.names)),
        created_at=draw(times),
        updated_at=draw(times),
        type=draw(st.sampled_from(TYPES)),
        status=draw(st.sampled_from(STATUSES)),
        prior=draw(st.one_of(st.just(700), st.integers(-2000, 3000))),
        votes=draw(votes),
        last_validated=draw(st.none() | times),
        context=draw(st.lists(texts.filter(bool), max_size=3).map(tuple)),
        tags=draw(words),
        files=draw(words),
        entities=draw(words),
        relations=draw(relations),
        merged_from=draw(st.lists(ids, max_size=2).map(tuple)),
        importance=draw(st.none() | st.floats(0, 1)),
        pinned=draw(st.booleans()),
        expires_at=draw(st.none() | times),
        agent=draw(texts),
        source_id=source,
        sources=() if sources == (source,) else sources,
        conflicts=draw(conflicts),
    )


_ID = "01JD6TQ8XW9YV3N5K7P2M4R6ST"


# Pieces of files as people write them; each is valid on its own, so that most combinations can be read.
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
_BETWEEN = ["", "", "# comment\n", "\n", "  # indented comment\n", "    \n", "\n\n# c\n\n"]


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file as a person may have left it: any order, comments, blank lines, CRLF, BOM, no last newline."""
    names = draw(st.permutations(sorted(_PIECES)))
    margin = draw(st.sampled_from(["", "", "", "  "]))
    between = st.sampled_from(_BETWEEN)
    block = draw(between) + "".join([draw(st.sampled_from(_PIECES[name])) + draw(between) for name in names])
    block = "".join([margin + line for line in block.splitlines(keepends=True)])
    body = (
        draw(st.sampled_from(["", "\n", " \n\n"]))
        + draw(contents).replace("\r", "")
        + draw(st.sampled_from(["", "\n", " \n\n"]))
    )
    text = f"---\n{block}---\n{body}" if draw(st.integers(0, 9)) else body
    if draw(st.booleans()):
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return (draw(st.sampled_from(["", "", "\ufeff"])) + text).encode()
