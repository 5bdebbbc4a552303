"""Tables that are measured with a share of the budget and never used in the fit: an honest check under the same claim.

Any method can be composed with such a check: it gets the rest of the allowance, and once its model is estimated the
tables are measured as one last step. Which ones follows from the schema, the model (made from measurements) and the
fit's recorded seed alone. What they show about the model is worked out in `sklar.inference.checks.held_out`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.methods.evidence import Evidence, Measure, Setting, Step, ask_in_order, remembered
from sklar.methods.method import Method, Outline
from sklar.model.margins.margin import Margin
from sklar.model.protocol import TableModel
from sklar.release.counts import Counts
from sklar.release.lookups import Lookup
from sklar.release.measurements import Request
from sklar.schema.coordinates import views_of
from sklar.schema.table import Schema

LABEL = "held back"
MAX_SHARE = 0.5
TRIPLES, RANGES = 8, 8
"""Random tables of three columns, and of random ranges of two: more look at more of the model, each with more noise."""
MAX_GROUPS_PER_AXIS = 4
ROWS_PER_CELL = 1.5
"""A cell of a triple holds this many standard deviations of noise on average, or there are two groups a column."""
CARD_COLUMNS, CARD_GROUPS, CARD_ROWS = 3, 3, 4_000
"""A scorecard for a declared target: columns, groups of each, and rows of the model that choose them."""


def holding_back(method: Method[Any], share: float) -> Method[Any]:
    """Return the method with this share of its allowance spent on tables that its model never sees.

    No plan covers the last queries, so a filter adds up what is spent.
    """
    require_share(share)
    rest = 1.0 - share

    def inner(evidence: Evidence[Any]) -> Evidence[Any]:
        """Return the evidence of the method itself: a part of the allowance, and without the tables that are held
        back."""
        releases = {label: several for label, several in evidence.releases.items() if label != LABEL}
        return evidence.part(LABEL, checked_setting(evidence.setting, share), releases)

    @remembered
    def ask_held(evidence: Evidence[Any]) -> Measure:
        return Measure(label=LABEL, requests=held_requests(evidence.setting, share, estimate(evidence)))

    def ask(evidence: Evidence[Any]) -> Step | None:
        return ask_in_order(evidence, lambda whole: method.ask(inner(whole)), ask_held)

    @remembered
    def estimate(evidence: Evidence[Any]) -> TableModel:
        return method.estimate(inner(evidence))

    def outline(schema: Schema, options: Any, allowance: Allowance, unit: Unit, rows: int) -> tuple[Outline, ...]:
        noise = held_noise(allowance, unit, share, schema, options)
        cells = held_groups(rows, noise.std) ** min(3, len(schema.modelled))
        own = Outline(label=LABEL, tables=table_count(schema, options), cells=cells, noise=noise)
        return (*method.outline(schema, options, allowance.part(rest), unit, rows), own)

    def gaussian(schema: Schema, options: Any) -> bool:
        return bool(method.plan is not None and method.plan(schema, options)) or method.gaussian(schema, options)

    def check(schema: Schema, options: Any) -> None:
        if views_of(schema):
            raise UsageError("check_share is for rows that stand alone: leave it out, or set linked=False in Person")
        method.check(schema, options)

    def require_rows(schema: Schema, options: Any, allowance: Allowance, unit: Unit, rows: int) -> None:
        method.require_rows(schema, options, allowance.part(rest), unit, rows)

    said = f"{share:.3g} of the budget bought tables that the model was not fitted to, to check it."
    return replace(
        method, ask=ask, estimate=estimate, margins=None, check=check, plan=None, outline=outline, gaussian=gaussian,
        caveats=(*method.caveats, said), require_rows=require_rows,
        expect=None if method.expect is None else _expect_from_rest(method, rest),
    )  # fmt: skip


def checked_setting(setting: Setting[Any], share: float) -> Setting[Any]:
    """Return the setting of a method without the share of its allowance that is held back for a check."""
    allowance = setting.allowance.part(1.0 - share)
    return replace(setting, allowance=allowance, generator=lambda: _after_one_child(setting))


def held_requests(setting: Setting[Any], share: float, model: TableModel) -> tuple[Request, ...]:
    """Return the requests for the tables that are held back from a model."""
    noise = held_noise(setting.allowance, setting.unit, share, setting.schema, setting.options)
    (stream,) = setting.generator().spawn(1)
    # Sensitivity: plain tables of counts; a row is in exactly one cell of each, as the Door charges for them.
    tables = held_tables(setting.schema, model, noise, stream, setting.options)
    return tuple(Request(query=query, noise=noise) for query in tables)


def _after_one_child(setting: Setting[Any]) -> np.random.Generator:
    """Return the generator of a fit whose first child chooses what is held back."""
    rng = setting.generator()
    rng.spawn(1)
    return rng


def require_share(share: object) -> None:
    """Refuse a share that is not a number, or that leaves less than half of the budget to the fit."""
    if isinstance(share, bool) or not isinstance(share, float | int) or not 0 < share <= MAX_SHARE:
        raise UsageError(
            f"check_share, the part of the budget for tables that only check the model, lies above 0 and is at most "
            f"{MAX_SHARE:g}; {share!r} was given"
        )


def _expect_from_rest(method: Method[Any], rest: float) -> Any:
    def expect(schema: Schema, options: Any, allowance: Allowance, unit: Unit, rows: int) -> Any:
        assert method.expect is not None
        return method.expect(schema, options, allowance.part(rest), unit, rows)

    return expect


def held_noise(allowance: Allowance, unit: Unit, share: float, schema: Schema, options: Any) -> Noise:
    """Return the noise on every table that is held back: slightly less than the share, so that rounding cannot exceed
    it."""
    return allowance.part(share * (1 - 1e-9)).noise(unit, tables=table_count(schema, options))


def table_count(schema: Schema, options: Any) -> int:
    """Return the number of tables that are held back, by schema and options."""
    columns = len(schema.modelled)
    triples = min(TRIPLES, len(list(combinations(range(columns), min(3, columns)))))
    return triples + (RANGES if columns > 1 else 0) + (_find_target(schema, options) is not None)


def held_groups(rows: float, sigma: float) -> int:
    """Return the number of groups of each column of a triple that the noise supports."""
    return int(np.clip((rows / (ROWS_PER_CELL * max(sigma, 1e-9))) ** (1 / 3), 2, MAX_GROUPS_PER_AXIS))


def held_tables(
    schema: Schema, model: TableModel, noise: Noise, rng: np.random.Generator, options: Any
) -> tuple[Counts, ...]:
    """Return the tables that are held back: random triples and ranges, and a scorecard if a target was declared."""
    columns, margins = len(schema.modelled), model.margins
    ordered = [schema[name].ordered for name in schema.modelled]
    groups = held_groups(model.rows_estimate, noise.std)
    cut = [even_groups(margin, groups, order) for margin, order in zip(margins, ordered, strict=True)]
    every = list(combinations(range(columns), min(3, columns)))
    chosen = rng.choice(len(every), size=min(TRIPLES, len(every)), replace=False).tolist()
    requests = [(every[at], tuple(cut[c] for c in every[at])) for at in chosen]
    for _ in range(RANGES if columns > 1 else 0):
        first, second = sorted(rng.choice(columns, size=2, replace=False).tolist())
        requests.append(((first, second), tuple(_range(margins[c], ordered[c], rng) for c in (first, second))))
    target = _find_target(schema, options)
    if target is not None:
        requests.append(_scorecard(model, ordered, target, rng))
    return tuple(
        Counts(columns=tuple(schema.modelled[c] for c in places), partitions=lookups) for places, lookups in requests
    )


def _find_target(schema: Schema, options: Any) -> int | None:
    name = getattr(options, "target", None)
    return schema.modelled.index(name) if name is not None and len(schema.modelled) > 1 else None


def even_groups(margin: Margin, groups: int, ordered: bool) -> Lookup:
    """Return groups of about equal mass, at most this number, of codes in their order, or of labels from frequent to
    rare."""
    middle = _places(margin, ordered)
    return _numbered(np.minimum((middle * groups).astype(np.int64), groups - 1))


def _range(margin: Margin, ordered: bool, rng: np.random.Generator) -> Lookup:
    """Draw a random range with a fifth to four fifths of the mass, if the codes permit it: inside is 1, outside 0."""
    width = rng.uniform(0.2, 0.8)
    low = rng.uniform(0.0, 1.0 - width)
    middle = _places(margin, ordered)
    return _numbered(((middle >= low) & (middle < low + width)).astype(np.int64))


def _places(margin: Margin, ordered: bool) -> Floats:
    """Return where the middle of each base code lies on [0, 1]."""
    dense = margin.dense()
    order = np.arange(len(dense)) if ordered else np.argsort(-dense, kind="stable")
    middle = np.empty(len(dense))
    middle[order] = np.cumsum(dense[order]) - dense[order] / 2
    return np.clip(middle, 0.0, 1.0)


def _numbered(labels: np.ndarray) -> Lookup:
    """Return labels 0, 1, 2, ... with none left out."""
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _scorecard(
    model: TableModel, ordered: Sequence[bool], target: int, rng: np.random.Generator
) -> tuple[tuple[int, ...], tuple[Lookup, ...]]:
    """Return the table that scores a target by the columns that predict it best in rows of the model; the target comes
    last."""
    codes = model.simulate_rounded(CARD_ROWS, rng)
    halves = even_groups(model.margins[target], 2, ordered[target])
    cut = [even_groups(m, CARD_GROUPS, order) for m, order in zip(model.margins, ordered, strict=True)]
    others = [column for column in range(len(cut)) if column != target]
    found = [_information(cut[c][codes[:, c]], halves[codes[:, target]]) for c in others]
    best = sorted(others[at] for at in np.argsort(-np.array(found), kind="stable")[:CARD_COLUMNS].tolist())
    return (*best, target), (*(cut[c] for c in best), halves)


def _information(first: np.ndarray, second: np.ndarray) -> float:
    """Return mutual information of two groupings of the same rows."""
    joint = np.zeros((int(first.max()) + 1, int(second.max()) + 1))
    np.add.at(joint, (first, second), 1.0 / len(first))
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    held = joint > 0
    return float(np.sum(joint[held] * np.log(joint[held] / apart[held])))
