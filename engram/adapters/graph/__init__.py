"""PageRank, by rustworkx."""
