"""Judgements fetched and pushed by real git, with failures, kills and concurrent pushes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from apikit import SECRET, git
from effort import examples
from ledger_kit import BRANCH, Judges, ids, judge, lines_at, open_test_store
from remote_kit import allow_loopback, answering, refusing
from storekit import start
from sync_kit import bare, executable

from engram.domain.errors import RemoteError, SecretInCommitError
from engram.domain.judgements import ledger
from engram.usecases.judgements.commit_own import commit_own
from engram.usecases.judgements.exchange import exchange

# Merging


# Remotes


@pytest.mark.slow
def test_clones_that_are_shallow_and_single_branch_exchange_and_stay_so(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "a")
    for number in range(3):
        (judges.root("a") / "lore" / f"note-{number}.txt").parent.mkdir(exist_ok=True)
        (judges.root("a") / "lore" / f"note-{number}.txt").write_text("x")
        git(judges.root("a"), "add", "-A")
        git(judges.root("a"), "commit", "-qm", f"{number}")
        said = judge(judges["a"])
        judges.exchange("a")
    git(judges.root("a"), "push", "-q", "origin", "main")
    url = judges.hub.as_uri()
    for name, options in (("one", ["--depth=1"]), ("cut", ["--depth=1", "--no-single-branch"])):
        root = tmp_path / name
        git(tmp_path, "clone", "-q", *options, url, name)
        shallow = (root / ".git/shallow").read_text().split()
        store = open_test_store(root, judges.clock)
        mine = judge(store)
        done = exchange(store, publish=True)
        assert (done.received, done.sent) == (True, True)
        assert {*ids(mine), said[0].id} <= lines_at(judges.hub).keys()
        assert git(root, "rev-list", "--count", "main") == "1", "the code stays shallow"
        assert git(root, "rev-parse", "main") in shallow
        judges.exchange("a")
        judge(store)
        assert exchange(store, publish=True).sent
        assert git(root, "fsck", "--strict", "--no-progress", "--no-dangling") == ""
    judges.exchange("a")
    assert len(lines_at(judges.root("a"))) == 7


def test_a_partial_clone_gets_judgements_whole(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "a")
    said = judge(judges["a"])
    judges.exchange("a")
    git(judges.hub, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--single-branch", judges.hub.as_uri(), "part")
    assert exchange(open_test_store(tmp_path / "part"), publish=True).received
    listed = git(tmp_path / "part", "rev-list", "--objects", "--missing=print", BRANCH)
    assert "?" not in listed
    assert lines_at(tmp_path / "part").keys() == ids(said)


def test_judgements_come_from_every_remote_and_go_to_one(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    fork = bare(tmp_path / "fork.git")
    bare(tmp_path / "empty.git")
    git(judges.root("b"), "remote", "set-url", "origin", str(fork))
    said = judge(judges["b"])
    judges.exchange("b")
    for name, url in (("fork", fork), ("empty", tmp_path / "empty.git"), ("gone", tmp_path / "gone.git")):
        git(judges.root("a"), "remote", "add", name, str(url))
    mine = judge(judges["a"])
    done = judges.exchange("a")[0]
    assert (done.received, done.sent, done.remote, done.unreachable) == (True, True, "origin", ("gone",))
    assert lines_at(judges.hub).keys() == ids(said, mine)
    assert lines_at(fork).keys() == ids(said)
    assert exchange(judges["a"], "fork", publish=True).sent
    assert lines_at(fork).keys() == ids(said, mine)


def test_a_host_that_protects_its_default_branch_takes_judgements(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "a")
    hook = "#!/bin/sh\nwhile read old new ref; do [ $ref != refs/heads/main ] || exit 1; done\n"
    executable(judges.hub / "hooks/pre-receive", hook)
    judge(judges["a"])
    assert judges.exchange("a")[0].sent
    assert len(lines_at(judges.hub)) == 1


def test_a_secret_in_the_name_of_the_judge_is_not_pushed(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "a")
    root = judges.root("a")
    git(root, "config", "user.name", f"Ann {SECRET}")
    said = judge(judges["a"], 2)
    with pytest.raises(SecretInCommitError, match="author's name") as found:
        judges.exchange("a")
    assert SECRET not in str(found.value.as_dict())
    assert git(judges.hub, "branch", "--list", BRANCH) == ""
    git(root, "config", "user.name", "Ann")
    git(root, "branch", "-q", "-D", BRANCH)
    judges.exchange("a")
    assert lines_at(judges.hub).keys() == ids(said)
    assert SECRET not in git(judges.hub, "log", "-p", "--all")


def test_a_remote_that_declines_is_no_failure_and_lines_stay_here(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    said = judge(judges["b"])
    judges.exchange("b")
    executable(judges.hub / "hooks/pre-receive", "#!/bin/sh\necho 'readers only' >&2\nexit 1\n")
    mine = judge(judges["a"])
    done = judges.exchange("a")[0]
    assert (done.received, done.sent) == (True, False)
    assert "readers only" in done.refused
    assert lines_at(judges.root("a")).keys() == ids(said, mine)


@pytest.mark.parametrize("status", [401, 403])
def test_a_missing_right_to_push_over_http_is_reported_and_is_no_failure(
    tmp_path: Path, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow_loopback(monkeypatch)
    judges = Judges(tmp_path / "scene", "a")
    judge(judges["a"])
    with answering(status) as url:
        git(judges.root("a"), "config", "remote.origin.pushurl", url)
        done = judges.exchange("a")[0]
    assert done.refused
    assert not done.sent


def test_a_remote_that_is_offline_raises_after_own_lines_are_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow_loopback(monkeypatch)
    judges = Judges(tmp_path / "scene", "a")
    git(judges.root("a"), "remote", "set-url", "origin", f"git://{refusing()}/lore.git")
    said = judge(judges["a"])
    with pytest.raises(RemoteError) as raised:
        judges.exchange("a")
    assert raised.value.kind == "offline"
    assert lines_at(judges.root("a")).keys() == ids(said)


def test_without_permission_to_publish_lines_are_received_and_none_sent(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    said = judge(judges["b"])
    judges.exchange("b")
    mine = judge(judges["a"])
    done = exchange(judges["a"], publish=False)
    assert (done.received, done.sent) == (True, False)
    assert lines_at(judges.root("a")).keys() == ids(said, mine)
    assert lines_at(judges.hub).keys() == ids(said)


def test_a_push_rejected_because_of_a_faster_one_is_merged_and_retried(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    theirs, mine = judge(judges["b"]), judge(judges["a"])
    commit_own(judges["b"])
    commit_own(judges["a"])
    # The first push finds the branch that the other clone has pushed between our fetch and our push.
    hook = f"""#!/bin/sh
        [ -e {tmp_path}/done ] && exit 0
        touch {tmp_path}/done
        unset GIT_QUARANTINE_PATH GIT_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
        git -C {judges.root("b")} push -q origin {BRANCH}
    """
    executable(judges.hub / "hooks/pre-receive", hook)
    assert judges.exchange("a")[0].sent
    assert lines_at(judges.hub).keys() == ids(theirs, mine)


def test_users_can_push_pull_and_merge_their_branches_as_before(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    for name in "ab":
        judge(judges[name])
    judges.settle()
    a, b = judges.root("a"), judges.root("b")
    (a / "note.txt").write_text("x")
    git(a, "add", "note.txt")
    git(a, "commit", "-qm", "note")
    git(a, "push", "-q")
    git(b, "pull", "-q")
    git(b, "switch", "-qc", "topic")
    git(b, "merge", "-q", "main")
    assert (b / "note.txt").exists()
    assert git(b, "status", "--porcelain", "-uall") == ""
    for name in "ab":
        assert git(judges.root(name), "fsck", "--strict", "--no-progress", "--no-dangling") == ""
    tip = git(b, "rev-parse", BRANCH)
    git(b, "fetch", "-q", "--prune")
    assert git(b, "rev-parse", BRANCH, f"origin/{BRANCH}").split() == [tip, tip]


# Processes

EXCHANGE = """
    import os, signal, sys
    from engram.usecases.judgements.exchange import exchange
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.store.store import Caller

    store = open_store(sys.argv[1], Caller("child", "tester"))
    count, limit = 0, int(sys.argv[2])

    def watch(event, arguments):
        global count
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or event in ("os.rename", "os.remove", "os.link", "subprocess.Popen"):
            count += 1
            if count == limit:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    exchange(store, publish=True, timeout=30)
    print(count)
"""

JUDGE_AND_COMMIT = """
    import sys
    from pathlib import Path
    from engram.usecases.judgements.commit_own import commit_own
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.store.store import Caller

    store = open_store(sys.argv[1], Caller("child", "tester"))
    for line in sys.argv[3:]:
        with Path(sys.argv[2]).open("ab") as file:
            file.write(line.encode() + b"\\n")
        commit_own(store)
"""


def run(script: str, *arguments: object) -> int:
    child = start(script, *arguments)
    child.communicate(timeout=60)
    return child.returncode


@pytest.mark.slow
def test_an_exchange_killed_anywhere_loses_nothing(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "ab")
    said = judge(judges["b"])
    judges.exchange("b")
    said += judge(judges["a"])
    judges.exchange("a")
    limit, step = 1, examples(9, 1)
    while True:
        said += judge(judges["a"]) + judge(judges["b"])
        judges.exchange("b")
        code = run(EXCHANGE, judges.root("a"), limit)
        limit += step
        if code == 0:
            break
        assert code == -signal.SIGKILL
        assert git(judges.root("a"), "status", "--porcelain", "-uall") == ""
    judges.settle()
    assert limit > 10
    assert lines_at(judges.hub).keys() == lines_at(judges.root("b")).keys() == ids(said)
    assert git(judges.root("a"), "fsck", "--strict", "--no-progress", "--no-dangling") == ""


def test_two_processes_of_one_clone_commit_at_once_and_every_line_is_there(tmp_path: Path) -> None:
    judges = Judges(tmp_path / "scene", "a")
    store = judges["a"]
    said = judge(store, 13)
    path = Path(store.ledgers.folder, ledger.path_of(store.source_id, said[0].id))
    first, *lines = path.read_text().splitlines()
    path.write_text(f"{first}\n")
    children = [start(JUDGE_AND_COMMIT, store.places.root, path, *lines[part::2]) for part in range(2)]
    for child in children:
        _, errors = child.communicate(timeout=60)
        assert child.returncode == 0, errors
    assert not commit_own(store)
    assert lines_at(judges.root("a")).keys() == ids(said)
    assert git(judges.root("a"), "fsck", "--strict", "--no-progress", "--no-dangling") == ""
