"""What every method without a guarantee offers: a name, its options, and a fit that sees the rows themselves."""

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

NOT_PRIVATE = "All its parameters and its number of rows were learned without noise; its file holds them as they are."

OUR_FAMILIES = ("parametric", "all")
"""Sets of pair copulas that have Tawn's, which the papers' software did not."""


def refuse_ours(published: object, ours: Mapping[str, bool]) -> None:
    """`published=True` is the paper's own form: it goes with no option that is ours, by name whether it was given."""
    if not isinstance(published, bool):
        raise UsageError(f"option 'published' is True or False; found {published!r}")
    given = [name for name, used in ours.items() if used]
    if published and given:
        raise UsageError(
            f"published=True is the form that the paper has, and '{given[0]}' as it is set is ours; leave one of the "
            "two out"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineMethod:
    """One system that learns from real rows and promises nothing.

    Attributes:
        options: A frozen dataclass with a default for every option: what its paper, or its published software where the
            paper is silent, does. The docstring of an option that is not theirs says "ours".
        fit: Makes a model from the rows. All its randomness comes from the generator.
        takes_epsilon: Whether it has an option `epsilon` of its own, which is no guarantee (COPULA-SHIRLEY).
        takes_target: Whether it has an option `target`: the response.
        check: Refuses options that do not fit the schema, before the rows are read.
        regrid: The rows on a grid of the method's own, for one whose bins are facts of the rows.
        learned: What a model with these options learned with and without noise; one sentence or two for the claim.
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
        """The options record; unknown names and wrong values are refused by name."""
        return read_options(self.name, self.options, given)

    def fitting(self, schema: Schema, given: Mapping[str, Any], target: str | None = None) -> Any:
        """Its options, after refusing what does not fit the schema."""
        options = self.read_options({**given, **target_option(self.name, self.takes_target, target)})
        self.check(schema, options)
        return options
