"""`./run` sets itself up once, quietly afterwards, anywhere, and says what to do when it cannot.

The scripts are the real ones. A script that notes its calls stands in for Python, since a real installation
needs the network (CI does that one: it starts with an empty folder and `./test`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are shell scripts")

# Stands in for a Python: makes an environment with a python and an engram command in it.
PYTHON = r"""#!/bin/sh
echo "python $*" >> "$CALLS"
case "$*" in
  "-m venv --without-pip "*|"-m venv "*)
    [ -n "$NO_ENSUREPIP" ] && [ "$3" != --without-pip ] && exit 1
    for folder; do :; done
    mkdir -p "$folder/bin" && cp "$0" "$folder/bin/python"
    printf '#!/bin/sh\necho "engram in $PWD:" "$@"\n' > "$folder/bin/engram"
    chmod +x "$folder/bin/engram" ;;
  "-m pip"*) [ -z "$NO_NETWORK" ] || { echo "no network" >&2; exit 1; } ;;
esac
"""
TOO_OLD = "#!/bin/sh\nexit 1\n"


class Project:
    """A copy of the scripts in a folder with a space in its name, with only the stand-in Python on PATH."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a project"
        self.commands = folder / "commands"
        self.calls = folder / "calls"
        self.commands.mkdir()
        for tool in (
            "bash",
            "sh",
            "dirname",
            "cat",
            "cmp",
            "cp",
            "find",
            "head",
            "mkdir",
            "rm",
            "mv",
            "chmod",
        ):
            (self.commands / tool).symlink_to(str(shutil.which(tool)))
        for name in ("run", "tools/environment.sh", "pyproject.toml", "constraints.txt", "engram/version.py"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        (self.root / "tui").mkdir()
        self.add_python("python3", PYTHON)

    def add_python(self, name: str, script: str) -> None:
        (self.commands / name).write_text(script, "utf-8")
        (self.commands / name).chmod(0o755)

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        self.calls.write_text("", "utf-8")
        environment = {"PATH": str(self.commands), "CALLS": str(self.calls), **variables}
        command = (str(self.root / "run"), *arguments)
        return subprocess.run(
            command, cwd=self.commands, env=environment, capture_output=True, text=True, check=False
        )

    def installs(self) -> int:
        """Return how often the last run called pip."""
        return self.calls.read_text("utf-8").count("-m pip install")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Make a project that was never started."""
    return Project(tmp_path)


def test_the_first_start_installs_and_passes_on_every_argument(project: Project) -> None:
    done = project.run("query", "two words")
    assert done.stdout == f"engram in {project.root}: query two words\n"
    assert project.installs() == 1
    assert "--constraint constraints.txt --editable ." in project.calls.read_text("utf-8")


def test_later_starts_are_quiet_and_start_no_python(project: Project) -> None:
    project.run()
    done = project.run("list")
    assert (done.stdout, done.stderr) == (f"engram in {project.root}: list\n", "")
    assert project.calls.read_text("utf-8") == ""


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_changed_requirements_install_again(project: Project, name: str) -> None:
    project.run()
    with (project.root / name).open("a") as file:
        file.write("# newer\n")
    project.run()
    assert project.installs() == 1


def test_changed_code_is_compiled_and_not_installed_again(project: Project) -> None:
    project.run()
    compiled = project.root / ".venv/.engram/compiled"
    os.utime(compiled, (1, 1))
    project.run()
    assert project.calls.read_text("utf-8") == "python -m compileall -q engram tui\n"


def test_a_moved_project_gets_a_new_environment(project: Project) -> None:
    project.run()
    project.root = project.root.rename(project.root.with_name("elsewhere"))
    assert project.run().stdout == f"engram in {project.root}:\n"
    assert project.installs() == 1


def test_without_ensurepip_another_pip_completes_the_environment(project: Project) -> None:
    done = project.run(NO_ENSUREPIP="yes")
    assert done.returncode == 0, done.stderr
    assert "python -m pip --python .venv install -qq pip\n" in project.calls.read_text("utf-8")


def test_without_venv_and_pip_the_message_says_what_to_install(project: Project) -> None:
    done = project.run(NO_ENSUREPIP="yes", NO_NETWORK="yes")
    assert done.returncode == 1
    assert "apt install python3-venv" in done.stderr
    assert not (project.root / ".venv").exists()


def test_a_failed_installation_is_reported_and_retried(project: Project) -> None:
    done = project.run(NO_NETWORK="yes")
    assert done.returncode == 1
    assert "no network\nEngram could not be installed" in done.stderr
    assert project.run().returncode == 0


def test_a_newer_python_behind_an_old_one_is_found(project: Project) -> None:
    project.add_python("python3", TOO_OLD)
    project.add_python("python3.12", PYTHON)
    assert project.run().returncode == 0


def test_without_any_python_the_message_says_which_is_needed(project: Project) -> None:
    project.add_python("python3", TOO_OLD)
    done = project.run()
    assert done.returncode == 1
    assert done.stderr.startswith("Engram needs Python 3.11 or newer")
    assert "Traceback" not in done.stderr
