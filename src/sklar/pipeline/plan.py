"""What a fit would measure, and how noisy it would be, before anything is spent. No rows are touched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sklar.accounting.budget import Budget
from sklar.accounting.unit import Neighbours, Unit
from sklar.errors import UsageError
from sklar.methods.registry import find_method
from sklar.schema.coordinates import coordinates
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLine:
    """One kind of measurement.

    Attributes:
        label: What is measured.
        tables: How many tables.
        cells: Cells of one table.
        noise: "gaussian" or "laplace".
        std: Standard deviation of the noise on one cell, in rows.
        share_of_rows: The same as a share of the rows.
        expected_tvd: Expected total variation distance that raw noise alone would cause in one such table.
    """

    label: str
    tables: int
    cells: int
    noise: str
    std: float
    share_of_rows: float
    expected_tvd: float

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def plan(
    schema: Schema,
    method: str | None = None,
    epsilon: float | None = None,
    delta: float = 1e-9,
    rows: int = 10_000,
    *,
    rho: float | None = None,
    neighbours: Neighbours | None = None,
    rows_per_person: int = 1,
    options: Mapping[str, Any] | None = None,
) -> list[PlanLine]:
    """Expected noise of every table and margin for a guessed number of rows.

    Raises:
        UsageError: If the number of rows is not positive, or the method or an option is unknown.
        BudgetError: If the budget is not usable.
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise UsageError("rows must be a whole number of at least 1")
    chosen, schema = find_method(method), coordinates(schema).schema
    settings = chosen.read_options(dict(options or {}))
    chosen.check(schema, settings)
    unit = Unit(neighbours=neighbours or chosen.neighbours, rows_per_person=rows_per_person)
    chosen.require_relation(unit.neighbours)
    budget = Budget(epsilon=epsilon, rho=rho, delta=delta)
    settings = chosen.settle(settings, budget)
    allowance, _ = chosen.allowance(schema, settings, budget, unit)
    outline = chosen.outline(schema, settings, allowance, unit, rows)
    return [
        PlanLine(
            label=line.label,
            tables=line.tables,
            cells=line.cells,
            noise=line.noise.kind,
            std=line.std,
            share_of_rows=line.std / rows,
            expected_tvd=min(1.0, 0.5 * line.cells * line.std * math.sqrt(2 / math.pi) / rows),
        )
        for line in outline
    ]
