"""`engram query`: recall the lore that answers a question."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import declare, switch, values_of
from engram.cli.present import recalled_lines
from engram.domain.errors import UsageError
from engram.domain.recall.budget import CHARACTERS_PER_TOKEN
from engram.domain.recall.budget_packing import fill
from engram.domain.recall.ranking import WEAK
from engram.domain.text.counted_nouns import entries
from engram.domain.typed import TYPE_CHECKING
from engram.operations.recall import QUERY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.history.origin import Origin
    from engram.usecases.recall.query import Answer

DESCRIPTION = "Recall the lore that answers a question, by words and by meaning, best first."
EXAMPLES = (
    'engram query "implementing message consumers"',
    'engram query "flaky test" --category testing-strategy -k 3 --explain',
    "engram feedback --helpful L1        # afterwards: say what was of use",
)
ARGUMENTS = (
    *declare(
        QUERY,
        text={"flags": (), "nargs": "+", "metavar": "TEXT"},
        limit={"flags": ["-k", "--limit"]},
        as_of={"metavar": "REV"},
    ),
    switch("--explain", "show the parts of each score"),
)


def run(call: Call) -> int:
    """Query and print the answer. Exit 0 even if it is empty."""
    from engram.usecases.recall.query import Question, query

    values = values_of(call.arguments, QUERY)
    budget = values["budget"]
    if budget is not None and budget < 1:
        raise UsageError(f"The budget must be 1 token or more, not {budget}.")
    scopes = tuple(call.arguments.scope)
    question = Question(**{**values, "text": " ".join(values["text"]), "scopes": scopes})
    call.takes_scopes = True
    if budget is None and not call.output.json:
        budget = int(call.store.settings.number("recall.budget"))
    answer = query(call.store, question._replace(budget=budget))
    texts = [hit.lore.content for hit in answer.lore]
    if budget is not None:
        texts = _fit_budget(call, answer, texts, budget)
    origins = _origins(call, answer)
    if call.output.json:
        from engram.usecases.recall.answer_json import answer_json

        call.output.document(answer_json(answer, texts, origins))
    printed = call.store.notes
    call.output.notes(note for note in answer.notes if note not in printed)
    shown: Sequence[Origin | None] = origins or [None] * len(texts)
    for hit, text, origin in zip(answer.lore, texts, shown, strict=True):
        call.output.lines(recalled_lines(call, hit, text, origin))
    _print_summary(call, answer)
    return 0


def _fit_budget(call: Call, answer: Answer, texts: Sequence[str], budget: int) -> list[str]:
    """Fit the texts into `budget` tokens: long ones are cut to the passages that answer; those that do not fit become ""."""
    from engram.usecases.recall.passage_similarity import nearness
    from engram.usecases.recall.query import HYBRID

    near = nearness(call.store, answer.query) if answer.strategy == HYBRID else None
    room = budget * CHARACTERS_PER_TOKEN
    found = fill(texts, room, answer.query, cost=lambda _, shown: len(shown.text), near=near)
    return [shown.text if shown is not None else "" for shown in found]


def _origins(call: Call, answer: Answer) -> list[Origin]:
    """Return the origins of the entries, from git with --explain; [] if they are not printed."""
    if not (call.output.json or call.arguments.explain) or not answer.lore:
        return []
    from engram.usecases.history.origin import known_origins, origin
    from engram.usecases.opening.scopes import open_scope_of

    pairs = [(open_scope_of(call.store, hit.scope), hit) for hit in answer.lore]
    if call.arguments.explain and not call.arguments.as_of:
        return [origin(store, hit.lore, hit.path) for store, hit in pairs]
    return [known_origins(store, [hit.lore])[0] for store, hit in pairs]


def _print_summary(call: Call, answer: Answer) -> None:
    if not answer.lore:
        call.output.line("Nothing relevant is known here.")
        call.mention_own_store()
        return
    note = ""
    if answer.strength == WEAK:
        from engram.usecases.recall.search import has_rivals

        near = has_rivals(answer.lore)
        note = " · several match about equally well" if near else " · even the best is only weakly related"
    found = entries(len(answer.lore))
    call.output.dim(f"{answer.strength} · {found} · {answer.strategy} · {answer.took_ms:.0f} ms{note}")
