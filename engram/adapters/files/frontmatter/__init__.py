"""The codec of entry, entity and agent files: bytes to values and back."""
