"""What coding agents get and give: briefs, automatic recall, captured sessions, connections."""
