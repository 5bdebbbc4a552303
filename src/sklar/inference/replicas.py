"""Replicas: rows drawn from a model and put through its whole mechanism again, which shows how far it strays.

A replica of a model is made as the model itself was. Where the custodian had rows of people, it has as many rows drawn
from the model; where the Door added noise, `SimulatedDoor` adds noise of the same kind and scale; method, options,
budget and schema are the same. How replicas scatter around the model is how models scatter around the truth, as far as
the model is like the truth: the parametric bootstrap (Efron and Tibshirani 1993, chapter 6) of a private mechanism
(Ferrando, Wang, Sheldon 2022, "Parametric bootstrap for differentially private confidence intervals").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.counting.code_table import CodeTable, CountedTable
from sklar.inference.fitted import Fitted
from sklar.inference.simulated import SimulatedDoor
from sklar.model.kept import copied_as_in
from sklar.model.protocol import TableModel
from sklar.sample.assemble import assemble
from sklar.sample.decode import SampledTable, decode, decode_column
from sklar.sample.rng import named_streams, substream
from sklar.sample.rules.every import rules_hold
from sklar.schema.coordinates import Coordinates, Same
from sklar.schema.table import Schema

LEAST_ROWS, MOST_ROWS = 40_000, 200_000
"""Rows that tell what a replica says: enough that drawing them adds little to what the noise does (a fortieth of the
variance of 1,000 rows), few enough to keep. In between, as many as the table had."""
ROUNDS = 10
"""Of drawing rows again that break a rule: the few that are left hardly show in any table."""
MODEL_ROWS = 2
"""Times as many tell what the model itself says: its error is in every interval."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mechanism:
    """A fit, and how its coordinates become the columns of the declared schema."""

    schema: Schema
    by: Coordinates
    fitted: Fitted

    @property
    def rows(self) -> int:
        """Rows of a replica's table: as many as the model knows of."""
        return self.fitted.model.rows_estimate

    @property
    def told_rows(self) -> int:
        """Rows drawn from each replica to tell what it says."""
        return min(max(self.rows, LEAST_ROWS), MOST_ROWS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replica:
    """What one run through the mechanism gave, as base codes.

    Attributes:
        drawn: The made-up rows it was fitted to.
        told: Independent rows of what was fitted.
        rows: Rows that it believes its table has.
    """

    drawn: CodeTable
    told: CodeTable
    rows: int


def fit_replica(mechanism: Mechanism, entropy: int, index: int) -> tuple[TableModel, CodeTable]:
    """One replica, and the rows it was fitted to; the same for the same seed and index, whatever else is made."""
    stream = named_streams(entropy, _offset(index))
    fitted, setting = mechanism.fitted, mechanism.fitted.setting
    drawn = rows_of(mechanism, fitted.model, mechanism.rows, stream("rows"))
    door = SimulatedDoor(rows=CountedTable(fitted.schema, drawn), unit=setting.unit, rng=stream("noise"))
    rows = drawn.rows if setting.unit.neighbours == "replace" else None
    model = fitted.method.fit(replace(setting, rows=rows, generator=lambda: stream("fit")), door)
    return copied_as_in(fitted.model, model), drawn


def make_replica(mechanism: Mechanism, entropy: int, index: int) -> Replica:
    """One replica as rows."""
    model, drawn = fit_replica(mechanism, entropy, index)
    told = rows_of(mechanism, model, mechanism.told_rows, named_streams(entropy, _offset(index))("told"))
    return Replica(drawn=drawn, told=told, rows=model.rows_estimate)


def model_rows(mechanism: Mechanism, entropy: int) -> CodeTable:
    """What the model itself says, by more rows than a replica has."""
    return rows_of(mechanism, mechanism.fitted.model, MODEL_ROWS * mechanism.told_rows, substream(entropy, 0))


def rows_of(mechanism: Mechanism, model: TableModel, rows: int, rng: np.random.Generator) -> CodeTable:
    """Independent rows of a model; those that break a rule are drawn again, as far as a few rounds do."""
    codes, by = model.simulate(rows, rng), mechanism.by
    for _ in range(ROUNDS if mechanism.schema.rules else 0):
        table, bent = assemble(by, decode(by.schema, codes, rng), rng)
        bad = np.flatnonzero(bent | ~rules_hold(mechanism.schema, table))
        if not len(bad):
            break
        codes[bad] = model.simulate(len(bad), rng)
    return CodeTable(columns={name: codes[:, j] for j, name in enumerate(by.schema.modelled)})


def columns_alone(mechanism: Mechanism) -> set[str]:
    """Columns that a coordinate of their own tells, whatever the others are."""
    return {part.name for part in mechanism.by.parts if isinstance(part, Same)}


def values_of(mechanism: Mechanism, codes: CodeTable, columns: Sequence[str]) -> SampledTable:
    """The declared columns that are asked for; places inside cells are drawn by a seed that is always the same."""
    by, rng = mechanism.by, substream(0, 0)
    if set(columns) <= columns_alone(mechanism):
        return {name: decode_column(by.schema[name], codes.columns[name], rng) for name in columns}
    matrix = np.column_stack([codes.columns[name] for name in by.schema.modelled])
    return assemble(by, decode(by.schema, matrix, rng), rng)[0]


def _offset(index: int) -> int:
    """Streams of one replica lie apart from those of all others: names are spread over 2^32 places."""
    return (index + 1) << 32
