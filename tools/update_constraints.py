"""Update constraints.txt: the exact versions that ./run and ./test install.

Usage: python3.11 tools/update_constraints.py [--check-wheels]

Run it with the oldest Python that Engram supports, so that every pin fits all newer ones too. It installs
the project with its dev extra into a temporary environment and pins the installed versions. Packages that only other
systems or Python versions need are added with their markers. `--check-wheels` also checks that each pin has a
wheel for every system and Python that the tests run on (a minute or two).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
OLDEST = (3, 11)
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
HEADER = "# Written by tools/update_constraints.py: what ./run and ./test install. Do not edit.\n"
NOT_PINNED = {"pip", "setuptools", "engram-lore"}

# The wheel tags to accept per system, newest first, which pip would otherwise derive from its own system.
MAC_ARM = [f"macosx_{release}_0_arm64" for release in (14, 13, 12, 11)]
MAC_ANY = ["macosx_11_0_universal2", "macosx_10_13_universal2", "macosx_10_9_universal2"]
LINUX = [f"manylinux_2_{minor}_x86_64" for minor in (28, 27, 26, 24, 17, 12, 5)] + ["manylinux2014_x86_64"]
SYSTEMS = {"Linux": LINUX, "macOS": MAC_ARM + MAC_ANY, "Windows": ["win_amd64"]}
NAMES = {"Linux": ("linux", "Linux"), "macOS": ("darwin", "Darwin"), "Windows": ("win32", "Windows")}

# Run inside the temporary environment: the requirements of the installed packages on other systems and Pythons.
ELSEWHERE = """
import importlib.metadata as metadata, json
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
systems = [
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
]
installed = {canonicalize_name(found.name) for found in metadata.distributions()}
wanted = {}
for found in metadata.distributions():
    for requirement in map(Requirement, found.requires or []):
        name = canonicalize_name(requirement.name)
        if name in installed or requirement.marker is None or "extra" in str(requirement.marker):
            continue
        for system in systems:
            for python in PYTHONS:
                version = {"python_version": python, "python_full_version": python + ".0"}
                if requirement.marker.evaluate({"extra": "", **system, **version}):
                    wanted.setdefault(name, set()).add(str(requirement.marker))
print(json.dumps({name: sorted(markers) for name, markers in wanted.items()}))
"""


def output_of(*command: str) -> str:
    """Return the output of a command; exit if it fails."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"Failed: {' '.join(command)}")
    return done.stdout


def versions_in(python: str) -> dict[str, str]:
    """Return name and version of each package installed for `python`, without the project and installers."""
    listed = json.loads(output_of(python, "-m", "pip", "list", "--format=json"))
    return {row["name"]: row["version"] for row in listed if row["name"].lower() not in NOT_PINNED}


def pins(folder: str) -> list[str]:
    """Install the project into `folder` and return the lines of a constraints file, sorted by name."""
    venv.create(folder, with_pip=True)
    python = str(Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    install = (python, "-m", "pip", "install", "-qq", "--disable-pip-version-check")
    output_of(*install, "--upgrade", "pip")
    output_of(*install, ".[dev]")
    lines = [f"{name}=={version}" for name, version in versions_in(python).items()]
    elsewhere: dict[str, list[str]] = json.loads(
        output_of(python, "-c", f"PYTHONS = {PYTHONS!r}\n{ELSEWHERE}")
    )
    if elsewhere:
        found = versions_for_any_system(install, list(elsewhere))
        lines += [f"{name}=={found[name]} ; {' or '.join(elsewhere[name])}" for name in elsewhere]
    return sorted(lines, key=str.lower)


def versions_for_any_system(install: tuple[str, ...], names: list[str]) -> dict[str, str]:
    """Return the newest versions with a wheel for one of the systems, without installing them."""
    tags = [word for system in SYSTEMS.values() for tag in system for word in ("--platform", tag)]
    dry = ("--dry-run", "--report", "-", "--no-deps", "--only-binary=:all:", "--target", "unused")
    report = json.loads(output_of(*install, *dry, *tags, *names))
    rows = [row["metadata"] for row in report["install"]]
    return {row["name"].lower().replace("_", "-"): row["version"] for row in rows}


def is_for(system: str, line: str) -> bool:
    """Return whether a pin is for a system, by its marker."""
    marker = line.partition(" ;")[2]
    return not marker or any(name in marker for name in NAMES[system])


def missing_wheels() -> list[str]:
    """Return the systems and Pythons for which a pin has no wheel, with pip's reason."""
    problems = []
    lines = [line for line in CONSTRAINTS.read_text("utf-8").splitlines() if line[0] != "#"]
    for system, tags in SYSTEMS.items():
        # pip evaluates markers for the system it runs on, so the pins are checked without them.
        bare = [line.split(" ;")[0] for line in lines if is_for(system, line)]
        platforms = [word for tag in tags for word in ("--platform", tag)]
        for python in PYTHONS:
            target = ("--python-version", python, "--only-binary=:all:", "--target", "unused", *platforms)
            pip = (sys.executable, "-m", "pip", "install", "-qq", "--dry-run", "--no-deps")
            done = subprocess.run((*pip, *target, *bare), capture_output=True, text=True, check=False)
            if done.returncode:
                problems.append(f"{system}, Python {python}: {done.stderr.strip()}")
    return problems


def main(arguments: list[str]) -> int:
    if sys.version_info[:2] != OLDEST:
        print("Run this with Python {}.{}: pins taken there fit newer ones too.".format(*OLDEST))
        return 2
    supported = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    if supported != ">={}.{}".format(*OLDEST):
        print(f"pyproject.toml says {supported}: update OLDEST and PYTHONS in this file.")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        lines = pins(folder)
    CONSTRAINTS.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{CONSTRAINTS.name}: {len(lines)} versions")
    problems = missing_wheels() if "--check-wheels" in arguments else []
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
