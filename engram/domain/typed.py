"""`NamedTuple` and `TYPE_CHECKING` as `typing` has them, without its cost.

Importing `typing` and having it check the fields of each value type was a sixth of the CPU time of a whole
`engram query`. Type checkers see the originals.
"""

from __future__ import annotations

from collections import namedtuple

__all__ = ["TYPE_CHECKING", "NamedTuple"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _Maker(type):
        """Makes what looks like a class with annotated fields into a named tuple."""

        def __new__(cls, name, bases, namespace):
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = namespace.get("__annotations__", {})
            defaults = [namespace[field] for field in fields if field in namespace]
            made = namedtuple(name, fields, defaults=defaults, module=namespace["__module__"])  # noqa: PYI024
            made.__annotations__ = fields
            for key, value in namespace.items():
                if key not in fields and key not in ("__module__", "__annotations__"):
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """The base of a value type: `class Point(NamedTuple): x: int; y: int = 0`."""
