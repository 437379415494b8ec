"""An entry with a history, and the output of a command at a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from apikit import QUEUE, SetClock, dedicated, git, lore_files, ok, open_test_store, variables

from engram.usecases.recording.edit import Edit
from engram.usecases.store.commit import commit_pending


def make_history(folder: Path) -> None:
    """Make a dedicated store with one entry: recorded by ada, judged by bob, edited by eve, moved by hand."""
    root = dedicated(folder / "store")
    clock = SetClock()
    with open_test_store(root, agent="ada", clock=clock) as store:
        text = f"{QUEUE}\n\nMeasure it.\n\nThen decide."
        name = store.record(text, category="fact", tags="queue").lore.id
        commit_pending(store.store)
    with open_test_store(root, agent="bob", clock=clock) as store:
        store.feedback(helpful=name)
        commit_pending(store.store)
    clock.advance(minutes=5)
    with open_test_store(root, agent="eve", clock=clock) as store:
        store.edit(name, Edit(content=text.replace("it.", "it twice.")))
        commit_pending(store.store)
    git(root, "mv", str(lore_files(root)[0]), str(root / "lore/moved.md"))
    git(root, "commit", "-qm", "moved by hand")
    ok("query", "queue consumer", cwd=root)


def at_a_terminal(root: Path, *arguments: str, **more: str) -> str:
    """Return the output of a command at its own terminal."""
    pty = pytest.importorskip("pty")
    screen, inner = pty.openpty()
    environment = {**variables(), "ENGRAM_SESSION": "s1", "TERM": "xterm", **more}
    command = (sys.executable, "-m", "engram", *arguments)
    process = subprocess.Popen(command, cwd=root, stdin=inner, stdout=inner, stderr=inner, env=environment)
    os.close(inner)
    output = b""
    while True:
        try:
            output += (part := os.read(screen, 65536))
        except OSError:  # end of output on Linux
            break
        if not part:
            break
    os.close(screen)
    assert process.wait(60) == 0, output
    return output.decode().replace("\r\n", "\n")
