"""`NamedTuple` and `TYPE_CHECKING` as `typing` has them, without its cost.

Importing `typing` and having it check the fields of each value type was a sixth of the CPU time of a whole
`engram query`. Type checkers see the originals.
"""

import sys

__all__ = ["TYPE_CHECKING", "NamedTuple"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from _collections import _tuplegetter

    _FEW = 10  # values, after which it pays to compile
    _PLACES = {}  # of the fields of each type, by their names: a query replaces fields of some sixty values

    def _first(made):
        """The `__new__` of a value type for its first values: it makes way for one with named arguments.

        Compiling that is most of what `collections.namedtuple` costs, and a command makes one or two values of most types.
        """
        fields, count = made._fields, 0

        def __new__(_cls, *values, **named):  # noqa: N807
            nonlocal count
            count += 1
            given = dict(zip(fields, values, strict=False)) | named
            found = made._field_defaults | given
            if count <= _FEW and len(given) == len(values) + len(named) and found.keys() == {*fields}:
                return tuple.__new__(_cls, map(found.get, fields))
            names = ", ".join(fields)
            code = f"lambda _cls, {names}: _new(_cls, ({names},))" if names else "lambda _cls: _new(_cls)"
            new = eval(code, {"_new": tuple.__new__, "__builtins__": {}})  # noqa: S307 - names of fields only
            new.__name__, new.__qualname__ = "__new__", f"{made.__qualname__}.__new__"
            new.__defaults__ = tuple(made._field_defaults.values())
            new.__annotations__ = made.__annotations__
            made.__new__ = staticmethod(new)
            return new(_cls, *values, **named)

        return staticmethod(__new__)

    def _make(cls, iterable):
        """A value of these fields."""
        made = tuple.__new__(cls, iterable)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **fields):
        """The same value, but for these fields."""
        made = type(self)
        places = _PLACES.get(made)
        if places is None:
            places = _PLACES[made] = {name: place for place, name in enumerate(made._fields)}
        values = list(self)
        try:
            for name, value in fields.items():
                values[places[name]] = value
        except KeyError:
            unexpected = [name for name in fields if name not in places]
            raise TypeError(f"Got unexpected field names: {unexpected!r}") from None
        return tuple.__new__(made, values)

    def _asdict(self):
        """The fields by name."""
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self):  # noqa: N807
        return f"{type(self).__name__}({', '.join(map('{}={!r}'.format, self._fields, self))})"

    def __getnewargs__(self):  # noqa: N807
        return tuple(self)

    _SHARED = {
        "__slots__": (),
        "_make": classmethod(_make),
        "_replace": _replace,
        "__replace__": _replace,
        "_asdict": _asdict,
        "__repr__": __repr__,
        "__getnewargs__": __getnewargs__,
    }

    class _Maker(type):
        """Makes what looks like a class with annotated fields into a named tuple."""

        def __new__(cls, name, bases, namespace):
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = namespace.get("__annotations__", {})
            own = {key: value for key, value in namespace.items() if key not in fields}
            getters = {sys.intern(field): _tuplegetter(number, None) for number, field in enumerate(fields)}
            defaults = {field: namespace[field] for field in fields if field in namespace}
            about = {"_fields": tuple(fields), "__match_args__": tuple(fields), "_field_defaults": defaults}
            made = type(name, (tuple,), _SHARED | getters | about | own)
            made.__new__ = _first(made)
            return made

    class NamedTuple(metaclass=_Maker):
        """The base of a value type: `class Point(NamedTuple): x: int; y: int = 0`."""
