"""Import from other tools and export to them."""
