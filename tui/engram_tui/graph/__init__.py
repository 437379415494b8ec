"""The neighbourhood of an entity, drawn as a tree."""
