"""Engram for coding agents: a Model Context Protocol server on the official SDK."""
