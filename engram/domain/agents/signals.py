"""What an event of an agent says that memory can be asked about: the error in an output, the command and its files.

An output is mostly noise (progress, times, paths of this machine), and a command line mostly options. What identifies
the problem is a line or two; what identifies a command is its program, its subcommand and the files that it names.
"""

from __future__ import annotations

import re

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.domain.agents.command_line import Run

LONGEST_ERROR = 400  # characters
_MOST_LINES = 3
_LONGEST_LINE = 300
_MOST_FILES = 8

# Lines, the most telling first: an exception or a compiler's error at the beginning, an error of a tool, a complaint.
_EXCEPTION = re.compile(
    r"(?:E\s+)?(?:[\w$]+(?:\.|::))*[A-Z]\w*(?:Error|Exception|Fault|Failure|Panic|Warning|Interrupt|Exit)\b"
    r"|error\[\w+\]|(?:\w[\w.-]*: )?(?:fatal|panic|error|FATAL|ERROR|FAILED|PANIC)\b ?(?:error|ERROR)?:"
)
_COMPLAINT = re.compile(
    r"\b(?:errors?|exception|fail(?:s|ed|ure)?|cannot|can't|could not|couldn't|unable to|not found|no such|denied"
    r"|fatal|panic|refused|invalid|unexpected|undefined|unknown|missing|timed out|timeout|killed|segmentation fault"
    r"|not allowed|not supported|conflict|mismatch|violates|exceeded|out of memory|aborted|unsupported)\b",
    re.IGNORECASE,
)
_MARKED = re.compile(r"E {2,}\S|error(?:\[\w+\])?: \S|fatal: \S")  # by pytest, compilers, git
_LEVEL = re.compile(r"^.{0,60}?(?<![\w-])(?:ERROR|FATAL|CRITICAL|PANIC)(?![\w-])[\]:]?\s+(?=\S)")
_FRAME = re.compile(r"\s+at \S+.*[:(]")
_PYTHON_FRAME = re.compile(r"\s+File \"")
# What says only that something went wrong.
_EMPTY = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: exit)?(?: code| status)?:? ?-?\d+|command failed.*|make: \*\*\*.*"
    r"|(?:error: )?aborting due to .*|traceback \(most recent call last\):?"
    r"|.*\b(?:ended|exited|failed|finished|terminated) with (?:exit )?(?:code|status|error)\b.{0,30}|.* failed with error:?"
    r"|stopping after \d+ failures?|failed \S+::\S+|[\w./-]+: (?:failure|error)|npm (?:err!|error) .{0,80}"
    r"|\+{1,4} .*"  # a shell's trace of what it runs
    r"|\[ *\d+/\d+\](?:(?!error|fail|\bnot\b|cannot|denied|refused).)*"  # a step of many
    r"|during handling of the above.*|the above exception was.*|error:?|failed:?"
    r"|=+ .{0,40}(?:failures|errors|short test summary).{0,20} =+|\d+ (?:failed|errors?|warnings?)[ ,\d\w.]*)\W*$",
    re.IGNORECASE,
)
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_NOISE = (
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?\b"), " "),
    (re.compile(r"(?<![\w:])\d\d:\d\d:\d\d(?:[.,]\d+)?\b"), " "),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), " "),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), " "),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), " "),
    (re.compile(r"(?:[A-Za-z]:)?(?:[\\/][\w.@~+-]+){2,}[\\/](?=[\w.@~+-])"), ""),  # folders of this machine
    (re.compile(r"(?<=\w)(?::\d+){1,2}(?=[:\s)]|$)|,? \b(?:on )?lines? \d+(?:, (?:column|col) \d+)?"), " "),
    (re.compile(r"\b(?:exit(?:ed with)? (?:code|status)|pid|errno)[ =:]+-?\d+\b", re.IGNORECASE), " "),
    (re.compile(r"\s*[\[(]?\b\d{1,3}(?:\.\d+)?%[\])]?|[#=█▏-]{4,}>?"), " "),
    (re.compile(r"(?<!\w)(?:\[\s*\]|\(\s*\))"), " "),
)  # fmt: skip

# Programs whose first plain word says what they do.
_WITH_SUBCOMMANDS_NAMES = """
    git gh npm pnpm yarn bun cargo go docker podman kubectl helm terraform tofu pulumi ansible alembic aws gcloud
    az pip uv poetry make just rake mvn gradle dotnet flutter systemctl launchctl brew apt apt-get dnf snap conda
    rails django-admin manage.py flask celery dbt airflow prefect dagster firebase vercel fly heroku wrangler
    supabase prisma knex sqlc buf nx turbo lerna rush bazel swift rustup nvm pyenv tox nox pre-commit west idf.py
    pio openssl vault consul nomad psql
"""

# What these do is no question, whatever their other words are: only files that they name are.
_EVERYDAY_NAMES = """
    ls cd pwd cat head tail less more echo printf grep egrep rg ag find fd sed awk cut sort uniq wc tr tee diff
    cmp cp mv rm mkdir rmdir touch ln chmod chown stat file du df ps kill top which type whoami date sleep true
    false test [ export set source . alias history clear vi vim nvim nano emacs code open tree tar zip unzip gzip
    gunzip curl wget jq yq base64 md5sum sha256sum python python3 node deno ruby perl php bash sh zsh fish
"""

# Every other folder has one of these: the name alone says nothing.
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
_FILE = re.compile(
    r"(?:\.{0,2}[\\/])?(?:[\w@+.-]+[\\/])*[\w@+-][\w@+.-]*\.[A-Za-z][A-Za-z0-9]{0,9}$|(?:[\w@+.-]+/){1,}[\w@+.-]+$"
)


def identifying_error(output: str) -> str:
    """Return the lines of a tool's output that identify what went wrong, the most telling first, without noise.

    At most 400 characters; "" where the output says nothing.
    """
    lines = _last_states(output)
    ranked = [
        (rank, number, line)
        for number, line in enumerate(map(_cleaned, lines))
        if line and not _EMPTY.match(line)
        for rank in [_rank_of(lines, number, line)]
    ]
    best = max((rank for rank, _, _ in ranked), default=0)
    if not best:
        return " ".join(line for _, _, line in ranked[-2:])[:LONGEST_ERROR]
    telling = [(number, line) for rank, number, line in ranked if rank == best]
    if best > 1:  # the last of several exceptions is the one that ended the program
        telling.reverse()
    chosen = list(dict.fromkeys(line for _, line in telling))[:_MOST_LINES]
    return " ".join(chosen)[:LONGEST_ERROR].strip()


def is_common_file(name: str) -> bool:
    """Return whether a file's name without its folder says nothing: every project has such a file."""
    return name.lower() in _COMMON_FILES


def files_in(text: str) -> list[str]:
    """Return the files that a text of a person names, in order, each once; some of them may be none."""
    words = [word.strip("\"'`()[]{}<>,;:!?").rstrip(".") for word in text.split()]
    found = [word for word in words if _FILE.match(word) and "://" not in word]
    return list(dict.fromkeys(found))[:_MOST_FILES]


def complains(output: str) -> bool:
    """Return whether any line of an output says that something went wrong."""
    lines = map(_cleaned, _last_states(output))
    return any(
        not _EMPTY.match(line) and (_EXCEPTION.match(line) or _COMPLAINT.search(line)) for line in lines
    )


def _last_states(output: str) -> list[str]:
    """Return the lines of an output as a terminal shows them at the end: what a carriage return overwrote is gone."""
    lines = _ANSI.sub("", output).replace("\r\n", "\n").split("\n")
    return [line.rstrip("\r").rpartition("\r")[2][:_LONGEST_LINE] for line in lines]


def _cleaned(line: str) -> str:
    level = _LEVEL.search(line)
    line = line[level.end() :] if level and not line.startswith(("ERROR:", "FATAL:")) else line
    for pattern, instead in _NOISE:
        line = pattern.sub(instead, line)
    return " ".join(line.split()).strip("|>│-=*#_! \t").removeprefix("E ")


def _rank_of(lines: list[str], number: int, line: str) -> int:
    """Return how surely a line is the error: 3 by its place, 2 by its form, 1 where it complains, 0 for others.

    The place is that of pytest's own mark, of a log's level, of the end of a stack (Python) or of its head (JavaScript,
    Java). `line` is the cleaned one.
    """
    raw, before = lines[number], lines[max(0, number - 2) : number]
    after = lines[number + 1] if number + 1 < len(lines) else ""
    is_code = raw[:4].isspace() and any(map(_PYTHON_FRAME.match, before))
    if is_code or _PYTHON_FRAME.match(raw) or _FRAME.match(raw):
        return 0
    ends_stack = not raw[:1].isspace() and any(map(_PYTHON_FRAME.match, before))
    if ends_stack or _MARKED.match(raw) or _LEVEL.search(raw) or _FRAME.match(after):
        return 3
    return 2 if _EXCEPTION.match(line) else 1 if _COMPLAINT.search(line) else 0


class Command(NamedTuple):
    """One program of a command line: its name, its subcommand ("" for none), the files that it names, its other words.

    `arguments` are all words behind the program. `is_everyday` says that it is one that everybody uses for anything.
    """

    program: str
    subcommand: str
    files: tuple[str, ...]
    words: tuple[str, ...]
    is_everyday: bool
    arguments: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        """What to ask the memory about it; "" for a program that everybody uses for anything."""
        return (
            ""
            if self.is_everyday
            else " ".join([self.program, *([self.subcommand] if self.subcommand else []), *self.words])
        )


def commands_of(line: str) -> list[Command]:
    """Return the programs that a command line runs, in order; those behind `cd`, variables and `sudo` as themselves."""
    from engram.domain.agents.command_line import runs_of  # a prompt has none

    return [_command(run) for run in runs_of(line)]


def _command(run: Run) -> Command:
    from engram.domain.agents.command_line import Word

    words = list(run.words) or [Word("")]
    place = words[0].text.replace("\\", "/")
    program = place.rpartition("/")[2].removesuffix(".exe")
    # A script of the project is one of the files.
    named = [Word(place)] if "/" in place and "." in program else []
    arguments = words[1:]
    is_module = program.startswith("python") and bool(arguments) and arguments[0].text == "-m"
    if is_module and len(arguments) > 1:
        program, arguments = arguments[1].text, arguments[2:]
    elif arguments and program.startswith("python") and arguments[0].text.endswith("manage.py"):
        program, arguments = "manage.py", arguments[1:]
    all_arguments = tuple(word.text for word in arguments)
    arguments = [*named, *arguments]
    subcommand = ""
    if program in _WITH_SUBCOMMANDS:
        at = next((k for k, word in enumerate(arguments) if re.fullmatch(r"[a-z][\w:-]*", word.text)), None)
        if at is not None:
            subcommand, arguments = arguments[at].text, [*arguments[:at], *arguments[at + 1 :]]
    arguments += [Word(name) for name in run.redirected]
    bare = [word.text for word in arguments if not word.is_quoted or _FILE.match(word.text)]
    files = [word for word in bare if not word.startswith("-") and _FILE.match(word) and "://" not in word]
    others = [
        word for word in bare if re.fullmatch(r"(?:--)?[A-Za-z][\w-]{2,30}", word) and word not in files
    ]
    return Command(
        program,
        subcommand,
        tuple(dict.fromkeys(files))[:_MOST_FILES],
        tuple(dict.fromkeys(word.lstrip("-") for word in others))[:6],
        program in _EVERYDAY and not is_module,
        all_arguments,
    )
