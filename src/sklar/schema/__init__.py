"""Public facts about a table: kinds, domains, grids, provenance, rules between columns. Never read from rows.

This package imports no other package. Start with `columns` and `numbers` (the kinds of columns), then `table` (the
schema itself), `persons` and `rules`, which give the `coordinates` that models measure; `toml` and `sdv` are its forms
on disk.
"""

from sklar.schema.columns import Boolean, Category, Column, Id, Ignore, Labels, Ordinal, Unknown
from sklar.schema.grid import Grid
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.persons.person import Person
from sklar.schema.prices import Price
from sklar.schema.rules import AtMost, Function, Never, OneHot, Ratio, Rule, Sum, Together
from sklar.schema.table import Schema

__all__ = [
    "AtMost",
    "Boolean",
    "Category",
    "Column",
    "Datetime",
    "Function",
    "Grid",
    "Id",
    "Ignore",
    "Integer",
    "Labels",
    "Never",
    "OneHot",
    "Ordinal",
    "Person",
    "Price",
    "Ratio",
    "Real",
    "Rule",
    "Schema",
    "Sum",
    "Together",
    "Unknown",
]
