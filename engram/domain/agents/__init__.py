"""Coding agents: text made safe for a prompt, and lessons from their sessions."""
