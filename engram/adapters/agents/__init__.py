"""Coding agents: which one is calling, in which session, and the files and hooks of each."""
