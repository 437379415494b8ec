"""Build the documentation as a site, strictly: a broken link is an error.

Usage: python tools/build_site.py [FOLDER]   (default: dist/site; needs `pip install zensical`)

The pages are those of docs/, in the order and groups of docs/README.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SETTINGS = """
[project]
site_name = "Engram"
site_description = {description}
repo_url = {repository}
repo_name = "engram"
docs_dir = "docs"
site_dir = "site"
nav = {nav}

[project.theme]
features = ["content.code.copy", "navigation.footer", "navigation.sections", "navigation.top", "search.highlight"]
font = false

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.plugins.offline]
"""


def project() -> dict[str, object]:
    """Return the section `project` of pyproject.toml."""
    found: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def repository() -> str:
    """Return the URL of the repository."""
    urls = project()["urls"]
    assert isinstance(urls, dict)
    return str(urls["Repository"])


def navigation(index: str) -> list[tuple[str, list[str]]]:
    """Return the groups of docs/README.md with the pages in each."""
    groups: list[tuple[str, list[str]]] = []
    for line in index.splitlines():
        if heading := re.fullmatch(r"\*\*(.+)\*\*", line):
            groups.append((heading[1], []))
        elif page := re.match(r"- \[[^\]]+\]\(([\w./-]+\.md)\)", line):
            groups[-1][1].append(page[1])
    return groups


def page_for_site(text: str, path: Path) -> str:
    """Adapt a page for the site: bare language names of code blocks, and repository URLs for links to other files."""
    text = re.sub(r"^```(\w+) [^\n]+$", r"```\1", text, flags=re.MULTILINE)

    def rewrite_link(link: re.Match[str]) -> str:
        target = (path.parent / link[1]).resolve()
        is_page = target.is_relative_to(DOCS) and (target.suffix != "" and target.is_file())
        if is_page or not target.is_relative_to(ROOT):
            return link[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"]({repository()}/{kind}/main/{target.relative_to(ROOT).as_posix()}{link[2] or ''})"

    return re.sub(r"\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)", rewrite_link, text)


def prepare(folder: Path) -> None:
    """Write the pages and the settings of the site generator."""
    for path in sorted(DOCS.rglob("*")):
        copy = folder / "docs" / path.relative_to(DOCS)
        if path.is_dir() or "__pycache__" in path.parts:
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            copy.write_text(page_for_site(path.read_text("utf-8"), path), "utf-8")
        else:
            shutil.copy2(path, copy)
    groups = navigation((DOCS / "README.md").read_text("utf-8"))
    tables = [f"{{ {json.dumps(name)} = {json.dumps(pages)} }}" for name, pages in groups]
    settings = SETTINGS.format(
        description=json.dumps(project()["description"]),
        repository=json.dumps(repository()),
        nav="[" + ", ".join(['"README.md"', *tables]) + "]",
    )
    (folder / "zensical.toml").write_text(settings, "utf-8")


def main(target: Path) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        done = subprocess.run(command, cwd=folder, env={**os.environ, "NO_COLOR": "1"}, check=False)
        if done.returncode == 0:
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(folder / "site", target)
            print(f"The site is in {target}.")
        return done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist/site")))
