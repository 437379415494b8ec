"""The changes that wait to be pushed and pulled, and syncing."""
