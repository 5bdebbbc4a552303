"""The bound on what anyone can believe: limits, Bayes' rule, and the page's own table."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import sklar

PAGE = Path(__file__).parents[2] / "docs" / "epsilon.md"


@pytest.mark.parametrize("prior", [0.001, 0.01, 0.5, 0.99])
def test_nothing_is_learned_at_zero_and_odds_grow_by_exp_epsilon(prior: float) -> None:
    assert sklar.risk(0, prior) == pytest.approx(prior)
    for epsilon in (0.1, 1.0, 5.0):
        after = sklar.risk(epsilon, prior)
        assert after / (1 - after) == pytest.approx(math.exp(epsilon) * prior / (1 - prior))
    assert sklar.risk(1e4, prior) == 1.0


def test_the_table_of_the_page_is_what_the_function_gives() -> None:
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+)% \| ([\d.]+)% \| ([\d.]+)% \|", PAGE.read_text(), re.MULTILINE)
    assert len(rows) == 7
    for epsilon, *shown in rows:
        assert shown == [f"{100 * sklar.risk(float(epsilon), prior):.1f}" for prior in (0.01, 0.1, 0.5)]


@pytest.mark.parametrize(("epsilon", "prior"), [(-1, 0.1), (math.nan, 0.1), (True, 0.1), (1, 0), (1, 1)])
def test_what_is_no_budget_or_no_probability_is_refused(epsilon: float, prior: float) -> None:
    with pytest.raises(sklar.errors.SklarError):
        sklar.risk(epsilon, prior)
