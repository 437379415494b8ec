"""`python -m engram` is `engram`."""

from engram.cli.main import run

run()
