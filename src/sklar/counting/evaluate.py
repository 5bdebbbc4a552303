"""Evaluates queries on base codes: the definition of each kind of query in exact integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.accounting.unit import VOTE_BITS
from sklar.arrays import Ints
from sklar.counting import blocks, coefficients, distances, sphere, taus
from sklar.counting.jobs import CodedPart, CountedRows
from sklar.counting.plans import TableSpec, plan_counts
from sklar.counting.tables import exact_counts, exact_pair_counts, require_pair_memory
from sklar.counting.whole_numbers import MAX_INT64_SUM, WholeNumbers, carry_words, join_words, split_words
from sklar.release.agreements import Agreements
from sklar.release.blocks import BlockLikelihoods, BlockMeans
from sklar.release.coefficients import Coefficients
from sklar.release.counts import Counts, Interaction, PairCounts
from sklar.release.distances import Distances
from sklar.release.measurements import Query, SumsQuery
from sklar.release.scores import SUM_VOTE_BITS
from sklar.release.sphere import PairSums, StarSums
from sklar.release.taus import SampledTaus, TauVector
from sklar.schema import Schema


def exact_agreements(query: Agreements, codes: npt.NDArray[np.integer[Any]]) -> Ints:
    """Count the rows of a batch that have the same code in both columns, for each pair of columns."""
    return np.count_nonzero(codes[:, : query.size] == codes[:, query.size :], axis=0).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumRule:
    """The evaluation of one kind of sums.

    Attributes:
        exact_sums: (query, base codes of `query.columns`, one row of codes per row) -> int64 vector in units of
            `query.resolution`. Sums of batches add up to the sum of the table. None if it is not a sum over rows.
        exact_whole: (query, rows) -> the vector from the whole table, if it is not a sum over rows.
    """

    exact_sums: Callable[[Any, npt.NDArray[np.integer[Any]]], Ints] | None = None
    exact_whole: Callable[[Any, CountedRows], Ints] | None = None


SUM_RULES: dict[type, SumRule] = {
    StarSums: SumRule(exact_sums=sphere.exact_star_sums),
    PairSums: SumRule(exact_sums=sphere.exact_pair_sums),
    TauVector: SumRule(exact_whole=taus.exact_concordances),
    SampledTaus: SumRule(exact_whole=taus.exact_sampled_concordances),
    BlockMeans: SumRule(exact_whole=blocks.exact_block_sums),
    BlockLikelihoods: SumRule(exact_whole=blocks.exact_likelihood_sums),
    Coefficients: SumRule(exact_sums=coefficients.exact_coefficients),
    Agreements: SumRule(exact_sums=exact_agreements),
    Distances: SumRule(exact_whole=distances.exact_distances),
}
"""The closed list of sums, each with a proof of its sensitivity."""


def exact_values(queries: Sequence[Query], rows: CountedRows) -> list[WholeNumbers]:
    """Return the exact values of queries in whole units of their `get_lattice_step`; tables come from one pass."""
    tables = [query for query in queries if isinstance(query, Counts | Interaction)]
    counts = iter(exact_counts(rows, [_make_table_spec(query) for query in tables]) if tables else ())
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


def exact_interactions(counts: Ints) -> WholeNumbers:
    """Return the interaction of a table of counts: along each axis in turn, K times the table minus its sums."""
    # In parts of a vote even a table of millions of persons can exceed 64 bits. The numbers are the same either way.
    whole: WholeNumbers = counts if int(counts.sum()) * counts.size < MAX_INT64_SUM else counts.astype(object)
    for axis, groups in enumerate(counts.shape):
        whole = groups * whole - whole.sum(axis=axis, keepdims=True)
    return whole


def require_memory(queries: Sequence[Query], schema: Schema) -> None:
    """Refuse, before any row is read, tables that would not fit into memory."""
    plan_counts(schema, [_make_table_spec(query) for query in queries if isinstance(query, Counts | Interaction)])
    for query in queries:
        if isinstance(query, PairCounts):
            require_pair_memory(query.columns, query.shape)
        elif isinstance(query, Distances):
            plan_counts(schema, [_make_table_spec(table) for table in query.tables])


def _make_table_spec(query: Counts | Interaction) -> TableSpec:
    return query.columns, query.partitions


def exact_sums(query: SumsQuery, rows: CountedRows) -> WholeNumbers:
    """Return the exact vector of sums."""
    rule = SUM_RULES[type(query)]
    if rule.exact_sums is None:
        assert rule.exact_whole is not None
        return rule.exact_whole(query, rows)
    return join_words(*rows.run_job(SumJob(query=query)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumJob:
    """Sums a query over a part of the rows, in two words each (`sklar.counting.whole_numbers`)."""

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
            more = split_words(batch_sums(self.query, codes), each)
            upper, lower = carry_words(upper + more[0], lower + more[1])
        return upper, lower
