"""What agents asked and got, as it happens."""
