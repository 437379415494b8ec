"""Ranks in a graph, by rustworkx."""
