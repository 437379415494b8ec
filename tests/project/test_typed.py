"""Value types behave like `typing.NamedTuple`, though they are made in another way."""

from __future__ import annotations

import copy
import pickle
from collections import namedtuple

import pytest

from engram.domain.typed import NamedTuple


class Point(NamedTuple):
    """A point."""

    x: int
    y: int = 2
    label: str = ""

    @property
    def sum(self) -> int:
        """Return the sum of both numbers."""
        return self.x + self.y


class Nothing(NamedTuple):
    """A type without fields."""


Plain = namedtuple("Plain", ["x", "y", "label"], defaults=[2, ""])  # noqa: PYI024 - for comparison


def test_a_value_is_made_compared_and_shown_like_a_named_tuple() -> None:
    for made in (Point(1), Point(1, label="here"), Point(x=3, y=4), Point(1, 2, "there")):
        plain = Plain(*made)
        assert made == plain == tuple(made)
        assert (hash(made), repr(made)) == (hash(plain), repr(plain).replace("Plain", "Point"))
        assert (made.x, made.label, made.sum) == (plain.x, plain.label, plain.x + plain.y)
        assert made._asdict() == plain._asdict()
    assert (Point._fields, Point._field_defaults) == (Plain._fields, Plain._field_defaults)
    assert (Point.__doc__, Nothing(), Nothing._fields) == ("A point.", (), ())


@pytest.mark.parametrize("wrong", [(), (1, 2, "", 4)])
def test_too_few_and_too_many_values_are_refused(wrong: tuple[object, ...]) -> None:
    with pytest.raises(TypeError):
        Point(*wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Expected 3 arguments"):
        Point._make(wrong)
    with pytest.raises(TypeError):
        Point(1, z=2)  # type: ignore[call-arg]


def test_fields_are_replaced_and_unknown_names_are_refused() -> None:
    assert Point(1)._replace(label="a", x=5) == (5, 2, "a")
    with pytest.raises((TypeError, ValueError), match="'z'"):
        Point(1)._replace(z=1)  # type: ignore[call-arg]


def test_values_can_be_pickled_and_matched_and_are_immutable() -> None:
    made = Point(7, 8, "far")
    assert pickle.loads(pickle.dumps(made)) == copy.copy(made) == copy.deepcopy(made) == made
    assert type(copy.deepcopy(made)) is Point
    match made:
        case Point(x, y, label):
            assert (x, y, label) == (7, 8, "far")
    with pytest.raises(AttributeError):
        made.other = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        made.x = 1  # type: ignore[misc]
