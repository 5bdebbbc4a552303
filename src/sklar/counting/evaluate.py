"""Evaluates queries on base codes: the one place that knows what each kind of query means in exact integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.accounting.unit import VOTE_BITS
from sklar.arrays import Ints
from sklar.counting import agreements, blocks, coefficients, sampled_taus, sphere, taus
from sklar.counting.interactions import exact_interactions
from sklar.counting.jobs import CodedPart, CountedRows
from sklar.counting.plans import TableSpec, plan_counts
from sklar.counting.tables import exact_counts, exact_pair_counts, require_pair_room
from sklar.counting.whole_numbers import WholeNumbers, carried, from_words, words_of
from sklar.release.agreements import Agreements
from sklar.release.blocks import BlockLikelihoods, BlockMeans
from sklar.release.coefficients import Coefficients
from sklar.release.counts import Counts, Interaction, PairCounts
from sklar.release.measurements import Query, SumsQuery
from sklar.release.scores import SUM_VOTE_BITS
from sklar.release.sphere import PairSums, StarSums
from sklar.release.taus import SampledTaus, TauVector
from sklar.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class SumRule:
    """How one kind of sums is evaluated.

    Attributes:
        exact_sums: (query, base codes of `query.columns`, one row of codes per row) -> int64 vector in units of
            `query.resolution`. Sums of batches add up to the sum of the table. None where it is no sum over rows.
        exact_whole: (query, rows) -> the same vector from the whole table, where it is no sum over rows.
    """

    exact_sums: Callable[[Any, npt.NDArray[np.integer[Any]]], Ints] | None = None
    exact_whole: Callable[[Any, CountedRows], Ints] | None = None


SUM_RULES: dict[type, SumRule] = {
    StarSums: SumRule(exact_sums=sphere.exact_star_sums),
    PairSums: SumRule(exact_sums=sphere.exact_pair_sums),
    TauVector: SumRule(exact_whole=taus.exact_orders),
    SampledTaus: SumRule(exact_whole=sampled_taus.exact_sampled_orders),
    BlockMeans: SumRule(exact_whole=blocks.exact_block_sums),
    BlockLikelihoods: SumRule(exact_whole=blocks.exact_likelihood_sums),
    Coefficients: SumRule(exact_sums=coefficients.exact_coefficients),
    Agreements: SumRule(exact_sums=agreements.exact_agreements),
}
"""The closed list of sums, each with a proved sensitivity."""


def exact_values(queries: Sequence[Query], rows: CountedRows) -> list[WholeNumbers]:
    """Return the exact values of queries in whole units of their `lattice_step`; tables come from one pass."""
    tables = [query for query in queries if isinstance(query, Counts | Interaction)]
    counts = iter(exact_counts(rows, [_spec(query) for query in tables]) if tables else ())
    found: list[WholeNumbers] = []
    for query in queries:
        if isinstance(query, Counts):
            found.append(next(counts))
        elif isinstance(query, Interaction):
            found.append(exact_interactions(next(counts)))
        elif isinstance(query, PairCounts):
            found.append(exact_pair_counts(rows, query.columns, query.partitions))
        else:
            found.append(exact_sums(query, rows))
    return found


def require_room(queries: Sequence[Query], schema: Schema) -> None:
    """Refuse, before any row is read, tables that would not fit into memory."""
    plan_counts(schema, [_spec(query) for query in queries if isinstance(query, Counts | Interaction)])
    for query in queries:
        if isinstance(query, PairCounts):
            require_pair_room(query.columns, query.shape)


def _spec(query: Counts | Interaction) -> TableSpec:
    return query.columns, query.partitions


def exact_sums(query: SumsQuery, rows: CountedRows) -> WholeNumbers:
    """Return the exact vector of sums."""
    rule = SUM_RULES[type(query)]
    if rule.exact_sums is None:
        assert rule.exact_whole is not None
        return rule.exact_whole(query, rows)
    return from_words(*rows.summed(SumJob(query=query)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumJob:
    """The sums of a query over a part of the rows, in two words each (`sklar.counting.whole_numbers`)."""

    query: Any

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.query.size,), (self.query.size,))

    def __call__(self, rows: CodedPart) -> tuple[Ints, ...]:
        batch_sums = SUM_RULES[type(self.query)].exact_sums
        assert batch_sums is not None
        upper, lower = (np.zeros(shape, np.int64) for shape in self.shapes)
        for codes, weight in rows.weighted_matrices(self.query.columns):
            # Sensitivity: with w parts of a vote for each of a person's m rows, m w is at most one vote, so the person
            # adds at most a mean of what single rows add: never longer than the longest of them.
            each = weight >> (VOTE_BITS - SUM_VOTE_BITS) if rows.votes else 1
            more = words_of(batch_sums(self.query, codes), each)
            upper, lower = carried(upper + more[0], lower + more[1])
        return upper, lower
