"""Importing memories of agents and other tools: the kind is detected, the origin noted, nothing imported twice, no secrets."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SECRET, cli, import_path, lore_of, make_plain_store, ok, open_test_store
from hypothesis import example, given
from hypothesis import strategies as st

from engram.adapters.files.foreign.interchange import read_rows
from engram.domain.exchange.memory_kinds import KINDS
from engram.usecases.agents.brief import brief
from engram.usecases.graph.entities import list_entities
from engram.usecases.graph.graph_building import graph_of
from tests.exchange.import_kit import MEMORIES, PLACES

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.exchange.import_lore import Imported


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path / "store")


def test_a_note_written_years_ago_is_recalled(store: Engram, tmp_path: Path) -> None:
    old = [{"id": "1", "memory": "Prefers oolong to green tea", "created_at": "2016-01-02T03:04:05Z"}]
    (tmp_path / "mem0.json").write_text(json.dumps(old), "utf-8")
    (tmp_path / "Beds.md").write_text(
        "---\ndate: 2016-05-06\n---\n# Beds\n\nDimpled sheet, no pond liner.\n", "utf-8"
    )
    import_path(store, tmp_path / "mem0.json", kind="mem0")
    import_path(store, tmp_path / "Beds.md")
    for question in ("oolong tea", "pond liner"):
        (found,) = store.query(question).lore
        assert found.lore.created_at.year == 2016
        assert found.lore.confidence >= 0.6


def test_files_with_only_links_are_reported_and_not_imported(store: Engram, tmp_path: Path) -> None:
    for pointer in (
        "@AGENTS.md\n",
        "See [CLAUDE.md](CLAUDE.md).\n",
        "# Rules\n\nPlease read `docs/rules.md`\n",
    ):
        (tmp_path / "AGENTS.md").write_text(pointer, "utf-8")
        done = import_path(store, tmp_path / "AGENTS.md", kind="rules")
        assert (done.imported, [one.path for one in done.left_out]) == (0, ["AGENTS.md"]), pointer
    (tmp_path / "AGENTS.md").write_text("@AGENTS.md\n\n- Money is cents.\n", "utf-8")
    assert import_path(store, tmp_path / "AGENTS.md", kind="rules").imported == 1
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/MEMORY.md").write_text("- [One](one.md): what one says\n\nTea is at four.\n", "utf-8")
    (tmp_path / "memory/one.md").write_text("---\nname: One\n---\nOne says hello.\n", "utf-8")
    done = import_path(store, tmp_path / "memory", kind="claude-memory")
    assert [(one.path, one.what) for one in done.left_out] == [
        ("MEMORY.md", "lines that lead to other notes")
    ]


def test_relations_unknown_to_engram_are_reported(store: Engram, tmp_path: Path) -> None:
    (tmp_path / "bm").mkdir()
    (tmp_path / "bm/A.md").write_text(
        "# A\n\n- part_of [[B]]\n- extends [[B]]\n- relates_to [[B]]\n", "utf-8"
    )
    (tmp_path / "bm/B.md").write_text("# B\n\nText.\n", "utf-8")
    done = import_path(store, tmp_path / "bm", kind="basic-memory")
    assert {one.kind for one in lore_of(store)["A"].relations} == {"see_also", "refines"}
    assert [one.what for one in done.left_out] == ["the relation part_of to B"]


def test_every_kind_of_memory_has_an_example_here() -> None:
    assert set(PLACES) | {"markdown", "json"} == {kind.name for kind in KINDS}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Engram, dict[str, Imported]]:
    """Make one store with all of them."""
    store = open_test_store(tmp_path_factory.mktemp("memories") / "store")
    return store, {kind: import_path(store, path) for kind, path in PLACES.items()}


def test_the_kind_is_detected_and_every_entry_has_its_origin(
    everything: tuple[Engram, dict[str, Imported]],
) -> None:
    store, done = everything
    for kind, result in done.items():
        assert {one.kind for one in result.seen} == {kind}
        entities = sum(one.category == "ENTITY" for one in result.seen)
        assert result.imported == len(result.paths) + entities
        assert result.paths
    origins = [lore.context[-1] for lore in lore_of(store).values()]
    assert "Imported from memory.jsonl:1 (mcp-memory)" in origins
    assert "Imported from design/authentication.md (basic-memory)" in origins
    assert all(origin.startswith("Imported from ") for origin in origins)


def test_importing_everything_again_changes_nothing(everything: tuple[Engram, dict[str, Imported]]) -> None:
    store, _ = everything
    before = store.list(limit=None).total
    for path in PLACES.values():
        again = import_path(store, path)
        assert (again.imported, {one.verdict for one in again.seen}) == (0, {"known"})
    assert store.list(limit=None).total == before


def test_packages_and_hidden_folders_are_reported_and_not_imported(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    for folder in ("", "node_modules/left-pad", "sub/node_modules/x", ".git/x", ".trash"):
        (notes / folder).mkdir(parents=True, exist_ok=True)
        (notes / folder / "note.md").write_text(
            f"# Note\n\nThe cache of {folder or 'all'} is warmed after a deploy.\n"
        )
    ok("init", str(tmp_path / "store"))
    found = ok("import", str(notes), "--json", cwd=tmp_path / "store").json
    assert found["imported"] == 1
    assert {one["path"]: one["what"] for one in found["left_out"]} == {
        "node_modules": "a folder of packages",
        "sub/node_modules": "a folder of packages",
        ".trash": "a hidden folder",
    }


def test_rules_become_one_entry_for_the_brief_without_engrams_own_text(
    everything: tuple[Engram, dict[str, Imported]],
) -> None:
    store, done = everything
    rules = lore_of(store)["Shop"]
    assert "## Releases" in rules.content
    assert "engram" not in rules.content.lower()
    assert (rules.category, rules.tags, done["rules"].imported) == ("PREFERENCE", ("agent-rules",), 1)
    assert "Releases" not in brief(store.store, store.path)


def test_a_rule_of_cursor_is_named_after_its_description(store: Engram) -> None:
    (seen,) = import_path(store, MEMORIES / "cursor/.cursor/rules").seen
    assert (seen.title, seen.kind, seen.where) == ("Conventions of the HTTP API", "rules", "api.mdc")


@pytest.mark.parametrize(
    ("globs", "files", "when"),
    [
        ("src/api/**/*.ts,*.yaml", (), ("file: src/api/**/*.ts", "file: *.yaml")),
        ('["docs/{en,de}/*.{md,mdx}", "Makefile"]', ("Makefile",), (
            "file: docs/en/*.md", "file: docs/de/*.md", "file: docs/en/*.mdx", "file: docs/de/*.mdx", "file: Makefile",
        )),
        ("\n  - ./src/pay.py\n  - 'migrations/'", ("src/pay.py",), ("file: ./src/pay.py", "file: migrations/")),
    ],
)  # fmt: skip
def test_the_globs_of_a_rule_are_moments_and_plain_paths_files(
    store: Engram, tmp_path: Path, globs: str, files: tuple[str, ...], when: tuple[str, ...]
) -> None:
    rule = tmp_path / "rule.mdc"
    rule.write_text(f"---\nglobs: {globs}\nalwaysApply: false\n---\nAnswer errors as problem details.\n")
    done = import_path(store, rule)
    (lore,) = lore_of(store).values()
    assert (lore.files, set(lore.when)) == (files, set(when))
    assert "\nalwaysApply: false\n" in (Path(store.path) / done.paths[0]).read_text()
    assert [one.what for one in done.left_out] == ["the property `alwaysApply`"]


@pytest.mark.parametrize(
    "globs", ["!src/**, *.ts", "*.{" + ",".join("abcdefghijklm") + "}", "{,}" * 40, "a" * 300]
)
def test_globs_that_moments_cannot_express_stay_a_property(store: Engram, tmp_path: Path, globs: str) -> None:
    rule = tmp_path / "rule.mdc"
    rule.write_text(f"---\nglobs: {globs}\n---\nAnswer errors as problem details.\n")
    done = import_path(store, rule)
    assert (done.imported, [one.what for one in done.left_out]) == (1, ["the property `globs`"])
    assert globs[1:-1] in (Path(store.path) / done.paths[0]).read_text()


def test_notes_of_claude_code_are_imported(everything: tuple[Engram, dict[str, Imported]]) -> None:
    store, _ = everything
    lore = lore_of(store)
    page = lore["Pager duty"]
    assert (page.category, page.agent) == ("PREFERENCE", "claude-code")
    assert page.context[0] == "Who is called when the queue stops"
    assert lore["Memory"].content.endswith("- The staging database is reset every Monday at 06:00.")
    assert "oncall.md" not in lore["Memory"].content
    assert "Debugging" in lore


def test_daily_notes_and_notes_of_basic_memory_are_imported(
    everything: tuple[Engram, dict[str, Imported]],
) -> None:
    store, _ = everything
    lore = lore_of(store)
    assert lore["Morning"].created_at.isoformat() == "2026-01-15T00:00:00+00:00"
    note = lore["Authentication design"]
    assert (note.category, note.created_at.year) == ("ARCHITECTURAL_DECISION", 2025)
    assert (set(note.tags), note.entities) == ({"auth", "backend", "security"}, ("API security", "Sessions"))


def test_a_graph_becomes_one_entry_for_each_entity(everything: tuple[Engram, dict[str, Imported]]) -> None:
    store, done = everything
    lore = lore_of(store)
    billing = lore["billing"]
    assert billing.content == "# billing\n\n- Runs on Go\n- Sends invoices at night\n- writes_to [[ledger]]"
    assert (billing.tags, billing.entities) == (("service",), ("billing",))
    assert "nobody reads ledger" in lore
    assert done["mcp-memory"].imported == 6  # and three entities
    known = {one.name: one for one in list_entities(store.store)}
    assert [(one.kind, one.to) for one in known["billing"].relationships] == [("writes_to", "ledger")]
    assert done["mcp-memory"].problems == ()


def test_an_export_of_gentlemans_engram_is_imported(everything: tuple[Engram, dict[str, Imported]]) -> None:
    store, done = everything
    lore = lore_of(store)["Outbox instead of two-phase commit"]
    assert lore.category == "ARCHITECTURAL_DECISION"
    assert "Acme" not in lore.content
    (problem,) = done["gentleman-engram"].problems  # the deleted one is no news
    assert "personal" in problem["message"]
    assert "--scope user" in problem["hint"]


def test_personal_memories_go_into_ones_own_store(home: Path) -> None:
    done = cli("import", str(PLACES["gentleman-engram"]), "--scope", "user", "--json", cwd=home).json
    assert (done["imported"], done["problems"]) == (2, [])


def test_an_export_of_recall_keeps_id_confidence_and_context(
    everything: tuple[Engram, dict[str, Imported]],
) -> None:
    store, _ = everything
    lore = store.get("01KEZ6S41TSV4RRFFQ69G5FAVA").lore
    assert (lore.prior, lore.validation_count) == (780, 2)
    assert lore.source_id == store.store.source_id
    assert lore.context[:2] == ("Profiling the order list", "Recorded by devcontainer-abc123")


def test_memories_of_mem0_and_experiences_are_imported(
    everything: tuple[Engram, dict[str, Imported]],
) -> None:
    store, done = everything
    lore = lore_of(store)
    deploys = lore["Deploys of the shop go out on Tuesdays only"]
    assert (deploys.category, deploys.tags, deploys.agent) == ("WORKFLOW", ("operations",), "planner")
    cached = lore["Cache semantic search: its inputs repeat within minutes."]
    assert cached.category == "PATTERN_OUTCOME"
    assert "Outcome: 2400 ms became 180 ms" in cached.content
    assert lore["Task: Upgrade the broker in place"].category == "FAILURE"
    (problem,) = done["experience"].problems
    assert problem["path"] == "experience.jsonl:3"


def test_notes_keep_names_aliases_author_properties_and_links(store: Engram, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    head = (
        "---\naliases: [Jobs]\nauthor: Bo\ncreated: 2024-02-03\nrating: 5\nshelf: '7'\ndue: 2024-05-01\n"
        "read: true\nrooms: ['1', no]\nstatus: done\nnested: {a: 1}\n---\n"
    )
    (folder / "Work queue.md").write_text(f"{head}# Queues at work\n\nThey retry.\n")
    (folder / "Other.md").write_text("# Another\n\nSee [[Work queue]] and [[Jobs]].\n")
    (folder / "board.canvas").write_text("{}")
    done = import_path(store, folder)
    queue = lore_of(store)["Queues at work"]
    assert (queue.author, queue.created_at.year) == ("Bo", 2024)
    path = next(path for path in done.paths if "queues" in path)
    text = (Path(store.path) / path).read_text()
    for line in (
        "rating: 5",
        'shelf: "7"',
        "due: 2024-05-01",
        "read: true",
        'rooms: ["1", "no"]',
        "imported_status: done",
        "aliases: [Jobs, Work queue]",
        'nested: "{\\"a\\": \\"1\\"}"',
    ):
        assert f"\n{line}\n" in text
    links = {(edge.source, edge.target) for edge in graph_of(store.store).edges}
    assert links == {(lore_of(store)["Another"].id, queue.id)}
    assert ("1 .canvas file", "stays where it is") in {(one.what, one.where) for one in done.left_out}


def test_relations_of_basic_memory_become_typed_relations(store: Engram, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in {
        "A.md": "- [fact] One\n\n## Relations\n- extends [[B note]]\n- part_of [[C]]\n- uses [[Nobody]]\n",
        "B.md": "- [fact] Two\n",
        "C.md": "- [fact] Three\n- contradicts [[A note]]\n",
    }.items():
        title = name.replace(".md", " note") if name != "C.md" else "C"
        (folder / name).write_text(f"---\ntitle: {title}\ntype: note\npermalink: x/{name[0]}\n---\n{text}")
    done = import_path(store, folder, kind="basic-memory")
    lore = lore_of(store)
    assert {(one.kind, one.id) for one in lore["A note"].relations} == {
        ("refines", lore["B note"].id), ("see_also", lore["C"].id)
    }  # fmt: skip
    assert {(one.kind, one.id) for one in lore["C"].relations} == {("contradicts", lore["A note"].id)}
    assert "the relation uses to Nobody, which is not here" in {one.what for one in done.left_out}


def test_secrets_are_refused_or_masked(store: Engram, tmp_path: Path) -> None:
    rules = tmp_path / "AGENTS.md"
    rules.write_text(f"# Access\n\nThe token of the registry is {SECRET}.\n")
    refused = import_path(store, rules)
    assert (refused.imported, len(refused.problems)) == (0, 1)
    assert SECRET not in str(refused)
    masked = import_path(store, rules, redact=True)
    assert (masked.imported, masked.redacted) == (1, 1)
    assert SECRET not in store.list().lore[0].lore.content


def test_the_command_shows_a_preview_asks_and_imports(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "shop")
    shutil.copy(MEMORIES / "CLAUDE.md", root)
    seen = cli("import", "--dry-run", "--json", cwd=root).json
    assert [(one["where"], one["kind"], one["verdict"]) for one in seen["seen"]] == [
        ("CLAUDE.md", "rules", "new")
    ]
    assert not (root / "lore").exists()
    assert "new    PREFERENCE             Shop" in cli("import", "--dry-run", cwd=root).out
    assert cli("import", cwd=root).code == 2  # nobody can be asked here
    assert cli("import", "--yes", "--json", cwd=root).json["imported"] == 1
    assert cli("import", "--from", "mem0", "--yes", cwd=root).code == 3


JSON_KEYS = st.sampled_from(
    [
        *(
            "type",
            "name",
            "observations",
            "from",
            "to",
            "relationType",
            "entityType",
            "content",
            "memory",
            "metadata",
        ),
        *(
            "task",
            "lesson",
            "outcome",
            "success",
            "scope",
            "deleted_at",
            "source_id",
            "validation_count",
            "tags",
        ),
        *("category", "user_id", "session_id", "title"),
    ]
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(JSON_KEYS, inner, max_size=6),
    max_leaves=12,
)


@example(
    rows=[{"name": [], "observations": []}, {"from": {}, "relationType": "x", "to": "y"}], kind="mcp-memory"
)
@example(rows=[{"memory": "x", "user_id": 1, "metadata": {"category": {}}, "categories": [7]}], kind="mem0")
@given(rows=st.lists(ANY_JSON, max_size=4), kind=st.sampled_from(["", *sorted(PLACES)]))
def test_any_file_gives_rows_or_problems(rows: list[object], kind: str) -> None:
    data = "\n".join(json.dumps(row) for row in rows).encode()
    for name in ("memory.jsonl", "experience.jsonl"):
        _, read, problems = read_rows(data, name, kind)
        assert len(read) <= len(rows) * 10
        assert all(row.fields["content"] for row in read)
        assert all(problem["message"] for problem in problems)
