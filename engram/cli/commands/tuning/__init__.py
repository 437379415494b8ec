"""Commands about tuning."""
