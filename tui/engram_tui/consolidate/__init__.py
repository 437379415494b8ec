"""A consolidation plan as a tree with check boxes."""
