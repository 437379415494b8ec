"""`engram doctor`: find and repair problems of the store."""

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
    """Check and report. Exit 1 if there are problems that were not repaired.

    Files to adopt, broken links, conflicts, an unconfigured merge driver, missing vectors, and failed syncs and hooks
    do not count: they are no faults of the store.
    """
    if call.arguments.poison:
        return _test_injection(call)
    from engram.usecases.upkeep.doctor import CONFLICT, DRIVER, HOOK, LINK, SYNC, VECTORS, doctor

    found = doctor(call.store, fix=call.arguments.fix)
    wrong = [
        finding
        for finding in found
        if not finding.fixed and finding.kind not in ("adoption", CONFLICT, DRIVER, HOOK, LINK, SYNC, VECTORS)
    ]
    provider = call.store.settings.text("embedding.provider")
    call.output.document(
        {"ok": not wrong, "findings": [finding._asdict() for finding in found], "embedding": provider}
    )
    for finding in found:
        mark = "repaired" if finding.fixed else finding.kind
        call.output.say(f"{mark:<9} {finding.where + ': ' if finding.where else ''}{finding.message}")
        if finding.hint and not finding.fixed:
            call.output.dim(f"          {finding.hint}")
    if not found:
        call.output.line("All is well.")
    if provider != "bundled":
        call.output.dim(f"embedding provider: {provider}")
    return 1 if wrong else 0


def _test_injection(call: Call) -> int:
    from engram.usecases.upkeep.injection_test import poison_check

    report = poison_check()
    findings = [finding._asdict() for finding in report.findings]
    call.output.document(
        {"ok": not findings, "lore": report.lore, "texts": report.texts, "findings": findings}
    )
    for finding in report.findings:
        call.output.say(f"{finding.leak:<16} {finding.way}: {finding.name or 'several entries'}")
        call.output.dim(f"          {finding.line}")
    by_way = ", ".join(f"{way} {count:,}" for way, count in report.texts.items())
    if not findings:
        harmful = counted(report.lore, "harmful entry", "harmful entries")
        call.output.line(f"Nothing got through: {harmful}, in {sum(report.texts.values()):,} texts.")
    call.output.dim(f"texts by way: {by_way}")
    return 1 if findings else 0
