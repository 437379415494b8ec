"""The pages under docs/ match the code: generated parts, examples that run, names that exist."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from codec_kit import CATEGORIES, MODIFIED

from engram.adapters.files import config_file
from engram.adapters.files.frontmatter import codec, fields
from engram.adapters.index import words
from engram.cli import registry
from engram.cli.parsing import command_parser
from engram.domain.entry.categories import ALIASES
from engram.domain.errors import LoreFileError
from engram.domain.judgements import ledger, tally
from engram.domain.recall import ranking
from engram.domain.settings import KEYS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
IDS = [page.relative_to(ROOT).as_posix() for page in PAGES]


def text_of(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def blocks(page: Path, info: str) -> list[str]:
    """Return the fenced blocks of a page with the info string `info`."""
    pattern = rf"^```{re.escape(info)}\n(.*?)^```$"
    return re.findall(pattern, page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def generator() -> ModuleType:
    found = util.spec_from_file_location("generate_docs", ROOT / "tools/generate_docs.py")
    assert found is not None
    assert found.loader is not None
    module = util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


# --- generated parts


def test_every_generated_part_is_up_to_date() -> None:
    regenerate = generator().regenerate
    stale = [
        page.name
        for page in DOCS.glob("*.md")
        if regenerate(page.read_text("utf-8")) != page.read_text("utf-8")
    ]
    assert stale == [], "python tools/generate_docs.py"


def test_every_generated_part_is_on_a_page_and_a_stale_one_is_noticed() -> None:
    made = generator()
    pages = {
        name: page
        for page in DOCS.glob("*.md")
        for name in re.findall(r"<!-- generated: ([\w-]+)", page.read_text())
    }
    assert set(pages) == set(made.PARTS)
    for name, page in pages.items():
        text = page.read_text("utf-8")
        start = text.index(f"<!-- end: {name} -->")
        assert made.regenerate(text[: start - 1] + "x" + text[start:]) == text


def test_the_map_shows_every_layer_and_room_with_its_purpose() -> None:
    drawn = generator().architecture_map()
    layers = [f"engram.{path.parent.name}" for path in (ROOT / "engram").glob("*/__init__.py")]
    rooms = [
        path.parent.name
        for path in (ROOT / "engram").glob("*s/*/__init__.py")
        if path.parts[-3] in ("usecases", "adapters")
    ]
    rooms += [path.parent.name for path in (ROOT / "engram/domain").glob("*/__init__.py")]
    assert {"engram.usecases", "engram.domain"} <= set(layers)
    assert {"recording", "git", "entry"} <= set(rooms)
    assert [name for name in layers + rooms if not re.search(rf"^. +{name} +\S", drawn, re.MULTILINE)] == []


def test_check_names_stale_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = generator()
    made.DOCS, made.ROOT = tmp_path, tmp_path
    page = tmp_path / "x.md"
    page.write_text("<!-- generated: settings -->\nold\n<!-- end: settings -->\n", "utf-8")
    assert made.main(["--check"]) == 1
    assert "x.md is out of date" in capsys.readouterr().out
    assert made.main([]) == 0
    assert "recall.limit" in page.read_text("utf-8")
    assert made.main(["--check"]) == 0


# --- completeness


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    return {option for action in parser._actions for option in action.option_strings} - {"-h", "--help"}


@pytest.mark.parametrize("command", registry.COMMANDS, ids=[command.name for command in registry.COMMANDS])
def test_command_is_documented_with_every_option_and_alias(command: registry.Command) -> None:
    sections = dict(
        re.findall(r"^### `([\w-]+)`\n(.*?)(?=^##|\Z)", text_of("cli.md"), re.MULTILINE | re.DOTALL)
    )
    shared = text_of("cli.md").partition("## Options of every command")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(--?[\w-]+)", sections[command.name] + shared))
    assert options_of(command_parser(command)) <= named
    assert all(f"`{alias}`" in sections[command.name] for alias in command.aliases)


def test_every_setting_and_category_is_documented() -> None:
    assert [key.name for key in KEYS if f"| `{key.name}` |" not in text_of("configuration.md")] == []
    page = text_of("lore-format.md")
    assert [name for name in CATEGORIES.names if f"| `{name}` |" not in page] == []
    assert [alias for alias in ALIASES if f"`{alias.lower()}`" not in page] == []


def test_the_fields_are_documented_in_the_order_in_which_they_are_written() -> None:
    table = text_of("lore-format.md").partition("## Fields")[2].partition("- **Times**")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == fields.KEYS


# Variables that describe a machine or a test, not choices of a user.
NOT_CHOICES = {
    "DISPLAY",
    "GIT_CONFIG_GLOBAL",
    "WAYLAND_DISPLAY",
    "TEXTUAL_DRIVER",
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "LOCALAPPDATA",
    "APPDATA",
    "UV",
}


def test_every_environment_variable_that_the_code_reads_is_documented() -> None:
    read = set()
    for module in [*(ROOT / "engram").rglob("*.py"), *(ROOT / "tui").rglob("*.py")]:
        read |= set(re.findall(r'environ(?:\.get)?[\[(]"(\w+)"', module.read_text("utf-8")))
        read |= set(re.findall(r'"(ENGRAM_\w+|XDG_\w+|NO_COLOR|FORCE_COLOR)"', module.read_text("utf-8")))
    assert {"ENGRAM_STORE", "XDG_DATA_HOME", "NO_COLOR"} <= read
    assert [name for name in sorted(read - NOT_CHOICES) if f"`{name}`" not in text_of("cli.md")] == []


def test_the_formula_of_evidence_is_that_of_the_code() -> None:
    page = " ".join(text_of("recall.md").split())
    lacking = -ranking.evidence(0, 0, 1)
    covered = ranking.evidence(1, 0, 1) + lacking
    assert f"`cosine + {covered:g} · coverage − {lacking:g} · missing`" in page
    assert f"at least {-ranking.evidence(0, 0) / lacking:g} is" in page
    assert ranking.evidence(0.5, None) == 0.5
    assert ranking.evidence(0, 0.5, 0.3) == pytest.approx(0.5 - lacking * 0.3)
    assert f"(at most {words.MAX_TERMS}, the rarest)" in page


# --- names exist


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", page.read_text("utf-8"))  # links in code do not count
    for target, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
        found = page.parent / target if target else page
        assert found.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", found.read_text("utf-8"), re.MULTILINE)
            assert anchor in {
                re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings
            }


def resolves(name: str) -> bool:
    """Return whether a dotted name is a module or an attribute of one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_a_name_that_does_not_exist_is_noticed() -> None:
    assert resolves("engram.domain.recall.ranking.WORDS")
    assert not resolves("engram.domain.recall.ranking.NOTHING")
    assert not resolves("engram.wisdom")


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_dotted_name_on_a_page_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    dotted = set(re.findall(r"(?<![\w./-])engram(?:_tui)?(?:\.[A-Za-z_]\w*)+(?![\w/-]|\.\w)", text)) - {
        "engram.toml"
    }
    assert [name for name in sorted(dotted) if not resolves(name)] == []
    files = set(
        re.findall(
            r"(?<![\w./-])(?:engram|tui|tests|tools|benchmarks|docs)/[\w/.-]+\.(?:py|md|json|sh)\b", text
        )
    )
    assert [name for name in sorted(files) if not (ROOT / name).is_file()] == []


def test_every_page_is_in_the_index() -> None:
    assert {page.name for page in DOCS.glob("*.md")} - {"README.md"} == set(
        re.findall(r"^- \[([\w-]+\.md)\]", text_of("README.md"), re.MULTILINE)
    )


# --- examples


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_python_examples_run_and_print_the_shown_output(page: Path, tmp_path: Path) -> None:
    code = "\n".join(blocks(page, "python"))
    if not code:
        return
    start = (sys.executable, "-c", f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'tui')]!r}\n{code}")
    done = subprocess.run(start, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"# → (.*)$", code, re.MULTILINE)
    if said:
        assert done.stdout.splitlines() == said


def test_configuration_example_is_valid(tmp_path: Path) -> None:
    (tmp_path / ".engram.toml").write_text("".join(blocks(DOCS / "configuration.md", "toml")), "utf-8")
    loaded = config_file.load(str(tmp_path))
    assert loaded.number("recall.limit") == 8
    assert loaded.get("store.categories") == {"RUNBOOK": "procedural"}


FORMAT = DOCS / "lore-format.md"


def read(example: str) -> codec.LoreFile:
    return codec.read(example.encode(), "lore/example.md", CATEGORIES, MODIFIED)


@pytest.mark.parametrize(
    "example", [*blocks(FORMAT, "markdown canonical"), *blocks(ROOT / "README.md", "markdown")]
)
def test_canonical_examples_are_as_engram_writes_them(example: str) -> None:
    file = read(example)
    assert file.adopted
    assert codec.write_new(file.lore, CATEGORIES) == example.encode()


@pytest.mark.parametrize("example", blocks(FORMAT, "markdown by-hand"))
def test_files_written_by_hand_are_read_and_only_required_fields_are_added(example: str) -> None:
    file = read(example)
    assert not file.adopted
    assert codec.rewrite(file, file.lore, CATEGORIES) == example.encode()
    written = codec.rewrite(file, file.lore._replace(pinned=True), CATEGORIES).decode()
    lines = iter(written.splitlines())
    assert all(line in lines for line in example.splitlines()), "a line was lost or moved"
    assert codec.read(written.encode(), "lore/example.md", CATEGORIES, MODIFIED).adopted


@pytest.mark.parametrize("example", blocks(FORMAT, "markdown refused"))
def test_refused_examples_are_refused(example: str) -> None:
    with pytest.raises(LoreFileError):
        read(example)


def test_the_format_page_has_examples_of_each_kind() -> None:
    counts = [len(blocks(FORMAT, f"markdown {kind}")) for kind in ("canonical", "by-hand", "refused")]
    assert counts == [3, 2, 2]


def test_the_example_of_format_1_has_the_stated_sum_and_migrates_to_the_ledger_shown() -> None:
    (example,), (moved,) = blocks(FORMAT, "markdown format-1"), blocks(FORMAT, "json legacy")
    lore = read(example).lore
    parts = [vote.up - vote.down for vote in lore.votes.values()]
    assert (lore.prior, sorted(parts), len(lore.merged_from)) == (700, [-150, 160], 1)
    assert "0.700 + 0.160 − 0.150 + 0.100 = 0.810" in text_of("lore-format.md")
    assert (lore.thousandths, lore.confidence, lore.validation_count) == (810, 0.81, 2)
    accounts = tally.accounts_of(lore)
    assert b"".join(map(ledger.render_account, accounts)) == moved.encode()
    assert f"`{ledger.legacy_path('6R2H5F8K', lore.id)}`" in text_of("lore-format.md")
    assert ledger.parse(moved.encode(), "") == ([], accounts, 0)
    today = tally.day_of(lore.updated_at)
    for file in (lore, tally.without_accounts(lore)):
        found = tally.tally(file, [], accounts, today)
        assert (found.confidence, found.validation_count) == (810, 2)


def test_the_example_of_a_ledger_has_the_stated_sum() -> None:
    lore = read(blocks(FORMAT, "markdown canonical")[1]).lore
    (lines,) = blocks(FORMAT, "json ledger")
    source = lore.sources[1]
    found = ledger.parse(lines.encode(), source)
    assert (b"".join(map(ledger.render, found.judgements)).decode(), found.malformed) == (lines, 0)
    assert f"`{ledger.path_of(source, found.judgements[0].id)}`" in text_of("lore-format.md")
    assert {line.text for line in found.judgements} == {ledger.words_digest(lore), ""}
    confidences = [
        tally.tally(
            lore, found.judgements[:count], [], tally.day_of(datetime(2026, 5, day, tzinfo=UTC))
        ).confidence
        for count, day in ((0, 7), (1, 7), (2, 18), (4, 18), (4, 19))
    ]
    assert confidences == [780, 890, 970, 970, 960]


# --- the project's own lore


def test_every_file_that_the_projects_lore_names_exists() -> None:
    gone = []
    for path in sorted((ROOT / "lore").rglob("*.md")):
        lore = codec.read(path.read_bytes(), path.relative_to(ROOT).as_posix(), CATEGORIES, MODIFIED).lore
        inside = re.findall(
            r"(?<![\w./-])(?:engram|tui|tests|tools|benchmarks|docs)/[\w/.-]+\w", lore.content
        )
        dotted = re.findall(r"(?<![\w./-])engram(?:_tui)?(?:\.[a-z_]\w*)+", lore.content)
        gone += [f"{path.name}: {name}" for name in (*lore.files, *inside) if not (ROOT / name).exists()]
        gone += [f"{path.name}: {name}" for name in dotted if not resolves(name)]
    assert gone == []
