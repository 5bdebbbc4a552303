"""What every method without a guarantee offers: a name, its options, and a fit that sees the rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.errors import UsageError
from sklar.lab.tables.table import ExactTable
from sklar.lab.vines.fit import CRITERIA, SELECTIONS, family_names
from sklar.methods.method import read_options
from sklar.model.protocol import TableModel
from sklar.schema.table import Schema

NOT_PRIVATE = "All its parameters and its number of rows were learned without noise; its file holds them as they are."


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineMethod:
    """One system that learns from real rows and promises nothing.

    Attributes:
        name: What users write.
        summary: One line for `sklar methods`.
        options: A frozen dataclass with a default for every option.
        fit: Makes a model from the rows. All its randomness comes from the generator.
        takes_epsilon: Whether it has an option `epsilon` of its own, which is no guarantee (COPULA-SHIRLEY).
        takes_target: Whether it has an option `target`: the response.
        check: Refuses options that do not fit the schema, before the rows are read.
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
    learned: Callable[[Any], str] = lambda options: NOT_PRIVATE
    caveats: tuple[str, ...] = ()

    def read_options(self, given: Mapping[str, Any]) -> Any:
        """The options record; unknown names and wrong values are refused by name."""
        return read_options(self.name, self.options, given)


SECONDS_PER_EDGE = 0.05
LONGEST = 600.0
"""A fit that would take longer than this many seconds is only begun when its number of trees was asked for."""


def require_column(schema: Schema, name: str | None, role: str) -> None:
    """A modelled column of this name exists."""
    if name is None:
        raise UsageError(f"name the {role} column with target= (--target)")
    if name not in schema.modelled:
        raise UsageError(f"the {role} column '{name}' is not among the modelled columns of the schema")


def require_sensitive(schema: Schema, sensitive: Sequence[str], target: str | None) -> None:
    """At least one sensitive column, all of them there, named once, and none of them the response."""
    if not sensitive:
        raise UsageError(
            "name at least one sensitive column with sensitive=('...',): the order of the vine is built around them; "
            "without one use the method 'rvine-star1'"
        )
    for name in sensitive:
        require_column(schema, name, "sensitive")
        if name == target:
            raise UsageError(f"column '{name}' cannot be both the response and sensitive: name another response")
    if len(set(sensitive)) < len(sensitive):
        raise UsageError("a sensitive column is named twice; name each once")
    if len(sensitive) > len(schema.modelled) - 2:
        raise UsageError("all columns besides the response are sensitive; leave at least one that is not")


def require_settings(families: str, selection: str, criterion: str | None = None) -> None:
    """Known names of families, selection and tree criterion."""
    family_names(families)
    if selection not in SELECTIONS:
        raise UsageError(f"families are chosen by one of {', '.join(SELECTIONS)}; found '{selection}'")
    if criterion is not None and criterion not in CRITERIA:
        raise UsageError(f"the tree criterion must be one of {', '.join(CRITERIA)}; found '{criterion}'")


def require_level(level: object, most: int, what: str = "level") -> None:
    """A truncation level that exists."""
    if level is None:
        return
    if not isinstance(level, int) or isinstance(level, bool) or not 1 <= level <= most:
        raise UsageError(f"{what} is the number of trees kept, a whole number from 1 to {most}; found {level!r}")


def require_threads(threads: object) -> None:
    """A number of threads."""
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise UsageError(f"threads is a whole number of at least 1; found {threads!r}")


def require_affordable(columns: int, level: int | None, most: int) -> None:
    """Refuse fits of very many pair copulas unless their number of trees was asked for."""
    edges = edge_count(columns, most)
    seconds = edges * SECONDS_PER_EDGE
    if level is None and seconds > LONGEST:
        fewer = max(1, int(LONGEST / SECONDS_PER_EDGE / columns) // 5 * 5)
        raise UsageError(
            f"{columns} columns and {most} trees need {edges:,} pair copulas, about {seconds / 60:.0f} minutes; give "
            f"level={fewer} ({edge_count(columns, fewer):,} pair copulas, about "
            f"{edge_count(columns, fewer) * SECONDS_PER_EDGE / 60:.0f} minutes), or level={most} if you can wait"
        )


def edge_count(columns: int, trees: int) -> int:
    """Pair copulas in the first `trees` trees of a vine."""
    return sum(max(columns - 1 - tree, 0) for tree in range(trees))


def require_varying(table: ExactTable, name: str, role: str) -> None:
    """A column with two different values or more."""
    if np.ptp(table.codes[name]) == 0:
        raise UsageError(f"the {role} column '{name}' has the same value in every row; nothing depends on it")
