"""What waits for a person, item by item, with the merge editor."""
