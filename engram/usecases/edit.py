"""The path at which `Edit` was documented before it became `engram.Edit`."""

from engram.usecases.recording.edit import Edit

__all__ = ["Edit"]
