"""`engram query`: recall."""

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
    """Ask and print the answer. Nothing found is an answer too: exit 0."""
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
        texts = _within(call, answer, texts, budget)
    origins = _origins(call, answer)
    if call.output.json:
        from engram.usecases.recall.answer_json import answer_json

        call.output.document(answer_json(answer, texts, origins))
    for note in answer.notes:
        if note not in call.store.notes:  # shown already
            call.output.note(note)
    shown: Sequence[Origin | None] = origins or [None] * len(texts)
    for hit, text, origin in zip(answer.lore, texts, shown, strict=True):
        call.output.lines(recalled_lines(call, hit, text, origin))
    _closing(call, answer)
    return 0


def _within(call: Call, answer: Answer, texts: Sequence[str], budget: int) -> list[str]:
    """What is shown of each text within `budget` tokens: all of it, of a long one what answers, "" of what does not fit."""
    from engram.usecases.recall.passage_similarity import nearness
    from engram.usecases.recall.query import HYBRID

    near = nearness(call.store, answer.query) if answer.strategy == HYBRID else None
    room = budget * CHARACTERS_PER_TOKEN
    found = fill(texts, room, answer.query, cost=lambda _, shown: len(shown.text), near=near)
    return [shown.text if shown is not None else "" for shown in found]


def _origins(call: Call, answer: Answer) -> list[Origin]:
    """Where each entry is from: what is known, with --explain also what git knows; nothing where nobody asks."""
    if not (call.output.json or call.arguments.explain) or not answer.lore:
        return []
    from engram.usecases.history.origin import known_origins, origin
    from engram.usecases.opening.scopes import reach

    stores = [reach(call.store, hit.scope) for hit in answer.lore]
    found = list(zip(stores, answer.lore, strict=True))
    if call.arguments.explain and not call.arguments.as_of:
        return [origin(store, hit.lore, hit.path) for store, hit in found]
    return [known_origins(store, [hit.lore])[0] for store, hit in found]


def _closing(call: Call, answer: Answer) -> None:
    if not answer.lore:
        call.output.line("Nothing relevant is known here.")
        call.tell_own_store()
        return
    note = ""
    if answer.strength == WEAK:
        from engram.usecases.recall.search import has_rivals

        near = has_rivals(answer.lore)
        note = " · several match about equally well" if near else " · even the best is only weakly related"
    found = entries(len(answer.lore))
    call.output.rule(f"{answer.strength} · {found} · {answer.strategy} · {answer.took_ms:.0f} ms{note}")
