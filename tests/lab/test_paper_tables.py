"""What the reproductions of the papers print: values side by side, and the queries and estimates behind them."""

import numpy as np
import pytest

from benchmarks.papers.beside import Beside
from benchmarks.papers.dpc_curves import triples_by_column
from benchmarks.papers.dpc_pure import last_pairs
from benchmarks.papers.dpcopula_joint import COLUMNS, PLACES, correlation_of, joint_estimate, pair_estimate
from benchmarks.papers.shirley_folds import folds_of


def test_values_stand_side_by_side_and_absent_ones_are_marked(capsys):
    beside = Beside()
    beside.add("average error", "chart", 0.123456, None)
    beside.show()
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["what", "paper", "as", "published", "ours"]
    assert line.split() == ["average", "error", "chart", "0.1235", "-"]


def test_triples_by_column_have_each_column_equally_often():
    owner = np.repeat([0, 1, 2, 3], [2, 10, 30, 5])
    triples = triples_by_column(owner, 40_000, np.random.default_rng(0))
    own = owner[triples]
    assert (np.diff(np.sort(own, axis=1)) > 0).all()
    shares = np.bincount(own.ravel(), minlength=4) / own.size
    assert np.abs(shares - 0.25).max() < 0.01  # 12 standard errors; even triples would have .64 in the third
    assert set(triples[own == 2]) == set(np.flatnonzero(owner == 2))


def test_the_papers_numbers_of_all_queries_are_the_last_of_each_set():
    assert last_pairs("Q1 256/552 303/920   Q2 23/160 59/6334") == ["303/920", "59/6334"]


def test_folds_leave_each_row_out_once():
    import pandas as pd

    pairs = folds_of(pd.DataFrame({"a": range(53)}), 5, 5)
    assert sorted(row for _, left_out in pairs for row in left_out["a"]) == list(range(53))
    assert all(set(train["a"]).isdisjoint(test["a"]) for train, test in pairs)


def test_both_likelihoods_find_the_correlations_of_many_rows():
    rng = np.random.default_rng(3)
    corr = correlation_of(rng.normal(size=len(PLACES[0])))
    rows = rng.normal(size=(40_000, COLUMNS)) @ np.linalg.cholesky(corr).T
    for estimate in (joint_estimate, pair_estimate):
        assert estimate(rows) == pytest.approx(corr[PLACES], abs=0.03)  # six standard errors
