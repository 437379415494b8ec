"""What happened to entries, from git; taking it back."""
