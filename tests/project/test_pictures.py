"""The pictures of the README and the documentation show the app as it is."""

from __future__ import annotations

import difflib
import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images"
VARIES = (  # between runs, in characters but not in width: dates, times, commits, ids whole and cut
    r"\b20\d\d[-/]\d\d[-/]\d\d\b",
    r"\b\d\d:\d\d(?= UTC)",
    r"\b[0-9a-f]{10}\b",
    r"(?<![a-zA-Z])(?=[A-Z]*\d)[0-9A-HJKMNP-TV-Z]{5,}\b",
    r"\b[0-9A-HJKMNP-TV-Z]{5,}(?=\.md)",
)


def shown(picture: Path) -> list[str]:
    """Return the text of a picture with its blanks, without times and the ids of commits, entries and clones."""
    texts = re.findall(r"<text[^>]*>(.*?)</text>", picture.read_text("utf-8"), re.DOTALL)
    words = [html.unescape(text).replace("\xa0", " ") for text in texts]
    return [re.sub("|".join(VARIES), "…", text) for text in words]


@pytest.mark.slow
def test_the_pictures_of_the_docs_are_up_to_date(tmp_path: Path) -> None:
    command = (sys.executable, str(ROOT / "tools/screenshots.py"), str(tmp_path))
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    drawn = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert drawn == sorted(path.name for path in IMAGES.glob("*.svg"))
    for name in sorted({*drawn} - {"tour.svg"}):  # whose messages depend on timing
        lines = difflib.unified_diff(shown(IMAGES / name), shown(tmp_path / name), n=0)
        assert not list(lines), f"{name} is stale: run `python tools/screenshots.py`"
