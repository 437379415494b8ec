"""Connect agents to Engram: plan file changes, which can be shown, applied and reverted.

Files are merged into, never replaced: everything that is not Engram's keeps every byte. A file that cannot be parsed is not
changed.
"""

from __future__ import annotations

import os

from engram.adapters.agents import edits
from engram.adapters.agents.folders import resolve
from engram.adapters.agents.hosts import HOSTS, IN_PROJECTS, NAMES, PROGRAMS, Host, host_named, in_project
from engram.adapters.agents.parts import ConnectOptions, Part, parts, plugin, project_of, server_part
from engram.adapters.agents.refusal import CannotEditError
from engram.adapters.agents.servers import SERVER_NAME, choose_name
from engram.adapters.files import places
from engram.adapters.files.durable import atomic
from engram.adapters.files.foreign import foreign_files
from engram.domain.errors import EngramError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.agents import connections
from engram.usecases.agents.connections import Connection
from engram.usecases.store.own_command import PACKAGE, own_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.usecases.store.store import Clock


_CONNECT_SECONDS = 0.2  # a local port answers at once or never
_NEEDED = f"Everybody in the project needs `engram` on the PATH: pip install {PACKAGE}."


class Change(NamedTuple):
    """One file: its bytes before and after (None: no file), and which parts are in it."""

    path: str
    before: bytes | None
    after: bytes | None
    kinds: tuple[str, ...]

    @property
    def action(self) -> str:
        """create, change, delete or none."""
        if self.before == self.after:
            return "none"
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "change"

    def diff(self) -> str:
        """Return the change as a unified diff, secrets masked."""
        from difflib import unified_diff

        from engram.domain.admission.secrets import find_secrets, redact

        before, after = (
            (raw or b"").decode("utf-8", "replace").splitlines() for raw in (self.before, self.after)
        )
        names = (
            "/dev/null" if self.before is None else self.path,
            "/dev/null" if self.after is None else self.path,
        )
        text = "\n".join(unified_diff(before, after, *names, n=2, lineterm=""))
        return redact(text, find_secrets(text))


class Refused(NamedTuple):
    """A file that is left alone: why, and the text to add by hand."""

    path: str
    why: str
    snippet: str


class Plan(NamedTuple):
    """A plan to connect or disconnect an agent. `restored` are files that get exactly their old bytes.

    `server` is the name of the MCP server, `project` the top of the repository whose files are changed ("": the user's files).
    """

    host: Host
    changes: tuple[Change, ...]
    refused: tuple[Refused, ...]
    notes: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    server: str = SERVER_NAME
    project: str = ""

    @property
    def wanted(self) -> tuple[Change, ...]:
        """The changes with an effect."""
        return tuple(change for change in self.changes if change.action != "none")


class Presence(NamedTuple):
    """The state of an agent: whether it is installed, and which of its parts are connected, by kind.

    `server` is the name that its MCP server has, or would get.
    """

    host: Host
    installed: bool
    parts: dict[str, bool]
    paths: tuple[str, ...]
    server: str


def connect_options(working: str, *, allow_tools: bool = False, rules: bool = True) -> ConnectOptions:
    """Return the parameters for connecting the user's files: this Engram's command, and the repository around `working`."""
    from engram.adapters.git.run.layout import find_repository

    repository = find_repository(working)
    return ConnectOptions(own_command(), repository.worktree if repository else "", allow_tools, rules)


def project_options(working: str, *, allow_tools: bool = False, rules: bool = True) -> ConnectOptions:
    """Return the parameters for connecting files of the repository around `working`. Raises UsageError."""
    found = connect_options(working, allow_tools=allow_tools, rules=rules)
    if not found.project:
        raise UsageError(f"{working} is not in a git repository.", "Run it in the project to connect.")
    return found._replace(command=())


def host_in_project(host: Host) -> Host:
    """Return an agent with the paths of its project files. Raises UsageError for one that reads none."""
    found = in_project(host)
    if found is None:
        raise UsageError(f"{host.title} does not read project files.", f"These do: {', '.join(IN_PROJECTS)}.")
    return found


def agent_named(name: str) -> Host:
    """Find an agent by name. Raises UsageError."""
    host = host_named(name)
    by_http = next((one.title for one in PROGRAMS if one.name == name), "")
    if by_http:
        raise UsageError(
            f"{by_http} has no configuration file that Engram can be added to.",
            "Have it call the HTTP API: `engram serve`, docs/http-api.md.",
        )
    if host is None:
        raise UsageError(f"There is no agent '{name}'.", f"Agents: {', '.join(NAMES)}.")
    return host


def presence(wanted: ConnectOptions) -> list[Presence]:
    """Return the state of every agent."""
    known = connections.load()
    return [_presence(host, _with_server_name(host, wanted, known)) for host in HOSTS]


class Program(NamedTuple):
    """The state of a program that calls the HTTP API: whether it is installed, and whether it listens on its port."""

    name: str
    title: str
    installed: bool
    running: bool
    port: int


def programs() -> list[Program]:
    """Return the state of every such program on this machine."""
    import shutil

    found = []
    for one in PROGRAMS:
        homes = [resolve(home, "") for home in one.homes]
        installed = any(map(os.path.isdir, homes)) or any(map(shutil.which, one.programs))
        found.append(Program(one.name, one.title, installed, _listens(one.port), one.port))
    return found


def _listens(port: int) -> bool:
    import socket

    try:
        socket.create_connection(("127.0.0.1", port), _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def installed_agents(wanted: ConnectOptions) -> list[Host]:
    """Return the agents that are installed; for a project, those of them that read project files."""
    found = [one.host for one in presence(connect_options(wanted.project or os.getcwd())) if one.installed]
    return found if wanted.command else [one for host in found if (one := in_project(host)) is not None]


def connected_agents(wanted: ConnectOptions) -> list[Host]:
    """Return the agents that are connected: in the user's files, or in those of the project."""
    hosts = HOSTS if wanted.command else [host for one in HOSTS if (host := in_project(one)) is not None]
    known = connections.load()
    found = (_presence(host, _with_server_name(host, wanted, known)) for host in hosts)
    return [one.host for one in found if any(one.parts.values())]


def plan(host: Host, wanted: ConnectOptions, folder: str = "") -> Plan:
    """Plan to connect an agent; with a `folder`, plan to write Claude Code's plugin there."""
    wanted = wanted if folder else _with_server_name(host, wanted, connections.load())
    found = plugin(os.path.abspath(folder), host, wanted) if folder else parts(host, wanted)
    changes, refused = list[Change](), list[Refused]()
    notes = [] if folder else _notes(host, wanted)
    for path, group in _by_path(found).items():
        try:
            before = foreign_files.read(path)
            changes.append(_change(path, before, group))
        except (CannotEditError, EngramError) as error:
            refused.append(_refusal(path, error, group))
        if os.path.islink(path):
            notes.append(
                f"{path} is a link: the file that it leads to, {os.path.realpath(path)}, is changed."
            )
    return Plan(
        host, tuple(changes), tuple(refused), tuple(notes), server=wanted.server, project=_own_project(wanted)
    )


def manual_steps(host: Host, wanted: ConnectOptions) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the text to add by hand, as (path, text) for each part, and notes."""
    wanted = _with_server_name(host, wanted, connections.load())
    return [(part.path, edits.snippet(part.edit)) for part in parts(host, wanted)], _notes(host, wanted)


def plan_removal(host: Host, wanted: ConnectOptions) -> Plan:
    """Plan to disconnect an agent; files that are unchanged since get exactly their old bytes."""
    known, owner = connections.load(), _owner(host, _own_project(wanted))
    wanted = _with_server_name(host, wanted._replace(allow_tools=True), known)
    found = _by_path(parts(host, wanted))
    for path, one in known.items():
        if wanted.command and owner in one.agents and path not in found:
            found[path] = _elsewhere(path, host, wanted)
    changes, refused, restored = list[Change](), list[Refused](), list[str]()
    for path, group in found.items():
        now = known.get(path)
        shared = now is not None and bool(set(now.agents) - {owner})  # another connected agent needs it
        try:
            before = foreign_files.read(path)
            after, exact = (before, False) if shared else _without(before, group, now)
            changes.append(Change(path, before, after, _kinds(group)))
            restored += [path] if exact else []
        except (CannotEditError, EngramError) as error:
            refused.append(_refusal(path, error, group))
    note = _name_note(host, wanted)
    return Plan(
        host,
        tuple(changes),
        tuple(refused),
        (note,) if note else (),
        tuple(restored),
        wanted.server,
        _own_project(wanted),
    )


def apply(done: Plan, clock: Clock, *, connected: bool) -> dict[str, str]:
    """Apply a plan, and return the backups of existing files, by path. Raises ConflictError, StoreError.

    Changes before an error stay, and are recorded.
    """
    moment = clock.now().strftime("%Y%m%dT%H%M%SZ")
    known, backups = connections.load(), dict[str, str]()
    try:
        for change in done.wanted:
            keep = change.before is not None and change.path not in done.restored
            backup = _back_up(change, moment, done) if keep else ""
            made = foreign_files.missing_folder(change.path)
            foreign_files.replace(change.path, change.before, change.after)
            backups[change.path] = backup
            if connected:
                known[change.path] = _connection(known.get(change.path), change, backup, made, done)
        for path in reversed(done.restored):  # inner folders first
            foreign_files.tidy_up(path, known[path].backup, known[path].made)
        for path in [change.path for change in done.changes]:
            _update_agents(known, path, _owner(done.host, done.project), connected=connected)
    finally:
        connections.save(known)
    return backups


def _own_project(wanted: ConnectOptions) -> str:
    """Return the project whose files are changed; "" for the user's files."""
    return "" if wanted.command else wanted.project


def _owner(host: Host, project: str) -> str:
    """Return the name under which connections are recorded: of an agent, or of an agent in a project."""
    return f"{host.name} in {project}" if project else host.name


def _back_up(change: Change, moment: str, done: Plan) -> str:
    """Back up a file and return the path of the copy: beside it, or outside a project, where nobody commits it."""
    folder = os.path.join(os.path.dirname(places.connections_file()), "backups") if done.project else ""
    return foreign_files.back_up(change.path, change.before or b"", moment, folder)


def check_command(command: Sequence[str]) -> None:
    """Check that agents can start Engram by this command from any folder. Raises UsageError."""
    import subprocess
    from shlex import join

    try:
        done = subprocess.run(
            [*command, "--version"], capture_output=True, check=False, timeout=30, cwd=os.path.abspath(os.sep)
        )
    except (OSError, subprocess.TimeoutExpired):
        done = None
    if done is None or done.returncode != 0:
        raise UsageError(
            f"`{join(command)}` does not start Engram from another folder.",
            f"Install it first: uv tool install {PACKAGE}, or pip install {PACKAGE} for that Python.",
        )


def _notes(host: Host, wanted: ConnectOptions) -> list[str]:
    """Return notes for the user: that the MCP server gets another name, and what a project's members need."""
    note = _name_note(host, wanted)
    needed = [] if wanted.command else [_NEEDED]
    more = f"Engram's server is named {wanted.server}. If the other one is Engram, too: remove it and connect again."
    return [*([f"{note} {more}"] if note else []), *needed]


def _by_path(found: Sequence[Part]) -> dict[str, list[Part]]:
    grouped: dict[str, list[Part]] = {}
    for part in found:
        grouped.setdefault(part.path, []).append(part)
    return grouped


def _change(path: str, before: bytes | None, group: Sequence[Part]) -> Change:
    text = now = _decode(before)
    for part in group:
        now = edits.apply_edit(now, part.edit)
    return Change(path, before, before if now == text else now.encode(), _kinds(group))


def _without(
    before: bytes | None, group: Sequence[Part], one: Connection | None
) -> tuple[bytes | None, bool]:
    """Return a file without Engram's parts, and whether the result is exactly its old bytes."""
    if before is None:
        return None, False
    old = connections.original_bytes(one)
    if one is not None and not one.before and _is_kept(before, group):
        return None, True
    if (
        one is not None
        and one.exact
        and atomic.digest(before) == one.after
        and (old is not None or not one.before)
    ):
        return old, True
    text = now = _decode(before)
    known = None if one is None or (old is None and one.before) else _decode(old)
    for part in reversed(group):
        now = edits.remove_edit(now, part.edit, known)
    if now == text:
        return before, False
    owned = all(isinstance(part.edit, edits.Owned) for part in group)
    return (None if owned and not now else now.encode()), False


def _elsewhere(path: str, host: Host, wanted: ConnectOptions) -> list[Part]:
    """Return the parts of an agent in a file that was connected from another project."""
    elsewhere = wanted._replace(project=project_of(host, path))
    return [part for part in parts(host, elsewhere) if part.path == path]


def _is_kept(before: bytes, group: Sequence[Part]) -> bool:
    """Return whether this is Engram's own file and Engram has changed it since."""
    kept = [isinstance(part.edit, edits.Owned) and part.edit.kept for part in group]
    return bool(kept) and all(kept) and edits.OWNED_MARK.encode() in before


def _decode(raw: bytes | None) -> str:
    try:
        return (raw or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise CannotEditError(f"it is not UTF-8 (byte {error.start})") from None


def _refusal(path: str, error: Exception, group: Sequence[Part]) -> Refused:
    why = error.message if isinstance(error, EngramError) else f"{path} is left alone: {error}."
    return Refused(path, why, "\n".join(edits.snippet(part.edit).rstrip("\n") for part in group))


def _kinds(group: Sequence[Part]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.kind for part in group))


def _connection(known: Connection | None, change: Change, backup: str, made: str, done: Plan) -> Connection:
    """Return the record of a change, with the bytes before the first change if nobody else changed the file since."""
    assert change.after is not None
    after = atomic.digest(change.after)
    before = "" if change.before is None else atomic.digest(change.before)
    if known is not None and known.after == before:
        return known._replace(after=after, server=done.server)
    clean = change.before is None or not _has_ours(change, done)
    agents, made = (known.agents, known.made) if known else ((), made)
    return Connection(before, after, backup, clean, agents, done.server, made)


def _has_ours(change: Change, done: Plan) -> bool:
    project = done.project or project_of(done.host, change.path)
    command = () if done.project else own_command()
    group = parts(done.host, ConnectOptions(command, project, allow_tools=True, server=done.server))
    text = _decode(change.before)
    return any(part.path == change.path and edits.has_edit(text, part.edit) for part in group)


def _update_agents(known: dict[str, Connection], path: str, agent: str, *, connected: bool) -> None:
    """Record that an agent needs a file, or no longer does."""
    one = known.get(path)
    if one is None:
        return
    agents = tuple(sorted({*one.agents, agent} if connected else {*one.agents} - {agent}))
    if agents:
        known[path] = one._replace(agents=agents)
    else:
        del known[path]


def _presence(host: Host, wanted: ConnectOptions) -> Presence:
    import shutil

    homes = [resolve(home, wanted.project) for home in host.homes]
    installed = any(map(os.path.isdir, homes)) or any(map(shutil.which, host.programs))
    found: dict[str, bool] = {}
    for part in parts(host, wanted):
        try:
            is_connected = edits.has_edit(_decode(foreign_files.read(part.path)), part.edit)
        except (CannotEditError, EngramError):
            is_connected = False
        found[part.kind] = found.get(part.kind, True) and is_connected
    return Presence(host, installed, found, tuple(_by_path(parts(host, wanted))), wanted.server)


def _with_server_name(host: Host, wanted: ConnectOptions, known: Mapping[str, Connection]) -> ConnectOptions:
    """Add the name of the MCP server: the one that was written when connecting, else the one that would be written."""
    part = server_part(host, wanted)
    if part is None:
        return wanted
    return wanted._replace(
        server=choose_name(
            _servers(host, wanted), _recorded_name(_owner(host, _own_project(wanted)), part.path, known)
        )
    )


def _name_note(host: Host, wanted: ConnectOptions) -> str:
    """Return a note that another server is named `engram`; "" if there is none, or it is Engram's."""
    if wanted.server == SERVER_NAME or SERVER_NAME not in _servers(host, wanted):
        return ""
    part = server_part(host, wanted)
    assert part is not None
    return f"{part.path} has an MCP server named {SERVER_NAME} that `engram connect` did not write. It is left alone."


def _servers(host: Host, wanted: ConnectOptions) -> Mapping[str, object]:
    """Return the agent's MCP servers by name; none if its file cannot be read, which the edit will report."""
    part = server_part(host, wanted)
    try:
        raw = None if part is None else foreign_files.read(part.path)
        return {} if part is None or raw is None else edits.siblings(raw.decode("utf-8"), part.edit)
    except (CannotEditError, EngramError, UnicodeDecodeError):
        return {}


def _recorded_name(owner: str, path: str, known: Mapping[str, Connection]) -> str:
    one = known.get(path)
    return one.server if one is not None and owner in one.agents else ""
