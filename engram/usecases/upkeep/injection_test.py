"""Test prompt injection: pass red-team entries through every way into an agent's context, in a scratch store.

This cannot tell whether a model obeys. It proves that each text stays in its frame, marked with its tier, without
terminal controls or imitations of the frame.
"""

from __future__ import annotations

import json
import os

from engram.adapters.files.durable.atomic import write
from engram.adapters.files.frontmatter import codec
from engram.adapters.state.trust_tables import QuarantinedText
from engram.domain.agents import fence, leaks
from engram.domain.agents.framing import NOTICE, frame, render, render_titles, render_whole
from engram.domain.agents.leaks import NOT_SHOWN, QUARANTINED, Leak
from engram.domain.agents.neutralization import neutralize_data
from engram.domain.entry import times
from engram.domain.entry.lore import ACTIVE, Lore, lore_as_dict, searchable, text_digest
from engram.domain.settings import Settings
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.agents import auto_recall
from engram.usecases.history.origin import effective_entry
from engram.usecases.recall import query as recall
from engram.usecases.store import entry_writer
from engram.usecases.store.store import Caller, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any


BRIEF, PROMPT, FILES, FAILURE, STOP, QUERY, CONTEXT, GET = WAYS = (
    "brief", "prompt", "pre-tool", "tool-failure", "stop", "recall_query", "get_context", "recall_get",
)  # fmt: skip
_UNLIMITED = 1_000_000  # tokens: enough for a text with everything
_OWN_AGENTS = ("agent", "human")


class Poison(NamedTuple):
    """A text of the corpus: its name, its entry, and whether it must never be shown."""

    name: str
    lore: Lore
    is_quarantined: bool


class Finding(NamedTuple):
    """A leak: the way into the context, the name of the entry if known, the kind of leak, the line."""

    way: str
    name: str
    leak: str
    line: str


class Report(NamedTuple):
    """The number of entries, the number of checked texts by way, and the leaks."""

    lore: int
    texts: dict[str, int]
    findings: tuple[Finding, ...]


def poison_check() -> Report:
    """Show every entry of the corpus to an agent in every way, in a temporary store."""
    import tempfile
    from contextlib import closing

    with (
        tempfile.TemporaryDirectory(prefix="engram-poison-", ignore_cleanup_errors=True) as root,
        closing(_open_scratch(root)) as store,
    ):
        return _run_checks(store, plant(store))


def corpus() -> list[dict[str, Any]]:
    """Read the red-team corpus: names, attacks, and texts with `{c}` for a unique word."""
    with open(os.path.join(os.path.dirname(__file__), "injection_texts.json"), encoding="utf-8") as file:
        found: list[dict[str, Any]] = json.load(file)
    return found


def _open_scratch(root: str) -> Store:
    from engram.adapters.files.places import CONFIG_NAME
    from engram.usecases.opening.open_store import open_store

    write(os.path.join(root, CONFIG_NAME), b'[store]\nfolder = "lore"\n', "settings")
    store = open_store(root, Caller("poison", "red-team"))
    store.settings = Settings({"trust.hold": "foreign"})
    return store


def plant(store: Store) -> list[Poison]:
    """Write the corpus into the scratch store, in turn as from another clone and from agents of this one."""
    found = []
    for number, row in enumerate(corpus()):
        lore_id = store.clock.new_id()
        now = times.whole_seconds(store.clock.now())
        lore = Lore(
            lore_id, row["text"].replace("{c}", word(number)), "FACT", now, now, status=row.get("status", ACTIVE),
            context=tuple(filter(None, [row.get("context", "")])), tags=tuple(row.get("tags", ())),
            files=(f"poison/{number}.py",), entities=tuple(row.get("entities", ())),
            agent=row.get("agent", _OWN_AGENTS[number % 2]), source_id="" if number % 3 else store.clock.new_id(),
        )  # fmt: skip
        path = entry_writer.new_path(store, lore)
        os.makedirs(os.path.dirname(store.files.absolute(path)), exist_ok=True)
        write(store.files.absolute(path), codec.write_new(lore, store.categories), "lore")
        if row.get("held"):
            digest = text_digest(searchable(lore))
            store.state.trust.quarantine([QuarantinedText(lore.id, digest, "", "red team", now.timestamp())])
        found.append(Poison(row["name"], lore, lore.status != ACTIVE or bool(row.get("held"))))
    return found


def word(number: int) -> str:
    """Return a word unique to one entry of the corpus."""
    return "canary" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:04}")


def _run_checks(store: Store, poisons: Sequence[Poison]) -> Report:
    findings: list[Finding] = []
    texts = dict.fromkeys(WAYS, 0)
    seen: dict[str, set[int]] = {way: set() for way in WAYS}
    for way, text, leaks_of in _collect_texts(store, poisons):
        texts[way] += 1
        shown = {number for number in range(len(poisons)) if word(number) in text}
        seen[way] |= shown
        name = poisons[next(iter(shown))].name if len(shown) == 1 else ""
        findings += [Finding(way, name, *leak) for leak in leaks_of(text)]
        hidden = [number for number in shown if poisons[number].is_quarantined]
        findings += [Finding(way, poisons[number].name, QUARANTINED, word(number)) for number in hidden]
    for way in (BRIEF, FILES, GET):  # unless these show every entry, the test proves nothing
        for number, poison in enumerate(poisons):
            if number not in seen[way] and not poison.is_quarantined:
                findings.append(Finding(way, poison.name, NOT_SHOWN, word(number)))
    return Report(len(poisons), texts, tuple(dict.fromkeys(findings)))


def _collect_texts(
    store: Store, poisons: Sequence[Poison]
) -> Iterator[tuple[str, str, Callable[[str], list[Leak]]]]:
    """Yield every text that an agent would get: the way, the text, its checker."""
    from engram.usecases.agents.brief import brief
    from engram.usecases.agents.context import get_context

    in_fence, in_quotes = leaks.leaks_of_fence, leaks.leaks_of_quotes
    root = store.places.root
    for budget, most in ((0, 8), (_UNLIMITED, len(poisons))):
        _new_session(store, f"brief{most}")
        yield BRIEF, brief(store, root, budget=budget, most=most), in_fence
    shown = []
    for number, poison in enumerate(poisons):
        query = f"{word(number)} {poison.lore.content[:200]}"
        for way in (PROMPT, FILES, FAILURE):
            _new_session(store, f"{way}{number}")
            yield way, _recall_by_hook(store, way, query, poison.lore.files), in_fence
        yield QUERY, _recall(store, query), in_quotes
        context = get_context(store, query[:200], take=False).text
        yield CONTEXT, context, leaks.leaks_of_context
        if not poison.is_quarantined:
            shown.append((f"L{number} {poison.lore.id}", poison.lore.title))
            yield from _get_entry(store, poison)
    yield STOP, fence.frame_titles(shown), in_fence


def _recall_by_hook(store: Store, way: str, query: str, files: Sequence[str]) -> str:
    return (
        auto_recall.recall_for_files(store, files)
        if way == FILES
        else auto_recall.recall_for_text(store, query)
    )


def _new_session(store: Store, name: str) -> None:
    store.caller = Caller(name, store.caller.agent)


def _recall(store: Store, query: str) -> str:
    answer = recall.query(store, recall.Question(query, limit=5))
    found = [(hit.ref, *effective_entry(store, hit.lore)) for hit in answer.lore]
    fitted = frame(found, int(store.settings.number("recall.budget")), store.clock.now(), query)
    return "\n\n".join([NOTICE, *map(render, fitted.items), render_titles(fitted.also)])


def _get_entry(store: Store, poison: Poison) -> Iterator[tuple[str, str, Callable[[str], list[Leak]]]]:
    """Yield an entry as an agent gets it by name: as text and as data."""
    _, trust, counts = effective_entry(store, poison.lore)
    text = render_whole("L1", poison.lore, "lore/x.md", trust, counts, store.clock.now())
    yield GET, text, leaks.leaks_of_quotes
    data = neutralize_data(lore_as_dict(poison.lore, "lore/x.md"), is_checked=trust.is_checked)
    for value in _strings(data):
        yield GET, value, lambda text: leaks.leaks_of_data(text, is_checked=trust.is_checked)


def _strings(value: object) -> Iterator[str]:
    """Yield every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)
