"""Whole transcripts of the command line as a person sees them, without ids, times and places."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest
from apikit import (
    COLOUR,
    QUEUE,
    SECRET,
    TIDES,
    cli,
    dedicated,
    everything_on_disk,
    git,
    lore_files,
    make_plain_store,
    masked,
    ok,
)
from sync_kit import make_clones

from engram.cli.output import Output, shorten
from engram.domain.text.counted_nouns import counted, elapsed
from engram.domain.text.drawing import gauge


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_plain_store(tmp_path / "store")


def shown(root: Path, *arguments: str, **options: str) -> str:
    return masked(ok(*arguments, cwd=root, **options).out, root)


def text(block: str) -> str:
    return dedent(block).strip("\n")


def test_the_first_commands_of_a_new_user(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    assert masked(ok("init", "notes", cwd=tmp_path).out, root) == text("""
        Made a store at ROOT
        Dedicated: lore has this repository to itself, and every change is committed for you.
        To keep it in a code repository instead: engram move --to branch PATH (or --to in-tree PATH).
        Next: engram record "what you learned" --category fact
    """)
    assert masked(ok("init", "notes", cwd=tmp_path).out, root).startswith("There is a store at ROOT\n")
    assert shown(root, "list") == 'No lore here yet.\nNext: engram record "what you learned" --category fact'
    assert shown(root, "query", "anything") == "Nothing relevant is known here."
    assert shown(root, "record", TIDES, "-c", "fact") == text(f"""
        Recorded ID1  {TIDES}
        FACT · confidence 0.70 · lore/DAY/tide-tables-are-printed-in-local-time-without-daylight--ID1.md
    """)
    assert shown(root, "query", "tide", "tables") == text(f"""
        L1  ▆▆▆▆▆▆▁▁ 0.70  {TIDES}
            FACT · Engram Test · lore/DAY/tide-tables-are-printed-in-local-time-without-daylight--ID1.md

        strong · 1 entry · hybrid · MS
    """)
    assert shown(root, "feedback", "--helpful", "L1") == "L1 helpful: confidence 0.70 → 0.78, helpful 1×"
    assert shown(root, "log", "L1") == text(f"""
        LINE  TIME  Engram Test      feedback: helpful (ID1)
        COMMIT  TIME  Engram Test      record: {TIDES}
    """)
    assert shown(root, "status") == text("""
        ROOT  (dedicated)
        1 entry: 1 FACT
        index      ready, hybrid
        git        main COMMIT
        sync       no remote yet: engram remote add origin URL
        judgements 1 in the ledger
        embedding  bundled, 256 dimensions
        session    s1, 1 entry shown
    """)
    assert shown(root, "doctor") == "All is well."


def test_show_prints_an_entry_in_full(root: Path) -> None:
    content = "# Consumers\n\nMake them idempotent.\n\n- brokers deliver twice"
    ok(
        *("record", content, "-c", "pattern", "--context", "an outage", "-t", "queue", "-t", "ops"),
        *("-f", "src/a.py", "--entity", "RabbitMQ", "--agent", "ada", "--pin"),
        cwd=root,
    )
    ok("query", "consumers idempotent", cwd=root)
    ok("feedback", "--helpful", "L1", cwd=root)
    assert shown(root, "show", "L1") == text("""
        Consumers
        PATTERN_OUTCOME · unconfirmed · active · ▆▆▆▆▆▆▁▁ 0.78 ✓1
        id       ID1 (L1)
        tags     queue, ops
        files    src/a.py
        entities RabbitMQ
        context  an outage
        from     ada for Engram Test on TIME, changed TIME
        helpful  TIME
        worth    shown 1 time, about 15 tokens in all, importance 1.00
        file     lore/DAY/consumers--ID1.md

        Make them idempotent.

        - brokers deliver twice
    """)
    raw = ok("show", "L1", "--raw", cwd=root).out
    (file,) = (root / "lore").rglob("*.md")
    assert raw == file.read_text("utf-8")
    assert shown(root, "query", "consumers idempotent").splitlines()[1:5] == [
        "    Make them idempotent.",
        "",
        "    - brokers deliver twice",
        "    PATTERN_OUTCOME · ada for Engram Test · lore/DAY/consumers--ID1.md",
    ]


def test_lists_fit_several_widths(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ok("record", COLOUR, "-c", "decision", cwd=root)
    ok("record", "Short", "-c", "fact", "--status", "pending", "--confidence", "0.25", cwd=root)
    assert shown(root, "list") == text("""
        ▆▆▁▁▁▁▁▁ 0.25  FACT                   (pending) Short                                 now     ID1
        ▆▆▆▆▆▆▁▁ 0.70  ARCHITECTURAL_DECISION The palette of the settings page was chosen…    now     ID2
        2 entries
    """)
    assert shown(root, "list", "--limit", "1").endswith("\n1 of 2 entries; --limit N or --all shows more")
    assert shown(root, "list", "--tag", "none") == "No entry matches."
    for width in (40, 60, 80, 100, 110, 200):
        monkeypatch.setattr(Output, "width", width)
        lines = ok("list", cwd=root).out.splitlines()[:2]
        assert all(len(line) <= width for line in lines), width
        assert "Sh" in lines[0] or "(p" in lines[0]
        assert ("Engram Test" in lines[0]) == (width >= 132), width
        shortest = lines[1].split()[-1]
        assert ok("show", shortest, "--json", cwd=root).json["lore"]["content"] == COLOUR


def test_feedback_is_described_in_words(root: Path) -> None:
    for content in (QUEUE, COLOUR, TIDES):
        ok("record", content, "-c", "fact", cwd=root)
        ok("query", content, "-k", "1", cwd=root)
    judged = shown(root, "feedback", "--helpful", "L1", "--incorrect", "L2", "--not-relevant", "L3")
    assert judged == text("""
        L1 helpful: confidence 0.70 → 0.78, helpful 1×
        L2 incorrect: confidence 0.70 → 0.55, helpful 0×
        L3 not relevant: confidence 0.70 → 0.70, helpful 0×
    """)
    assert shown(root, "feedback", "--helpful", "L1").endswith(
        "(already judged so in this session; --again counts it again)"
    )
    assert "0.78 → 0.86" in shown(root, "feedback", "--helpful", "L1", "--again")
    assert shown(root, "session") == text(f"""
        L1   ID1  {QUEUE}
        L2   ID2  {COLOUR}
        L3   ID3  {TIDES}
        session s1 · 3 entries shown
    """)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ["record", "x" * 4001, "-c", "fact"],
            2,
            "engram: The content has 4,001 characters; at most 4,000 fit.\n",
        ),
        (["record", "", "-c", "fact"], 2, "engram: The content is empty.\n"),
        (["record", "x", "-c", "fcat"], 2, "engram: 'fcat' is not a category. Did you mean FACT?\n"),
        (["show", "L3"], 3, "engram: There is no L3 in this session.\n"),
        (["show", "never seen words"], 3, "engram: No entry of this session matches 'never seen words'.\n"),
        (["list", "--sort", "x"], 2, "engram: Lore cannot be sorted by 'x'.\n"),
        (["import", "nothing"], 3, "engram: There is nothing at nothing.\n"),
        (["query", "x", "--strategy", "x"], 2, "engram: 'x' is not a strategy.\n"),
        (
            ["config", "recall.limt"],
            2,
            "engram: There is no setting 'recall.limt'.\n  Did you mean recall.limit?\n",
        ),
        (["--store", "nowhere", "list"], 3, "engram: There is no store at nowhere or above it.\n"),
    ],
)
def test_errors_are_a_sentence_and_a_hint(root: Path, arguments: list[str], code: int, said: str) -> None:
    cwd = root.parent if "--store" in arguments else root
    done = cli(*arguments, cwd=cwd)
    assert (done.code, done.out) == (code, "")
    assert done.err.replace(f"{cwd}/", "").startswith(said)
    assert done.err.count("\n") == 2, "a sentence and a hint"


def test_a_secret_is_refused_with_what_to_do(root: Path) -> None:
    done = cli("record", f"token {SECRET}", "-c", "fact", cwd=root)
    assert (done.code, done.out) == (2, "")
    assert "--redact" in done.err
    assert SECRET not in done.err
    masked_lore = ok("record", f"token {SECRET}", "-c", "fact", "--redact", cwd=root)
    assert masked_lore.out.endswith("1 secret was masked.\n")


def test_a_secret_reaches_neither_files_nor_journal_nor_git_by_any_command(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text(f"token {SECRET}", "utf-8")
    (tmp_path / "rows.jsonl").write_text(f'{{"content": "token {SECRET}"}}', "utf-8")
    lore_id = ok("record", TIDES, "-c", "fact", "--json", cwd=root).json["lore"]["id"]
    for line in (
        ["record", f"token {SECRET}", "-c", "fact"],
        ["record", TIDES, "-c", "fact", "--context", SECRET],
        ["record", TIDES, "-c", "fact", "--agent", SECRET],
        ["edit", lore_id, "--content", SECRET],
        ["edit", lore_id, "--file", SECRET],
    ):
        done = cli(*line, cwd=root)
        assert (done.code, SECRET in done.err + done.out) == (2, False), line
    for line in (["import", "../notes"], ["import", "../rows.jsonl"]):
        done = cli(*line, cwd=root)
        assert (done.code, SECRET in done.err + done.out) == (1, False), line
    ok("record", f"deploy {SECRET} now", "-c", "fact", "--redact", cwd=root)
    ok("import", "../notes", "--redact", cwd=root)
    assert SECRET.encode() not in everything_on_disk(root)
    leak = root / "lore/leak.md"
    leak.write_text(f"typed by hand: {SECRET}", "utf-8")
    ok("query", "typed by hand", cwd=root)
    cli("doctor", "--fix", cwd=root)
    leak.unlink()
    assert SECRET.encode() not in everything_on_disk(root), "a hand edit is not committed or indexed either"


def test_dropped_broken_and_copied_files(root: Path) -> None:
    done = ok("record", TIDES, "-c", "fact", "--json", cwd=root).json
    (root / "lore/dropped.md").write_text("A dropped note", "utf-8")
    (root / "lore/broken.md").write_text("---\nid: 1\n---\nx", "utf-8")
    (root / "lore/twin.md").write_bytes((root / done["lore"]["path"]).read_bytes())
    (root / "lore/leak.md").write_text(f"token {SECRET}", "utf-8")
    found = cli("doctor", cwd=root)
    assert found.code == 1
    kinds = [line.split()[0] for line in found.out.splitlines() if not line.startswith(" ")]
    assert sorted(kinds) == ["adoption", "file", "file", "file"]
    for said in (
        "lore/broken.md:2",
        "lore/dropped.md: this file has no fields yet",
        "already has the id",
        "lore/leak.md",
    ):
        assert said in found.out
    assert SECRET not in found.out
    findings = cli("doctor", "--json", cwd=root).json
    assert not findings["ok"]
    assert set(findings["findings"][0]) >= {"kind", "where", "message", "hint", "fixed"}
    assert "3 files cannot be recalled: engram doctor" in shown(root, "status")
    assert "1 file has no fields yet: engram adopt" in shown(root, "status")
    assert shown(root, "adopt", str(root / "lore/dropped.md")) == "Adopted lore/dropped.md  A dropped note"
    assert shown(root, "adopt") == "Every file has its fields."
    for name in ("broken", "twin", "leak"):
        (root / f"lore/{name}.md").unlink()
    assert shown(root, "doctor") == "All is well."


def test_files_to_adopt_are_named_as_a_shell_does(root: Path) -> None:
    (root / "lore").mkdir()
    for name in ("a", "b", "c"):
        (root / f"lore/{name}.md").write_text(f"Note {name}", "utf-8")
    assert "Adopted lore/a.md" in ok("adopt", "a.md", cwd=root / "lore").out
    assert "Adopted lore/b.md" in ok("adopt", "./lore/b.md", cwd=root).out
    assert "Adopted lore/c.md" in ok("adopt", "lore/c.md", cwd=root / "lore").out
    assert cli("adopt", "../../etc/passwd", cwd=root).code == 3


def test_a_damaged_index_is_found_and_repaired(tmp_path: Path) -> None:
    dedicated(tmp_path)
    ok("record", TIDES, "-c", "fact", cwd=tmp_path)
    ok("query", "tide", cwd=tmp_path)
    (vectors,) = tmp_path.glob(".git/engram/index/*/vectors*")
    raw = bytearray(vectors.read_bytes())
    raw[-3] ^= 255
    vectors.write_bytes(raw)
    assert "damaged" in cli("doctor", cwd=tmp_path).out
    assert ok("doctor", "--fix", cwd=tmp_path).out.startswith("repaired")
    assert ok("doctor", cwd=tmp_path).out == "All is well.\n"
    assert ok("query", "tide", "--json", cwd=tmp_path).json["strategy"] == "hybrid"


def test_importing_and_exporting(root: Path) -> None:
    notes = root.parent / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("One note", "utf-8")
    (notes / "b.md").write_text(f"token {SECRET}", "utf-8")
    assert (
        shown(root, "import", str(notes), "--dry-run").splitlines()[-1] == "Would import 1 entry, 1 problem"
    )
    done = shown(root, "import", str(notes)).splitlines()
    assert done[0].startswith("  b.md: ")
    assert "--redact" in done[1]
    assert done[2] == "Imported 1 entry, 1 problem"
    assert shown(root, "import", str(notes), "--redact") == (
        "Imported 1 entry, 1 here already, 1 secret masked"
    )
    out = ok("export", "-o", "../out.json", cwd=root)
    assert (out.out, out.err) == ("", f"Exported 2 entries to {root.parent / 'out.json'}\n")
    assert shown(root, "reindex") == "Up to date: 0 new, 0 changed, 0 gone, 0 problems"
    assert shown(root, "reindex", "--rebuild") == "Rebuilt (asked for): 2 new, 0 changed, 0 gone, 0 problems"


def test_what_a_sync_leaves_behind_has_what_to_do_on_a_line_of_its_own(tmp_path: Path) -> None:
    clone = make_clones(tmp_path)[0].root("a")
    (clone / "lore/what?.md").write_text("A name that Windows has no file for.\n", "utf-8")
    said = cli("sync", cwd=clone).err.splitlines()
    assert said[0].startswith("engram: lore/what?.md stayed behind:")
    assert said[1].startswith("  Mend or rename it")


def test_without_a_store_each_answer_says_that_the_own_one_is_used(tmp_path: Path) -> None:
    away, here = (
        "This is your own store, since there is none here; `engram init` makes one.",
        tmp_path / "project",
    )
    here.mkdir()
    git(here, "init", "-q")
    for command in (("query", "tides"), ("list",), ("status",), ("record", TIDES, "-c", "fact")):
        assert away in ok(*command, cwd=here).out.splitlines(), command
    assert away not in ok("list", "--json", cwd=here).out
    assert away not in ok("status", "--scope", "user", cwd=here).out
    ok("init", cwd=here)
    assert away not in ok("status", cwd=here).out


def test_editing_and_forgetting(root: Path) -> None:
    lore_id = ok("record", TIDES, "-c", "fact", "--json", cwd=root).json["lore"]["id"]
    assert (
        shown(root, "edit", lore_id, "--content", "New text", "--status", "archived")
        == "Changed ID1  New text"
    )
    assert ok("edit", lore_id, "--content", "-", cwd=root, stdin=b"From a pipe").out.endswith("From a pipe\n")
    lore = ok("edit", lore_id, "--pin", "--confidence", "0.9", "--file", "x.py", "--json", cwd=root).json[
        "lore"
    ]
    assert (lore["pinned"], lore["confidence"], lore["files"], lore["status"]) == (
        True,
        0.9,
        ["x.py"],
        "archived",
    )
    assert not ok("edit", lore_id, "--unpin", "--json", cwd=root).json["lore"]["pinned"]
    nothing = cli("edit", lore_id, cwd=root)
    assert (nothing.code, "No change was given" in nothing.err) == (2, True)
    assert shown(root, "forget", lore_id) == "Forgot ID1  From a pipe"
    assert cli("forget", lore_id, cwd=root).code == 3


def test_numbers_gauges_ages_and_cut_texts_are_formatted() -> None:
    assert [counted(number, "file") for number in (0, 1, 2, 1000)] == [
        "0 files",
        "1 file",
        "2 files",
        "1,000 files",
    ]
    assert [gauge(value, 8) for value in (0, 0.5, 1)] == ["▁" * 8, "▆" * 4 + "▁" * 4, "▆" * 8]
    units = [
        elapsed(seconds) for seconds in (-5, 59, 60, 7200, 86_400 * 3, 86_400 * 20, 86_400 * 90, 86_400 * 800)
    ]
    assert units == ["now", "now", "1 min", "2 h", "3 d", "2 w", "2 mo", "2 y"]
    assert [shorten("abcdef", width) for width in (6, 5, 1)] == ["abcdef", "abcd…", "…"]


def test_a_conflict_of_one_line_is_settled_by_one_command(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub.git")
    ann, bob = dedicated(tmp_path / "ann"), tmp_path / "bob"
    ok("remote", "add", "origin", str(tmp_path / "hub.git"), cwd=ann)
    ok("record", "The staging port is 8080.\n\nIt is in the compose file.", "-c", "fact", cwd=ann)
    ok("sync", cwd=ann)
    ok("clone", str(tmp_path / "hub.git"), str(bob), cwd=tmp_path)
    (entry,) = ok("list", "--json", cwd=ann).json["lore"]
    # Ann edits twice, so that hers is the later edit even within one second.
    for root, person, port in ((bob, "Bob", 7070), (ann, "Ann", 9000), (ann, "Ann", 9090)):
        git(root, "config", "user.name", person)
        changed = f"The staging port is {port}.\n\nIt is in the compose file."
        ok("edit", entry["id"], "--content", changed, cwd=root)
    ok("sync", cwd=ann)
    assert shown(bob, "sync") == text("""
        origin/main: 1 in, 1 out, 1 merged, 1 conflict to look at
        Both versions of each are in its file; `engram review` shows them.
    """)
    head, said, settle = shown(bob, "show", entry["id"]).splitlines()[:3]
    assert head == "The staging port is 9090."
    assert re.sub(r"\([^)]*\)", "(WHEN)", said) == "disputed: Ann says 9090 (WHEN), Bob says 7070 (WHEN)"
    assert settle == "settle it: engram review (accept|take|both) COMMIT"
    assert re.sub(r"\d{4}-\d\d-\d\d", "DATE", shown(bob, "review")) == text("""
        COMMIT conflict      The staging port is 9090.
            Two clones changed its content concurrently.
            content: {+Ann (DATE)+} stands, [-Bob (DATE)-] lost
            The staging port is [-7070-]{+9090+}.
            ID1 · proposed: accept · 14 tokens
        1 conflict. engram review DECISION ITEM
    """)
    (item,) = ok("review", "--json", cwd=bob).json["items"]
    assert shown(bob, "review", "mine", item["id"]) == text("""
        COMMIT mine “The staging port is 9090.”: your version stands.
        The text is now:
        The staging port is 7070.

        It is in the compose file.
    """)
    assert (
        git(bob, "log", "-1", "--format=%an: %s") == "Bob: review: mine conflict: The staging port is 9090."
    )
    assert shown(bob, "sync") == "origin/main: 0 in, 1 out"
    assert shown(ann, "sync") == "origin/main: 1 in, 0 out"
    assert shown(ann, "review") == "Nothing waits for you."
    files = [lore_files(root)[0].read_bytes() for root in (ann, bob)]
    assert (files[0], b"is 7070." in files[0]) == (files[1], True)
    assert git(ann, "rev-parse", "HEAD") == git(bob, "rev-parse", "HEAD")


def test_a_dispute_is_settled_with_a_new_text(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    entry = ok("record", "The port is 8080.", "-c", "fact", "--json", cwd=root).json["lore"]
    for branch, port in (("other", "7070"), ("main", "9090")):
        git(root, "checkout", "-q", *(["-b"] if branch == "other" else []), branch)
        ok("edit", entry["id"], "--content", f"The port is {port}.", cwd=root)
    ok("init", cwd=root)
    git(root, "merge", "-q", "--no-edit", "other")
    (item,) = ok("review", "--kind", "conflict", "--json", cwd=root).json["items"]
    done = shown(root, "review", "accept", item["id"], "--content", "The port is 6060.")
    assert done.splitlines()[1:] == ["The text is now:", "The port is 6060."]
    after = ok("show", entry["id"], "--json", cwd=root).json["lore"]
    assert (after["content"], after["conflicts"], after["disputed"]) == ("The port is 6060.", [], "")
    assert len(after["settled"][0]["chose"]) == 12
