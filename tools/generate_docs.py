"""Regenerate the parts of pages under docs/ that are made from the code: `python tools/generate_docs.py [--check]`.

A page holds prose and, between `<!-- generated: NAME -->` and `<!-- end: NAME -->`, parts that are made from
the parser, the settings, the errors, the constants and the import contracts. `--check` writes nothing, lists the pages
that are out of date, and then exits with 1.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from engram.cli import registry  # noqa: E402
from engram.cli.overview import GROUPS  # noqa: E402
from engram.cli.parsing import command_parser, full_parser, module_of  # noqa: E402
from engram.domain import errors  # noqa: E402
from engram.domain.entry.categories import ALIASES, Categories  # noqa: E402
from engram.domain.recall.ranking import BY_BOTH, BY_WORDS  # noqa: E402
from engram.domain.review.review import KINDS, allowed_decisions  # noqa: E402
from engram.domain.settings import KEYS, TEAM_KEYS  # noqa: E402

DOCS = ROOT / "docs"
PART = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end: \2 -->)", re.DOTALL)

# The numbers of the ranking that recall.md explains: their names and meanings.
NUMBERS = (
    ("engram.domain.recall.ranking.WORDS", "how much words weigh, against 1 for meaning"),
    (
        "engram.domain.recall.ranking.SHARPNESS",
        "the power of coverage: a few matching words count for little",
    ),
    ("engram.domain.recall.ranking.NEAR", "how much single tokens weigh, against 1 for meaning"),
    (
        "engram.domain.recall.ranking.NEAR_NEIGHBOUR",
        "weight of the tokens of an entry one relation away",
    ),
    ("engram.domain.recall.ranking.FAR_NEIGHBOUR", "weight of those two relations away"),
    (
        "engram.usecases.recall.rerank.MOST_NEIGHBOURS",
        "most neighbours of an entry considered at each distance",
    ),
    (
        "engram.usecases.recall.search.FEW",
        "fewest rows that are reranked (48 in a store whose entries name others)",
    ),
    (
        "engram.adapters.embed.table.STRETCH",
        "length in tokens of the stretch compared with the question",
    ),
    (
        "engram.usecases.recall.rerank.MOST_MISSING",
        "the largest share of a question that one word can have in `missing`",
    ),
    (
        "engram.usecases.recall.rerank.NEAR_BY_CHANCE",
        "deducted from `near` each time a text is e times as long, since longer texts match more by chance",
    ),
    (
        "engram.usecases.recall.rerank.MISSING_BY_CHANCE",
        "added to `missing` each time a text is e times as long, up to LONG tokens",
    ),
    (
        "engram.usecases.recall.rerank.LONG",
        "length in tokens above which the correction of `missing` stops growing",
    ),
    ("engram.domain.recall.ranking.STANDING", "the share of a score that depends on standing"),
    (
        "engram.domain.recall.ranking.PATH_GAIN",
        "the most that a file shared with the caller raises an entry",
    ),
    ("engram.domain.recall.ranking.HALF_LIFE_DAYS", "days in which memory strength halves, by type"),
    ("engram.domain.recall.ranking.KIND_PRIORITY", "what the type adds to standing"),
    ("engram.domain.text.passages.LONG", "characters above which a text gets several vectors"),
    ("engram.domain.text.passages.PASSAGE", "characters of one passage, approximately"),
    ("engram.domain.text.passages.MOST", "most passages of one text"),
    (
        "engram.usecases.similarity.near_duplicates.NEAR",
        "cosine from which `record` reports an entry as similar",
    ),
)


def commands() -> str:
    """Every command with its options and examples."""
    groups = [
        f"- **{title[:1].upper()}{title[1:]}**: {', '.join(f'[{name}](#{name})' for name in names.split())}"
        for title, names in GROUPS.items()
    ]
    return "\n".join([*groups, "", *map(_command, registry.COMMANDS)])


def _command(command: registry.Command) -> str:
    module, parser = module_of(command), command_parser(command)
    shared = {option for action in _shared_actions() for option in action.option_strings}
    own = [action for action in _actions(parser) if not shared & set(action.option_strings)]
    usage = " ".join([f"engram {command.name}", *[_usage(a) for a in own if not a.option_strings]])
    lines = [
        f"### `{command.name}`",
        "",
        f"`{usage}{' [options]' if any(a.option_strings for a in own) else ''}`",
    ]
    lines += ["", *_paragraph(module.DESCRIPTION)]
    if command.aliases:
        lines += ["", f"Also: {', '.join(f'`{alias}`' for alias in command.aliases)}."]
    if own:
        lines += [
            "",
            *_table(("Argument or option", "Meaning"), [(_format_option(a), a.help or "") for a in own]),
        ]
    return "\n".join([*lines, "", "```sh", *module.EXAMPLES, "```", ""])


def _paragraph(description: str) -> list[str]:
    """Convert a description to a paragraph; indented lines of `what  meaning` become a list below it."""
    lines = description.splitlines()
    prose = " ".join(line for line in lines if not line.startswith("  "))
    listed = [line.strip().partition("  ") for line in lines if line.startswith("  ")]
    items = [f"- `{what}`: {meaning.strip()}" for what, _, meaning in listed]
    return [" ".join(prose.split()), *([""] if items else []), *items]


def shared_options() -> str:
    """The options that every command has."""
    rows = [(_format_option(action), action.help or "") for action in _shared_actions()]
    return "\n".join(_table(("Option", "Meaning"), rows)) + "\n"


def exit_codes() -> str:
    """Each exit code with its meaning and the error codes in JSON."""
    meanings = {
        errors.DONE: "done; for `query` also: nothing relevant is known",
        errors.FAILED: "failed",
        errors.USAGE: "the call or a value in it is wrong",
        errors.NOT_FOUND: "there is no such entry, file or store",
        errors.NEEDS_HUMAN: "needs a person: ambiguous, or changed by somebody else meanwhile",
        errors.REMOTE_FAILED: "a remote failed: refused, unreachable, too slow",
        errors.INTERRUPTED: "interrupted",
    }
    import engram.app  # noqa: F401 - defines all errors

    kinds = [errors.EngramError, *errors.EngramError.__subclasses__()]
    rows = []
    for code, meaning in meanings.items():
        names = [f"`{kind.code}`" for kind in kinds if kind.exit_code == code] if code else []
        rows.append((str(code), meaning, ", ".join(names)))
    return "\n".join(_table(("Exit code", "Meaning", "`code` of the error"), rows)) + "\n"


def settings() -> str:
    """Every setting."""
    rows = []
    for key in (*KEYS, *TEAM_KEYS):
        limits = f" From {key.low:g} to {key.high:g}." if key.low is not None and key.high is not None else ""
        choices = f" One of {', '.join(f'`{choice}`' for choice in key.choices)}." if key.choices else ""
        where = "your own only" if key.user_only else "both"
        default = f"`{json.dumps(key.default, ensure_ascii=False)}`"
        rows.append((f"`{key.name}`", default, where, key.doc + limits + choices))
    return "\n".join(_table(("Key", "Default", "File", "Meaning"), rows)) + "\n"


def categories() -> str:
    """Every built-in category with its type and aliases."""
    known = Categories()
    rows = []
    for name in known.names:
        aliases = [f"`{alias.lower()}`" for alias, target in ALIASES.items() if target == name]
        rows.append((f"`{name}`", known.type_of(name), ", ".join(aliases)))
    return "\n".join(_table(("Category", "Type", "Aliases"), rows)) + "\n"


def ranking() -> str:
    """The numbers of the ranking."""
    rows = [(f"`{name}`", _number(name), meaning) for name, meaning in NUMBERS]
    both, words = BY_BOTH, BY_WORDS
    for field, meaning in (
        ("strong", "evidence plus weighted lead from which the answer is strong"),
        ("least", "least evidence of a strong answer"),
        ("lead", "weight of the lead in that sum"),
        (
            "chance",
            "least score assumed for the two hits behind the best, also if there are none",
        ),
        ("weak", "least evidence of any answer"),
        ("shown", "least evidence of a hit shown beside a better one"),
    ):
        values = f"{getattr(both, field):.2f} ({getattr(words, field):.2f} by words alone)"
        rows.append((f"`engram.domain.recall.ranking.Bounds.{field}`", values, meaning))
    return "\n".join(_table(("Where", "Value", "What it decides"), rows)) + "\n"


def mcp_tools() -> str:
    """The tools of the MCP server by set, without the names of other memories."""
    from engram.mcp.tools import COMPAT, SETS, tools_of

    rows = [
        (f"`{tool.name}`", name, _arguments(tool), tool.description)
        for name in SETS
        if name != COMPAT
        for tool in tools_of((name,))
    ]
    return "\n".join(_table(("Tool", "Set", "Arguments (?: optional)", "What it does"), rows)) + "\n"


def compat_names() -> str:
    """The tool names of other memories: the tool behind each, and which arguments have an effect."""
    from engram.mcp.tools.compat import SHARED, SOURCES, rows_of, tools

    parts = []
    for source in SOURCES:
        made = {tool.name: tool for tool in tools(source.key)}
        found = rows_of(source.key)
        everywhere = [name for name in found[0].unused if all(name in row.unused for row in found)]
        rows = [
            (
                f"`{row.name}`",
                _tool_behind(row.tool),
                _arguments(made[row.name]),
                _join(row.also),
                _join(row.scoping),
                _join(name for name in row.unused if name not in (*everywhere, *row.scoping)),
            )
            for row in found
        ]
        shared = SHARED.get(source.key, ())
        head = (
            "Tool",
            "Is",
            "Arguments (?: optional)",
            "Also taken",
            "Honoured or refused",
            "Taken, and not used",
        )
        parts += [f"### `compat:{source.key}`", "", f"{source.what}.", "", *_table(head, rows), ""]
        parts += [f"Of each taken, and not used: {_join(everywhere)}.", ""] if everywhere else []
        parts += [f"Also: {_join(shared)}.", ""] if shared else []
    return "\n".join(parts)


def _tool_behind(tool: str) -> str:
    """Return the core tool that a row of the page stands for, or comes nearest to."""
    from engram.mcp.tools.compat_tools import DOCUMENTED

    return f"`{DOCUMENTED.get(tool, tool)}`"


def _arguments(tool: Any) -> str:
    required = tool.parameters.get("required", ())
    return ", ".join(f"`{key}`{'' if key in required else '?'}" for key in tool.parameters["properties"])


def _join(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _number(name: str) -> str:
    module, constant = name.rsplit(".", 1)
    value = getattr(import_module(module), constant)
    if isinstance(value, dict):
        return ", ".join(f"{kind} {number:g}" for kind, number in value.items())
    return f"{value:g}"


def _shared_actions() -> list[argparse.Action]:
    groups = command_parser(registry.COMMANDS[0])._action_groups  # noqa: SLF001 - argparse offers no other way
    group = next(group for group in groups if group.title == "options of every command")
    return list(group._group_actions)  # noqa: SLF001


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.dest != "help"]  # noqa: SLF001


def _usage(action: argparse.Action) -> str:
    """Format a positional argument for a usage line."""
    name = str(action.metavar) if action.metavar else _choices(action)
    return {"?": f"[{name}]", "*": f"[{name} …]", "+": f"{name} …"}.get(str(action.nargs), name)


def _format_option(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or _choices(action)}`"
    value = "" if action.nargs == 0 else f" {action.metavar or _choices(action) or action.dest.upper()}"
    *short, last = action.option_strings
    return ", ".join([*[f"`{option}`" for option in short], f"`{last}{value}`"])


def _choices(action: argparse.Action) -> str:
    return f"{{{','.join(map(str, action.choices))}}}" if action.choices else ""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return lines + [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]


def review() -> str:
    """Every kind of review item with its possible decisions."""
    rows = [
        (f"`{kind}`", "; ".join(f"`{name}`: {what}" for name, what in allowed_decisions(kind).items()))
        for kind in KINDS
    ]
    return "\n".join(_table(("Kind", "What can be decided"), rows)) + "\n"


def sql_views() -> str:
    """The tables that SQL can query, with their columns."""
    from engram.usecases.explore.sql_query import VIEWS

    rows = [
        (f"`{view.name}`", view.what, ", ".join(f"`{column.name}`" for column in view.columns))
        for view in VIEWS
    ]
    return "\n".join(_table(("Table", "What it has", "Columns"), rows)) + "\n"


def memory_kinds() -> str:
    """The formats of other tools that `engram import` knows."""
    from engram.domain.exchange.memory_kinds import KINDS as IMPORTED

    return (
        "\n".join(_table(("Kind", "What it is"), [(f"`{kind.name}`", kind.what) for kind in IMPORTED])) + "\n"
    )


def http_resources() -> str:
    """Every resource of the HTTP API."""
    from engram.http.routes import RESOURCES
    from engram.http.routes import ROOT as BASE

    rows = [
        (f"`{one.method} {BASE}{one.path}`", " ".join((one.handler.__doc__ or "").split()))
        for one in RESOURCES
    ]
    return "\n".join(_table(("Resource", "What it does"), rows)) + "\n"


def architecture_map() -> str:
    """Every layer and room with its purpose, from the contracts of import-linter and the docstrings of the packages."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    by_container = {
        contract.get("containers", [""])[0]: contract["layers"]
        for contract in contracts
        if contract["type"] == "layers"
    }
    layers = by_container[""]
    adapters = next(contract["modules"] for contract in contracts if contract["type"] == "independence")
    usecases, domain = "engram.usecases", "engram.domain"
    inside = {
        usecases: [f"{usecases}.{name}" for name in by_container[usecases]],
        "engram.adapters": sorted(adapters),
        domain: [
            f"{domain}.{name}" for row in by_container[domain] for name in row.replace(" ", "").split("|")
        ],
    }
    lines = []
    for layer in layers:
        packages = layer.replace(" ", "").split("|")
        for package, edge in zip(packages, _edges(len(packages)), strict=True):
            lines.append(f"{edge} {package:<19}{_purpose(package)}")
            rooms = inside.get(package, [])
            edges = _edges(len(rooms) if rooms == inside["engram.adapters"] else 1)
            lines += [f"{next(edges, ' ')}   {room.rpartition('.')[2]:<15}{_purpose(room)}" for room in rooms]
    return "\n".join(["```text", *lines, "```", ""])


def _edges(count: int) -> Iterator[str]:
    """Yield the left edge of a bracket around `count` lines; a space for a single one."""
    yield from ("┌", *"│" * (count - 2), "└") if count > 1 else " "


def _purpose(package: str) -> str:
    """Return the first sentence of the docstring of a package or module, without its period."""
    module = ROOT / ("tui" if package.startswith("engram_tui") else "") / package.replace(".", "/")
    source = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(source.read_bytes())) or ""
    return re.split(r"\.(?:\s|$)", docstring.partition("\n")[0])[0]


PARTS: dict[str, Callable[[], str]] = {
    "map": architecture_map,
    "commands": commands,
    "shared-options": shared_options,
    "exit-codes": exit_codes,
    "settings": settings,
    "categories": categories,
    "ranking": ranking,
    "review": review,
    "mcp-tools": mcp_tools,
    "compat": compat_names,
    "memory-kinds": memory_kinds,
    "sql-views": sql_views,
    "http-resources": http_resources,
}


def regenerate(page: str) -> str:
    """Return a page with its generated parts up to date. Raises KeyError for an unknown part."""
    return PART.sub(lambda match: match[1] + PARTS[match[2]]() + match[3], page)


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or check them; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a page is out of date"
    )
    check = parser.parse_args(arguments).check
    full_parser()  # fails if a command cannot be described
    stale = []
    for path in sorted(DOCS.glob("*.md")):
        before = path.read_text("utf-8")
        after = regenerate(before)
        if after != before:
            stale.append(path.relative_to(ROOT).as_posix())
            if not check:
                path.write_text(after, "utf-8")
    for name in stale:
        print(f"{name} {'is out of date: python tools/generate_docs.py' if check else 'renewed'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
