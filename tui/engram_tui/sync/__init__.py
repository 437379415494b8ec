"""What waits to be pushed and pulled, and syncing."""
