"""Print the changelog's section for a release tag; fail when tag, version and changelog disagree.

Usage: python tools/release_notes.py v1.2.3
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def section(changelog: str, version: str) -> str:
    """Return the text under the heading `## VERSION` (a date may follow), or "" if there is none."""
    heading = rf"^## {re.escape(version)}(?= |$)[^\n]*\n(.*?)(?=^## |\Z)"
    found = re.search(heading, changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def main(tag: str) -> int:
    version = re.search(r'__version__ = "(.+)"', (ROOT / "engram/version.py").read_text("utf-8"))
    if version is None or tag != f"v{version[1]}":
        print(f"Tag {tag} does not fit engram/version.py ({version and version[1]}).", file=sys.stderr)
        return 1
    notes = section((ROOT / "CHANGELOG.md").read_text("utf-8"), version[1])
    if not notes:
        print(f"CHANGELOG.md has no section '## {version[1]}'.", file=sys.stderr)
        return 1
    print(notes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
