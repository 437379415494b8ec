"""How often the right entry reaches the model: `python benchmarks/reach.py [--sample 40] [--notes FOLDER] [--json FILE] [--write]`.

A store, questions by kind, real `engram hook` processes with events as Claude Code sends them, and the real MCP server:
how often the right entry reached the model whole, what else was shown and how much of it is lore text; what an unrelated
store shows; the same after a brief and after a resume; longer prompts, prompts that name things, and quiet turns; and how
honest "strong" is on dense stores. `--write` writes the tables to docs/reach.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import dense_sets
import retrieval_set
from figures import describe_machine
from reaching import events, hooks, names, prompts, strength, tables, tool
from reaching.hooks import BRIEF, FRESH, RESUMED
from retrieval_set import UNANSWERABLE, Document
from scratch_store import ROOT, isolate

from engram.adapters.embed import minilm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reaching.events import Event
    from reaching.hooks import Place
    from retrieval_set import RetrievalSet

PARTS = ("hooks", "prompts", "everyday", "neural", "noise", "names", "mcp", "strength")
_SET = os.path.join(ROOT, "benchmarks", "recall_dev")
_NOTES = os.path.join(os.path.dirname(ROOT), "shared", "data", "til")
_DOCUMENT = os.path.join(ROOT, "docs", "reach.md")
_STRANGERS = 600  # entries of the dense set that stands in where there are no notes
_APART = "hooks.capture=false"  # else an event gets what a session before it left
_IN_WORDS = ("task", "error", "paraphrase", events.NAMED, UNANSWERABLE)
_ASKED_BY_TOOL = ("task", "paraphrase", "keyword", "error")


def measure(found: RetrievalSet, foreign: RetrievalSet | None, given: argparse.Namespace) -> dict[str, Any]:
    """Measure the parts that were chosen; by part what `reaching.tables` makes tables of, and every event."""
    parts, sample = given.parts.split(","), given.sample
    log = list[dict[str, Any]]()
    results: dict[str, Any] = {"events": log}
    with tempfile.TemporaryDirectory(prefix="engram-reach-") as folder:
        place = hooks.prepare(found, os.path.join(folder, "project"))
        drawn = events.draw(found, sample)
        if "hooks" in parts:
            results |= _sessions(place, drawn, given, log)
        if "prompts" in parts:
            _say("prompts as developers write them")
            outcomes = prompts.run(place, given.together)
            results["prompts"] = [one._asdict() for one in prompts.figures(outcomes)]
            log += [hooks.as_dict(one, "prompts") for one in outcomes]
        if "everyday" in parts:
            results |= _everyday(
                found, os.path.join(given.set, "everyday_words.jsonl"), drawn, folder, given.together
            )
        if "neural" in parts and not given.config and importlib.util.find_spec(minilm.MODULE):
            results["neural"] = _neural(found, drawn, folder, given.together)
        if "noise" in parts and foreign is not None:
            _say(f"{len(drawn)} events in {foreign.name}")
            stranger = hooks.prepare(foreign, os.path.join(folder, "stranger"), found)
            outcomes = hooks.run(stranger, drawn, FRESH, given.together)
            log += [hooks.as_dict(one, "noise") for one in outcomes]
            results["noise"] = {
                "store": foreign.name,
                "kinds": tables.by_kind(outcomes),
                "brief": tables.brief(stranger, hooks.start_and_resume(stranger)),
            }
            about = events.sections(foreign, sample)
            if about:
                asked = hooks.run(stranger, about, FRESH, given.together)
                results["long"] = {"store": foreign.name, "kinds": tables.by_kind(asked)}
        if "names" in parts:
            _say("prompts that name things")
            outcomes = names.run(os.path.join(folder, "names"), given.together, given.names)
            results["names"] = names.figures(outcomes)._asdict()
            log += [hooks.as_dict(one, "names") for one in outcomes]
        if "mcp" in parts:
            _say("the MCP server")
            results["mcp"] = tables.by_tool(tool.ask(place, found, _queries(found, sample)))
            results["tools"] = tables.tools(tool.tools(place.folder, given.runs))
    if "strength" in parts:
        _say("strength on dense stores")
        sizes = [int(size) for size in given.sizes.split(",")]
        own = strength.ask(found)
        results["strength"] = [one._asdict() for one in (own, *strength.measure(sizes))]
    return results


def _sessions(
    place: Place, drawn: Sequence[Event], given: argparse.Namespace, log: list[dict[str, Any]]
) -> dict[str, Any]:
    """Every event in a fresh session, a quarter after a brief and after a resume; adds every event to `log`."""
    measured = dict[str, Any]()
    fewer = events.first(drawn, max(1, given.sample // 4))  # two and four processes each
    for way, chosen in ((FRESH, drawn), (BRIEF, fewer), (RESUMED, fewer)):
        _say(f"{len(chosen)} events, {way}")
        outcomes = hooks.run(place, chosen, way, given.together)
        measured[way] = tables.by_kind(outcomes)
        log += [hooks.as_dict(one, way) for one in outcomes]
    measured["ranked"] = hooks.ranked_first(place, drawn)
    measured["brief"] = tables.brief(place, hooks.start_and_resume(place))
    return measured


def _everyday(
    found: RetrievalSet, path: str, drawn: Sequence[Event], folder: str, together: int
) -> dict[str, dict[str, Any]]:
    """The prompts and errors once more, in the set whose entries end in everyday words; nothing where no file has them."""
    if not os.path.exists(path):
        return {}
    _say("entries with everyday words")
    place = hooks.prepare(retrieval_set.with_everyday_words(found, path), os.path.join(folder, "everyday"))
    chosen = [event for event in drawn if event.kind in _IN_WORDS]
    measured = {
        "kinds": tables.by_kind(hooks.run(place, chosen, FRESH, together)),
        "ranked": hooks.ranked_first(place, chosen),
        "prompts": [one._asdict() for one in prompts.figures(prompts.run(place, together))],
    }
    return {"everyday": measured}


def _neural(
    found: RetrievalSet, drawn: Sequence[Event], folder: str, together: int
) -> dict[str, dict[str, Any]]:
    """The prompts and errors once more with the provider `neural`, by how it treats questions."""
    measured = {}
    chosen = [event for event in drawn if event.kind in _IN_WORDS]
    for questions in ("mapped", "read"):
        _say(f"{len(chosen)} events, neural, questions {questions}")
        _configure("embedding.provider=neural", f"embedding.questions={questions}")
        place = hooks.prepare(found, os.path.join(folder, questions))
        measured[questions] = {
            "kinds": tables.by_kind(hooks.run(place, chosen, FRESH, together)),
            "ranked": hooks.ranked_first(place, chosen),
        }
    _configure("embedding.provider=bundled", "embedding.questions=mapped")
    return measured


def load_notes(folder: str) -> RetrievalSet:
    """A folder of ordinary notes in markdown, without questions. Raises OSError."""
    documents = []
    for where, inside, files in os.walk(folder):
        inside.sort()
        for name in sorted(name for name in files if name.endswith(".md") and name != "README.md"):
            path = os.path.join(where, name)
            with open(path, encoding="utf-8", errors="replace") as file:
                documents.append(Document(os.path.relpath(path, folder), file.read().lstrip("# ")))
    return retrieval_set.assemble(f"{len(documents)} ordinary notes", documents, {}, {}, {})


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", default=_SET, help="the store and its questions (default: %(default)s)")
    parser.add_argument(
        "--names", default=names.SET, help="the set of the part `names` (default: %(default)s)"
    )
    parser.add_argument("--notes", default=_NOTES, help="a folder of notes that know nothing of the work")
    parser.add_argument("--sample", type=int, default=40, help="events of a kind (default: %(default)s)")
    parser.add_argument("--sizes", default=",".join(map(str, strength.SIZES)), help="of dense stores")
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--together", type=int, default=2, help="hook processes at a time")
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the user's own (repeatable)",
    )
    parser.add_argument("--runs", type=int, default=5, help="how often the MCP server is started")
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/reach.md")
    given = parser.parse_args(arguments)
    unknown = set(given.parts.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--parts knows {', '.join(PARTS)}, not {', '.join(sorted(unknown))}")
    _configure(_APART, *given.config)
    foreign = _foreign(given.notes) if "noise" in given.parts.split(",") else None
    results = measure(retrieval_set.load(given.set), foreign, given)
    machine = describe_machine()[:2]
    text = tables.report(results, [*machine, *given.config], time.strftime("%Y-%m-%d"), given.sample)
    print(text)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(
                {"machine": machine, "sample": given.sample, "config": given.config, **results},
                file,
                indent=1,
            )
    if given.write:
        with open(_DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


def _configure(*settings: str) -> None:
    for setting in settings:
        name, _, value = setting.partition("=")
        command = [sys.executable, "-m", "engram", "config", name, value, "--user"]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def _foreign(notes: str) -> RetrievalSet:
    """Notes, or where there are none entries from documentation that is always there."""
    if os.path.isdir(notes):
        return load_notes(notes)
    return dense_sets.draw("docstrings", dense_sets.stdlib(), _STRANGERS)


def _queries(found: RetrievalSet, sample: int) -> list[str]:
    chance = random.Random(events.SEED)
    of_kind = {
        kind: [query for query in found.queries if found.kinds[query] == kind] for kind in _ASKED_BY_TOOL
    }
    return [
        query for several in of_kind.values() for query in chance.sample(several, min(sample, len(several)))
    ]


def _say(what: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="engram-home-") as home:
        isolate(home)
        sys.exit(main())
