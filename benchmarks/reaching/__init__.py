"""The parts of the measure of what reaches a model: events, hook processes, the MCP server, the judge, the tables."""
