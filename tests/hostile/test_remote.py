"""The contents of a malicious remote are refused by name, or are only data; nothing around the store is touched or run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from apikit import cli, git, ok
from effort import is_thorough, sampled
from hostile_kit import check_result
from malicious_kit import (
    FILE,
    LINK,
    MODULE,
    PROGRAM,
    Objects,
    World,
    build,
    copy,
    nothing_opened_below,
)
from sync_kit import executable

from engram.adapters.git.run import process
from engram.adapters.git.run.process import SETTINGS
from engram.domain.errors import NEEDS_HUMAN, REMOTE_FAILED, USAGE
from engram.domain.text.safe_text import safe_text

OUTSIDE = b"../outside/secret.md"
UNSOUND = "damaged or forged"
HOSTILE = "\u202etxt.exe"


def config(text: str) -> Callable[[Objects], object]:
    return lambda hub: hub.put(".engram.toml", text.encode())


def name(path: str | bytes, mode: str = FILE, content: bytes = b"x\n") -> Callable[[Objects], object]:
    return lambda hub: hub.put(path, content, mode)


def bomb(hub: Objects) -> None:
    """Write ten levels of ten equal folders: 10,000,000,000 files from eleven objects."""
    tree = hub.tree({b"%d.md" % n: (FILE, hub.blob(b"boom\n")) for n in range(10)})
    for _ in range(9):
        tree = hub.tree({b"%d" % n: ("40000", tree) for n in range(10)})
    hub.commit(hub.graft(hub.top, [b"lore", b"bomb"], "40000", tree))


def zeros(hub: Objects) -> None:
    """Write a hundred files of a blob that compresses to nothing: 800 MB when checked out."""
    oid = hub.blob(b"\0" * (8 * 1024 * 1024))
    tree = hub.tree({b"%d.bin" % n: (FILE, oid) for n in range(100)})
    hub.commit(hub.graft(hub.top, [b"zeros"], "40000", tree))


def deep(hub: Objects) -> None:
    """Write folders so deep that git itself fails."""
    path = b"lore/" + b"d/" * 8_000 + b"x.md"
    lines = b"commit refs/heads/main\ncommitter x <x@x> 1772600000 +0000\ndata 1\nx\nfrom refs/heads/main^0\n"
    stream = lines + b"M 100644 inline " + path + b"\ndata 1\nx\n"
    command = ["git", "-c", "core.hooksPath=/dev/null", "fast-import", "--quiet", "--force"]
    subprocess.run(command, cwd=hub.hub, input=stream, check=True, capture_output=True)


def pair(one: str, other: str) -> Callable[[Objects], object]:
    def made(hub: Objects) -> None:
        hub.put(one)
        hub.put(other)

    return made


def message(size: int) -> Callable[[Objects], object]:
    return lambda hub: hub.commit(hub.graft(hub.top, [b"lore", b"n.md"], FILE, hub.blob(b"n\n")), b"x" * size)


# Cases that stop a sync or clone: how to make each, and words of its message.
REFUSED: dict[str, tuple[Callable[[Objects], object], str]] = {
    "link in place of the lore folder": (
        lambda hub: hub.commit(hub.graft(hub.top, [b"lore"], LINK, hub.blob(b"../outside/lore"))),
        "lore' is a symbolic link",
    ),
    "link as attributes": (name(".gitattributes", LINK, OUTSIDE), "symbolic link"),
    "link as configuration": (name(".engram.toml", LINK, b"../config"), ".engram.toml' is a symbolic link"),
    "up": (name("lore/../../up.md"), "leads out of the store"),
    "here": (name("lore/./x.md"), "leads out of the store"),
    "root": (name("//outside.md"), "leads out of the store"),
    "slash in a name": (name("lore/..//..//x.md"), "leads out of the store"),
    "git folder": (name(".git/hooks/post-checkout", PROGRAM), "would lie in a .git folder"),
    "git folder below": (name("lore/.git/config"), "would lie in a .git folder"),
    "GIT folder": (name(".GIT/config"), "would lie in a .git folder"),
    "git folder of DOS": (name("git~1/config"), "would lie in a .git folder"),
    "git folder with ignored letters": (name(".g\u200cit/config"), "would lie in a .git folder"),
    "git folder with a byte order mark": (name("\ufeff.git/config"), "would lie in a .git folder"),
    "git folder with a dot": (name(".git./config"), "would lie in a .git folder"),
    "git folder with a blank": (name(".git /config"), "would lie in a .git folder"),
    "git folder as a stream": (name(".git::$INDEX_ALLOCATION/config"), "would lie in a .git folder"),
    "10 MB of configuration": (name(".engram.toml", FILE, b"#" * 10_000_000), "has 10,000,000 bytes"),
    "zeros": (zeros, "bytes together"),
    "bomb": (bomb, "more files than Engram takes"),
    "deep": (deep, "nested too deeply"),
    "huge message": (message(1_000_000), "itself has 1,000,"),
    "no configuration": (
        lambda hub: hub.commit(hub.graft(hub.top, [b".engram.toml"], FILE, None)),
        "store",
    ),
}
# Cases in which only a file stays out of the work tree.
LEFT_OUT: dict[str, tuple[Callable[[Objects], object], str]] = {
    "link to a file": (name("lore/link.md", LINK, OUTSIDE), "it is a symbolic link"),
    "link to a folder": (name("lore/2026/link", LINK, b"/"), "it is a symbolic link"),
    "submodule": (name("lore/module", MODULE), "it is a submodule"),
    "gitmodules": (
        name(".gitmodules", FILE, b'[submodule "x"]\n\tpath = x\n\turl = x\n'),
        "declares submodules",
    ),
    "gitmodules that run": (
        name(".GitModules", FILE, b'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c touch%20x\n'),
        "declares submodules",
    ),
    "backslash": (name("lore/..\\..\\x.md"), "backslashes"),
    "newline": (name("lore/a\nb.md"), "control characters"),
    "escape": (name("lore/\x1b[31mred.md"), "control characters"),
    "other controls": (name("lore/\x9b31mred.md"), "reorder or hide text"),
    "bidi": (name(f"lore/{HOSTILE}"), "reorder or hide text"),
    "tags": (name("lore/\U000e0041\U000e0042.md"), "reorder or hide text"),
    "no UTF-8": (name(b"lore/\xff\xfe.md"), "not UTF-8"),
    "long name": (name("lore/" + "n" * 250 + ".md"), "too long"),
    "long path": (name("lore/" + "/".join(["folder"] * 200) + "/x.md"), "too long"),
    "temporary": (name("lore/.x.md.1.engram-tmp"), "temporary file of Engram"),
    "another lore folder": (name("LORE/x.md"), "some file systems take for lore"),
    "another configuration": (name(".Engram.toml"), "some file systems take for .engram.toml"),
    "another attributes": (name(".gitattribute\u017f"), "some file systems take for .gitattributes"),
    "twins by case": (pair("lore/Note.md", "lore/note.md"), "the same path"),
    "twins by folder": (pair("lore/A/1.md", "lore/a/2.md"), "the same path"),
    "twins by form": (pair("lore/caf\u00e9.md", "lore/cafe\u0301.md"), "the same path"),
    "twin of another kind": (pair("docs/README", "docs/readme"), "the same path"),
    "50 MB of lore": (
        name("lore/giant.md", FILE, b"giant\n" * 8_400_000),
        "it has 50,400,000 bytes",
    ),
    "50 MB of anything": (name("giant.bin", FILE, b"\0" * 50_000_000), "it has 50,000,000 bytes"),
    "files that agents obey": (name(".claude/settings.json"), "programs act upon"),
    "files that shells obey": (name("lore/.envrc"), "programs act upon"),
}
HEAVY = ("bomb", "deep", "zeros")
QUICK = ("link in place of the lore folder", "up", "git folder with ignored letters")


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("malicious") / "template"
    build(folder)
    return folder


@pytest.fixture
def world(template: Path, tmp_path: Path, home: Path) -> World:
    """Make a store with a commit of its own, so that incoming changes are merged."""
    return copy(template, tmp_path / "world", home, diverged=True)


@pytest.fixture
def behind(template: Path, tmp_path: Path, home: Path) -> World:
    """Make a store that can be fast-forwarded."""
    return copy(template, tmp_path / "world", home, diverged=False)


def try_all(world: World, cases: Iterable[str], *commands: tuple[str, ...]) -> None:
    """Check for each case in turn that the commands refuse it with a reason, and that nothing changes anywhere."""
    before, around, head = world.store(), world.around(), world.objects.head
    for case in cases:
        make, words = REFUSED[case]
        make(world.objects)
        with nothing_opened_below(world.folder / "outside"):
            for command in commands:
                result = cli(*command, "--json", cwd=world.root)
                assert result.code in (NEEDS_HUMAN, REMOTE_FAILED, USAGE), (case, result)
                said = result.json["error"]["message"]
                assert words in said or UNSOUND in said, (case, said)
                assert len(said) < 2000, case
        assert not (world.folder / "new").exists(), case
        assert world.store() == before, case
        assert world.around() == around, case
        assert not world.trace.exists(), (case, world.trace.read_text())
        (world.hub / "refs/heads/main").write_text(head + "\n")
    assert_works(world)


def try_left_out(world: World, case: str) -> None:
    """Check that a good entry beside the case arrives, a message names the file left out, and nothing else changes."""
    make, words = LEFT_OUT[case]
    before, around = set(files_below(world.root)), world.around()
    world.objects.put("lore/innocent.md", b"Innocent.\n\nIt travels beside what does not.\n")
    make(world.objects)
    with nothing_opened_below(world.folder / "outside"):
        done = ok("sync", "--json", cwd=world.root).json
    assert any(words in note and "not written here" in note for note in done["notes"]), (case, done["notes"])
    known = {"lore/innocent.md", *(path for path in TWINS_KEPT if path in files_below(world.root))}
    assert set(files_below(world.root)) == before | known, case
    assert world.around() == around, case
    assert not world.trace.exists(), (case, world.trace.read_text())
    assert_works(world)


# Of two files with equivalent names, the first in order is written.
TWINS_KEPT = ("lore/Note.md", "lore/A/1.md", "lore/cafe\u0301.md", "docs/README")


def shared_entry(world: World) -> Path:
    """Return the file of the entry that the remote also has."""
    return next(
        path for path in (world.root / "lore").rglob("*.md") if not path.name.startswith("mine-alone")
    )


def files_below(root: Path) -> list[str]:
    return [
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if ".git" not in path.relative_to(root).parts and (path.is_symlink() or path.is_file())
    ]


def assert_works(world: World) -> None:
    """Check that the victim's store still works."""
    number = len(list((world.root / "lore").rglob("*.md")))  # so that the text is new
    ok("record", f"The door code of archive {number} changes on Mondays.", "-c", "fact", cwd=world.root)
    assert ok("sync", "--json", cwd=world.root).json["pushed"] >= 1
    assert ok("query", "door code", "--json", cwd=world.root).json["lore"]
    assert git(world.root, "-c", "core.fsmonitor=false", "status", "--porcelain") == ""
    world.trace.unlink(
        missing_ok=True
    )  # the push made the remote's git, which has the same user here, run its hooks


def without_fsck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn off git's own checks of fetched objects, as an older git may not have them."""
    kept = tuple(one for one in SETTINGS if "fsck" not in one)
    monkeypatch.setattr(process, "SETTINGS", (*kept, "core.protectHFS=false", "core.protectNTFS=false"))


def clone_of(world: World) -> tuple[str, ...]:
    return ("clone", str(world.hub), str(world.folder / "new"))


@pytest.mark.slow
def test_objects_that_git_accepts_are_refused_by_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    without_fsck(monkeypatch)
    try_all(world, QUICK, ("sync",))
    try_all(world, QUICK[:2], clone_of(world))


@pytest.mark.slow
def test_everything_is_refused_by_a_sync(behind: World, monkeypatch: pytest.MonkeyPatch) -> None:
    without_fsck(monkeypatch)
    try_all(behind, [case for case in REFUSED if case not in HEAVY], ("sync",))


@pytest.mark.slow
def test_everything_is_refused_by_a_clone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    try_all(world, QUICK, clone_of(world))
    without_fsck(monkeypatch)
    # Sync is tested with all cases; clone, usually, with one per message.
    chosen = (
        list(REFUSED)
        if is_thorough()
        else list({words: case for case, (_, words) in REFUSED.items()}.values())
    )
    try_all(world, [case for case in chosen if case not in HEAVY], clone_of(world))


@sampled("case", LEFT_OUT, everyday=2)
def test_a_bad_file_stays_out_and_everything_else_comes_in(
    case: str, behind: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_fsck(monkeypatch)
    try_left_out(behind, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", HEAVY)
def test_bombs_are_refused_before_they_use_memory_or_disk(case: str, world: World) -> None:
    # Usually sync for some and clone for the others, as both use the same checks.
    commands = [("sync",), clone_of(world)]
    try_all(world, [case], *(commands if is_thorough() else [commands[HEAVY.index(case) % 2]]))


def test_the_traps_work_with_plain_git(world: World) -> None:
    """Plain git runs the programs that Engram does not."""
    git(world.root, "-c", "core.fsmonitor=false", "commit", "--allow-empty", "-q", "-m", "x")
    assert "hooks/" in world.trace.read_text()
    world.trace.unlink()
    (world.root / ".gitattributes").write_text("* filter=lfs\n")
    done = subprocess.run(["git", "add", "--renormalize", "."], cwd=world.root, capture_output=True)
    assert done.returncode != 0
    assert "canary.sh" in world.trace.read_text()


DRIVERS = b"* filter=lfs diff=evil merge=evil ident eol=crlf text working-tree-encoding=UTF-16 export-subst\n"


@pytest.mark.slow
def test_programs_named_in_gitattributes_are_not_run(world: World) -> None:
    lore = shared_entry(world).relative_to(world.root).as_posix()
    world.objects.put(".gitattributes", DRIVERS)
    world.objects.put("lore/.gitattributes", DRIVERS)
    world.objects.put("lore/$Id$.md", b"An $Id$ line and a $Format:%H$ line.\n")
    world.objects.put("hooks/post-merge", b"#!/bin/sh\ntouch executed\n")
    around = world.around()
    ok("sync", "--pull", cwd=world.root)
    ok("clone", str(world.hub), str(world.folder / "new"))
    for root in (world.root, world.folder / "new"):
        assert (root / "lore/$Id$.md").read_bytes() == b"An $Id$ line and a $Format:%H$ line.\n"
        (root / lore).write_text((root / lore).read_text().replace("idempotent", "repeatable"))
        for command in EVERYTHING:
            ok(*command, cwd=root)
        name = ok("query", "queue consumers", "--json", cwd=root).json["lore"][0]["id"]
        for command in ("log", "blame", "diff", "show"):
            ok(command, name, cwd=root)
        ok("query", "queue consumers", "--as-of", "HEAD", cwd=root)
        ok("undo", cwd=root)
        assert not world.trace.exists(), world.trace.read_text()
    assert world.around() == around
    assert not world.trace.exists(), world.trace.read_text()


EVERYTHING = (
    ("record", "Recorded beside hostile attributes.", "-c", "fact"),
    ("list",),
    ("status",),
    ("doctor", "--fix"),
    ("reindex",),
    ("session",),
    ("export",),
    ("sync", "--pull"),
)
ESCAPE = "\x1b[31mred\x1b]0;title\x07 \u202edesrever \U000e0041"


def test_author_names_messages_and_trailers_are_sanitized_on_every_screen(world: World) -> None:
    path = shared_entry(world)
    text = path.read_text().replace("late.", f"late. {ESCAPE}")
    tree = world.objects.graft(
        world.objects.top, path.relative_to(world.root).as_posix().encode().split(b"/"), FILE,
        world.objects.blob(text.encode()),
    )  # fmt: skip
    message = f"{ESCAPE}\n\nEngram-Agent: {ESCAPE}\nEngram-Session: {ESCAPE}\nEngram-Delta: {ESCAPE}\n"
    world.objects.commit(tree, message.encode(), f"{ESCAPE} <{ESCAPE}@example.org> 1772600000 +0000")
    ok("sync", "--pull", cwd=world.root)
    name = re.findall("--(.{26})", path.name)[0]
    for command in ("log", "blame", "show", "diff"):
        for option in ((), ("--json",)):
            said = ok(command, name, *option, cwd=world.root)
            check_result(said, 0)
            assert "desrever" in said.out, command


def test_messages_of_a_server_are_sanitized_on_every_screen(world: World) -> None:
    executable(world.hub / "hooks/pre-receive", f"#!/bin/sh\nprintf '{SAID}' >&2\nexit 1\n")
    with (world.home / ".gitconfig").open("a") as file:
        file.write(f"[core]\nhooksPath = {world.hub / 'hooks'}\n")
    ok("record", "Something to push.", "-c", "fact", cwd=world.root)
    refused = check_result(cli("sync", cwd=world.root), REMOTE_FAILED)
    assert "RED" in refused.err
    assert len(refused.err) < 3000
    for command in (("sync", "--json"), ("status",), ("status", "--json")):
        said = cli(*command, cwd=world.root)
        assert safe_text(said.out, lines=True).replace("\ufffd", "") == said.out.replace("\ufffd", "")
    assert len(cli("sync", "--json", cwd=world.root).json["error"]["message"]) < 2000


SAID = "\\033[31mRED\\033[0m \\342\\200\\256 " + "x" * 5000 + "\\n"


@sampled(
    "ref",
    [
        "refs/heads/--upload-pack=touch",
        "refs/heads/HEAD",
        "refs/heads/$(touch x)",
        "refs/heads/refs/heads/main",
    ],
    2,
)
def test_refs_with_unusual_names_are_harmless(ref: str, world: World) -> None:
    head = world.objects.head
    file = world.hub / ref
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(head + "\n")
    (world.hub / "HEAD").write_text(f"ref: {ref}\n")
    around = world.around()
    done = cli("clone", str(world.hub), str(world.folder / "new"), "--json")
    assert done.code in (0, NEEDS_HUMAN, REMOTE_FAILED), done
    ok("sync", "--pull", cwd=world.root)
    if done.code == 0:
        # Git itself cannot store a remote's branch HEAD, and says so.
        assert cli("sync", "--pull", cwd=world.folder / "new").code in (0, REMOTE_FAILED)
        assert ok("list", cwd=world.folder / "new").out
    (world.hub / "HEAD").write_text("ref: ../../outside/secret.md\n")
    assert cli("sync", "--pull", cwd=world.root).code in (0, REMOTE_FAILED)
    assert world.around() == around
    assert not world.trace.exists(), world.trace.read_text()


def test_files_that_are_no_entries_are_named_and_the_rest_is_read(world: World) -> None:
    bad = {
        "aliases": b"---\na: &a [x]\nb: [*a, *a]\n---\nText.\n",
        "depth": b"---\ntags: " + b"[" * 9_000 + b"]" * 9_000 + b"\n---\nText.\n",
        "large": b"---\ntags: [" + b"x, " * 20_000 + b"]\n---\nText.\n",
        "endless": b"---\n" + b"a" * 200_000,
        "binary": bytes(range(256)) * 4,
    }
    for name_, raw in bad.items():
        world.objects.put(f"lore/{name_}.md", raw)
    ok("sync", "--pull", cwd=world.root)
    found = cli("doctor", "--json", cwd=world.root).json["findings"]
    told = " ".join(one["where"] for one in found)
    assert all(f"lore/{name_}.md" in told for name_ in bad), told
    assert ok("query", "queue consumers", "--json", cwd=world.root).json["lore"]


@pytest.mark.slow
def test_thousands_of_files_are_handled(template: Path, tmp_path: Path, home: Path) -> None:
    world = copy(template, tmp_path / "world", home, diverged=False)
    oid = world.objects.blob(b"The same note again and again.\n")
    tree = world.objects.tree({b"%05d.md" % n: (FILE, oid) for n in range(2_000)})
    world.objects.commit(world.objects.graft(world.objects.top, [b"lore", b"many"], "40000", tree))
    assert ok("sync", "--pull", "--json", cwd=world.root).json["pulled"] == 2_000
    assert ok("query", "queue consumers", "--json", cwd=world.root).json["lore"]
