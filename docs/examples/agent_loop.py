"""An agent in plain Python that remembers: lore is put before the model unasked, judged by use, and added to.

python agent_loop.py "ollama run llama3.2" < questions.txt

The model is any command that reads a prompt and prints an answer. It names the notes that it used, such as [L1], which
counts as a vote for them, and may end with a line `LEARNED: …`, which waits for a person in `engram review`.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator

import engram

TASK = (
    "Answer the question. Name each note that helped by its ref, such as [L1]. If you found out something"
    " that others will need, end with one line: LEARNED: …"
)
_REF = re.compile(r"\b(L\d+)\b")
_LEARNED = re.compile(r"^LEARNED:[ \t]*(\S.*)$", re.MULTILINE)


def agent_loop(store: engram.Engram, model: Callable[[str], str], questions: Iterable[str]) -> Iterator[str]:
    """The model's answer to each question."""
    for question in questions:
        notes = store.inject(question)  # "" unless something is known that answers it
        answer = model("\n\n".join(part for part in (notes, TASK, question) if part))
        shown, named = set(_REF.findall(notes)), set(_REF.findall(answer))
        helpful = sorted(shown & named)
        if helpful:
            store.feedback(helpful=helpful)
        for lesson in _LEARNED.findall(answer)[:1]:
            learn(store, lesson)
        yield answer


def learn(store: engram.Engram, lesson: str) -> None:
    """Keep a lesson for a person to look at; what Engram refuses, such as a secret, is left out."""
    try:
        store.record(lesson, category="observation", status="pending", agent="agent-loop")
    except engram.EngramError as error:
        print(f"not kept: {error.message}", file=sys.stderr)


def command(line: str) -> Callable[[str], str]:
    """A model that is a command: the prompt is its input, the answer its output."""

    def ask(prompt: str) -> str:
        done = subprocess.run(
            shlex.split(line), input=prompt, capture_output=True, encoding="utf-8", check=True
        )
        return done.stdout

    return ask


if __name__ == "__main__":
    with engram.open() as memory:
        for said in agent_loop(memory, command(sys.argv[1]), map(str.strip, sys.stdin)):
            print(said, flush=True)
