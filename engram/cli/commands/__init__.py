"""One module per command: `configure(parser)` declares its arguments, `run(call)` does it and returns the exit code."""
