"""Commands that start another way in: MCP, HTTP, the app, completion."""
