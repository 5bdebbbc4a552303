"""Several tables that one fit measures side by side: the first rows of persons, and their transitions."""

from __future__ import annotations

from collections.abc import Sequence

from sklar.schema.coordinates.parts import Coordinates, View
from sklar.schema.table import Schema


class JoinedSchema(Schema):
    """The coordinates of several tables, each under the name of its table. No table of counts is of two of them.

    Attributes:
        views: The tables.
    """

    __slots__ = ("views",)

    def __init__(self, views: Sequence[View]):
        super().__init__({view.full(name): view.by.schema[name] for view in views for name in view.by.schema.modelled})
        self.views = tuple(views)


def join_coordinates(schema: Schema, views: Sequence[View]) -> Coordinates:
    """Return the coordinates of a schema whose persons are described by several tables."""
    return Coordinates(declared=schema, schema=JoinedSchema(views), parts=(), views=tuple(views))


def views_of(schema: Schema) -> tuple[View, ...]:
    """Return the tables behind a schema of coordinates; none if it is one table."""
    return schema.views if isinstance(schema, JoinedSchema) else ()
