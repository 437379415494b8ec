"""Vaults of notes as people keep them in Obsidian: nested folders, links of every form, aliases, canvas and attachments.

python benchmarks/vaults/notes.py FOLDER 5000
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

WORDS = re.findall(
    r"\w+",
    "queue retry broker index cache session deploy staging freeze migrate schema ledger invoice parser timeout jitter"
    " rollout canary replica shard token cursor batch window backup restore alert pager budget review",
)
AREAS = ("Projects", "Projects/Billing", "Areas/Operations", "Resources/Papers/2024", "Journal", "People", "")


def make_vault(folder: Path, count: int, seed: int = 1) -> list[str]:
    """Fill a folder with `count` notes and what lies beside them; return the notes' paths. The same for the same seed."""
    chance = random.Random(seed)
    paths = [_path(number, chance) for number in range(count)]
    names = [path.rpartition("/")[2].removesuffix(".md") for path in paths]
    for number, path in enumerate(paths):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_note(number, names, paths, chance).encode())
    for name, content in {
        ".obsidian/app.json": b'{"alwaysUpdateLinks": true}\n',
        ".obsidian/plugins/x/main.js": b"// plugin\n",
        ".trash/Old.md": b"gone\n",
        "Boards/Plan.canvas": b'{"nodes": [], "edges": []}\n',
        "Files/diagram.png": bytes(range(256)),
        "Files/paper.pdf": b"%PDF-1.7\n\xff\xfe",
        "node_modules/pkg/README.md": b"# Not a note\n",
        "build/out.md": b"# Not a note either\n",
        ".gitignore": b"build/\n.trash/\nnode_modules/\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return paths


def _path(number: int, chance: random.Random) -> str:
    area = chance.choice(AREAS)
    name = f"{' '.join(chance.sample(WORDS, 2)).capitalize()} {number}.md"
    return f"{area}/{name}" if area else name


def _note(number: int, names: list[str], paths: list[str], chance: random.Random) -> str:
    other = chance.randrange(len(names))
    alias, path = f"alias {other}", paths[other].removesuffix(".md")
    links = [
        f"[[{names[other]}]]",
        f"[[{alias}]]",
        f"[[{path}|over there]]",
        f"[[{names[other]}#Details]]",
        f"![[{names[other]}#Details|shown]]",
        "![[diagram.png]]",
        "[[Plan.canvas]]",
    ]
    text = " ".join(chance.choices(WORDS, k=chance.randrange(20, 60)))
    body = f"{text} {chance.choice(links)} and {chance.choice(links)} #ops/{chance.choice(WORDS)}\n"
    body += f"\n## Details\n\n> [!note] Mind\n> {' '.join(chance.choices(WORDS, k=12))}\n"
    if number % 50 == 7:  # a long one
        body += "".join(
            f"\n## Part {part}\n\n{' '.join(chance.choices(WORDS, k=120))}\n" for part in range(20)
        )
    head = [
        f"---\naliases: [alias {number}]\nstatus: draft   # mine\ntags:\n  - {chance.choice(WORDS)}/{chance.choice(WORDS)}\n---\n",
        f"---\naliases:\n  - alias {number}\nid: {number}\ntype: note\nrating: 5\n---\n\n# {names[number]}\n\n",
        f'---\nalias: "alias {number}"\ncreated: 2024-03-0{number % 9 + 1}\nauthor: ["[[Ada]]"]\n---\n',
    ][number % 3]
    return (head + body).replace("\n", "\r\n") if number % 40 == 3 else head + body


if __name__ == "__main__":
    make_vault(Path(sys.argv[1]), int(sys.argv[2]))
