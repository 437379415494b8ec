"""The Python API by subject, a class for each; `engram.app.Engram` combines them."""
