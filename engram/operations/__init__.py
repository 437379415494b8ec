"""The operations that several front ends offer, each described once: a module has one, or a few that belong together.

Command-line options, JSON schemas of MCP tools, shapes of the HTTP API, shell completion and the reference pages are
made from these tables. A front end adds only what is its own: short flags, positional arguments, how it prints.
"""
