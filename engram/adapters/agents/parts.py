"""The parts of connecting an agent: files and the edits to make in them, from the table of agents."""

from __future__ import annotations

import json
import os
import shlex

from engram.adapters.agents import guides, opencode
from engram.adapters.agents.edits import (
    Block,
    Edit,
    Entry,
    HookEntries,
    Items,
    Owned,
    TomlTable,
    YamlEntry,
    snippet,
)
from engram.adapters.agents.folders import resolve
from engram.adapters.agents.hook_events import HOOKS, Hook
from engram.adapters.agents.hosts import SERVERS, TOML, YAML, Host, Server
from engram.adapters.agents.servers import AGENT_VARIABLE, SERVER_NAME
from engram.domain.typed import NamedTuple

READ_ONLY_TOOLS = ("recall_query", "recall_get", "recall_status")
MCP, HOOK, RULES, TOOLS, GUIDE = "MCP server", "hooks", "rules", "tool permissions", "commands and skill"


class ConnectOptions(NamedTuple):
    """A request to connect: the command to run, the project ("" for none), the wanted parts, the name of the server.

    Without a command it is for the project's own files, which others use, too: they run `engram` from the PATH.
    """

    command: tuple[str, ...]
    project: str = ""
    allow_tools: bool = False
    rules: bool = True
    server: str = SERVER_NAME


class Part(NamedTuple):
    """An edit of a file; `kind` is its purpose, as shown to the user."""

    kind: str
    path: str
    edit: Edit


def parts(host: Host, wish: ConnectOptions) -> list[Part]:
    """Return the parts that connect an agent, in the order they are shown."""
    server = server_part(host, wish)
    found = [] if server is None else [server]

    def add(kind: str, place: str, edit: Edit) -> None:
        path = resolve(place, wish.project) if place else ""
        if path:
            found.append(Part(kind, path, edit))

    if host.hooks is not None:
        add(HOOK, host.hooks.path, _hooks(host, host.hooks.form, wish))
    add(HOOK, host.manifest, Owned(json.dumps(guides.MANIFEST, indent=2) + "\n"))
    if wish.allow_tools and host.allow is not None:
        place, keys, prefix = host.allow
        tools = tuple(prefix.format(server=wish.server) + tool for tool in READ_ONLY_TOOLS)
        add(TOOLS, place, Items(keys, tools))
    if wish.allow_tools:
        add(TOOLS, host.policy, Owned(guides.policy(wish.server, READ_ONLY_TOOLS)))
    if wish.rules:
        add(RULES, host.rules, Block(guides.RULES_BLOCK))
        add(RULES, host.session, Owned(guides.session_rules(), kept=True))
        add(RULES, _ignore_file(host.session), Owned(guides.UNTRACKED))
    for name, text in guides.commands(wish.server, _run(wish)).items() if host.commands else ():
        add(GUIDE, f"{host.commands}/{name}.md", Owned(text))
    add(GUIDE, host.skill, Owned(guides.skill(wish.server, _run(wish))))
    return found


def server_part(host: Host, wish: ConnectOptions) -> Part | None:
    """Return the edit that adds the MCP server; None for an agent without MCP."""
    if host.server is None:
        return None
    path = _server_file(resolve(host.server.path, wish.project), host)
    return Part(MCP, path, _server(host, host.server, wish, path))


def project_of(host: Host, path: str) -> str:
    """Return the project of a file that this agent has in projects; for any other file its folder."""
    for place in filter(None, (host.rules, host.session, _ignore_file(host.session))):
        below = os.path.normpath(place.removeprefix("{project}"))
        if place.startswith("{project}") and path.endswith(below):
            return path[: -len(below)]
    return os.path.dirname(path)


def generic(wish: ConnectOptions) -> str:
    """Return the configuration accepted by most MCP hosts that are not in the table."""
    program, *arguments = _run(wish)
    server = {"command": program, "args": [*arguments, "mcp"]}
    return snippet(Entry((SERVERS, SERVER_NAME), server))


def plugin(folder: str, host: Host, wish: ConnectOptions) -> list[Part]:
    """Return the files of Claude Code's plugin in `folder`: manifest with server, hooks, commands, skill."""
    hooks = _hooks(host, "groups", wish)
    assert isinstance(hooks, HookEntries)
    manifest = {**guides.MANIFEST, "mcpServers": {SERVER_NAME: _server_entry(host, wish)}}
    files = {
        ".claude-plugin/plugin.json": json.dumps(manifest, indent=2) + "\n",
        "hooks/hooks.json": snippet(hooks._replace(extra={"description": guides.WRITTEN})),
        "skills/engram/SKILL.md": guides.skill(SERVER_NAME, _run(wish)),
        **{f"commands/{name}.md": text for name, text in guides.commands(SERVER_NAME, _run(wish)).items()},
    }
    return [Part(GUIDE, os.path.join(folder, name), Owned(text)) for name, text in files.items()]


def hook_command(wish: ConnectOptions, hook: Hook, agent: str) -> str:
    """Return the command line of a hook, quoted for the shell."""
    words = [*_run(wish), "hook", hook.event, "--agent", agent]
    if os.name == "nt":
        return " ".join(f'"{word}"' if " " in word else word for word in words)
    return shlex.join(words)


def _ignore_file(session: str) -> str:
    """Return the .gitignore of the folder of a session's rules, which are for this machine alone."""
    return os.path.join(os.path.dirname(session), ".gitignore") if session else ""


# --- the MCP server


def _server_file(path: str, host: Host) -> str:
    """Return the file to edit: of OpenCode's two names (.json, .jsonc) the one that exists."""
    commented = path + "c"
    return commented if host.name == "opencode" and os.path.exists(commented) else path


def _server(host: Host, server: Server, wish: ConnectOptions, path: str) -> Edit:
    if server.format == TOML:
        approved = {tool: {"approval_mode": "approve"} for tool in READ_ONLY_TOOLS}
        permissions = {host.allow_key: approved} if host.allow_key and wish.allow_tools else {}
        return TomlTable(".".join((*server.keys, wish.server)), {**_server_entry(host, wish), **permissions})
    if server.format == YAML:
        return YamlEntry(server.keys[0], wish.server, _goose_extension(host, wish))
    keys = (*server.keys, "servers") if host.name == "opencode" and _is_version_2(path) else server.keys
    value = {**_FORMS[server.form](host, wish)}
    if host.allow_key and wish.allow_tools:
        value[host.allow_key] = list(READ_ONLY_TOOLS)
    return Entry((*keys, wish.server), value)


def _is_version_2(path: str) -> bool:
    """Return whether an OpenCode configuration is of version 2, which has its servers one level deeper."""
    from engram.adapters.agents.jsonc import Document
    from engram.adapters.agents.refusal import CannotEditError

    try:
        with open(path, encoding="utf-8") as file:
            return Document(file.read()).find(["mcp", "servers"]) is not None
    except (OSError, ValueError, CannotEditError):
        return False


def _run(wish: ConnectOptions) -> list[str]:
    return list(wish.command or ("engram",))


def _environment(host: Host) -> dict[str, object]:
    return {AGENT_VARIABLE: host.name}


def _server_entry(host: Host, wish: ConnectOptions) -> dict[str, object]:
    program, *arguments = _run(wish)
    return {"command": program, "args": [*arguments, "mcp"], "env": _environment(host)}


def _server_with_type(host: Host, wish: ConnectOptions) -> dict[str, object]:
    return {"type": "stdio", **_server_entry(host, wish)}


def _copilot_server(host: Host, wish: ConnectOptions) -> dict[str, object]:
    return {"type": "local", **_server_entry(host, wish), "tools": ["*"]}


def _opencode_server(host: Host, wish: ConnectOptions) -> dict[str, object]:
    return {
        "type": "local", "command": [*_run(wish), "mcp"], "enabled": True, "environment": _environment(host)
    }  # fmt: skip


def _goose_extension(host: Host, wish: ConnectOptions) -> dict[str, object]:
    entry = _server_entry(host, wish)
    return {
        "enabled": True, "type": "stdio", "name": wish.server, "cmd": entry["command"], "args": entry["args"],
        "envs": entry["env"], "timeout": 300,
    }  # fmt: skip


_FORMS = {
    "plain": _server_entry,
    "typed": _server_with_type,
    "local": _copilot_server,
    "command-list": _opencode_server,
}


# --- hooks


def _hooks(host: Host, form: str, wish: ConnectOptions) -> Edit:
    hooks = HOOKS[host.name]
    if form == "owned":
        return Owned(_OWNED[host.name](host, wish))
    if form == "groups":
        unit = 1000 if host.name == "gemini-cli" else 1
        events = {hook.native: _hook_entry(host, hook, wish, unit) for hook in hooks}
        return HookEntries(events, {hook.native: hook.matcher for hook in hooks})
    if form == "flat":
        flat = {
            hook.native: {"command": hook_command(wish, hook, host.name), "timeout": hook.seconds}
            for hook in hooks
        }
        return HookEntries(flat, extra={"version": 1})
    lines = {
        hook.native: {"command": hook_command(wish, hook, host.name), "show_output": False} for hook in hooks
    }
    return HookEntries(lines)


def _hook_entry(host: Host, hook: Hook, wish: ConnectOptions, unit: int) -> dict[str, object]:
    entry: dict[str, object] = {"type": "command", "command": hook_command(wish, hook, host.name)}
    entry["timeout"] = hook.seconds * unit
    if hook.detached and host.name == "claude-code":
        entry["async"] = True
    return entry


def _copilot_file(host: Host, wish: ConnectOptions) -> str:
    events = {}
    for hook in HOOKS[host.name]:
        command = hook_command(wish, hook, host.name)
        entry = {"type": "command", "bash": command, "powershell": f"& {command}", "timeoutSec": hook.seconds}
        events[hook.native] = [entry]
    return json.dumps({"version": 1, "description": guides.WRITTEN, "hooks": events}, indent=2) + "\n"


def _goose_file(host: Host, wish: ConnectOptions) -> str:
    events = {hook.native: _hook_entry(host, hook, wish, 1) for hook in HOOKS[host.name]}
    return snippet(HookEntries(events, {}, {"description": guides.WRITTEN}))


def _opencode_file(host: Host, wish: ConnectOptions) -> str:
    return opencode.plugin([*_run(wish), "hook"], host.name)


_OWNED = {"copilot-cli": _copilot_file, "goose": _goose_file, "opencode": _opencode_file}
