"""A proposal: what each of its entries changes, and which of them are accepted."""
