"""Sets of long documents and of abstracts, made from clones of public repositories: nothing of them is in git.

    python benchmarks/sets/documents.py FOLDER [--peps CLONE] [--rfcs CLONE] [--keps CLONE]

Python's PEPs (public domain), Rust's RFCs (MIT or Apache-2.0), Kubernetes' enhancements (Apache-2.0). `decisions`: a record
without its summary, cut as an entry is, asked by its title, by the first sentence of the summary, and by the first four.
`abstracts`: the summaries, asked by the second sentence of the motivation, and by its first five.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST = 4000  # characters of a record: about an entry
LEAST_TEXT, LEAST_SUMMARY = 1500, 200
_SENTENCE = re.compile(r"(?<=[.!?]) ")
_TELLING = (60, 300)  # characters of a sentence that is asked
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_UNDERLINED = re.compile(r"^(\S[^\n]{1,60})\n[=\-~]{3,}$", re.MULTILINE)
_HASHED = re.compile(r"^#+ ([^\n]{2,60})$", re.MULTILINE)
_SUMMARIES = ("abstract", "introduction", "summary")
_MOTIVATIONS = ("motivation", "rationale")
_LEFT_OUT = ("copyright", "references")
_PATHS = {"peps": r"peps/pep-\d+\.rst", "rfcs": r"text/.+\.md", "keps": r"keps/.+/README\.md"}


class Record(NamedTuple):
    """A decision record: what names it, its title, and its sections by their headings in lower case."""

    key: str
    title: str
    sections: dict[str, str]

    def section(self, names: Sequence[str]) -> str:
        """The first of these sections that there is."""
        return next(
            (self.sections[name].strip() for name in names if self.sections.get(name, "").strip()), ""
        )


def read(kind: str, clone: str) -> Iterator[Record]:
    """The records of a clone, as they are at its head. Raises CalledProcessError."""
    names = _git(clone, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    for name in names:
        if re.fullmatch(_PATHS[kind], name):
            yield record(name, _COMMENT.sub("", _git(clone, "show", f"HEAD:{name}")))


def record(name: str, text: str) -> Record:
    """A record by its file's path and text."""
    folder, file = os.path.split(name)
    key = os.path.basename(folder) if file == "README.md" else file.rpartition(".")[0]
    parts = (_UNDERLINED if name.endswith(".rst") else _HASHED).split(text)
    sections = {head.strip().lower(): body for head, body in zip(parts[1::2], parts[2::2], strict=True)}
    said = re.search(r"^Title: (.+)$", text, re.MULTILINE)
    return Record(key, said[1] if said else re.sub(r"^\d+-", "", key).replace("-", " "), sections)


def decisions(records: Sequence[Record]) -> dict[str, dict[str, object]]:
    """The set of whole records."""
    asked = {}
    for one in records:
        summary = sentences(one.section(_SUMMARIES))
        left = [(head, body) for head, body in one.sections.items() if head not in (*_SUMMARIES, *_LEFT_OUT)]
        text = "\n\n".join(f"{head}\n{body.strip()}" for head, body in left)[:LONGEST]
        if len(text) >= LEAST_TEXT and summary:
            asked[one.key] = (
                text,
                {"title": one.title, "sentence": summary[0], "summary": " ".join(summary[:4])},
            )
    return _set(asked)


def abstracts(records: Sequence[Record]) -> dict[str, dict[str, object]]:
    """The set of summaries."""
    asked = {}
    for one in records:
        summary, why = one.section(_SUMMARIES)[:LONGEST], sentences(one.section(_MOTIVATIONS))
        if len(summary) >= LEAST_SUMMARY and len(why) > 2:
            asked[one.key] = (summary, {"sentence": why[1], "motivation": " ".join(why[:5])})
    return _set(asked)


def sentences(text: str) -> list[str]:
    """The sentences of a text that tell something, without code and addresses."""
    found = _SENTENCE.split(" ".join(text.split()))
    return [
        one
        for one in found
        if _TELLING[0] <= len(one) <= _TELLING[1] and "`" not in one and "http" not in one
    ]


def _set(asked: dict[str, tuple[str, dict[str, str]]]) -> dict[str, dict[str, object]]:
    return {
        "docs": {key: {"title": "", "text": text} for key, (text, _) in asked.items()},
        "queries": {f"{key} {way}": said for key, (_, ways) in asked.items() for way, said in ways.items()},
        "qrels": {f"{key} {way}": {key: 1} for key, (_, ways) in asked.items() for way in ways},
    }


def _git(clone: str, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", clone, *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write decisions.json and abstracts.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    for kind in _PATHS:
        parser.add_argument(f"--{kind}", metavar="CLONE")
    given = vars(parser.parse_args(arguments))
    records = [one for kind in _PATHS if given[kind] for one in read(kind, given[kind])]
    for name, found in (("decisions", decisions(records)), ("abstracts", abstracts(records))):
        with open(os.path.join(given["folder"], f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump(found, file)
        print(f"{name}: {len(found['docs'])} documents, {len(found['queries'])} questions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
