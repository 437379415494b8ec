"""Guessing a category: clear signs give one, anything less is a fact."""

from __future__ import annotations

import pytest

from engram.domain.entry.categories import Categories
from engram.domain.exchange.classify import guess_category

SHELL = "Run this:\n\n```bash\nbrew install thing\n```\n\nThen:\n\n```\n$ thing --serve\n```\n"
STEPS = "1. Stop the worker\n2. Run the migration\n3. Start the worker\n"
TEST = "```python\ndef test_it(client):\n    assert client.get('/').status_code == 200\n```\n"


@pytest.mark.parametrize(
    ("category", "title", "content"),
    [
        (
            "ARCHITECTURAL_DECISION",
            "Use Postgres",
            "## Status\nok\n\n## Context\nx\n\n## Decision\ny\n\n## Consequences\nz",
        ),
        ("ARCHITECTURAL_DECISION", "ADR-012: Queue in the database", "Short."),
        ("ARCHITECTURAL_DECISION", "Events", "We decided to keep events in Postgres rather than Kafka."),
        (
            "FAILURE",
            "Deploy failed with exit code 137",
            "Traceback (most recent call last):\n  x\nMemoryError: out",
        ),
        (
            "FAILURE",
            "Checkout outage",
            "## Timeline\n09:00\n\n## Root cause\nA lock.\n\n## Resolution\nRestart.",
        ),
        ("WORKFLOW", "How to rotate the signing key", STEPS),
        ("WORKFLOW", "Upgrading the cluster", SHELL),
        ("WORKFLOW", "Runbook: queue is stuck", "Restart it."),
        ("TESTING_STRATEGY", "Mocking the clock in pytest", TEST),
        ("PERFORMANCE_INSIGHT", "Faster imports by lazy loading", "It went from 410 ms to 90 ms."),
        ("DEPENDENCY_BEHAVIOR", "datetime.utcnow() is deprecated", "Since Python 3.12 it warns."),
        ("EDGE_CASE_DISCOVERY", "os.rename fails if the target is open on Windows", "Retry."),
        ("EDGE_CASE_DISCOVERY", "Gotcha: empty strings are truthy here", "Really."),
        ("PREFERENCE", "Always use uv, never pip", "The lock file is uv's."),
        ("PREFERENCE", "Prefer small pull requests", "Below 300 lines."),
        ("PLAN", "Next steps for the importer", "- [x] read\n- [ ] split\n- [ ] link\n- [ ] report"),
        ("SESSION_SUMMARY", "Session summary: importer", "Split works."),
        ("SKILL", "Skill: find slow queries", "select 1"),
    ],
)
def test_clear_signs_give_a_category(category: str, title: str, content: str) -> None:
    assert guess_category(title, f"# {title}\n\n{content}") == category
    assert guess_category(title.upper(), f"# {title}\n\n{content}") == category


@pytest.mark.parametrize(
    ("title", "content"),
    [
        ("", ""),
        ("Lag window functions", "They look at the row before."),
        ("How to think about queues", "Slowly."),
        ("Upgrading is hard", "Nothing more to say."),
        ("Testing times", "A diary."),
        ("Deploying when the tests pass", "```yaml\nrun: pytest\n```"),
        ("Handling errors in pagination", "Error: the cursor expired"),
        ("Avoiding 'length' errors with -l", "error: length mismatch"),
        ("The fast lane", "faster"),
        ("A slow day", "Nothing happened."),
        ("Two-column grids", "I decided to try a grid rather than a table."),
        ("Note: read this", "text"),
        ("http://example.org: a page", "text"),
        ("Removed in error", "A file was deleted by mistake."),
    ],
)
def test_anything_less_is_a_fact(title: str, content: str) -> None:
    assert guess_category(title, f"# {title}\n\n{content}") == "FACT"


@pytest.mark.parametrize(
    ("folder", "category"),
    [
        ("adr", "ARCHITECTURAL_DECISION"),
        ("Runbooks", "WORKFLOW"),
        ("post_mortems", "FAILURE"),
        ("conventions", "PREFERENCE"),
        ("performance", "FACT"),
        ("python", "FACT"),
    ],
)
def test_a_folder_that_names_a_category_decides(folder: str, category: str) -> None:
    assert guess_category("Queues", "# Queues\n\ntext", ["docs", folder]) == category


def test_signs_inside_code_do_not_count_as_prose() -> None:
    code = (
        "```md\n## Status\n## Context\n## Decision\n1. one\n2. two\n3. three\n- [ ] a\n- [ ] b\n- [ ] c\n```"
    )
    assert guess_category("A template", f"# A template\n\n{code}") == "FACT"


def test_every_guessed_category_is_a_built_in_one() -> None:
    from engram.domain.exchange import classify

    assert set(classify._LABELS) <= set(Categories().names)
