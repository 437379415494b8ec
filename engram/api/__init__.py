"""The Python API by subject, a class each; `engram.app.Engram` is all of them together."""
