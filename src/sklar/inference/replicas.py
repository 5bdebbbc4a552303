"""Replicas of a model: rows drawn from it are put through its whole mechanism again, to estimate its error.

A replica is made as the model itself was. In the place of the real rows it has the same number of rows drawn from the
model, and `SimulatedDoor` adds noise of the same kind and scale; method, options, budget and schema are the same.
Replicas vary around the model as models vary around the truth, to the extent that the model resembles the truth: the
parametric bootstrap (Efron and Tibshirani 1993, chapter 6) of a private mechanism (Ferrando, Wang, Sheldon 2022,
"Parametric bootstrap for differentially private confidence intervals").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.counting.code_table import CodeTable, CountedTable
from sklar.inference.fitted import Fitted
from sklar.inference.simulated import SimulatedDoor
from sklar.model.kept import copied_as_in
from sklar.model.margins.margin import heaping_of
from sklar.model.protocol import TableModel
from sklar.sample.assemble import assemble
from sklar.sample.decode import SampledTable, decode, decode_column
from sklar.sample.rng import named_streams, substream
from sklar.sample.rules.every import rules_hold
from sklar.schema.coordinates import Coordinates, Same
from sklar.schema.table import Schema

MIN_ANSWER_ROWS, MAX_ANSWER_ROWS = 40_000, 200_000
"""Rows drawn from a replica to evaluate statistics: those of the table, within these bounds. Enough that sampling adds
little to the error (a fortieth of the variance of 1,000 rows), few enough to cache."""
RULE_REDRAW_ROUNDS = 10
"""Rounds of redrawing rows that break a rule: the few that remain hardly matter in any table."""
MODEL_ROWS_FACTOR = 2
"""The model itself is evaluated on this multiple of rows, since its sampling error is in every interval."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mechanism:
    """A fit, and how its coordinates become the columns of the declared schema."""

    schema: Schema
    by: Coordinates
    fitted: Fitted

    @property
    def rows(self) -> int:
        """Number of rows of a replica's table: the model's estimate for the fitted table."""
        return self.fitted.model.rows_estimate

    @property
    def answer_rows(self) -> int:
        """Number of rows drawn from each replica to evaluate statistics."""
        return min(max(self.rows, MIN_ANSWER_ROWS), MAX_ANSWER_ROWS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replica:
    """One run through the mechanism, as base codes.

    Attributes:
        drawn: The simulated rows that the replica was fitted to.
        sampled: Independent rows drawn from the fitted replica.
        rows: Its estimate of the number of rows of its table.
    """

    drawn: CodeTable
    sampled: CodeTable
    rows: int


def fit_replica(mechanism: Mechanism, entropy: int, index: int) -> tuple[TableModel, CodeTable]:
    """Return one replica and the rows it was fitted to; they depend on seed and index alone."""
    stream = named_streams(entropy, _offset(index))
    fitted, setting = mechanism.fitted, mechanism.fitted.setting
    drawn = draw_rows(mechanism, fitted.model, mechanism.rows, stream("rows"))
    door = SimulatedDoor(rows=CountedTable(fitted.schema, drawn), unit=setting.unit, rng=stream("noise"))
    rows = drawn.rows if setting.unit.neighbours == "replace" else None
    model = fitted.method.fit(replace(setting, rows=rows, generator=lambda: stream("fit")), door)
    return copied_as_in(fitted.model, model), drawn


def make_replica(mechanism: Mechanism, entropy: int, index: int) -> Replica:
    """Return one replica as rows."""
    model, drawn = fit_replica(mechanism, entropy, index)
    # The name of this stream fixes the rows of a seed: it must not change.
    sampled = draw_rows(mechanism, model, mechanism.answer_rows, named_streams(entropy, _offset(index))("told"))
    return Replica(drawn=drawn, sampled=sampled, rows=model.rows_estimate)


def draw_model_rows(mechanism: Mechanism, entropy: int) -> CodeTable:
    """Draw rows of the model itself, more than of a replica."""
    rows = MODEL_ROWS_FACTOR * mechanism.answer_rows
    return draw_rows(mechanism, mechanism.fitted.model, rows, substream(entropy, 0))


def draw_rows(mechanism: Mechanism, model: TableModel, rows: int, rng: np.random.Generator) -> CodeTable:
    """Draw independent rows of a model; rows that break a rule are redrawn for a few rounds."""
    codes, by = model.simulate(rows, rng), mechanism.by
    for _ in range(RULE_REDRAW_ROUNDS if mechanism.schema.rules else 0):
        table, bent = assemble(by, decode(by.schema, codes, rng, heaping=heaping_of(model.margins)), rng)
        bad = np.flatnonzero(bent | ~rules_hold(mechanism.schema, table))
        if not len(bad):
            break
        codes[bad] = model.simulate(len(bad), rng)
    return CodeTable(columns={name: codes[:, j] for j, name in enumerate(by.schema.modelled)})


def directly_coded_columns(mechanism: Mechanism) -> set[str]:
    """Return columns that are decoded from one coordinate of their own."""
    return {part.name for part in mechanism.by.parts if isinstance(part, Same)}


def decode_columns(mechanism: Mechanism, codes: CodeTable, columns: Sequence[str]) -> SampledTable:
    """Decode the requested columns of the declared schema; values inside cells are drawn with a fixed seed."""
    by, rng, heaping = mechanism.by, substream(0, 0), heaping_of(mechanism.fitted.model.margins)
    if set(columns) <= directly_coded_columns(mechanism):
        return {
            name: decode_column(by.schema[name], codes.columns[name], rng, heaping=heaping.get(name, ()))
            for name in columns
        }
    matrix = np.column_stack([codes.columns[name] for name in by.schema.modelled])
    return assemble(by, decode(by.schema, matrix, rng, heaping=heaping), rng)[0]


def _offset(index: int) -> int:
    """Return the offset of a replica's streams, which keeps them apart from those of others: names have 2^32 places."""
    return (index + 1) << 32
