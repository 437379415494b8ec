"""Run the command line in forks of a process that has imported it, which takes a third of the time of a start.

Tests of the start itself (locales, missing streams, imports) use `apikit.process`.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from apikit import Result, variables
from storekit import start

if TYPE_CHECKING:
    from collections.abc import Iterable

SECONDS = 60
SERVER = """
    import json, os, signal, socket, sys
    sys.path.insert(0, sys.argv[1])
    import storekit
    from engram.cli.main import run

    def work(task):
        os.chdir(task["folder"])
        signal.alarm(task["seconds"])  # otherwise readers of its output could wait for ever
        os.environ.clear()
        os.environ.update(task["variables"])
        if task["most_bytes"] is not None:
            import resource
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (task["most_bytes"], task["most_bytes"]))
        if os.geteuid() == 0:
            obey_modes()
        if task["without"]:
            forbid(task["without"])
        sys.argv[:] = ["engram", *task["arguments"]]
        run()

    def forbid(name):
        # A seccomp filter for this process and its children: the call fails as on a system without it.
        import ctypes, errno, platform, struct
        numbers = {"x86_64": {"flock": 73, "inotify_init1": 294}, "aarch64": {"flock": 32, "inotify_init1": 26}}
        number = numbers[platform.machine()][name]
        code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, number, 6, 0, 0, 0x50000 | errno.ENOSYS, 6, 0, 0, 0x7FFF0000)
        kept = ctypes.create_string_buffer(code, len(code))
        program = struct.pack("HxxxxxxP", 4, ctypes.addressof(kept))
        library = ctypes.CDLL(None, use_errno=True)
        assert library.prctl(38, 1, 0, 0, 0) == 0
        assert library.prctl(22, 2, program, 0, 0) == 0

    def obey_modes():
        # These two capabilities let root, and programs it starts, read and write files regardless of their modes.
        import ctypes
        library = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):
            library.prctl(24, capability, 0, 0, 0)
        header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        library.capget(header, sets)
        for place in range(3):
            sets[place] &= ~0b110
        library.capset(header, sets)

    def import_commands():
        # Imports are most of a command's time, and each fork would repeat them.
        import importlib, pkgutil
        import engram, usearch.index
        for room in ("adapters", "cli", "domain", "hooks", "operations", "usecases"):
            package = importlib.import_module("engram." + room)
            for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
                if not found.name.endswith("__main__"):
                    importlib.import_module(found.name)

    storekit.read_ahead()
    import_commands()
    line = socket.socket(fileno=int(sys.argv[2]))
    while True:
        message, handles, _flags, _address = socket.recv_fds(line, 1, 4)
        if not message:
            break
        process = os.fork()
        if process == 0:
            line.close()
            for stream, handle in enumerate(handles[1:]):
                os.dup2(handle, stream)
            with open(handles[0], encoding="ascii") as file:
                task = json.load(file)
            os.closerange(3, 256)
            work(task)
        for handle in handles:
            os.close(handle)
        _, status = os.waitpid(process, 0)
        line.sendall(b"%d\\n" % os.waitstatus_to_exitcode(status))
"""


def forked(
    *arguments: str | bytes,
    cwd: Path,
    stdin: bytes = b"",
    most_bytes: int | None = None,
    without: str = "",
    **more: str,
) -> Result:
    """Run the command line in a process of its own; `most_bytes` limits the size of files that it writes.

    `without` is a system call that fails: `flock` or `inotify_init1`. File modes apply even to root.
    """
    task = {
        "arguments": [os.fsdecode(one) for one in arguments],
        "folder": str(cwd),
        "variables": variables(**more),
        "most_bytes": most_bytes,
        "without": without,
        "seconds": SECONDS,
    }
    files = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115
    pipes = [os.pipe() for _ in range(2)]
    try:
        for file, content in zip(files, (json.dumps(task).encode(), stdin), strict=True):
            file.write(content)
            file.seek(0)
        handles = [*(file.fileno() for file in files), *(writing for _, writing in pipes)]
        output, code = _result(_server(), handles, pipes)
    finally:
        for file in files:
            file.close()
    return Result(code, *(text.decode() for text in output))


def _result(
    line: socket.socket, handles: Iterable[int], pipes: list[tuple[int, int]]
) -> tuple[list[bytes], int]:
    """Return the output and errors of the fork, and its exit code."""
    from concurrent.futures import ThreadPoolExecutor

    socket.send_fds(line, [b"x"], list(handles))
    for _, writing in pipes:
        os.close(writing)
    with ThreadPoolExecutor(2) as readers:  # a full pipe would block the fork
        output = list(readers.map(_read, [reading for reading, _ in pipes]))
    answer = b""
    while not answer.endswith(b"\n"):
        part = line.recv(16)
        assert part, "the process that forks has ended"
        answer += part
    return output, int(answer)


def _read(handle: int) -> bytes:
    with os.fdopen(handle, "rb") as pipe:
        return pipe.read()


@functools.cache
def _server() -> socket.socket:
    """Return the connection to the forking process, which ends with this one."""
    mine, its = socket.socketpair()
    mine.settimeout(2 * SECONDS)
    process = start(
        SERVER, Path(__file__).parent, its.fileno(), pass_fds=[its.fileno()], stdin=subprocess.DEVNULL
    )
    its.close()
    atexit.register(lambda: (mine.close(), process.communicate()))
    return mine
