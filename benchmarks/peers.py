"""Compare Engram with its rivals: `python benchmarks/peers.py [--sizes 1k,10k] [--til SET.json] [--installed FOLDER]`.

Each rival is installed on its own (in a venv or an npm prefix below `--installed`, else in a temporary folder) and gets the same
notes and questions, one after the other in one run; the table says what it cannot do. `--write` puts the table between its
markers in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from typing import TYPE_CHECKING

import peer_workload as workload
from figures import describe_machine
from peer_more import MORE
from peer_process import PeerError
from peer_rivals import EngramPeer, Ripgrep, Rival, SqliteFts5
from peer_section import write_section
from peer_workload import LOWER_IS_BETTER, ROWS, Row
from run import count_of, say
from scratch_store import ROOT, isolate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RIVALS: tuple[type[Rival], ...] = (EngramPeer, Ripgrep, SqliteFts5, *MORE)
_DOCUMENT = os.path.join(ROOT, "docs", "benchmarks.md")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table; return 0 even if rivals fail, since that is a finding."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1k,10k", help="numbers of notes (default: %(default)s)")
    parser.add_argument("--til", metavar="SET.json", help="a retrieval set for the quality row")
    parser.add_argument("--installed", metavar="FOLDER", help="where rivals are, or will be, installed")
    parser.add_argument(
        "--python", action="append", default=[], help="an interpreter for rivals from PyPI (repeatable)"
    )
    parser.add_argument("--only", default="", help="names, comma-separated (default: all)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    chosen = [rival for rival in RIVALS if not options.only or rival.name in options.only.split(",")]
    if not chosen:
        parser.error(f"--only knows {', '.join(rival.name for rival in RIVALS)}")
    with tempfile.TemporaryDirectory(prefix="engram-peers-") as temporary:
        isolate(os.path.join(temporary, "home"))
        installed = os.path.abspath(options.installed or os.path.join(temporary, "installed"))
        for text in _reports(chosen, options, installed, temporary):
            if options.write:
                write_section(text, _DOCUMENT)
    print(text)
    return 0


def table(names: Sequence[str], columns: Sequence[dict[str, Row]]) -> list[str]:
    """Return the table, a line per row of the workload, with the ratio to the first column behind each figure."""
    lines = [f"| | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    failures: list[set[str]] = [set() for _ in columns]
    for key, title in ROWS.items():
        cells = [column.get(key, Row("–")) for column in columns]
        if any(cell.text != "–" for cell in cells):
            base = cells[0].number
            shown = [cells[0].text, *(_with_ratio(key, cell, base) for cell in cells[1:])]
            brief = [_name_once(text, seen) for text, seen in zip(shown, failures, strict=True)]
            lines.append(f"| {title} | {' | '.join(brief)} |")
    return lines


def _name_once(text: str, failures: set[str]) -> str:
    """Return the text of a cell, shortened for a failure that a row above has in full."""
    if text in failures:
        return "fails: the same"
    if text.startswith("fails:"):
        failures.add(text)
    return text


def _with_ratio(key: str, cell: Row, base: float | None) -> str:
    if key not in LOWER_IS_BETTER or not cell.number or not base:
        return cell.text
    ratio = cell.number / base
    return f"{cell.text} ({ratio:.1f} ×)" if ratio < 100 else f"{cell.text} ({ratio:.0f} ×)"


def _reports(
    chosen: Sequence[type[Rival]], options: argparse.Namespace, installed: str, temporary: str
) -> Iterator[str]:
    """Yield the report after each rival, so that an interrupted run keeps what was measured."""
    pythons = [*options.python, sys.executable]
    versions, columns = [], dict[str, list[dict[str, Row]]]()
    sizes = options.sizes.split(",")
    for kind in chosen:
        place = os.path.join(installed, kind.__name__)
        version, by_size = _measure(kind, place, temporary, pythons, sizes, options.til)
        versions.append(f"- **{kind.name}** {version}: {kind.how}")
        columns[kind.name] = by_size
        yield _report(versions, sizes, columns)


def _report(versions: Sequence[str], sizes: Sequence[str], columns: dict[str, list[dict[str, Row]]]) -> str:
    lines = ["## Side by side", "", _INTRODUCTION, f"Measured {time.strftime('%Y-%m-%d')}:", ""]
    lines += [f"- {fact}" for fact in describe_machine()[:2]] + versions
    for number, size in enumerate(sizes):
        lines += ["", f"### {size} notes", ""]
        lines += table(list(columns), [found[number] for found in columns.values()])
    return "\n".join([*lines, "", _EXPLANATION])


_INTRODUCTION = """\
The same notes and questions for each, one after the other in one run of `python benchmarks/peers.py`: generated
engineering notes, imported the way each has for many, asked through each one's MCP server (ripgrep and FTS5: directly).
In brackets: how many times Engram's figure. CPU is user + system of the program and what it starts. A cold question is
the program's own command, or its server started for one question. "til_titles" asks 577 real notes by their titles.
"""

_EXPLANATION = """\
Where Engram is behind, and why:

- **import, rebuild**: each entry becomes a file of its own in git, is checked for secrets and twins, and has vectors and tokens.
  The quicker ones insert rows and index words.
- **tools/list**: descriptions say when to call a tool and what it answers; the smaller ones have fewer options.
- **cold question**: Python starts and imports what a question needs (a Python that does nothing is a ninth of it); numpy only in
  stores of more than 100,000 vectors. ripgrep and SQLite are programs in C.
- **warm question**: some 2 ms are the question, by words and by meaning, 1 to 2 ms the choice of passages that fit the budget; the
  rest is the protocol. FTS5 has none, and qmd looks for words alone.
- **til_titles**: an answer holds passages within 500 tokens, and of the other hits as many titles as have room; the rivals that
  find as many or more list the beginnings of five notes. Of 577 titles the first five hits have the note for 566.
- **add one and find it**: the text is checked for secrets and twins, a file and a journal entry are on the disk, and a commit is
  under way; the index takes it as a row of its catalog. Others add a row.
- **memory**: the official SDK, tantivy, the model's table of words and, after a dozen questions, numpy, against SQLite alone.
- **4 writers**: a large part is four servers starting on two cores; after that each note is committed.
"""


def _measure(
    kind: type[Rival],
    place: str,
    temporary: str,
    pythons: Sequence[str],
    sizes: Sequence[str],
    til: str | None,
) -> tuple[str, list[dict[str, Row]]]:
    """Measure a rival; return its version and figures for each size, or the reason in the first row if it cannot be installed."""
    found: list[dict[str, Row]] = []
    try:
        rival = _make_rival(kind, place, temporary, pythons)
        say(f"{kind.name}: install")
        rival.install()
        version = rival.version()
    except (PeerError, OSError) as error:
        return f"({error})", [{"import": Row(f"fails: {str(error)[:120]}")} for _ in sizes]
    quality: dict[str, Row] = {}
    if til is not None:
        say(f"{kind.name}: quality")
        try:
            quality = {
                "til": workload.recall_at_5(
                    _make_rival(kind, place, temporary, pythons), *workload.load_til(til)
                )
            }
        except (PeerError, OSError, ValueError) as error:
            quality = {"til": Row(workload.failure(error))}
    for number, size in enumerate(sizes):
        if found and found[-1]["import"].number is None:
            found.append({"import": Row("not tried: it failed with fewer")})
            continue
        notes = workload.generate_notes(count_of(size))
        rival = _make_rival(kind, place, temporary, pythons)
        say(f"{kind.name}: {size}")
        found.append(
            workload.measure(rival, notes, workload.generate_questions(), say)
            | (quality if number == 0 else {})
        )
    return version, found


def _make_rival(kind: type[Rival], place: str, temporary: str, pythons: Sequence[str]) -> Rival:
    folder = os.path.join(temporary, kind.__name__)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return kind(place, folder, pythons)


if __name__ == "__main__":
    sys.exit(main())
