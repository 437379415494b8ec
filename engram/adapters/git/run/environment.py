"""The environment in which git runs: never asks, never runs a hook, never sees another git's variables.

Engram is often started from inside git (an agent's hook during a commit or a rebase), which exports
GIT_DIR, GIT_INDEX_FILE and more: inherited, they would redirect every command to the wrong repository.
"""

from __future__ import annotations

import os

# Set by a person for all of git, not by a running git for its children.
KEPT = frozenset(
    (
        "GIT_EXEC_PATH",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_PROXY_COMMAND",
        "GIT_PROXY_SSL_CAINFO",
        "GIT_SSH",
        "GIT_SSH_VARIANT",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
        "GIT_SSL_CERT",
        "GIT_SSL_KEY",
    )
)
PROTOCOLS = ("file", "git", "http", "https", "ssh")
FIXED = {
    "LC_ALL": "C",  # errors are recognised by their English words
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # empty also hides core.askPass and SSH_ASKPASS
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",  # a file named `:(top)*` is just a file
}
SETTINGS = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "color.ui=false",
    "credential.interactive=false",
    "fetch.fsckObjects=true",
    "receive.fsckObjects=true",
)
# A commit that is acknowledged must outlive a power cut; git's default leaves loose objects to chance.
DURABLE = ("-c", "core.fsync=committed,reference", "-c", "core.fsyncMethod=fsync")
SSH_OPTIONS = "-oBatchMode=yes -oConnectTimeout=10"


def safe_environment() -> dict[str, str]:
    """This process's environment without inherited GIT_* state, made non-interactive."""
    inherited = dict(os.environ)
    clean = {name: value for name, value in inherited.items() if not name.startswith("GIT_") or name in KEPT}
    clean.pop("LANGUAGE", None)
    clean.update(FIXED)
    clean["GIT_ALLOW_PROTOCOL"] = _protocols(inherited.get("GIT_ALLOW_PROTOCOL"))
    if "GIT_SSH_COMMAND" in inherited:
        clean["GIT_SSH_COMMAND"] = batch_mode(inherited["GIT_SSH_COMMAND"])
    return clean


def batch_mode(ssh_command: str) -> str:
    """Return the ssh command with options that forbid questions; another program than ssh is left as it is."""
    program = os.path.basename(ssh_command.split(" ", 1)[0].strip("'\""))
    return f"{ssh_command} {SSH_OPTIONS}" if program in ("ssh", "ssh.exe") else ssh_command


def _protocols(inherited: str | None) -> str:
    # A person may have allowed less than Engram does, never more: `ext::` runs any command.
    allowed = PROTOCOLS if inherited is None else inherited.split(":")
    return ":".join(name for name in PROTOCOLS if name in allowed)
