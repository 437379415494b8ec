"""Queued jobs: none is lost when their worker is killed, and none is done twice."""

from __future__ import annotations

import os
from pathlib import Path

from engram.adapters.files.durable.job_queue import JobQueue


def test_queued_jobs_survive_kills_and_are_done_once(tmp_path: Path) -> None:
    kept = JobQueue(str(tmp_path / "kept"))
    for name in "abc":
        kept.put(name, {"text": f"{name} ä\n"})
    waiting = tmp_path / "kept/waiting.jsonl"
    waiting.write_bytes(waiting.read_bytes() + b'{"name": "half')  # a writer was killed
    kept.put("d", {"text": "after"})
    assert [kept.count(back) for back in (0, 1, 3, 6)] == [(5, ""), (5, "d"), (5, "c"), (5, "")]

    def killed_at_b(job: dict[str, object]) -> int:
        if job["text"] == "b ä\n":
            kept.put("e", {"text": "meanwhile"})
            os._exit(9)
        return 1

    worker = os.fork()
    if not worker:
        kept.process(killed_at_b)
    assert os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) == 9
    seen: list[object] = []

    def noted(job: dict[str, object]) -> int:
        seen.append(job["text"])
        return 1

    assert kept.process(noted, lambda: len(seen) < 2) == 2
    assert seen == ["a ä\n", "b ä\n"], "the killed worker had removed nothing yet"
    last = JobQueue(kept.folder)
    assert last.process(noted) == 3
    assert seen[2:] == ["c ä\n", "after", "meanwhile"]
    assert last.is_empty()
    assert sorted(os.listdir(kept.folder)) == ["lock", "write.lock"]
