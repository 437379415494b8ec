"""Run the command line with `python -m engram`."""

from engram.cli.main import run

run()
