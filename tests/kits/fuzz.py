"""Fuzz the readers of foreign input with mutations of the corpora: `python tests/kits/fuzz.py --seconds 20 [--seed N]`.

A reader may refuse input with its own error; any other error, or exceeding the time limit, is a finding, printed with the
input, which belongs in tests/data/corpus/hostile once the bug is fixed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tui")]

from engram.adapters.files import config_file  # noqa: E402
from engram.adapters.files.foreign import interchange  # noqa: E402
from engram.adapters.files.frontmatter import codec  # noqa: E402
from engram.adapters.index.words import Words  # noqa: E402
from engram.cli.main import main as command_line  # noqa: E402
from engram.domain.admission.secrets import find_secrets, redact  # noqa: E402
from engram.domain.entry import refs, times, ulid  # noqa: E402
from engram.domain.entry.categories import Categories  # noqa: E402
from engram.domain.entry.lore import (  # noqa: E402
    MAX_CONTENT,
    slug,
    title_of,
)
from engram.domain.errors import ConfigError, LoreFileError, ValidationError  # noqa: E402
from engram.domain.exchange.classify import guess_category  # noqa: E402
from engram.domain.exchange.documents import split_document  # noqa: E402
from engram.domain.text.safe_text import safe_json, safe_text  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS_EACH = 2.0
MODIFIED = datetime(2026, 5, 6, tzinfo=UTC)
CATEGORIES = Categories()
PIECES = [
    *(b"[", b"{", b"- ", b": ", b"---\n", b"&a ", b"*a", b"!!x ", b"|2-\n", b">+\n", b"\t", b"\r", b"\r\n", b"\0", b"\xff"),
    *(b"# ", b"```\n", b"~~~\n", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\xc2\x85", b"\xf0\x9f\x8e\x89"),
    *(b"\xcc\x81", b"\xe2\x80\xae", b"\x1b[31m", b"\\u0000", b"\\ud800", b"nan", b"1e309", b"9999-12-31", b"-1", b"'", b'"'),
    *(b"0001-01-01T00:00:00+14:00", b"7ZZZZZZZZZZZZZZZZZZZZZZZZZ", b"999999999999999999999", b"\\", b"<<<<<<< a\n"),
    *(b"conflicts:\n", b"votes: {", b"password=", b"-----BEGIN PRIVATE KEY-----\n", b"ghp_", b"eyJ", b"://a:b@", b"=\n"),
    *(b"\n", b" ", b"[a.b]\n"),
]  # fmt: skip


class Find(NamedTuple):
    """A failure: the reader, the input, and what happened."""

    reader: str
    raw: bytes
    trouble: str


def read_codec(raw: bytes) -> None:
    """Read or refuse an entry's file; writing and reading the result must give the same."""
    try:
        file = codec.read(raw, "lore/x.md", CATEGORIES, MODIFIED)
    except LoreFileError:
        return
    assert codec.rewrite(file, file.lore, CATEGORIES) == raw
    tagged = file.lore._replace(agent="fuzz")
    with contextlib.suppress(ValidationError):
        again = codec.read(codec.rewrite(file, tagged, CATEGORIES), "lore/x.md", CATEGORIES, MODIFIED)
        assert again.lore._replace(id=tagged.id) == tagged
    times.parse(times.render(file.lore.created_at))
    ulid.moment(file.lore.id)


def read_secrets(raw: bytes) -> None:
    """Find secrets; each must lie inside the text and be gone after redaction."""
    text = raw.decode("utf-8", "surrogateescape")
    findings = find_secrets(text)
    assert isinstance(redact(text, findings), str)


def read_documents(raw: bytes) -> None:
    """Cut a document; every part must fit an entry and have a title."""
    text = raw.decode("utf-8", "replace")
    for part in split_document(text, "Fuzz"):
        assert part.content.strip()
        assert len(part.content) <= MAX_CONTENT
    guess_category(title_of(text), text)


def read_rows(raw: bytes) -> None:
    """Read rows and problems from any bytes."""
    for name in ("fuzz.json", "fuzz.jsonl"):
        _, rows, problems = interchange.read_rows(raw, name)
        assert rows or problems
        assert b"\x9b" not in interchange.write_json([row.fields for row in rows])


def read_texts(raw: bytes) -> None:
    """Sanitize text and names; the result must be harmless, and unchanged by a second time."""
    text = raw.decode("utf-8", "surrogateescape")
    once = safe_text(text, lines=True)
    assert safe_text(once, lines=True) == once
    assert all(letter in "\n\t" or (ord(letter) >= 32 and not 0x7F <= ord(letter) < 0xA0) for letter in once)
    assert safe_json(text).replace("\n", "").isprintable()
    assert len(slug(text)) <= 60
    refs.match_snippet(text[:500], [refs.Seen("x", title_of(text), text[:4000])])


class Fuzzer:
    """The readers, the mutations, and the findings."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.runs: dict[str, int] = {}
        self.slowest: dict[str, float] = {}
        self.finds: list[Find] = []
        self.seeds = [
            path.read_bytes()
            for kind in ("lore", "hostile")
            for path in sorted((ROOT / "tests/data/corpus" / kind).iterdir())
        ]
        self._words = Words(str(folder / "words"), create=True)
        self._root = folder / "store"
        (self._root / "lore").mkdir(parents=True)
        (self._root / ".engram.toml").write_text("")
        self.readers: dict[str, Callable[[bytes], None]] = {
            "codec": read_codec,
            "secrets": read_secrets,
            "documents": read_documents,
            "rows": read_rows,
            "texts": read_texts,
            "config": self._config,
            "words": self._search,
            "command line": self._command,
        }

    def run(self, seconds: float, most: int = sys.maxsize) -> None:
        """Run for a number of seconds, or of inputs."""
        ends, names = time.monotonic() + seconds, list(self.readers)
        for number, raw in enumerate(self._inputs()):
            if time.monotonic() > ends or number >= most:
                return
            # The command line is slow and finds less, so it gets one input in 64.
            name = names[-1] if number % 64 == 63 else names[number % (len(names) - 1)]
            self._try(name, raw)

    def _inputs(self) -> Iterator[bytes]:
        for seed in self.seeds:
            for _ in self.readers:
                yield seed
        while True:
            yield self._mutate()

    def _mutate(self) -> bytes:
        pick = self.random
        raw = bytearray(pick.choice(self.seeds)[:20_000])
        for _ in range(pick.randint(1, 8)):
            at, end = sorted((pick.randint(0, len(raw)), pick.randint(0, len(raw))))
            end = min(end, at + pick.choice((1, 4, 16, 256)))
            match pick.randint(0, 6):
                case 0:
                    raw[at:end] = b""
                case 1:
                    raw[at:at] = pick.choice(PIECES) * pick.choice((1, 1, 1, 3, 50, 2000))
                case 2:
                    raw[at:end] = bytes(pick.randrange(256) for _ in range(min(end - at, 8)))
                case 3:
                    raw[at:at] = raw[at:end] * pick.choice((1, 2, 20))
                case 4:
                    other = pick.choice(self.seeds)
                    cut = pick.randint(0, len(other))
                    raw[at:at] = other[cut : cut + pick.choice((10, 100, 1000))]
                case 5:
                    raw[at:end] = pick.choice(PIECES)
                case _:
                    raw = raw[:end] or raw
        return bytes(raw[:100_000])

    def _try(self, name: str, raw: bytes) -> None:
        began = time.process_time()
        try:
            self.readers[name](raw)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.finds.append(Find(name, raw, f"{type(error).__name__}: {error}"[:500]))
        spent = time.process_time() - began
        self.runs[name] = self.runs.get(name, 0) + 1
        self.slowest[name] = max(spent, self.slowest.get(name, 0.0))
        if spent > SECONDS_EACH:
            self.finds.append(Find(name, raw, f"took {spent:.1f} s"))

    def _config(self, raw: bytes) -> None:
        path = self.folder / "fuzz.toml"
        path.write_bytes(raw)
        with contextlib.suppress(ConfigError):
            config_file.read(str(path))

    def _search(self, raw: bytes) -> None:
        text = raw.decode("utf-8", "replace")
        assert len(self._words.terms(text)) <= 48
        self._words.search(self._words.terms(text), 10)

    def _command(self, raw: bytes) -> None:
        text = raw.decode("utf-8", "surrogateescape")
        (self.folder / "fuzz.jsonl").write_bytes(raw)
        (self._root / "lore" / "fuzz.md").write_bytes(raw)
        choice = self.random.choice(
            ("query", "show", "config", "import", "record", "list", "doctor", "adopt", "any")
        )
        given = {
            "query": ["--", text],
            "show": ["--", text],
            "config": [text, text],
            "record": ["-", "-c", "fact"],
        }
        given |= {
            "import": [str(self.folder / "fuzz.jsonl"), "--dry-run"],
            "list": ["-t", text],
            "any": text.split("\n")[:20],
        }
        arguments = [choice, *given.get(choice, [])] if choice != "any" else given["any"]
        if choice == "any" and {"init", "tui", "completion"} & set(arguments):
            return
        code, shown = self._called(arguments, raw)
        assert 0 <= code <= 5, code
        assert "should not happen" not in shown, shown
        assert "\x1b" not in shown

    def _called(self, arguments: list[str], stdin: bytes) -> tuple[int, str]:
        out, err = io.BytesIO(), io.BytesIO()
        streams = {
            "stdin": io.TextIOWrapper(io.BytesIO(stdin), "utf-8"),
            "stdout": io.TextIOWrapper(out),
            "stderr": io.TextIOWrapper(err),
        }
        chosen = {
            "ENGRAM_STORE": str(self._root),
            "ENGRAM_BACKGROUND": "inline",
            "ENGRAM_SESSION": "fuzz",
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder),
        }
        with mock.patch.dict(os.environ, chosen), mock.patch.multiple(sys, **streams):
            try:
                code = command_line(arguments)
            except SystemExit as end:  # argparse, after printing help
                code = int(end.code or 0)
            streams["stdout"].flush()
            streams["stderr"].flush()
        return code, (err.getvalue() + out.getvalue()).decode()


def main() -> int:
    """Fuzz for a while and print the findings; return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(Path(folder), given.seed)
        fuzzer.run(given.seconds)
    lines = [
        f"{name:<14} {count:>8,} inputs, slowest {fuzzer.slowest[name] * 1000:.0f} ms"
        for name, count in fuzzer.runs.items()
    ]
    lines += [f"FOUND {find.reader}: {find.trouble}\n  {find.raw[:2000]!r}" for find in fuzzer.finds[:20]]
    sys.stdout.write("\n".join([*lines, f"seed {given.seed}: {len(fuzzer.finds)} finds"]) + "\n")
    return int(bool(fuzzer.finds))


if __name__ == "__main__":
    sys.exit(main())
