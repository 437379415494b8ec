"""What waits to go out and come in, and bringing both sides together."""
