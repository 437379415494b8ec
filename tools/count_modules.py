"""Which modules of Engram one command enters, that is, in which a function runs: `python tools/count_modules.py query TEXT`.

A reader who follows a command has to open these files; the number is watched so that it does not grow unnoticed.
Imports do not count, only calls. Prints a line for each package, then the sum; `--list` names the modules.
"""

from __future__ import annotations

import sys
from collections import Counter
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (f"{ROOT}/engram/", f"{ROOT}/tui/engram_tui/")


def count_modules(arguments: list[str]) -> tuple[int, set[str]]:
    """The exit code of a command and the modules in which it called a function, as paths relative to the project."""
    import threading

    from engram.cli.main import main

    files: set[str] = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        # The bodies of modules and of classes have no flag OPTIMIZED: importing runs them.
        if event == "call" and frame.f_code.co_flags & CO_OPTIMIZED:
            files.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        code = main(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return code, {name.removeprefix(f"{ROOT}/") for name in files if name.startswith(PACKAGES)}


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--list"]
    code, modules = count_modules(words)
    packages = Counter(str(Path(module).parent) for module in modules)
    for package, count in sorted(packages.items()):
        print(f"{count:4} {package}", file=sys.stderr)
    if "--list" in sys.argv:
        print("\n".join(sorted(modules)), file=sys.stderr)
    print(f"{len(modules):4} modules entered", file=sys.stderr)
    sys.exit(code)
