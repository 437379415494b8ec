"""Why a configuration file of somebody else is left alone."""


class CannotEditError(Exception):
    """The text is not what an editor can change without risk; `str()` says why, as the rest of "PATH: …"."""
