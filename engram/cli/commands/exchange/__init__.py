"""Commands about exchange."""
