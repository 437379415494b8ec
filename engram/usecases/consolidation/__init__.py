"""A plan that tidies a store, rehearsed against past queries, then applied as one commit."""
