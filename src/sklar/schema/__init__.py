"""Public facts about the columns of a table: kind, domain, bounds, grid, missing values. Never read from rows."""

from sklar.schema.columns import Boolean, Category, Column, Id, Ignore, Labels, Ordinal
from sklar.schema.constraints import AtMost, Constraint, Function, Never
from sklar.schema.grid import Grid
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.prices import Price
from sklar.schema.table import Schema

__all__ = [
    "AtMost",
    "Boolean",
    "Category",
    "Column",
    "Constraint",
    "Datetime",
    "Function",
    "Grid",
    "Id",
    "Ignore",
    "Integer",
    "Labels",
    "Never",
    "Ordinal",
    "Price",
    "Real",
    "Schema",
]
