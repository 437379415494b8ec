"""Read a repository: commits, trees, objects, differences, history."""
