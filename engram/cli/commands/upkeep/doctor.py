"""`engram doctor`: find what is wrong."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import switch
from engram.domain.text.counted_nouns import counted

DESCRIPTION = (
    "Check everything: files that cannot be recalled or were not merged, a damaged index, failed syncs, changes\n"
    "that are not committed. With --poison, pass malicious lore to an agent in every possible way, in a scratch\n"
    "store, and report what gets through."
)
EXAMPLES = ("engram doctor", "engram doctor --fix", "engram doctor --poison")
ARGUMENTS = (
    switch("--fix", "merge, rebuild, clean up and commit whatever can be fixed without asking"),
    switch("--poison", "instead: test whether malicious lore can pass for instructions; exit 1 if any can"),
)


def run(call: Call) -> int:
    """Look and report; exit 1 while something is wrong that was not repaired.

    Files to adopt, links that lead nowhere, two versions of something, an untold git, a sync that stopped and a hook that
    failed are no fault of the store.
    """
    if call.arguments.poison:
        return _poison(call)
    from engram.usecases.upkeep.doctor import CONFLICT, DRIVER, HOOK, LINK, SYNC, VECTORS, doctor

    found = doctor(call.store, fix=call.arguments.fix)
    wrong = [
        one
        for one in found
        if not one.fixed and one.kind not in ("adoption", CONFLICT, DRIVER, HOOK, LINK, SYNC, VECTORS)
    ]
    provider = call.store.settings.text("embedding.provider")
    call.output.document(
        {"ok": not wrong, "findings": [one._asdict() for one in found], "embedding": provider}
    )
    for one in found:
        mark = "repaired" if one.fixed else one.kind
        call.output.say(f"{mark:<9} {one.where + ': ' if one.where else ''}{one.message}")
        if one.hint and not one.fixed:
            call.output.rule(f"          {one.hint}")
    if not found:
        call.output.line("All is well.")
    if provider != "bundled":
        call.output.rule(f"embedding provider: {provider}")
    return 1 if wrong else 0


def _poison(call: Call) -> int:
    from engram.usecases.upkeep.injection_test import poison_check

    report = poison_check()
    findings = [one._asdict() for one in report.findings]
    call.output.document(
        {"ok": not findings, "lore": report.lore, "texts": report.texts, "findings": findings}
    )
    for one in report.findings:
        call.output.say(f"{one.leak:<16} {one.way}: {one.name or 'several entries'}")
        call.output.rule(f"          {one.line}")
    by_way = ", ".join(f"{way} {count:,}" for way, count in report.texts.items())
    if not findings:
        harmful = counted(report.lore, "harmful entry", "harmful entries")
        call.output.line(f"Nothing got through: {harmful}, in {sum(report.texts.values()):,} texts.")
    call.output.rule(f"texts by way: {by_way}")
    return 1 if findings else 0
