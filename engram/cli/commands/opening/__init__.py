"""Commands about opening."""
