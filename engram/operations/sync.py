"""`sync`: this clone and its remote become equal."""

from __future__ import annotations

from engram.operations.description import CLI, HTTP, Operation, flag, number, text

TIMEOUT = number("timeout", "give up on a remote that takes longer than this, in seconds", default=120.0, low=0.001, high=86_400,
                 agents="Seconds for each time the network is used")  # fmt: skip

SYNC = Operation("sync", "Bring this clone and its remote together.", (
    text("remote", "with which remote (default: the usual one)", only=(CLI, HTTP)),
    flag("pull", "bring in and merge what the remote has", default=True, only=(CLI, HTTP)),
    flag("push", "send what this clone has", default=True, only=(CLI, HTTP)),
    TIMEOUT,
))  # fmt: skip
