"""The entry point: find the command, run it, report errors as a sentence and an exit code."""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False  # importing typing would take a third of the time of `engram --version`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from engram.cli.output import Output
    from engram.domain.errors import EngramError


def run() -> NoReturn:
    """Run the command line and end the process.

    Python's orderly shutdown takes a fifth of the time of a query, so it is skipped unless other threads run. Garbage
    collection is delayed because most commands end before it pays: a query or a hook makes some 25,000 objects, and
    scanning 20,000 of them takes 5 ms.
    """
    import gc

    gc.set_threshold(50_000, 20, 20)
    code = main()
    threading = sys.modules.get("threading")
    if threading is None or threading.active_count() == 1:
        import atexit
        from contextlib import suppress

        atexit._run_exitfuncs()  # noqa: SLF001 - os._exit does not
        with suppress(OSError):
            sys.stderr.flush()  # main() has flushed stdout and reported its errors
        os._exit(code)
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: that of the process) and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _set_up_streams()
    try:
        code = _print_version() if given[:1] in (["--version"], ["-V"]) else _run(given)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader closed the pipe (`| head`), which is no error; nor must Python's flush at exit fail.
        _silence(1)
        return 0
    except OSError as error:
        return _report_unwritable(error)


def _silence(stream: int) -> None:
    """Point a stream at /dev/null, so that flushing it at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def _report_unwritable(error: OSError) -> int:
    """Report that the answer could not be written, for example to a full disk, and return the exit code."""
    _silence(1)
    try:
        print(f"engram: The answer could not be written: {error.strerror}.", file=sys.stderr, flush=True)
    except OSError:
        _silence(2)
    return 1


def _print_version() -> int:
    from engram.version import __version__

    print(f"engram {__version__}")
    return 0


def _run(given: list[str]) -> int:
    from engram.cli.output import Output
    from engram.cli.parsing import put_command_first
    from engram.domain.errors import INTERRUPTED, EngramError

    given = put_command_first(given)
    if given[:1] == ["hook"] and "--help" not in given and "-h" not in given:
        from engram.hooks.process import run_guarded

        return run_guarded(lambda: _dispatch(given, Output(json="--json" in given)), given)
    output = Output(json="--json" in given[: given.index("--")] if "--" in given else "--json" in given)
    try:
        return _dispatch(given, output)
    except EngramError as error:
        output.error(error)
        return error.exit_code
    except (RecursionError, MemoryError, OSError) as error:
        is_stream = isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None
        if is_stream or isinstance(error, BrokenPipeError):
            raise  # standard output cannot be written, so main() reports it on standard error
        output.error(EngramError(f"{type(error).__name__}: {error}.", "Nothing more was done."))
        return EngramError.exit_code
    except KeyboardInterrupt:
        output.error(EngramError("Interrupted.", "What was acknowledged before is safe.", "interrupted"))
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("ENGRAM_TRACEBACK"):
            raise
        message = f"Internal error: {type(error).__name__}: {error}."
        output.error(
            EngramError(message, "Please report it; ENGRAM_TRACEBACK=1 shows where it is.", "internal")
        )
        return EngramError.exit_code


def _dispatch(given: list[str], output: Output) -> int:
    from engram.cli.invocation import Call
    from engram.cli.output import at_terminal
    from engram.cli.parsing import command_parser, is_shared_option, module_of
    from engram.cli.registry import find

    if not given or is_shared_option(given[0]):
        given = ["tui" if at_terminal() and not output.json else "list", *given]
    if given[0] in ("-h", "--help", "help"):
        return _print_help(given[1:] if given[0] == "help" else [])
    command = find(given[0])
    if command is None:
        raise _unknown_command(given[0])
    call = Call(command_parser(command).parse_args(given[1:]), output)
    try:
        code: int = module_of(command).run(call)
        sys.stdout.flush()
    finally:
        call.finish()
    return code


def _print_help(words: list[str]) -> int:
    """Print the help of a command, or the overview."""
    from engram.cli.parsing import command_parser, terminal_width
    from engram.cli.registry import find

    command = find(words[0]) if words else None
    if command is not None:
        command_parser(command).print_help()
    elif words:
        raise _unknown_command(words[0])
    else:
        from engram.cli.overview import overview

        print(overview(terminal_width()))
    return 0


def _unknown_command(word: str) -> EngramError:
    from engram.cli.overview import unknown_command
    from engram.domain.errors import UsageError

    if word.startswith("-"):
        return UsageError(f"There is no option '{word}' before a command.", "See: engram --help")
    return unknown_command(word)


def _set_up_streams() -> None:
    """Write UTF-8 in any locale, since those of agents' shells and Windows consoles often differ.

    Replace streams that the caller closed (`>&-`) with /dev/null.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for the whole process
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
