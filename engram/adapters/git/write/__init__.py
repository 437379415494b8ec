"""Write commits, trees, packs and the index of a repository."""
