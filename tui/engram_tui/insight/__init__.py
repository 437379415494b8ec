"""How many entries there are, how good they are and how they are used, as small charts."""
