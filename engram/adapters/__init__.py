"""One package per outside thing; none of them imports another."""
