"""Write the files by which users find and install Engram: Claude Code's plugin and the MCP registry's entry.

Usage: python tools/generate_plugin.py [--check]

Unlike the files of `engram connect`, the plugin names no Python of this machine: it starts the installed `engram`, or runs it
by `uvx`.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

from engram.adapters.agents import guides
from engram.adapters.agents.edits import Owned
from engram.adapters.agents.hosts import HOSTS
from engram.adapters.agents.parts import ConnectOptions, plugin
from engram.adapters.agents.servers import SERVER_NAME
from engram.version import __version__

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
AUTHOR = PROJECT["authors"][0]["name"]
MCP_NAME = f"io.github.{REPOSITORY.rsplit('/', 2)[1]}/engram"
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
PLUGIN = ".claude-plugin/engram"
START = '"${CLAUDE_PLUGIN_ROOT}/scripts/engram.sh"'
NOTICE = "Part of Engram's plugin for Claude Code."
LAUNCHER = """\
#!/bin/sh
# Starts the engram that is installed, else the released one by uvx; where neither is there, says so once a session.
if command -v engram >/dev/null 2>&1; then exec engram "$@"; fi
if command -v uvx >/dev/null 2>&1; then exec uvx --quiet --from 'engram-lore' engram "$@"; fi
missing='Engram is not installed: `uv tool install engram-lore` or `pipx install engram-lore`, then start a new session.'
case "$1 $2" in
  'hook session-start') printf '{"systemMessage": "%s"}\\n' "$missing" ;;
  'hook '*) ;;
  *) printf '%s\\n' "$missing" >&2; exit 127 ;;
esac
"""
README = f"""\
# Engram for Claude Code

{PROJECT["description"]}

Sessions start with the lore that matters for the repository; prompts, edits and failed commands bring what is known about them;
what was learned is kept for review. The plugin starts the `engram` on your PATH (`uv tool install engram-lore`), else runs it by
`uvx`. Make a store first: `engram init` in the repository.
On Windows without a shell named `sh`, use `engram connect claude-code` instead.

Documentation: {PROJECT["urls"]["Documentation"]}
"""


def plugin_files() -> dict[str, str]:
    """Return the plugin's files by their paths in the project."""
    host = next(one for one in HOSTS if one.name == "claude-code")
    files = {f"{PLUGIN}/README.md": README, f"{PLUGIN}/scripts/engram.sh": LAUNCHER}
    for part in plugin("", host, ConnectOptions(())):
        assert isinstance(part.edit, Owned)
        text = part.edit.text.replace(guides.WRITTEN, NOTICE)
        files[f"{PLUGIN}/{part.path}"] = text.replace('"engram hook ', f"{json.dumps(START)[:-1]} hook ")
    manifest = json.loads(files[f"{PLUGIN}/.claude-plugin/plugin.json"])
    server = manifest["mcpServers"][SERVER_NAME]
    server |= {"command": "sh", "args": ["${CLAUDE_PLUGIN_ROOT}/scripts/engram.sh", "mcp"]}
    metadata = {"description": PROJECT["description"], "version": __version__, "author": {"name": AUTHOR}}
    metadata |= {"homepage": PROJECT["urls"]["Documentation"], "repository": REPOSITORY, "license": "MIT"}
    files[f"{PLUGIN}/.claude-plugin/plugin.json"] = as_json({**manifest, **metadata})
    return files


def marketplace() -> dict[str, object]:
    """Return the list of plugins that `/plugin marketplace add` reads, with this one."""
    entry = {"name": SERVER_NAME, "source": f"./{PLUGIN}", "description": PROJECT["description"]}
    entry |= {"category": "productivity", "tags": PROJECT["keywords"]}
    description = "Engram: shared, persistent memory for coding agents"
    return {
        "name": "engram-lore", "owner": {"name": AUTHOR}, "description": description, "plugins": [entry]
    }  # fmt: skip


def server_json() -> dict[str, object]:
    """Return the entry of the MCP registry; the `mcp-name` in a package's README proves that we own it."""
    package = {
        "registryType": "pypi",
        "identifier": PROJECT["name"],
        "version": __version__,
        "runtimeHint": "uvx",
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "transport": {"type": "stdio"},
    }
    return {
        "$schema": SCHEMA,
        "name": MCP_NAME,
        "title": "Engram",
        "description": "Shared, lasting memory for coding agents: plain markdown in git, offline",
        "version": __version__,
        "repository": {"url": REPOSITORY, "source": "github"},
        "websiteUrl": PROJECT["urls"]["Documentation"],
        "packages": [package],
    }


def as_json(value: object) -> str:
    """Format a JSON file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def files() -> dict[str, str]:
    """Return all files by their paths in the project."""
    return {
        **plugin_files(),
        ".claude-plugin/marketplace.json": as_json(marketplace()),
        "server.json": as_json(server_json()),
    }


def main(*, check: bool) -> int:
    stale = []
    for name, text in files().items():
        path = ROOT / name
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            if path.suffix == ".sh":
                path.chmod(0o755)
    for name in stale:
        print(f"{name} {'is out of date: python tools/generate_plugin.py' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
