"""The HTTP API: the operations of the MCP tools as resources."""
