"""The figures of `reach.py`, and tables of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scoring
from dense_sets import SUBJECTS
from retrieval_set import UNANSWERABLE

from engram.domain.recall.budget import CHARACTERS_PER_TOKEN
from reaching.events import COMMAND, EDIT, KINDS, NAMED
from reaching.hooks import BRIEF, DEADLINE_MS, FRESH, RESUMED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from reaching.hooks import Outcome, Place
    from reaching.judging import Seen
    from reaching.tool import Asked, Tools

# The target of each kind of event: the percentage of events at which a right entry is shown whole.
TARGETS = {"task": 75, "error": 65, EDIT: 75, COMMAND: 75, NAMED: 75, "paraphrase": 8}
TARGETS_OF_NEURAL = {**TARGETS, "paraphrase": 25}
MOST_UNANSWERABLE, MOST_NOISE, PRECISION, LORE_SHARE = 5, 6, 90, 75
MOST_DENSE, MOST_ANSWER = 10, 500
_ANSWERABLE, _ALL = "all with an answer", "all"

_INTRODUCTION = """\
# What reaches the model

How often the right entry reaches an agent's model. `python benchmarks/reach.py` sends real `engram hook … --agent claude-code`
processes the JSON of Claude Code's hooks, each event in a session of its own. The store is
[the development set](../benchmarks/recall_dev/README.md), with at most {sample} events of a kind. Figures that miss their target
are bold.

- **Right, whole**: an entry that answers the event reached the model with its whole text; of an entry of more than 1,200
  characters, the sentence with most of the question's words, within 300 consecutive characters. A reference to an entry
  shown earlier counts if that entry was shown whole.
- **Precision**: the share of right entries among those shown. **Tokens** are characters / 4. **Lore text** is the share of
  the characters that come from an entry; the rest is frame.
- `error` is an error message within other output of a test runner, a script or a build. `path` is an edit of a file, or a
  command or a prompt that names it; every entry that names the file is right.

```sh
python benchmarks/reach.py --sample 10 --parts hooks --json FILE   # quicker; every event is in the file
python benchmarks/reach.py --notes FOLDER --write                  # your own notes as the unrelated store; writes this page
python benchmarks/reach.py --config embedding.provider=onnx --config embedding.path=FOLDER
```

Without `--notes`, the unrelated store consists of docstrings of Python's standard library. A quarter of the events are
repeated in sessions with a brief. Capture is off (`hooks.capture`), so that no session answers another's event.
"""


def by_kind(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Return the figures of each kind of event, of all answerable ones, and of all."""
    groups: dict[str, list[Outcome]] = {
        kind: [outcome for outcome in outcomes if outcome.event.kind == kind] for kind in KINDS
    }
    if sum(map(bool, groups.values())) == 1:
        return {kind: _figures(several) for kind, several in groups.items() if several}
    groups[_ANSWERABLE] = [outcome for outcome in outcomes if outcome.event.right]
    groups[_ALL] = list(outcomes)
    return {kind: _figures(several) for kind, several in groups.items() if several}


def brief(place: Place, seen: Mapping[str, Seen]) -> dict[str, dict[str, float]]:
    """Return the figures of what the start and the resume of a session put before the model."""
    return {
        name: {
            "tokens": one.characters / CHARACTERS_PER_TOKEN,
            "lore_share": _share(one.lore_characters, one.characters),
            "entries": len(one.shown),
            "whole": len(one.whole),
            "about_touched_files": len(one.shown & place.touched),
            "known_about_them": len(place.touched),
        }
        for name, one in seen.items()
    }


def by_tool(asked: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """Return the figures of `recall_query`, as data and as text."""
    first = [one for one in asked if one.ranked]
    forms = {"data": [one.data for one in asked], "text": [one.text for one in asked]}
    figures = {}
    for form, seen in forms.items():
        whole = sum(bool(one.ranked & getattr(one, form).reached) for one in first)
        all_whole = sum(len(one.ranked & getattr(one, form).reached) for one in first)
        sizes = [one.characters / CHARACTERS_PER_TOKEN for one in seen]
        figures[form] = {
            "questions": len(asked),
            "ranked_first": len(first),
            "whole": _share(whole, len(first)),
            "entries_whole": _share(all_whole, sum(len(one.ranked) for one in first)),
            "entries": _mean([len(one.shown) for one in seen]),
            "tokens": _mean(sizes),
            "tokens_most": max(sizes, default=0.0),
            "within_budget": _share(sum(size <= MOST_ANSWER for size in sizes), len(sizes)),
            "lore_share": _share(
                sum(one.lore_characters for one in seen), sum(one.characters for one in seen)
            ),
        }
    return figures


def tools(found: Tools) -> dict[str, float]:
    """Return the figures of `tools/list` and of the start of the server."""
    return {
        "tools": found.tools,
        "tokens": found.characters / CHARACTERS_PER_TOKEN,
        "tokens_without_output_schema": found.without_output / CHARACTERS_PER_TOKEN,
        "started_wall_ms": found.started.wall_ms,
        "started_cpu_ms": found.started.cpu_ms,
        "bare_wall_ms": found.bare.wall_ms,
        "bare_cpu_ms": found.bare.cpu_ms,
    }


def report(results: Mapping[str, Any], machine: Sequence[str], date: str, sample: int) -> str:
    """Return all tables, in markdown."""
    parts = [_INTRODUCTION.format(sample=sample), f"Measured {date}:", _list(machine)]
    for way in (FRESH, BRIEF, RESUMED):
        if way in results:
            ranked = results.get("ranked", {}) if way == FRESH else {}
            parts += [f"## Hooks: {way}", _EXPLANATIONS[way], _kinds(results[way], way, ranked)]
        if way in results and way == FRESH:
            parts.append(_LIMITS)
    if "brief" in results:
        parts += ["## The brief", _briefs(results["brief"])]
    if "noise" in results:
        noise = results["noise"]
        parts += [
            "## An unrelated store",
            _STRANGER.format(**noise),
            _noise(noise["kinds"]),
            "At the start of a session there, with no entry about the files of the last commit:",
            _briefs(noise["brief"]),
        ]
    if "long" in results:
        parts += ["## Long entries", _LONG.format(**results["long"]), _kinds(results["long"]["kinds"])]
    for part, (heading, explanation, table) in _SIMPLE.items():
        if part in results:
            parts += [f"## {heading}", explanation, table(results[part])]
    if "mcp" in results:
        parts += ["## The MCP server", _TOOL, _by_tool(results["mcp"]), _tools(results["tools"])]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


_EXPLANATIONS = {
    FRESH: "The event is the first of its session.",
    BRIEF: (
        "The session began with the brief. *In context*: a right entry is whole in the context, from the event or the brief."
    ),
    RESUMED: (
        "The session began with the brief, the event came, the session was resumed, and the same event came again. "
        "*Whole or named*: of a right entry already in the context, a line that names it is enough. Edits and "
        "commands get such a line once after the resume."
    ),
}
_LIMITS = (
    "*Ranked first*: the share of prompts and errors for which `engram query` ranks a right entry first, the most that any "
    "bound could recall. The difference is the price of silence if nothing answers; [recall.md](recall.md#strong-weak-none) "
    "says what looser bounds would gain and cost."
)
_STRANGER = "The same events in an unrelated store of {store}: everything shown is noise."
_LONG = (
    "Prompts about a section of a note in the unrelated store: the note's title and the section's heading. *Whole*: the "
    "section's first sentence reached the model, within 300 consecutive characters."
)
_PROMPTS = (
    "[236 prompts](../benchmarks/prompts_dev/README.md) to an agent, some about entries of the development set, some that no "
    "entry helps with: short (one or two sentences), long (three to five), chatty (short, among sentences about how to work), "
    "and blind (in words far from those of the entries; the rules were chosen without them)."
)
_EVERYDAY = (
    "The same prompts and errors, with entries that end with the symptom or question that they answer and the task they help "
    "with, in everyday words ([why](recall.md#entries-that-are-found)). These sentences were written with the entries in view, "
    "without the questions."
)
_NEURAL = (
    "The prompts and errors of the first table with the provider [`neural`](embedding.md#neural), with questions mapped (the "
    "default) and read."
)
_NAMES = (
    "Prompts that name one or several of [68 entries](../benchmarks/names_dev/README.md) about services, people, companies, "
    "libraries and rules: in full, by an alias, by surname, in lower case. Quiet turns thank, agree or ask to go on, and should "
    "get nothing."
)
_TOOL = (
    "`recall_query` with its defaults, called by the official client. *Whole*: the share of questions with a right entry among "
    "the first three of `engram query -k 10` whose answer has one of these whole. Claude Code shows its model the structured "
    "data, others the text."
)
_DENSE = (
    "Stores about one subject each (`benchmarks/dense_sets.py`): options of git, asked as `git COMMAND -h` describes them, and "
    "docstrings of Python's standard library, asked by their first sentence, which the entry lacks. One in four of these "
    "entries is left out. Each store is drawn four times."
)


def _figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    injected = [outcome for outcome in outcomes if outcome.seen.characters]
    shown = sum(len(outcome.seen.shown) for outcome in outcomes)
    right = sum(len(outcome.seen.shown & outcome.event.right) for outcome in outcomes)
    characters = sum(outcome.seen.characters for outcome in outcomes)
    return {
        "events": len(outcomes),
        "right_whole": _share(sum(outcome.reached for outcome in outcomes), len(outcomes)),
        "right_in_part": _share(
            sum(bool(one.seen.shown & one.event.right) and not one.reached for one in outcomes), len(outcomes)
        ),
        "in_context": _share(sum(outcome.in_context for outcome in outcomes), len(outcomes)),
        "injected": _share(len(injected), len(outcomes)),
        "entries": shown,
        "precision": _share(right, shown),
        "tokens": characters / CHARACTERS_PER_TOKEN / max(1, len(injected)),
        "lore_share": _share(sum(outcome.seen.lore_characters for outcome in outcomes), characters),
        "start_tokens": _mean([outcome.start.characters / CHARACTERS_PER_TOKEN for outcome in outcomes]),
        "wall_p50_ms": scoring.percentile([outcome.wall_ms for outcome in outcomes], 0.5),
        "too_late": _share(sum(outcome.wall_ms > DEADLINE_MS for outcome in outcomes), len(outcomes)),
    }


def _names(one: Mapping[str, int]) -> str:
    shown = {
        "one name": (one["one"], f"{_in_percent(one['missed'], one['one'])} missed", "≤ 10 %"),
        "several names": (
            one["several"],
            f"{_in_percent(one['found'], one['named'])} of the entries found",
            "≥ 80 %",
        ),
        "quiet turn": (one["quiet"], f"{_in_percent(one['disturbed'], one['quiet'])} disturbed", "≤ 5 %"),
        "all": (
            one["one"] + one["several"] + one["quiet"],
            f"{_in_percent(one['right'], one['shown'])} of the entries shown are right",
            "≥ 90 %",
        ),
    }
    rows = [f"| {name} | {count} | {what} | {target} |" for name, (count, what, target) in shown.items()]
    return "\n".join(["| Prompt | prompts | result | target |", "|---|---:|---:|---:|", *rows])


def _prompts(measured: Iterable[Mapping[str, Any]]) -> str:
    rows = [
        [
            one["kind"], str(one["answerable"]), _in_percent(one["right"], one["answerable"]), str(one["shown"]),
            _in_percent(one["shown_right"], one["shown"]), str(one["others"]), _in_percent(one["came"], one["others"]),
        ]
        for one in measured
    ]  # fmt: skip
    head = [
        "Prompt",
        "an entry helps",
        "right, whole",
        "entries",
        "precision",
        "no entry helps",
        "anything shown",
    ]
    return _table([head, *rows])


def _in_percent(part: int, whole: int) -> str:
    return f"{_share(part, whole):.0f} %"


def _kinds(
    figures: Mapping[str, Mapping[str, float]],
    way: str = FRESH,
    ranked: Mapping[str, float] | None = None,
    targets: Mapping[str, int] = TARGETS,
) -> str:
    reached = "whole or named" if way == RESUMED else "right, whole"
    context_columns = {
        FRESH: ["target", *(["ranked first"] if ranked else [])],
        BRIEF: ["in context"],
        RESUMED: ["in context"],
    }[way]
    columns = ["in part only", "anything shown", "entries", "precision", "tokens each time", "lore text"]
    rows = [["Event", "events", reached, *context_columns, *columns]]
    for kind, one in figures.items():
        nothing_right = kind == UNANSWERABLE
        target = targets.get(kind) if way == FRESH else None
        too_many = nothing_right and one["injected"] > MOST_UNANSWERABLE
        target_text = f"≥ {target} %" if target else ""
        rows.append([
            kind,
            f"{one['events']:.0f}",
            "" if nothing_right else _judged(one["right_whole"], target),
            target_text if way == FRESH or nothing_right else _percent(one["in_context"]),
            *([_percent(ranked[kind]) if kind in ranked else ""] if ranked else []),
            "" if nothing_right else _percent(one["right_in_part"]),
            f"**{_percent(one['injected'])}** (≤ {MOST_UNANSWERABLE} %)" if too_many else _percent(one["injected"]),
            f"{one['entries']:.0f}",
            _precision(kind, one),
            f"{one['tokens']:.0f}" if one["injected"] else "",
            _judged(one["lore_share"], LORE_SHARE) if one["injected"] else "",
        ])  # fmt: skip
    total = list(figures.values())[-1]
    note = (
        f"A hook process took {total['wall_p50_ms']:.0f} ms (median, two at a time); {_percent(total['too_late'])} took longer"
        f" than {DEADLINE_MS} ms, the time limit of a hook, which was off."
    )
    return f"{_table(rows)}\n\n{note}"


def _precision(kind: str, one: Mapping[str, float]) -> str:
    if not one["entries"] or kind == UNANSWERABLE:
        return ""
    return _judged(one["precision"], PRECISION) if kind in (_ALL, _ANSWERABLE) else _percent(one["precision"])


def _briefs(figures: Mapping[str, Mapping[str, float]]) -> str:
    rows = [["", "tokens", "lore text", "entries", "whole", "about the files of the last commit"]]
    for name, one in figures.items():
        share = _judged(one["lore_share"], LORE_SHARE) if one["tokens"] else ""
        about = f"{one['about_touched_files']:.0f} (the store has {one['known_about_them']:.0f})"
        rows.append(
            [name, f"{one['tokens']:.0f}", share, f"{one['entries']:.0f}", f"{one['whole']:.0f}", about]
        )
    return _table(rows)


def _noise(figures: Mapping[str, Mapping[str, float]]) -> str:
    rows = [["Event", "events", "anything shown", "entries", "tokens each time", "tokens an event"]]
    for kind, one in figures.items():
        shown = _percent(one["injected"])
        if kind == _ALL:
            shown = f"{shown if one['injected'] <= MOST_NOISE else f'**{shown}**'} (≤ {MOST_NOISE} %)"
        rows.append([
            kind, f"{one['events']:.0f}", shown, f"{one['entries']:.0f}",
            f"{one['tokens']:.0f}" if one["injected"] else "", f"{one['tokens'] * one['injected'] / 100:.0f}",
        ])  # fmt: skip
    return _table(rows)


def _by_tool(figures: Mapping[str, Mapping[str, float]]) -> str:
    rows = [
        [
            "Form",
            "questions",
            "right at 1–3",
            "whole",
            "all of them whole",
            "entries",
            "tokens",
            "≤ 500 tokens",
            "lore text",
        ]
    ]
    for form, one in figures.items():
        rows.append([
            form, f"{one['questions']:.0f}", f"{one['ranked_first']:.0f}", _percent(one["whole"]),
            _percent(one["entries_whole"]), f"{one['entries']:.1f}", f"{one['tokens']:.0f} (most {one['tokens_most']:.0f})",
            _percent(one["within_budget"]), _judged(one["lore_share"], LORE_SHARE),
        ])  # fmt: skip
    return _table(rows)


def _tools(one: Mapping[str, float]) -> str:
    times = one["started_wall_ms"] / one["bare_wall_ms"]
    return (
        f"`tools/list`: {one['tools']:.0f} tools, {one['tokens']:,.0f} tokens, "
        f"{one['tokens_without_output_schema']:,.0f} without output schemas. From the start of the server until "
        f"`initialize` and `tools/list` are answered: {one['started_wall_ms']:.0f} ms "
        f"({one['started_cpu_ms']:.0f} CPU-ms), {times:.0f} times the start of Python "
        f"({one['bare_wall_ms']:.0f} ms)."
    )


def _strengths(measured: Iterable[Mapping[str, Any]]) -> str:
    with_answer = ["with an answer", "first right", "strong", "first right when strong"]
    rows = [["Store", *with_answer, "without", "strong", "weak (entries)", "none"]]
    for one in measured:
        strong, limit = _share(one["strong_for_nothing"], one["unanswerable"]), _limit(one["name"])
        rows.append([
            one["name"], str(one["answerable"]), _percent(_share(one["first"], one["answerable"])),
            _percent(_share(one["strong"], one["answerable"])), _percent(_share(one["strong_and_first"], one["strong"])),
            str(one["unanswerable"]),
            f"{_percent(strong) if strong <= limit else f'**{_percent(strong)}**'} (≤ {limit} %)",
            f"{_percent(_share(one['weak_for_nothing'], one['unanswerable']))} ({one['entries_of_weak']:.1f})",
            _percent(_share(one["none_for_nothing"], one["unanswerable"])),
        ])  # fmt: skip
    return _table(rows)


def _neural(measured: Mapping[str, Mapping[str, Any]]) -> str:
    return "\n\n".join(
        f"Questions {how}:\n\n{_kinds(one['kinds'], FRESH, one['ranked'], TARGETS_OF_NEURAL)}"
        for how, one in measured.items()
    )


def _everyday(measured: Mapping[str, Any]) -> str:
    return f"{_kinds(measured['kinds'], FRESH, measured['ranked'])}\n\n{_prompts(measured['prompts'])}"


_SIMPLE: Mapping[str, tuple[str, str, Callable[[Any], str]]] = {
    "prompts": ("Prompts as developers write them", _PROMPTS, _prompts),
    "everyday": ("With everyday words in each entry", _EVERYDAY, _everyday),
    "neural": ("With a sentence transformer", _NEURAL, _neural),
    "names": ("Prompts that name things", _NAMES, _names),
    "strength": ("Strong, on dense stores", _DENSE, _strengths),
}


def _limit(store: str) -> int:
    return MOST_DENSE if store.split(maxsplit=1)[0] in SUBJECTS else MOST_UNANSWERABLE


def _judged(value: float, target: float | None) -> str:
    return _percent(value) if target is None or value >= target else f"**{_percent(value)}**"


def _percent(value: float) -> str:
    return f"{value:.0f} %"


def _share(part: float, whole: float) -> float:
    """Return a percentage; 0 if `whole` is 0."""
    return 100 * part / whole if whole else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _list(facts: Sequence[str]) -> str:
    return "\n".join(f"- {fact}" for fact in facts)


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, f"|---{'|---:' * (len(rows[0]) - 1)}|", *rest])
