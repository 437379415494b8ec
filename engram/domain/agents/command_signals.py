"""What identifies a command line or prompt in a query: programs with their subcommands, and named files."""

from __future__ import annotations

import posixpath
import re

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.agents.command_line import Run

_MOST_FILES = 8

# Programs whose first plain argument is a subcommand.
_WITH_SUBCOMMANDS_NAMES = """
    git gh npm pnpm yarn bun cargo go docker podman kubectl helm terraform tofu pulumi ansible alembic aws gcloud
    az pip uv poetry make just rake mvn gradle dotnet flutter systemctl launchctl brew apt apt-get dnf snap conda
    rails django-admin manage.py flask celery dbt airflow prefect dagster firebase vercel fly heroku wrangler
    supabase prisma knex sqlc buf nx turbo lerna rush bazel swift rustup nvm pyenv tox nox pre-commit west idf.py
    pio openssl vault consul nomad psql
"""

# Programs too common to query for: only the files that they name are looked up.
_EVERYDAY_NAMES = """
    ls cd pwd cat head tail less more echo printf grep egrep rg ag find fd sed awk cut sort uniq wc tr tee diff
    cmp cp mv rm mkdir rmdir touch ln chmod chown stat file du df ps kill top which type whoami date sleep true
    false test [ export set source . alias history clear vi vim nvim nano emacs code open tree tar zip unzip gzip
    gunzip curl wget jq yq base64 md5sum sha256sum python python3 node deno ruby perl php bash sh zsh fish
    command watch parallel
"""

# Files that most projects have: the name alone identifies nothing.
_COMMON_FILES = """
    __init__.py __main__.py app.py build.gradle cargo.toml changelog.md cmakelists.txt config.py conftest.py dockerfile go.mod
    index.css index.html index.js index.jsx index.md index.ts index.tsx layout.tsx lib.rs license main.go main.py main.rs main.tf
    main.ts makefile mod.rs models.py outputs.tf package-lock.json package.json page.tsx pom.xml pyproject.toml readme.md
    requirements.txt routes.py schema.sql settings.py setup.cfg setup.py style.css styles.css tests.py tsconfig.json types.ts
    urls.py utils.js utils.py utils.ts variables.tf views.py
""".split()  # noqa: SIM905 - a table to read
_WITH_SUBCOMMANDS, _EVERYDAY = (
    frozenset(names.split()) for names in (_WITH_SUBCOMMANDS_NAMES, _EVERYDAY_NAMES)
)
_PRINTERS = frozenset(["echo", "printf"])  # their arguments are text, not files
# The option that sets a program's working folder.
_FOLDER_OPTIONS = {
    **dict.fromkeys(("git", "make", "gmake", "ninja", "go"), ("-C",)),
    "pnpm": ("-C", "--dir"), "yarn": ("--cwd",), "terraform": ("-chdir",),
}  # fmt: skip
_FILE = re.compile(
    r"(?:\.{0,2}[\\/])?(?:[\w@+.-]+[\\/])*[\w@+-][\w@+.-]*\.[A-Za-z][A-Za-z0-9]{0,9}$|(?:[\w@+.-]+/){1,}[\w@+.-]+$"
)


def is_common_file(name: str) -> bool:
    """Return whether most projects have a file of this name, so that it identifies none without its folder."""
    return name.lower() in _COMMON_FILES


def files_in(text: str) -> list[str]:
    """Return the words of a prose text that look like files, in order, each once."""
    words = [word.strip("\"'`()[]{}<>,;:!?").rstrip(".") for word in text.split()]
    found = [word for word in words if _FILE.match(word) and "://" not in word]
    return list(dict.fromkeys(found))[:_MOST_FILES]


class Command(NamedTuple):
    """One program of a command line: its name, its subcommand ("" for none), the files that it names, its other words.

    `arguments` are all words after the program; `is_everyday` marks a program too common to query for. `paths` are the
    files relative to the folder in which the command line began: in `cd app && cat x.py`, `x.py` has the path `app/x.py`.
    """

    program: str
    subcommand: str
    files: tuple[str, ...]
    words: tuple[str, ...]
    is_everyday: bool
    arguments: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        """The query for the command; "" for an everyday program."""
        return (
            ""
            if self.is_everyday
            else " ".join([self.program, *([self.subcommand] if self.subcommand else []), *self.words])
        )


def commands_of(line: str) -> list[Command]:
    """Return the programs that a command line runs, in order; wrappers such as `sudo` are replaced by the wrapped program."""
    from engram.domain.agents.command_line import runs_of  # a prompt has none

    return [_command(run) for run in runs_of(line)]


def _command(run: Run) -> Command:
    from engram.domain.agents.command_line import Word

    words = list(run.words) or [Word("")]
    place = words[0].text.replace("\\", "/")
    program = place.rpartition("/")[2].removesuffix(".exe")
    program = program.partition("@")[0] or program  # npx NAME@VERSION
    # A script of the project counts as a file.
    named = [Word(place)] if "/" in place and "." in program else []
    arguments = words[1:]
    if arguments and program.startswith("python") and arguments[0].text.endswith("manage.py"):
        program, arguments = "manage.py", arguments[1:]
    all_arguments = tuple(word.text for word in arguments)
    work_folder = _folder_option(program, all_arguments)
    arguments = [*named, *arguments]
    subcommand = ""
    if program in _WITH_SUBCOMMANDS:
        plain = (k for k, word in enumerate(arguments) if re.fullmatch(r"[a-z][\w:-]*", word.text))
        at = next((k for k in plain if arguments[k].text != work_folder), None)
        if at is not None:
            subcommand, arguments = arguments[at].text, [*arguments[:at], *arguments[at + 1 :]]
    if program in _PRINTERS:
        arguments = []
    arguments += [Word(name) for name in run.redirected]
    bare = [word.text for word in arguments if not word.is_quoted or _FILE.match(word.text)]
    # Values of options count, too: -var-file=prod.tfvars
    values = [word.partition("=")[2] if word.startswith("-") else word for word in bare]
    files = [word for word in values if _FILE.match(word) and "://" not in word]
    files = list(dict.fromkeys(files))[:_MOST_FILES]
    others = [
        word for word in bare if re.fullmatch(r"(?:--)?[A-Za-z][\w-]{2,30}", word) and word not in files
    ]
    outside = (work_folder, *run.redirected)  # relative to the shell's folder, not to the program's
    return Command(
        program,
        subcommand,
        tuple(files),
        tuple(dict.fromkeys(word.lstrip("-") for word in others))[:6],
        program in _EVERYDAY,
        all_arguments,
        tuple(_below(run.folder, word if word in outside else _below(work_folder, word)) for word in files),
    )


def _folder_option(program: str, arguments: Sequence[str]) -> str:
    """Return the working folder that an option sets; "" for none."""
    options = _FOLDER_OPTIONS.get(program, ())
    for at, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name in options:
            return value or "".join(arguments[at + 1 : at + 2])
        if program == "git" and not argument.startswith("-") and arguments[at - 1 : at] != ("-c",):
            break  # subcommands have a -C of their own
    return ""


def _below(folder: str, file: str) -> str:
    return posixpath.normpath(posixpath.join(folder, file.replace("\\", "/"))) if folder else file
