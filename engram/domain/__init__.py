"""Pure rules of Engram: lore, feedback, ranking, refs. Standard library only; no clock, no I/O."""
