"""What a method asked for, told from its releases: the fit is run once more on them, before the Door that replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.lab.audit.exact import Codes, exact_scores, exact_sums
from sklar.methods.registry import METHODS
from sklar.pipeline.model import Model
from sklar.release.door import Interaction, PairTables, Table, TableDistance
from sklar.release.replay import Asked, AskedChoice, AskedTable, ReplayDoor
from sklar.sample.rng import generator
from sklar.schema.table import Schema

ROOM = 1e-3
"""Room for rounding in the sensitivity of scores that are norms."""


class Notes:
    """Requests by digest; a fit is run again only if it asked for something new."""

    def __init__(self, method: str, options: Mapping[str, Any]):
        self._method = METHODS[method]
        self._options = self._method.read_options(options)
        self._known: dict[str, tuple[Asked, ...] | None] = {}

    def requests(self, model: Model) -> list[tuple[Asked, ...] | None]:
        """For each step of a fit, what its releases answer; None for labels."""
        if any(step.request not in self._known for step in model.releases):
            facts = model.fit_facts
            door = ReplayDoor(
                schema=model.coordinates.schema, allowance=Allowance(**facts["allowance"]), unit=Unit(**facts["unit"]),
                recorded=model.releases, rows=facts["rows"],
            )  # fmt: skip
            self._method.fit(door, self._options, generator(facts["seed"]))
            self._known |= {step.request: told.asked for step, told in zip(model.releases, door.steps, strict=True)}
        return [self._known[step.request] for step in model.releases]


def exact_values(asked: Asked, codes: Codes, schema: Schema) -> Floats | None:
    """The exact whole numbers that a request is about, its tables one after the other; None if they are not known."""
    if isinstance(asked, AskedChoice):
        return None
    if isinstance(asked, AskedTable):
        return _exact_tables(asked, codes, schema)
    return exact_sums(asked, codes)


def choice_scores(asked: AskedChoice, codes: Codes) -> Floats:
    """The exact scores that a choice is about."""
    score = asked.score
    if isinstance(score, TableDistance):
        return exact_scores(score, [_recoded(one.columns, one.lookups, codes) for one in score.candidates])
    return exact_scores(score, [_recoded((score.column,), (score.lookup,), codes)])


def choice_scale(asked: AskedChoice, unit: Unit) -> float:
    """The scale of the Gumbel noise on the scores, by how far one person moves them (`sklar.private.scores`)."""
    moved = unit.l1 if isinstance(asked.score, TableDistance) else unit.l2 + ROOM
    return 2.0 * moved / asked.epsilon


def _recoded(columns: Sequence[str], lookups: Sequence[npt.NDArray[Any]], codes: Codes) -> Floats:
    groups = [lookup[codes[name]] for name, lookup in zip(columns, lookups, strict=True)]
    return _counts(groups, [int(lookup.max()) + 1 for lookup in lookups])


def _exact_tables(asked: AskedTable, codes: Codes, schema: Schema) -> Floats:
    values = _exact_counts(asked, codes, schema)
    if isinstance(asked, Interaction):
        values = values.reshape(asked.shape)
        for axis, groups in enumerate(asked.shape):
            values = groups * values - values.sum(axis=axis, keepdims=True)
    return values.ravel()


def _exact_counts(asked: AskedTable, codes: Codes, schema: Schema) -> Floats:
    if isinstance(asked, Table):
        groups, sizes = [codes[name] for name in asked.columns], [schema.size(name) for name in asked.columns]
    else:
        groups = [lookup[codes[name]] for name, lookup in zip(asked.columns, asked.lookups, strict=True)]
        sizes = asked.shape
    tables = combinations(range(len(sizes)), 2) if isinstance(asked, PairTables) else [range(len(sizes))]
    return np.concatenate([_counts([groups[i] for i in axes], [sizes[i] for i in axes]) for axes in tables])


def _counts(groups: Sequence[npt.NDArray[Any]], shape: Sequence[int]) -> Floats:
    cells = np.ravel_multi_index(tuple(group.astype(np.int64) for group in groups), tuple(shape))
    return np.bincount(cells, minlength=int(np.prod(shape))).astype(np.float64)
