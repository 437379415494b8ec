"""The measurements of each rival, row by row, with the same notes and questions for all."""

from __future__ import annotations

import json
import os
import re
import statistics
import textwrap
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

import generate
from peer_process import PeerError, Spent
from peer_rivals import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from peer_process import Server
    from peer_rivals import Rival

SEED = 1
_LONGEST = 3900  # characters; an entry has at most 4,000
_QUESTIONS = 60
_WRITERS, _NOTES_EACH = 4, 25
_REPEATED = 20
_LONGEST_REASON = 80  # characters
_TIL_SECONDS = 240.0
_SECRET = re.compile(r"AKIA[0-9A-Z]{16}")


class Row(NamedTuple):
    """A cell of the table: its text, and the number that ratios are computed from, if any."""

    text: str
    number: float | None = None


ROWS = {
    "import": "import, CPU s",
    "rebuild": "rebuild the index, CPU s",
    "tools": "tools/list, tokens",
    "cold": "cold question, CPU ms",
    "warm": "warm question, ms (p50)",
    "add": "add one and find it, ms (p50)",
    "memory": "memory of the server, MB",
    "writers": f"{_WRITERS} writers, {_NOTES_EACH} notes each: found after",
    "damage": "index damaged: then",
    "til": "til_titles recall@5",
}
LOWER_IS_BETTER = ("import", "rebuild", "tools", "cold", "warm", "add", "memory")


def generate_notes(count: int) -> list[Note]:
    """Generate numbered engineering notes."""
    return [
        Note(f"n{number:06}", lore.content[:_LONGEST])
        for number, (_, lore) in enumerate(generate.lore_files(count, SEED))
    ]


def generate_questions() -> list[str]:
    """Generate questions in the words of the generated notes."""
    return generate.questions(_QUESTIONS, SEED + 1)


def load_til(path: str) -> tuple[list[Note], list[tuple[str, str]]]:
    """Load the notes of a retrieval set, cut to the length of an entry, and (question, key of the right note) pairs."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    keys = {name: f"n{number:06}" for number, name in enumerate(data["docs"])}
    notes = [
        Note(keys[name], _SECRET.sub("AKIA-EXAMPLE", doc["text"])[:_LONGEST] or "-")
        for name, doc in data["docs"].items()
    ]
    asked = [(text, keys[next(iter(data["qrels"][name]))]) for name, text in data["queries"].items()]
    return notes, asked


def measure(
    rival: Rival, notes: Sequence[Note], asked: Sequence[str], say: Callable[[str], None]
) -> dict[str, Row]:
    """Measure every row but quality in turn; a row that fails says why, and the others go on."""
    found: dict[str, Row] = {}
    steps: dict[str, Callable[[], Row | dict[str, Row]]] = {
        "import": lambda: _seconds(rival.import_notes(notes)),
        "rebuild": lambda: _seconds(rival.rebuild()),
        "cold": lambda: _measure_cold(rival, asked),
        "warm": lambda: _measure_warm(rival, asked),
        "writers": lambda: _measure_writers(rival),
        "damage": lambda: _measure_damage(rival, asked),
    }
    for name, step in steps.items():
        say(f"{rival.name}: {name}")
        try:
            row = step()
        except (PeerError, OSError, ValueError, KeyError) as error:
            row = Row(failure(error))
        found |= row if isinstance(row, dict) else {name: row}
        if name == "import" and row.number is None:  # type: ignore[union-attr]
            break
    return found


def recall_at_5(rival: Rival, notes: Sequence[Note], asked: Sequence[tuple[str, str]]) -> Row:
    """Measure the share of titles whose own note is among the first five, of as many as there is time for, evenly spread."""
    rival.import_notes(notes)
    server = rival.serve() if rival.answers_by_tool else None
    hits, number = 0, 0
    deadline = time.monotonic() + _TIL_SECONDS
    step = 7  # coprime to 577, so that the first ones are spread over all
    order = [asked[(place * step) % len(asked)] for place in range(len(asked))]
    try:
        for question, key in order:
            hits += key in rival.search(server, question, 5)
            number += 1
            if time.monotonic() > deadline:
                break
    finally:
        if server is not None:
            server.close()
    more = "" if number == len(asked) else f" ({number} asked)"
    return Row(f"{hits / number:.3f}{more}", hits / number)


def failure(error: Exception) -> str:
    """Return the cell for a failure: the beginning of the rival's own message."""
    return f"fails: {textwrap.shorten(str(error), _LONGEST_REASON, placeholder=' …')}"


def _seconds(spent: Spent | None) -> Row:
    return Row("–") if spent is None else Row(f"{spent.cpu_ms / 1000:.2f}", spent.cpu_ms / 1000)


def _measure_cold(rival: Rival, asked: Sequence[str]) -> Row:
    spent = statistics.median(rival.ask_cold(question).cpu_ms for question in asked[:5])
    return Row(f"{spent:.0f}", spent)


def _measure_warm(rival: Rival, asked: Sequence[str]) -> dict[str, Row]:
    server = rival.serve() if rival.answers_by_tool else None
    try:
        for question in asked[:5]:
            rival.search(server, question, 5)
        walls = [_time_ms(lambda question=question: rival.search(server, question, 5)) for question in asked]  # type: ignore[misc]
        adds = [_add_and_find(rival, server, number) for number in range(10)]
        lost = adds.count(None)
        warm = statistics.median(walls)
        good = [wall for wall in adds if wall is not None]
        added = statistics.median(good) if good else None
        found = {
            "warm": Row(f"{warm:.1f}", warm),
            "add": Row(
                "never found" if added is None else f"{added:.1f}{f' ({lost} lost)' if lost else ''}", added
            ),
        }
        if server is not None:
            tokens, memory = server.tools_tokens(), server.resident_mb()
            found |= {"tools": Row(f"{tokens:,}", tokens), "memory": Row(f"{memory:.0f}", memory)}
        return found
    finally:
        if server is not None:
            server.close()


def _time_ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _add_and_find(rival: Rival, server: Server | None, number: int) -> float | None:
    """Measure the ms from the call that adds a note to the answer that shows it; None after ten seconds."""
    word = f"zephyr{number}quokka"
    note = Note(
        f"n9{number:05}", f"The {word} setting decides how the added note number {number} is found again."
    )
    began = time.perf_counter()
    rival.add(server, note)
    while time.perf_counter() - began < 10:
        if note.key in rival.search(server, word, 5):
            return (time.perf_counter() - began) * 1000
        time.sleep(0.05)  # servers do not report when their index has caught up
    return None


def _measure_writers(rival: Rival) -> Row:
    """Let several processes add notes of their own at once, then query each note."""
    errors: list[str] = []

    def write(writer: int) -> None:
        server = None
        try:
            server = rival.serve() if rival.answers_by_tool else None
            for number in range(_NOTES_EACH):
                rival.add(server, _marked_note(writer, number))
        except (PeerError, OSError, ValueError) as error:
            errors.append(str(error))
        finally:
            if server is not None:
                server.close()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(_WRITERS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall = time.perf_counter() - began
    server = rival.serve() if rival.answers_by_tool else None
    try:
        found_notes = [
            _marked_note(writer, number).key in rival.search(server, f"walrus{writer}x{number}pelican", 5)
            for writer in range(_WRITERS)
            for number in range(_NOTES_EACH)
        ]
    finally:
        if server is not None:
            server.close()
    reason = f"; {errors[0].splitlines()[-1][:60]}" if errors and errors[0] else ""
    return Row(f"{sum(found_notes)} of {len(found_notes)} in {wall:.1f} s{reason}", sum(found_notes))


def _marked_note(writer: int, number: int) -> Note:
    word = f"walrus{writer}x{number}pelican"
    return Note(
        f"n8{writer}{number:04}", f"Writer {writer} says {word} about matter {number} of its own list."
    )


def _measure_damage(rival: Rival, asked: Sequence[str]) -> Row:
    """Write 4 KiB of noise into the middle of each index file, and ask the same questions before and after."""
    files = rival.index_files()
    if not files:
        return Row("has no index")
    before = _answers(rival, asked[:_REPEATED])
    rival.forget()
    for path in files:
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            file.seek(max(0, size // 2 - 2048))
            file.write(bytes((n * 37 + 11) % 251 for n in range(min(4096, size))))
    try:
        after = _answers(rival, asked[:_REPEATED])
    except (PeerError, OSError, ValueError) as error:
        return Row(failure(error), 0)
    same = sum(one == other for one, other in zip(before, after, strict=True))
    return Row(
        "answers as before" if same == len(before) else f"{same} of {len(before)} answers as before", same
    )


def _answers(rival: Rival, asked: Sequence[str]) -> list[list[str]]:
    server = rival.serve() if rival.answers_by_tool else None
    try:
        # Only three: a notice that the index is rebuilt takes the place of the last titles in an answer.
        return [rival.search(server, question, 3) for question in asked]
    finally:
        if server is not None:
            server.close()
