"""The error for a configuration file that cannot be edited safely."""


class CannotEditError(Exception):
    """The text cannot be edited safely; `str()` is the reason, as the rest of "PATH: …"."""
