"""Measure how often the right entry reaches the model: `python benchmarks/reach.py [--sample 40] [--notes FOLDER] [--write]`.

Asks a store questions of several kinds, by real `engram hook` processes with events as Claude Code sends them and by the real
MCP server. Measures how often the right entry reached the model whole, what else was shown, and how much of it is lore text;
also in an unrelated store, after a brief and after a resume, for longer prompts, prompts that name things and quiet turns; and how
often "strong" is wrong on dense stores. `--write` writes the tables to docs/reach.md.
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
from run import say
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
_UNRELATED_ENTRIES = 600  # entries of the dense set that is used without notes
_CAPTURE_OFF = "hooks.capture=false"  # otherwise an event recalls what an earlier session left
_WORDED_KINDS = ("task", "error", "paraphrase", events.NAMED, UNANSWERABLE)
_TOOL_KINDS = ("task", "paraphrase", "keyword", "error")


def measure(
    found: RetrievalSet, unrelated: RetrievalSet | None, options: argparse.Namespace
) -> dict[str, Any]:
    """Measure the chosen parts; return the data of `reaching.tables` by part, and every event."""
    parts, sample = options.parts.split(","), options.sample
    log = list[dict[str, Any]]()
    results: dict[str, Any] = {"events": log}
    with tempfile.TemporaryDirectory(prefix="engram-reach-") as folder:
        place = hooks.prepare(found, os.path.join(folder, "project"))
        chosen_events = events.draw(found, sample)
        if "hooks" in parts:
            results |= _sessions(place, chosen_events, options, log)
        if "prompts" in parts:
            say("prompts as developers write them")
            outcomes = prompts.run(place, options.together)
            results["prompts"] = [one._asdict() for one in prompts.figures(outcomes)]
            log += [hooks.as_dict(one, "prompts") for one in outcomes]
        if "everyday" in parts:
            results |= _everyday(
                found,
                os.path.join(options.set, "everyday_words.jsonl"),
                chosen_events,
                folder,
                options.together,
            )
        if "neural" in parts and not options.config and importlib.util.find_spec(minilm.MODULE):
            results["neural"] = _neural(found, chosen_events, folder, options.together)
        if "noise" in parts and unrelated is not None:
            say(f"{len(chosen_events)} events in {unrelated.name}")
            other_place = hooks.prepare(unrelated, os.path.join(folder, "stranger"), found)
            outcomes = hooks.run(other_place, chosen_events, FRESH, options.together)
            log += [hooks.as_dict(one, "noise") for one in outcomes]
            results["noise"] = {
                "store": unrelated.name,
                "kinds": tables.by_kind(outcomes),
                "brief": tables.brief(other_place, hooks.start_and_resume(other_place)),
            }
            about = events.sections(unrelated, sample)
            if about:
                asked = hooks.run(other_place, about, FRESH, options.together)
                results["long"] = {"store": unrelated.name, "kinds": tables.by_kind(asked)}
        if "names" in parts:
            say("prompts that name things")
            outcomes = names.run(os.path.join(folder, "names"), options.together, options.names)
            results["names"] = names.figures(outcomes)._asdict()
            log += [hooks.as_dict(one, "names") for one in outcomes]
        if "mcp" in parts:
            say("the MCP server")
            results["mcp"] = tables.by_tool(tool.ask(place, found, _queries(found, sample)))
            results["tools"] = tables.tools(tool.tools(place.folder, options.runs))
    if "strength" in parts:
        say("strength on dense stores")
        sizes = [int(size) for size in options.sizes.split(",")]
        own = strength.ask(found)
        results["strength"] = [one._asdict() for one in (own, *strength.measure(sizes))]
    return results


def _sessions(
    place: Place, chosen_events: Sequence[Event], options: argparse.Namespace, log: list[dict[str, Any]]
) -> dict[str, Any]:
    """Run every event in a fresh session, and a quarter of them after a brief and after a resume; add all to `log`."""
    measured = dict[str, Any]()
    fewer = events.first(chosen_events, max(1, options.sample // 4))  # they take two and four processes each
    for way, chosen in ((FRESH, chosen_events), (BRIEF, fewer), (RESUMED, fewer)):
        say(f"{len(chosen)} events, {way}")
        outcomes = hooks.run(place, chosen, way, options.together)
        measured[way] = tables.by_kind(outcomes)
        log += [hooks.as_dict(one, way) for one in outcomes]
    measured["ranked"] = hooks.ranked_first(place, chosen_events)
    measured["brief"] = tables.brief(place, hooks.start_and_resume(place))
    return measured


def _everyday(
    found: RetrievalSet, path: str, chosen_events: Sequence[Event], folder: str, parallel: int
) -> dict[str, dict[str, Any]]:
    """Repeat prompts and errors with entries that end in everyday words; return {} if there is no file of them."""
    if not os.path.exists(path):
        return {}
    say("entries with everyday words")
    place = hooks.prepare(retrieval_set.with_everyday_words(found, path), os.path.join(folder, "everyday"))
    chosen = [event for event in chosen_events if event.kind in _WORDED_KINDS]
    measured = {
        "kinds": tables.by_kind(hooks.run(place, chosen, FRESH, parallel)),
        "ranked": hooks.ranked_first(place, chosen),
        "prompts": [one._asdict() for one in prompts.figures(prompts.run(place, parallel))],
    }
    return {"everyday": measured}


def _neural(
    found: RetrievalSet, chosen_events: Sequence[Event], folder: str, parallel: int
) -> dict[str, dict[str, Any]]:
    """Repeat prompts and errors with the provider `neural`, for each way of embedding questions."""
    measured = {}
    chosen = [event for event in chosen_events if event.kind in _WORDED_KINDS]
    for questions in ("mapped", "read"):
        say(f"{len(chosen)} events, neural, questions {questions}")
        _configure("embedding.provider=neural", f"embedding.questions={questions}")
        place = hooks.prepare(found, os.path.join(folder, questions))
        measured[questions] = {
            "kinds": tables.by_kind(hooks.run(place, chosen, FRESH, parallel)),
            "ranked": hooks.ranked_first(place, chosen),
        }
    _configure("embedding.provider=bundled", "embedding.questions=mapped")
    return measured


def load_notes(folder: str) -> RetrievalSet:
    """Load a folder of ordinary markdown notes, without questions. Raises OSError."""
    documents = []
    for parent, subfolders, files in os.walk(folder):
        subfolders.sort()
        for name in sorted(name for name in files if name.endswith(".md") and name != "README.md"):
            path = os.path.join(parent, name)
            with open(path, encoding="utf-8", errors="replace") as file:
                documents.append(Document(os.path.relpath(path, folder), file.read().lstrip("# ")))
    return retrieval_set.assemble(f"{len(documents)} ordinary notes", documents, {}, {}, {})


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", default=_SET, help="the entries and their questions (default: %(default)s)")
    parser.add_argument(
        "--names", default=names.SET, help="the set of the part `names` (default: %(default)s)"
    )
    parser.add_argument("--notes", default=_NOTES, help="a folder of unrelated notes")
    parser.add_argument("--sample", type=int, default=40, help="events per kind (default: %(default)s)")
    parser.add_argument("--sizes", default=",".join(map(str, strength.SIZES)), help="sizes of dense stores")
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--together", type=int, default=2, help="hook processes at a time")
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a user setting (repeatable)",
    )
    parser.add_argument("--runs", type=int, default=5, help="number of starts of the MCP server")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to this file")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/reach.md")
    options = parser.parse_args(arguments)
    unknown = set(options.parts.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--parts knows {', '.join(PARTS)}, not {', '.join(sorted(unknown))}")
    _configure(_CAPTURE_OFF, *options.config)
    unrelated = _load_unrelated(options.notes) if "noise" in options.parts.split(",") else None
    results = measure(retrieval_set.load(options.set), unrelated, options)
    machine = describe_machine()[:2]
    text = tables.report(results, [*machine, *options.config], time.strftime("%Y-%m-%d"), options.sample)
    print(text)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(
                {"machine": machine, "sample": options.sample, "config": options.config, **results},
                file,
                indent=1,
            )
    if options.write:
        with open(_DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


def _configure(*settings: str) -> None:
    for setting in settings:
        name, _, value = setting.partition("=")
        command = [sys.executable, "-m", "engram", "config", name, value, "--user"]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def _load_unrelated(notes: str) -> RetrievalSet:
    """Load the notes, or docstrings of the standard library if there are none."""
    if os.path.isdir(notes):
        return load_notes(notes)
    return dense_sets.draw("docstrings", dense_sets.stdlib(), _UNRELATED_ENTRIES)


def _queries(found: RetrievalSet, sample: int) -> list[str]:
    chance = random.Random(events.SEED)
    of_kind = {kind: [query for query in found.queries if found.kinds[query] == kind] for kind in _TOOL_KINDS}
    return [
        query for several in of_kind.values() for query in chance.sample(several, min(sample, len(several)))
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="engram-home-") as home:
        isolate(home)
        sys.exit(main())
