"""A consolidation plan as a tree with boxes to tick."""
