"""The HTTP API: the operations of the MCP tools as resources, for programs that speak neither MCP nor the command line."""
