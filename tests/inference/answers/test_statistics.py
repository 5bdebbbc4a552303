"""Answers on a table are those of other programs, and influence functions are their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

import sklar
from sklar.inference.answers.influence import compute_influences, to_fisher_scale
from sklar.inference.answers.questions import parse_question
from sklar.inference.answers.statistics import compute_answers, describe_numbers
from sklar.sample.decode import SampledTable, Values, take
from sklar.sample.rng import generator

SCHEMA = sklar.Schema(
    {
        "x": sklar.Real(0, 100, decimals=6),
        "y": sklar.Real(0, 100, decimals=6, nullable=True),
        "g": sklar.Category(["F", "M", "X"]),
        "s": sklar.Boolean(),
    }
)
ROWS = 4000
RNG = generator(5)
G = RNG.choice(3, ROWS, p=[0.5, 0.45, 0.05]).astype(np.int32)
X = 40 + 5 * G + 8 * RNG.normal(size=ROWS)
Y = 20 + 0.5 * X + 6 * RNG.normal(size=ROWS)
S = RNG.random(ROWS) < 1 / (1 + np.exp(-(X - 45) / 10))
NULL = RNG.random(ROWS) < 0.1
NONE = np.zeros(ROWS, bool)
TABLE: SampledTable = {
    "x": Values(data=X, null=NONE),
    "y": Values(data=np.where(NULL, 0.0, Y), null=NULL),
    "g": Values(data=G, null=NONE, labels=("F", "M", "X", "other")),
    "s": Values(data=S, null=NONE),
}


def answered(text: str, table: SampledTable = TABLE) -> np.ndarray:
    return compute_answers(parse_question(text, SCHEMA), SCHEMA, table, ROWS)


def test_answers_are_those_of_numpy_without_missing_values() -> None:
    whole = ~NULL
    assert answered("mean(y)") == pytest.approx([Y[whole].mean()])
    assert answered("total(y)") == pytest.approx([Y[whole].sum()])
    assert answered("quantile(y, 0.3)") == pytest.approx([np.quantile(Y[whole], 0.3)])
    assert answered("correlation(x, y)") == pytest.approx([np.corrcoef(X[whole], Y[whole])[0, 1]])
    assert answered("mean(x) by g") == pytest.approx([X[i == G].mean() for i in range(3)])
    assert answered("share(g=F,X) where s=true") == pytest.approx([np.isin(G[S], (0, 2)).mean()])


def test_regressions_are_those_of_statsmodels() -> None:
    whole = ~NULL
    design = np.column_stack([np.ones(ROWS), X, G == 1, G == 2]).astype(float)
    assert answered("linear(y ~ x + g)") == pytest.approx(sm.OLS(Y[whole], design[whole]).fit().params, rel=1e-8)
    assert answered("logistic(s ~ x + g)") == pytest.approx(sm.Logit(S, design).fit(disp=0).params, rel=1e-6)
    terms = [asked.term for asked in describe_numbers(parse_question("linear(y ~ x + g)", SCHEMA), SCHEMA)]
    assert terms == ["(intercept)", "x", "g=M", "g=X"]


def test_what_is_not_defined_is_not_a_number() -> None:
    one = take(TABLE, np.flatnonzero(G == 0))
    assert np.isnan(answered("mean(x) by g", one)).tolist() == [False, True, True]
    same = {**TABLE, "x": Values(data=np.full(ROWS, 3.0), null=NONE)}
    assert np.isnan(answered("correlation(x, y)", same)).all()
    assert np.isnan(answered("linear(y ~ x)", same)).tolist() == [False, True]
    sure = {**TABLE, "s": Values(data=X > 45, null=NONE)}
    assert np.isnan(
        answered("logistic(s ~ x)", sure)
    ).all()  # classes that can be told apart have no largest likelihood


QUESTIONS = (
    "mean(y)", "share(g=F) where s=true", "mean(x) by g", "quantile(x, 0.4)", "correlation(x, y)", "linear(y ~ x + g)",
    "logistic(s ~ x + y)", "share(s) by g", "total(y) by g",
)  # fmt: skip


@pytest.mark.parametrize("text", QUESTIONS)
def test_an_influence_is_how_much_a_statistic_moves_when_some_rows_count_more(text: str) -> None:
    """A twentieth of the rows, of large x, is taken twice: it changes as told, to first order."""
    question = parse_question(text, SCHEMA)
    found, psi = compute_influences(question, SCHEMA, TABLE, ROWS)
    twice = np.flatnonzero(np.quantile(X, 0.9) < X)[::2]
    more = take(TABLE, np.concatenate([np.arange(ROWS), twice]))
    moved = to_fisher_scale(question, compute_answers(question, SCHEMA, more, ROWS)) - found
    told = psi[:, twice].sum(axis=1) / (ROWS + len(twice))
    if question.statistic == "total":  # is not centred
        told = told - psi.mean(axis=1) * len(twice) / (ROWS + len(twice))
    else:
        assert np.allclose(psi.mean(axis=1), 0.0, atol=1e-6 * np.abs(psi).max())
    assert told == pytest.approx(moved, rel=0.15, abs=0.03 * float(psi.std(axis=1).max()) / 10)
    assert np.abs(told).max() > 0


def test_a_quantile_far_out_among_a_few_equal_rows_is_not_certain_but_one_amid_many_is() -> None:
    lumps = np.where(np.arange(ROWS) < 0.01 * ROWS, 0.0, np.where(np.arange(ROWS) < 0.4 * ROWS, 30.0, X))
    table = {**TABLE, "x": Values(data=lumps, null=NONE)}
    spread = [
        compute_influences(parse_question(f"quantile(x, {at})", SCHEMA), SCHEMA, table, ROWS)[1].std()
        for at in (0.002, 0.2)
    ]
    assert spread[0] > 1 and spread[1] == 0
