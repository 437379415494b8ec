"""`engram skill`: list skills, and run the query of one."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import CYAN, shorten
from engram.cli.parsing import argument, repeatable
from engram.cli.tables import parse_parameters, show_table
from engram.domain.errors import EngramError, NotFoundError, UsageError
from engram.domain.text.counted_nouns import counted
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.agents.skills import Skill

DESCRIPTION = (
    "List skills, or run one. A skill is procedural lore with the tag `skill`: a recipe, or a fenced block of SQL\n"
    "that can be run. `run` takes a ref or an id, or a task in several words, and runs the best skill for it."
)
EXAMPLES = (
    "engram skill",
    "engram skill run L1 --param tag=queue",
    'engram skill run "which entries were never helpful"',
)
ARGUMENTS = (
    argument("action", "ACTION", "list (default) or run", nargs="?", default="list", choices=("list", "run")),
    argument("name", "NAME", "with run: a ref, an id, or a task in several words", nargs="*"),
    repeatable("--param", "NAME=VALUE", "a value for :NAME in its query"),
)


def run(call: Call) -> int:
    given = call.arguments
    if given.action == "run":
        return _run(call, " ".join(given.name).strip())
    if given.name or given.param:
        raise UsageError("`engram skill list` takes no arguments.", "To run one: engram skill run NAME")
    from engram.usecases.agents.skills import skills

    found = skills(call.store)
    call.output.document({"skills": [_json(skill) for skill in found]})
    for skill in found:
        kind = "query" if skill.query else "recipe"
        facts = f"{kind:<6} {_describe_runs(skill):<24}"
        title = shorten(safe_text(skill.lore.title), max(20, call.output.width - len(facts) - 29))
        call.output.line(f"{call.output.styled(skill.lore.id, CYAN)} {facts} {title}")
    if not found:
        call.output.line("No skills yet.")
        call.output.dim("Next: engram record - --category skill --tag skill")
    return 0


def _run(call: Call, name: str) -> int:
    """Run the named skill, or the best one for the task."""
    from engram.usecases.agents.skills import recall_skill, run_skill

    if not name:
        raise UsageError("No skill was named.", "Give a ref, an id, or the task in several words.")
    parameters = parse_parameters(call.arguments.param)
    if " " in name:
        skill = recall_skill(call.store, name, run=True, parameters=parameters)
        if skill is None:
            raise NotFoundError("No skill here matches that.", "`engram skill` lists the skills.")
    else:
        skill = run_skill(call.store, name, parameters)
    if skill.error:
        raise EngramError(
            f"{skill.lore.id} failed: {skill.error}",
            f"`engram show {skill.lore.id}` prints its query; --param NAME=VALUE gives it a value.",
        )
    call.output.document(_json(skill))
    call.output.dim(f"{skill.lore.id}  {skill.lore.title} · {_describe_runs(skill)}")
    if skill.result is None:
        call.output.say(skill.lore.content, lines=True)
    else:
        show_table(call.output, skill.result)
    return 0


def _json(skill: Skill) -> dict[str, object]:
    """Return the JSON of a skill; `result` is null if its query was not run."""
    return {
        "id": skill.lore.id,
        "title": skill.lore.title,
        "query": skill.query,
        "runs": skill.record.runs,
        "successes": skill.record.successes,
        "result": None if skill.result is None else skill.result.as_dict(),
    }


def _describe_runs(skill: Skill) -> str:
    if not skill.record.runs:
        return "never run here"
    return f"{counted(skill.record.runs, 'run')}, {skill.record.successes:,} successful"
