"""The lines of an output that identify an error, without noise, and their details.

Equivalent mutants: limits of length changed by one; ranks that keep their order; the number of lines searched for a stack
frame changed by one.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.agents.error_lines import (
    LONGEST_ERROR,
    find_error_and_details,
    find_identifying_error,
    reports_error,
)

TRACEBACK = """Traceback (most recent call last):
  File "/srv/app/.venv/lib/python3.11/site-packages/sqlalchemy/engine/base.py", line 1967, in _exec_single_context
    self.dialect.do_execute(
psycopg2.errors.UndefinedColumn: column users.tenant does not exist

The above exception was the direct cause of the following exception:

  File "/srv/app/main.py", line 3, in <module>
    raise timeout_error
sqlalchemy.exc.ProgrammingError: (psycopg2.errors.UndefinedColumn) column users.tenant does not exist
Exit code 1"""


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (
            TRACEBACK,
            (
                "sqlalchemy.exc.ProgrammingError: (psycopg2.errors.UndefinedColumn) column users.tenant does not exist"
                " psycopg2.errors.UndefinedColumn: column users.tenant does not exist"
            ),
        ),
        (
            'npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\nnpm ERR! Exit status 1\nRollupError: Could not resolve "./x"',
            'RollupError: Could not resolve "./x"',
        ),
        (
            (
                "2026-01-02T03:04:05.123Z [info] starting\n2026-01-02 03:04:06,123 ERROR: QueuePool limit reached\n"
                "make: *** [Makefile:12: run] Error 1"
            ),
            "QueuePool limit reached",
        ),
        (
            "error[E0502]: cannot borrow `x` as mutable\n --> src/main.rs:14:5\nerror: aborting due to 1 previous error",
            "error[E0502]: cannot borrow `x` as mutable",
        ),
        (
            "  0% |   |\r 50% |## |\r100%|####|\n\x1b[31mfatal: unable to access the remote\x1b[0m",
            "fatal: unable to access the remote",
        ),
        ("Exit code 137", "Exit code 137"),
        (
            "Exit code 3\nReason: killed, exit code: 143, by the node\n",
            "Reason: killed, exit code: 143, by the node",
        ),
        ("Exit code 3\nReason: killed, exit code: 3, by the node\n", "Reason: killed, , by the node"),
        ("cannot open /srv/work/shop/app/db.py:12:4 at 0x7f00deadbeef", "cannot open db.py at"),
        (
            "tests/x.py:3:\n>   run()\nE       MissingGreenlet: no\n\nsrc/a.py:2: Failure\n1 failed",
            "MissingGreenlet: no",
        ),
        (
            "> node build.js\nCannot read x\n    at Object.<anonymous> (/a/b.js:1:2)\nnpm error code 1",
            "Cannot read x",
        ),
        ("401 on GET /3ds/return", "401 on GET /3ds/return"),
        ("one\ntwo\nthree", "two three"),
        (
            "+ ./deploy prod\n401 on GET /return\nstep two ended with status 1\n++ cleanup tmp",
            "401 on GET /return",
        ),
        (
            "[2/4] fetch 12 MB\n[3/4] apply\nThe name org.freedesktop.secrets was not provided",
            "The name org.freedesktop.secrets was not provided",
        ),
        ("[3/4] RUN npm ci failed: EINTEGRITY", "[3/4] RUN npm ci failed: EINTEGRITY"),
        ("could not dock\nno such quay", "could not dock no such quay"),
        (
            "no quay found: not found\n" * 2 + "unknown a\nunknown b\nunknown c",
            "no quay found: not found unknown a unknown b",
        ),
        ("\n \n", ""),
        ("Exit code 1", ""),
    ],
)
def test_the_line_that_names_the_error_comes_first_without_noise(output: str, expected: str) -> None:
    assert find_identifying_error(output) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (
            "ERROR: cannot drop column berth of table ship\n  Detail: view v_quay depends on it\n  Hint: use CASCADE\n\nbye",
            "ERROR: cannot drop column berth of table ship Detail: view v_quay depends on it Hint: use CASCADE",
        ),
        (
            "  1) test no ship is lost (Quay.ShipTest)\n     assertion failed: 3 == 2\n       left: 3\n",
            "assertion failed: 3 == 2 left: 3 1) test no ship is lost (Quay.ShipTest)",
        ),
        (
            "while moving the crane:\nfatal: no such quay\n2026-11-27T09:41:12Z INFO  shutting down\ngoodbye",
            "fatal: no such quay while moving the crane:",
        ),
        (
            "docking\nfatal: no such quay\n    at Quay.find (/srv/quay.js:3:1)\nmake: *** [run] Error 1\nsee berth 7",
            "fatal: no such quay see berth 7",
        ),
        (
            "see quay.md\nassertion `left == right` failed\n  left: 3\n right: 2\n    at Quay.find (/srv/quay.js:3:1)",
            "right: 2 assertion `left == right` failed left: 3",
        ),
        (
            "  2) test a big ship (Quay.ShipTest)\n     quay/ship_test.exs\n     match (=) failed\n\nbye",
            "match (=) failed 2) test a big ship (Quay.ShipTest)",
        ),
        ("INFO: all quiet\n  fatal: no such quay", "fatal: no such quay"),
        (TRACEBACK, find_identifying_error(TRACEBACK)),
        ("error: b\nnote: x\n\nerror: a\nnote: y\n\nerror: b\nnote: z", "error: b error: a note: z note: y"),
        ("fatal: no such quay" + "\nberth" * 3 + "".join(f"\nberth {n}" for n in "abcdefghij"),
         "fatal: no such quay berth berth a berth b berth c berth d berth e"),
        ("Exit code 1", ""),
        ("nothing to see\nhere", "nothing to see here"),
    ],
)  # fmt: skip
def test_details_are_the_lines_up_to_a_blank_one_and_the_parents_of_an_indented_error(
    output: str, expected: str
) -> None:
    assert find_error_and_details(output)[1] == expected


@given(st.text(max_size=3000))
def test_any_output_is_summarized_within_the_limit(output: str) -> None:
    assert len(find_identifying_error(output)) <= LONGEST_ERROR
    assert max(map(len, find_error_and_details(output))) <= LONGEST_ERROR
    reports_error(output)


def test_an_output_complains_if_a_line_other_than_an_exit_code_does() -> None:
    assert reports_error("docking\nno such quay")
    assert not reports_error("docking\nExit code 1")


@pytest.mark.parametrize("length", range(250, 310, 10))
@pytest.mark.parametrize("lines", [1, 3])
def test_a_word_is_never_cut_as_half_a_secret_is_not_recognized(length: int, lines: int) -> None:
    secret = "ghp_" + "x7Kd02LmQp9RsTuV4wXyZ1aBcDeF3gHiJkLm"
    begin = f"error: {'word ' * (length // lines // 5)}"
    found = find_identifying_error("\n".join(f"{begin}{number} {secret}" for number in range(lines)))
    assert found.count("ghp_") == found.count(secret)
    assert found.startswith(begin[:60])
