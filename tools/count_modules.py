"""Count the modules of Engram in which a command calls a function: `python tools/count_modules.py query TEXT`.

These are the files that a reader of the command has to open. Calls count, imports do not. Prints a line for each package,
then the sum; `--list` names the modules.
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
    """Run a command; return its exit code and the modules in which it called a function, as paths relative to the project."""
    import threading

    from engram.cli.main import main

    files: set[str] = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        # Bodies of modules and classes, which imports run, do not have the flag.
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
