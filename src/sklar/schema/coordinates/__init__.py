"""Coordinates: what a model measures in place of the declared columns, derived from public rules at no cost.

A region that is a function of its town need not be measured; a stay is a day and a length, not two days; a day has a
year, a month and a weekday. From the schema alone follow the coordinates, a schema of their own, how the code of each
is computed from the values of one row, and how declared columns are computed back from drawn coordinates. None of it
depends on rows: each row still has exactly one code in each coordinate, which depends on the values of that row alone,
so a table over coordinates has the sensitivity of any other table, and every proof about tables of codes holds as it
stands. Start with `derive`; `parts` are the kinds of coordinates, `lengths` the grids and the order of differences and
ratios, `codes` computes both from two values, `views` has several tables side by side.
"""

from sklar.schema.coordinates.codes import pair_codes
from sklar.schema.coordinates.derive import coordinates, fitted_coordinates, linked_views
from sklar.schema.coordinates.parts import (
    CalendarPart,
    Coordinate,
    Coordinates,
    Difference,
    DummyChoice,
    Quotient,
    RowsOfPerson,
    Same,
    View,
)
from sklar.schema.coordinates.views import views_of

__all__ = [
    "CalendarPart",
    "Coordinate",
    "Coordinates",
    "Difference",
    "DummyChoice",
    "Quotient",
    "RowsOfPerson",
    "Same",
    "View",
    "coordinates",
    "fitted_coordinates",
    "linked_views",
    "pair_codes",
    "views_of",
]
