"""The table of coding agents: where each has its configuration, and the form of an MCP server in it.

Places are written with `~`, and with names in braces for folders that depend on a variable or the system
(`engram.adapters.agents.folders`). Checked November 2026; docs/agents.md says where each is documented.
"""

from __future__ import annotations

from engram.domain.typed import NamedTuple

JSON, TOML, YAML = "json", "toml", "yaml"
SERVERS = "mcpServers"

# The file that gets the rules of use for an agent that has no hooks to be told by.
PROJECT_RULES = "{project}/AGENTS.md"


class Server(NamedTuple):
    """The list of an agent's MCP servers: its file, the keys to it, and the form and format of a server."""

    path: str
    keys: tuple[str, ...] = (SERVERS,)
    form: str = "plain"
    format: str = JSON


class HookFile(NamedTuple):
    """The file of an agent's hooks, and its form: `groups`, `flat`, `lines`, or `owned` for a file of our own."""

    path: str
    form: str


class Host(NamedTuple):
    """An agent. It is installed if one of the folders `homes` or the commands `programs` exists.

    `rules` is the file that gets a block about Engram. Read-only tools are allowed in the list `allow` (place, keys, prefix
    of a tool's name with `{server}` for the server's name), by the key `allow_key` of our own entry, or in the file `policy`.
    `after` says what a person has to do next. `session` is a file of rules that gets the brief when a session starts, for
    an agent that ignores the answer of that hook; `manifest` describes the folder around the hooks.
    """

    name: str
    title: str
    homes: tuple[str, ...]
    programs: tuple[str, ...] = ()
    server: Server | None = None
    hooks: HookFile | None = None
    rules: str = ""
    allow: tuple[str, tuple[str, ...], str] | None = None
    allow_key: str = ""
    policy: str = ""
    after: str = ""
    skill: str = ""
    commands: str = ""
    session: str = ""
    manifest: str = ""


_RESTART = "Restart it."

HOSTS = (
    Host(
        "claude-code",
        "Claude Code",
        ("{claude}",),
        ("claude",),
        Server("{claude_json}", form="typed"),
        HookFile("{claude}/settings.json", "groups"),
        allow=("{claude}/settings.json", ("permissions", "allow"), "mcp__{server}__"),
        after="Start a new session.",
        skill="{claude}/skills/engram/SKILL.md",
        commands="{claude}/commands",
    ),
    Host(
        "claude-desktop",
        "Claude Desktop",
        ("{support}/Claude",),
        server=Server("{support}/Claude/claude_desktop_config.json"),
        after=_RESTART,
    ),
    Host(
        "cursor",
        "Cursor",
        ("~/.cursor",),
        ("cursor", "cursor-agent"),
        Server("~/.cursor/mcp.json"),
        HookFile("~/.cursor/hooks.json", "flat"),
        rules=PROJECT_RULES,
        after="Some versions drop what a hook says at session start, so the rules are in AGENTS.md, and the brief in a file.",
        session="{project}/.cursor/rules/engram/engram-session.mdc",
    ),
    Host(
        "windsurf",
        "Windsurf",
        ("~/.codeium/windsurf",),
        ("windsurf",),
        Server("~/.codeium/windsurf/mcp_config.json"),
        HookFile("~/.codeium/windsurf/hooks.json", "lines"),
        rules="~/.codeium/windsurf/memories/global_rules.md",
        after=_RESTART,
    ),
    Host(
        "codex",
        "Codex",
        ("{codex}",),
        ("codex",),
        Server("{codex}/config.toml", ("mcp_servers",), format=TOML),
        HookFile("{codex}/hooks.json", "groups"),
        allow_key="tools",
        after="Codex asks to trust new hooks: look at them with /hooks.",
    ),
    Host(
        "gemini-cli",
        "Gemini CLI",
        ("~/.gemini",),
        ("gemini",),
        Server("~/.gemini/settings.json"),
        HookFile("~/.gemini/settings.json", "groups"),
        policy="~/.gemini/policies/engram.toml",
        after="Start a new session.",
    ),
    Host(
        "opencode",
        "OpenCode",
        ("{config}/opencode",),
        ("opencode",),
        Server("{config}/opencode/opencode.json", ("mcp",), "command-list"),
        HookFile("{config}/opencode/plugins/engram.js", "owned"),
        after=_RESTART,
    ),
    Host(
        "vscode",
        "VS Code",
        ("{support}/Code/User",),
        ("code",),
        Server("{support}/Code/User/mcp.json", ("servers",), "typed"),
        rules=PROJECT_RULES,
        after="It also runs the hooks of Claude Code's settings: connect claude-code for those. It asks to trust the server.",
    ),
    Host(
        "copilot-cli",
        "GitHub Copilot CLI",
        ("{copilot}",),
        ("copilot",),
        Server("{copilot}/mcp-config.json", form="local"),
        HookFile("{copilot}/hooks/engram.json", "owned"),
        after="Start a new session.",
    ),
    Host(
        "zed",
        "Zed",
        ("{zed}",),
        ("zed", "zeditor"),
        Server("{zed}/settings.json", ("context_servers",)),
        rules=PROJECT_RULES,
    ),
    Host(
        "goose",
        "Goose",
        ("{goose}",),
        ("goose",),
        Server("{goose}/config.yaml", ("extensions",), "extension", YAML),
        HookFile("{agents}/plugins/engram/hooks/hooks.json", "owned"),
        rules=PROJECT_RULES,
        after="Start a new session.",
        manifest="{agents}/plugins/engram/plugin.json",
    ),
    Host(
        "cline",
        "Cline",
        ("{support}/Code/User/globalStorage/saoudrizwan.claude-dev",),
        server=Server(
            "{support}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
        ),
        rules=PROJECT_RULES,
        allow_key="autoApprove",
    ),
    Host(
        "roo",
        "Roo Code",
        ("{support}/Code/User/globalStorage/rooveterinaryinc.roo-cline",),
        server=Server(
            "{support}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
        ),
        rules=PROJECT_RULES,
        allow_key="alwaysAllow",
    ),
    Host(
        "openclaw",
        "OpenClaw",
        ("~/.openclaw",),
        ("openclaw",),
        skill="~/.openclaw/skills/engram/SKILL.md",
        after="Start a new session.",
    ),
)
NAMES = tuple(host.name for host in HOSTS)


class Program(NamedTuple):
    """A program for agents that calls the HTTP API and needs no file to connect; `port` is its own on this machine."""

    name: str
    title: str
    homes: tuple[str, ...]
    programs: tuple[str, ...]
    port: int


PROGRAMS = (
    Program("n8n", "n8n", ("~/.n8n",), ("n8n",), 5678),
    Program("ollama", "Ollama", ("~/.ollama",), ("ollama",), 11434),
)


class _Project(NamedTuple):
    """Where an agent reads the same from a project: its server, its hooks, and as in `Host` the rest."""

    server: Server
    hooks: HookFile | None = None
    allow: str = ""
    skill: str = ""
    commands: str = ""


_PROJECTS = {
    "claude-code": _Project(
        Server("{project}/.mcp.json", form="typed"),
        HookFile("{project}/.claude/settings.json", "groups"),
        "{project}/.claude/settings.json",
        "{project}/.claude/skills/engram/SKILL.md",
        "{project}/.claude/commands",
    ),
    "cursor": _Project(
        Server("{project}/.cursor/mcp.json"), HookFile("{project}/.cursor/hooks.json", "flat")
    ),
    "codex": _Project(
        Server("{project}/.codex/config.toml", ("mcp_servers",), format=TOML),
        HookFile("{project}/.codex/hooks.json", "groups"),
    ),
    "gemini-cli": _Project(
        Server("{project}/.gemini/settings.json"), HookFile("{project}/.gemini/settings.json", "groups")
    ),
    "opencode": _Project(
        Server("{project}/opencode.json", ("mcp",), "command-list"),
        HookFile("{project}/.opencode/plugins/engram.js", "owned"),
    ),
    "vscode": _Project(Server("{project}/.vscode/mcp.json", ("servers",), "typed")),
    "zed": _Project(Server("{project}/.zed/settings.json", ("context_servers",))),
    "roo": _Project(Server("{project}/.roo/mcp.json")),
}
IN_PROJECTS = tuple(_PROJECTS)


def in_project(host: Host) -> Host | None:
    """Return an agent with the places of its files in a project; None for one that has none there."""
    found = _PROJECTS.get(host.name)
    if found is None:
        return None
    allow = (found.allow, *host.allow[1:]) if found.allow and host.allow else None
    return host._replace(
        server=found.server, hooks=found.hooks, allow=allow, policy="", skill=found.skill, commands=found.commands,
        manifest="", session="", after="Commit these files. Each of you is asked once whether to trust them.",
    )  # fmt: skip


def host_named(name: str) -> Host | None:
    """Return the agent with this name, if any."""
    return next((host for host in HOSTS if host.name == name), None)
