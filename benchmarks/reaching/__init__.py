"""The parts of `reach.py`: events, hook processes, the MCP server, the judge, the tables."""
