"""What every test stands on: an empty home, git configured by us alone, no network, hypothesis profiles.

The guards are audit hooks, so they hold for all Python code in the test process; programs that a test starts
inherit the cleaned environment. `tests/project/test_isolation.py` proves each guard.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import ipaddress
import itertools
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import effort
import hypothesis
import prepared
import pytest

if TYPE_CHECKING:
    from apikit import SetClock

    from engram.app import Engram

ROOT = Path(__file__).resolve().parent.parent

# As Engram has it, but some tests import numpy before: its threads wait for one another on a busy machine, at full speed.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# For the test processes that this one starts: glibc gives the memory of each index writer back to the system,
# only to ask for it again, which makes half of all page faults. Elsewhere nobody knows these variables.
for _threshold in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):
    os.environ.setdefault(_threshold, str(32 << 20))

# Noted before the first change: pytest-xdist's workers start with the home that their parent has set.
REAL_HOME = os.path.realpath(os.environ.setdefault("TESTS_REAL_HOME", str(Path.home())))

# Noted likewise. On a server hypothesis tries the same examples each time; nothing else may depend on where tests run.
IN_CI = bool(os.environ.setdefault("TESTS_IN_CI", os.environ.get("CI", "")))

# What a developer's shell, an agent's session or a git hook around the test run may have set.
FOREIGN_PREFIXES = """
    ENGRAM_ GIT_ XDG_ AIDER_ ANTHROPIC_ CLAUDE CLINE_ CODEX_ COPILOT_ CURSOR_ GEMINI_ GOOSE_ HF_ OPENAI_
    OPENCODE ROO_ TEXTUAL VSCODE_ WINDSURF_ ZED_
"""
FOREIGN_NAMES = """
    AGENT AI_AGENT BROWSER CDPATH CI CLICOLOR CLICOLOR_FORCE COLUMNS EDITOR EMAIL FORCE_COLOR LANGUAGE LESS
    LINES NO_COLOR PAGER SSH_AUTH_SOCK VISUAL
"""
NOWHERE = "http://127.0.0.1:9"  # nothing listens there, so a child program's download fails at once
NAME, EMAIL, DATE = "Engram Test", "test@example.invalid", "2026-01-02T03:04:05+00:00"
# The template is git's own without its dozen examples of hooks, which every repository of a test would copy and delete.
GIT_CONFIGURATION = f"""\
[user]
    name = {NAME}
    email = {EMAIL}
[init]
    defaultBranch = main
    templateDir = "{(ROOT / "tests/data/git-template").as_posix()}"
[gc]
    auto = 0
[maintenance]
    auto = false
"""

hypothesis.settings.register_profile("default", deadline=None, max_examples=10)  # other ones each time
hypothesis.settings.register_profile("ci", deadline=None, max_examples=20, derandomize=True, database=None)
hypothesis.settings.register_profile(
    effort.THOROUGH,
    deadline=None,
    max_examples=200,
    # A red build is to be about the change in it; whoever looks for more runs it at home.
    derandomize=IN_CI,
    database=None,
)
hypothesis.settings.load_profile("ci" if IN_CI else "default")


class NetworkForbiddenError(OSError):
    """A test reached for an address beyond this machine's own loopback."""


class HomeForbiddenError(PermissionError):
    """A test would have changed something in the developer's real home folder."""


def isolated_environment(home: Path) -> dict[str, str]:
    """The variables that make `home` the whole world of a program, git included."""
    folders = {"HOME": ".", "XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"}
    folders |= {"XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state"}
    folders |= {"USERPROFILE": ".", "APPDATA": "AppData/Roaming", "LOCALAPPDATA": "AppData/Local"}  # Windows
    git = {"GIT_CONFIG_GLOBAL": str(home / ".gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"}
    git |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file"}
    for who in ("AUTHOR", "COMMITTER"):
        git |= {
            f"GIT_{who}_DATE": DATE
        }  # the names are those of the configuration, which a clone may override
    network = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"), NOWHERE)
    network |= {"ENGRAM_SYNC_SECONDS": "inf"}  # no process of ours outlives a test in order to sync
    network |= {"no_proxy": "127.0.0.1,localhost", "HF_HUB_OFFLINE": "1"}
    return {name: str(home / place) for name, place in folders.items()} | git | network


def move_into(home: Path, patch: pytest.MonkeyPatch) -> None:
    """Makes `home` the home folder and the current folder, with no trace of the environment outside."""
    (home / ".gitconfig").write_text(GIT_CONFIGURATION, "utf-8")
    prefixes, names = tuple(FOREIGN_PREFIXES.split()), FOREIGN_NAMES.split()
    for name in list(os.environ):
        if name.startswith(prefixes) or name in names:
            patch.delenv(name)
    for name, value in isolated_environment(home).items():
        if os.environ.get(name) != value:  # most stand as they were set for the session
            patch.setenv(name, value)
    patch.chdir(home)  # from the project's folder, Engram would find the project's own lore


_homes = itertools.count()


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gives each test a home folder of its own; a test that looks into it names it."""
    folder = tmp_path_factory.getbasetemp() / f"home{next(_homes)}"
    folder.mkdir()
    move_into(folder, monkeypatch)
    return folder


@pytest.fixture
def user_file(home: Path) -> Path:
    """The path of the user's own settings, which are not there yet."""
    path = home / ".config" / "engram" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def persons_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git that belongs to a person: nothing in its environment, a name and an address in its configuration."""
    import gitkit

    gitkit.isolate(monkeypatch, tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a new store outside git."""
    from apikit import make_plain_store

    return make_plain_store(tmp_path / "store")


@pytest.fixture
def engram(root: Path) -> Iterator[Engram]:
    """The store at `root`, open."""
    from apikit import open_test_store

    with open_test_store(root) as found:
        yield found


@pytest.fixture
def clock() -> SetClock:
    """A clock that only the test moves."""
    from apikit import SetClock

    return SetClock()


@pytest.fixture(autouse=True, scope="session")
def _session_home(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[None]:
    """The same for fixtures that outlive a test; PYTHONPATH keeps its meaning in another folder."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("PYTHONPATH"):
            patch.setenv("PYTHONPATH", os.pathsep.join(str(Path(path).resolve()) for path in paths))
        move_into(tmp_path_factory.mktemp("session-home"), patch)
        base = tmp_path_factory.getbasetemp()
        prepared.keep_in((base.parent if hasattr(request.config, "workerinput") else base) / "prepared")
        yield


def is_loopback(host: object) -> bool:
    """Whether a host given to a socket call is this machine alone; an empty one means every interface."""
    name = host.decode() if isinstance(host, bytes) else str(host)
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _guard_network(event: str, address: object) -> None:
    """Refuses host names and internet addresses (tuples) that are not loopback; a path is a Unix socket."""
    host = address[0] if isinstance(address, tuple) else address
    named = isinstance(address, tuple) or event.startswith("socket.get")
    if named and host is not None and not is_loopback(host):
        raise NetworkForbiddenError(f"tests may not use the network: {event} {address!r}")


# Where writing is fine even inside the home folder: the project, its environment, temporary files.
WRITABLE = tuple(
    os.path.join(os.path.realpath(place), "") for place in (ROOT, sys.prefix, tempfile.gettempdir())
)
_HOME = os.path.join(REAL_HOME, "")


def _real_place(path: str) -> str:
    """Where a path leads, with a slash at its end. A folder's place is looked up once: a tenth of the tests' time."""
    folder, name = os.path.split(path)
    if not path.startswith("/") or name in ("", ".", "..") or os.path.islink(path):
        return os.path.join(os.path.realpath(path), "")
    return f"{_real_folder(folder)}{name}/"


_real_folder = functools.lru_cache(maxsize=100_000)(_real_place)


def _guard_home(event: str, path: object) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)) or not path:
        return
    place = _real_place(os.fsdecode(path))
    # Byte code is that of a Python which is installed in the home folder.
    if place.startswith(_HOME) and not place.startswith(WRITABLE) and "__pycache__" not in place:
        raise HomeForbiddenError(f"tests may not touch the home folder: {event} {place!r}")


WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
NETWORK_EVENTS = {  # each with the position of its address
    **dict.fromkeys(("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"), 0),
    **dict.fromkeys(("socket.connect", "socket.bind", "socket.sendto"), 1),
}
CHANGE_EVENTS = {  # each with the number of its paths
    **dict.fromkeys(("os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree", "sqlite3.connect"), 1),
    "os.rename": 2,
}


def _guard(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        if isinstance(arguments[2], int) and arguments[2] & WRITING:
            _guard_home(event, arguments[0])
    elif event in ("os.remove", "os.rmdir") and arguments[1] != -1:
        pass  # a part, in a folder that is open, of what `shutil.rmtree` removes: that is asked about once
    elif event in CHANGE_EVENTS:
        for path in arguments[: CHANGE_EVENTS[event]]:
            _guard_home(event, path)
    elif event in NETWORK_EVENTS:
        _guard_network(event, arguments[NETWORK_EVENTS[event]])


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--slow`: further cases of what is tested anyway. `--thorough`: more examples, histories and steps, some minutes in all."""
    parser.addoption("--slow", action="store_true", help="also the tests that are marked slow")
    parser.addoption(
        "--thorough", action="store_true", help="these, and more examples of the same properties"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Sets the guards, once a process and for good: an audit hook cannot be taken back."""
    if config.getoption("--thorough"):
        hypothesis.settings.load_profile(effort.THOROUGH)
    sys.addaudithook(_guard)
    gc.disable()  # until all modules are there: a fifth of the time that takes


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves tests that are marked slow out of a run of the whole suite, unless it asks for them."""
    whole = config.args == ["tests"] and not config.getoption("-m") and not config.getoption("-k")
    if not whole or config.getoption("--slow") or config.getoption("--thorough"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not item.get_closest_marker("slow")]


def pytest_collection(session: pytest.Session) -> None:
    """Lets each of several test processes of a fresh checkout compile another part of the test modules first.

    All of them need all modules. In the same order each would compile each of them, which takes 7 s.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != ["tests"]:  # a process alone, or a run of a few modules
        return
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    first = len(names) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for name in names[first:]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # which pytest is to meet and to tell
            importlib.import_module(name)


def pytest_collection_finish() -> None:
    """Spares the garbage collector the modules of all tests, which stay: a sixth of the tests' own time.

    Nor does it look at everything else a hundred times as often as it need be: another tenth.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 100)
    gc.enable()
