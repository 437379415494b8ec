"""A package for each outside thing; none of them imports another."""
