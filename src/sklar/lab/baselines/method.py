"""The interface of a method without a guarantee: a name, its options, and a fit that reads the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.errors import UsageError
from sklar.lab.tables.table import ExactTable
from sklar.methods.method import read_options, target_option
from sklar.model.protocol import TableModel
from sklar.schema.table import Schema

NOT_PRIVATE = "All its parameters and its number of rows were learned without noise, and its file contains them."

EXTENSION_FAMILIES = ("parametric", "all")
"""Sets of pair copulas with Tawn copulas, which the papers' software did not have."""


def reject_extensions(published: object, ours: Mapping[str, bool]) -> None:
    """Reject our extensions with `published=True`; `ours` says by option name whether an extension is used."""
    if not isinstance(published, bool):
        raise UsageError(f"option 'published' is True or False; found {published!r}")
    given = [name for name, used in ours.items() if used]
    if published and given:
        raise UsageError(
            f"published=True is the paper's method, and '{given[0]}' as set is an extension of Sklar; leave out one of "
            "the two"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineMethod:
    """A method that learns from real rows without a guarantee.

    Attributes:
        options: A frozen dataclass; the defaults are those of its paper or, where that is silent, of its published
            software. The docstring of an option that is not theirs says "ours".
        fit: Makes a model from the rows. All its randomness comes from the generator.
        takes_epsilon: Whether it has an option `epsilon`, which is no guarantee (COPULA-SHIRLEY).
        takes_target: Whether it has an option `target`: the response.
        check: Rejects options that do not fit the schema, before the rows are read.
        regrid: Recodes the rows on a grid of the method's own, if its bins depend on the rows.
        learned: States for the claim what a model with these options learned with and without noise.
        caveats: Sentences for the claim: what the method does and does not do.
    """

    name: str
    summary: str
    options: type
    fit: Callable[[ExactTable, Any, np.random.Generator], TableModel]
    takes_epsilon: bool = False
    takes_target: bool = False
    check: Callable[[Schema, Any], None] = lambda schema, options: None
    regrid: Callable[[ExactTable, Any], ExactTable] = lambda table, options: table
    learned: Callable[[Any], str] = lambda options: NOT_PRIVATE
    caveats: tuple[str, ...] = ()

    def read_options(self, given: Mapping[str, Any]) -> Any:
        """Read the options; reject unknown names and wrong values."""
        return read_options(self.name, self.options, given)

    def fitting(self, schema: Schema, given: Mapping[str, Any], target: str | None = None) -> Any:
        """Read the options and check them against the schema."""
        options = self.read_options({**given, **target_option(self.name, self.takes_target, target)})
        self.check(schema, options)
        return options
