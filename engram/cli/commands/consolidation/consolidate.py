"""`engram consolidate`: show a plan that tidies the store as a tree; carry it out with --apply."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import BOLD, CYAN, DIM, YELLOW, shorten
from engram.cli.parsing import argument, repeatable, switch
from engram.domain.consolidation.plan import EFFECTS, KINDS, MERGE, Plan, Step
from engram.domain.entry.confidence import two_decimals
from engram.domain.text.counted_nouns import counted, entries
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


DESCRIPTION = (
    "Without --apply, show what would be done and how that would change the answers to past queries. Steps that\n"
    "would take a helpful entry out of an answer are left out. With --apply, do it, as one commit that\n"
    "`engram undo` reverts byte for byte. Promotion to another scope needs --confirm."
)
EXAMPLES = (
    "engram consolidate",
    "engram consolidate --only merge --only archive",
    "engram consolidate --skip archive --skip 3f2a9c --apply",
    "engram consolidate --only promote --to team-ml --confirm promote --apply",
)
_LISTED = 10
ARGUMENTS = (
    [
        switch("--apply", "carry out the plan; without this nothing is changed"),
        switch("--dry-run", "change nothing, which is the default"),
    ],
    repeatable("--only", "KIND", "merge, supersede, archive, promote", choices=KINDS),
    repeatable("--skip", "STEP", "skip a step: its id, the start of it, or a kind"),
    repeatable("--confirm", "STEP", "confirm a step that needs it: id, start or kind"),
    argument("--to", "SCOPE", "the scope to promote to (default: your own)", default=""),
    switch("--all", f"list all steps, not the first {_LISTED} of each kind"),
)


def run(call: Call) -> int:
    from engram.cli.progress import steps
    from engram.usecases.consolidation.consolidate import apply, plan

    given = call.arguments
    with steps(call.output) as tell:
        found = plan(
            call.store,
            kinds=given.only,
            skip=given.skip,
            confirm=given.confirm,
            to=given.to,
            progress=tell or str,
        )
    _show(call, found, everything=given.all)
    done = None
    if given.apply and found.selected:
        done = apply(call.store, found)
        call.wrote = True
        counts = ", ".join(f"{kind} {count:,}" for kind, count in done.done.items())
        call.output.line(f"Done: {counts or 'nothing was left to do'}.")
        if call.store.places.owns_branch:
            call.output.dim("engram undo takes it back")
    elif found.selected:
        call.output.dim("Nothing was changed. engram consolidate --apply")
    if call.output.json:
        from engram.usecases.consolidation.plan_json import applied_json, plan_json

        call.output.document({"plan": plan_json(call.store, found), "applied": applied_json(done)})
    return 0


def _show(call: Call, plan: Plan, *, everything: bool) -> None:
    """Print the plan as a tree."""
    output = call.output
    most = None if everything else _LISTED
    if not plan.steps and not plan.withheld:
        output.line("Nothing to consolidate.")
    else:
        head = f"Plan of {plan.made_at:%Y-%m-%d} · {counted(len(plan.selected), 'step')} · {plan.rehearsal.sentence}"
        output.line(output.styled(head, BOLD))
    for kind in KINDS:
        found = [step for step in plan.steps if step.kind == kind]
        if found:
            _show_branch(call, kind, found, len(found) if everything else _LISTED)
    for withheld in plan.withheld[:most]:
        text = f'⚠ {withheld.step.kind} left out: "{withheld.step.title}" answers "{withheld.query}" and was found helpful'
        output.line(output.styled(safe_text(shorten(text, output.width)), YELLOW))
    if len(plan.withheld) > _LISTED and not everything:
        output.dim(f"  and {len(plan.withheld) - _LISTED:,} more left out for that")
    for left in plan.left[:most]:
        text = f'⚠ {two_decimals(round(left.cosine * 1000))}  "{left.title}": {left.why}; left to you'
        output.line(output.styled(safe_text(shorten(text, output.width)), YELLOW))
    if plan.left:
        output.dim("`engram review` lists what is left to you")


def _show_branch(call: Call, kind: str, steps: Sequence[Step], most: int) -> None:
    output = call.output
    chosen = sum(step.selected for step in steps)
    mark = "x" if chosen else " "
    count = f"{chosen:,}" if chosen == len(steps) else f"{chosen:,} of {len(steps):,}"
    if kind == MERGE:
        merged = sum(len(step.lore) for step in steps)
        count += f" group{'s' * (len(steps) != 1)}, {merged:,} → {entries(len(steps))}"
    output.line(
        f"▾ [{mark}] {output.styled(f'{kind:<10}', CYAN)} {count} {output.styled(f'({EFFECTS[kind]})', DIM)}"
    )
    for step in steps[:most]:
        output.lines(_format_step(call, step))
    if len(steps) > most:
        output.dim(f"    and {len(steps) - most:,} more: engram consolidate --only {kind} --all")


def _format_step(call: Call, step: Step) -> list[str]:
    output = call.output
    more = f" + {len(step.lore) - 1}" if len(step.lore) > 1 else ""
    head = f"  [{'x' if step.selected else ' '}] {step.id}  "
    title = shorten(safe_text(step.title), max(10, output.width - len(head) - len(more) - 2))
    lines = [
        f'{head}"{title}"{more}',
        output.styled(shorten(f"        {safe_text(step.why)}", output.width), DIM),
    ]
    if step.kind == MERGE and step.result is not None:
        facts = [two_decimals(step.result.thousandths), f"✓{step.result.validation_count}"]
        facts += [f"{len(step.result.sources)} sources"] if len(step.result.sources) > 1 else []
        facts += [", ".join(step.result.tags)] if step.result.tags else []
        facts += [" / ".join(step.result.context)] if step.result.context else []
        text = f"        result: {step.result.id} · {' · '.join(facts)}"
        lines.append(output.styled(shorten(safe_text(text), output.width), DIM))
    return lines
