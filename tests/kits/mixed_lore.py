"""Sixty entries of many categories, none about message queues: the haystack for recall tests."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from apikit import QUEUE, open_test_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engram.app import Engram

MIXED = (
    ("ARCHITECTURAL_DECISION", "We keep money as integers of the smallest unit; floats lost cents in March."),
    ("ARCHITECTURAL_DECISION", "The public site is rendered on the server so that it works without scripts."),
    ("ARCHITECTURAL_DECISION", "Search runs inside the process; a search server was too much to operate."),
    ("ARCHITECTURAL_DECISION", "One repository for all services: changes across them land together."),
    ("ARCHITECTURAL_DECISION", "Feature switches live in a table and are read once a minute."),
    ("PATTERN_OUTCOME", "A thin controller and fat services made the invoices module easy to change."),
    ("PATTERN_OUTCOME", "Builder objects in the tests were worth it: fixtures shrank to a third."),
    ("PATTERN_OUTCOME", "Event sourcing for the cart was too heavy; a history table was enough."),
    ("PATTERN_OUTCOME", "Optimistic locking with a version column ended the lost updates of orders."),
    ("INTERFACE_LESSON", "The weather service counts pages from one and silently repeats the last."),
    ("INTERFACE_LESSON", "The payment gateway answers 200 with an error body; check the field `ok`."),
    ("INTERFACE_LESSON", "Return problem details with a stable code; clients parse the text otherwise."),
    ("INTERFACE_LESSON", "Dates in the export of the bank are in local time without an offset."),
    ("EDGE_CASE_DISCOVERY", "Names with a combining accent sort twice unless they are normalised first."),
    ("EDGE_CASE_DISCOVERY", "An empty zip archive is 22 bytes long and crashes the thumbnailer."),
    ("EDGE_CASE_DISCOVERY", "February 29 birthdays vanish from the reminder in common years."),
    ("EDGE_CASE_DISCOVERY", "Windows refuses file names that end in a dot or a blank."),
    ("EDGE_CASE_DISCOVERY", "A leap second made the rate limiter divide by zero."),
    ("IMPLEMENTATION_FRICTION", "The code generator must run before the linter or it reports ghosts."),
    ("IMPLEMENTATION_FRICTION", "Hot reload loses state of the map widget; restart after changing it."),
    ("IMPLEMENTATION_FRICTION", "Protobuf stubs differ between compiler versions; pin the compiler."),
    ("IMPLEMENTATION_FRICTION", "The iOS build needs a clean derived data folder after each merge."),
    ("TESTING_STRATEGY", "Snapshot tests of PDF files compare the text layer, never the bytes."),
    ("TESTING_STRATEGY", "The flaky login test waits for the spinner to go, not for two seconds."),
    ("TESTING_STRATEGY", "Property tests found the rounding bug that 200 examples missed."),
    ("TESTING_STRATEGY", "Each test gets its own schema; truncating tables was slower."),
    ("TESTING_STRATEGY", "Visual tests run on one pinned browser image, or fonts move by a pixel."),
    ("DEPENDENCY_BEHAVIOR", "The YAML loader turns `no` into false; quote country codes."),
    ("DEPENDENCY_BEHAVIOR", "The HTTP client retries POST on connection reset unless told otherwise."),
    ("DEPENDENCY_BEHAVIOR", "The ORM loads relations lazily and fails after the session is closed."),
    ("DEPENDENCY_BEHAVIOR", "Pillow keeps the file open until the pixels are read."),
    ("DEPENDENCY_BEHAVIOR", "The date picker ignores the locale when it is hidden at first."),
    ("PERFORMANCE_INSIGHT", "An index on (tenant, created) took the report from 9 s to 40 ms."),
    ("PERFORMANCE_INSIGHT", "Compressing responses below 1 kB costs more than it saves."),
    ("PERFORMANCE_INSIGHT", "Caching the permission tree per request halved the page time."),
    ("PERFORMANCE_INSIGHT", "String concatenation in the loop was quadratic; join the parts."),
    ("PREFERENCE", "The team writes British spelling in documents and American in code."),
    ("PREFERENCE", "Small pull requests, at most 300 lines, please."),
    ("PREFERENCE", "Tabs are shown as two columns in this project."),
    ("PREFERENCE", "Diagrams are drawn as text so that they can be reviewed."),
    ("FACT", "The staging cluster is rebuilt on Sundays at four in the morning."),
    ("FACT", "Customer numbers below 1000 are test accounts."),
    ("FACT", "The office router drops idle connections after five minutes."),
    ("FACT", "Ada owns the billing module, Grace the compiler."),
    ("FACT", "Tide tables are printed in local time."),
    ("FACT", "The licence server listens on port 27000."),
    ("WORKFLOW", "To release: bump the version, write the changes, tag, let the pipeline publish."),
    ("WORKFLOW", "To restore a backup: stop the writers, copy, check the sums, start again."),
    ("WORKFLOW", "To rotate certificates: issue, deploy both, switch, remove the old one."),
    ("SKILL", "Bisect a slow start by importing the modules one by one with timing on."),
    ("SKILL", "Read a core file with the debugger's `thread apply all bt`."),
    ("OBSERVATION", "The nightly job took twice as long after the disk was encrypted."),
    ("OBSERVATION", "Users paste phone numbers with invisible marks in them."),
    ("FAILURE", "The migration locked the users table for eleven minutes."),
    ("FAILURE", "The certificate ran out on New Year's Eve and nobody was paged."),
    ("TASK_RESULT", "Moving the images to the bucket freed 40 GB."),
    ("OUTCOME", "Dropping support for the old browser cut the bundle by a third."),
    ("SESSION_SUMMARY", "Fixed the rounding of taxes, left the currency formats for tomorrow."),
    ("PLAN", "Next: replace the home-grown scheduler with the system's timers."),
    ("CONTEXT_NOTE", "Working on the settings page; dark mode is half done."),
)


@contextmanager
def mixed_store(root: Path) -> Iterator[Engram]:
    """Make a store of these and an entry about queue consumers, reopened after writing."""
    with open_test_store(root) as store:
        for number, (category, text) in enumerate(MIXED):
            store.record(text, category=category, tags=[f"group-{number % 3}"])
        store.record(QUEUE, category="PATTERN_OUTCOME", tags=["queue"])
    with open_test_store(root, session="s2") as store:
        yield store


def found(store: Engram, text: str, **options: object) -> list[str]:
    """Return the texts that a query finds, best first."""
    return [hit.lore.content for hit in store.query(text, **options).lore]  # type: ignore[arg-type]
