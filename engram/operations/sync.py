"""`sync`: synchronize this clone with its remote."""

from engram.operations.description import CLI, HTTP, Operation, flag, number, text

TIMEOUT = number("timeout", "give up on a remote that takes longer than this, in seconds", default=120.0, low=0.001, high=86_400,
                 agent_help="Seconds for each network operation")  # fmt: skip

SYNC = Operation("sync", (
    text("remote", "the remote to sync with (default: its upstream in git, else origin)", front_ends=(CLI, HTTP)),
    flag("pull", "fetch and merge the commits of the remote", default=True, front_ends=(CLI, HTTP)),
    flag("push", "push the commits of this clone", default=True, front_ends=(CLI, HTTP)),
    TIMEOUT,
))  # fmt: skip
