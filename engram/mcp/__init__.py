"""The Model Context Protocol server for coding agents, on the official SDK."""
