"""Defaults of the baselines are what their papers, or where these are silent their published software, do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import UsageError
from sklar.lab.baselines.columns import column_margin, prepare_columns
from sklar.lab.baselines.cop import CopOptions
from sklar.lab.baselines.rvine import RvineOptions, StarOptions
from sklar.lab.baselines.shirley.fit import fit_vine
from sklar.lab.baselines.shirley.options import ShirleyOptions
from sklar.lab.baselines.shirley.steps import Steps, noisy_counts, pseudo_observations
from sklar.lab.baselines.tvine import TvineOptions
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import ExactTable
from sklar.lab.vines import FAMILY_SETS, fit_rvine
from sklar.model.axis import codes_at
from sklar.model.rvine.table import SplitVineTable, VineTable

GRID = 0.001
SCHEMA = sklar.Schema(
    {
        "cost": sklar.Real(0, 100, bins=100_000),
        "visits": sklar.Integer(0, 9),
        "town": sklar.Category(["north", "east", "south"]),
        "ill": sklar.Boolean(),
    }
)


def people(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    z = rng.normal(size=rows)
    return pd.DataFrame(
        {
            "cost": np.clip(np.exp(2 + z), 0, 100).round(1),
            "visits": rng.poisson(np.exp(0.3 * z)).clip(0, 9),
            "town": np.array(["south", "north", "east"])[np.digitize(z + rng.normal(size=rows), [-0.5, 0.5])],
            "ill": z + rng.normal(size=rows) > 0,
        }
    )


def read(frame: pd.DataFrame) -> ExactTable:
    return read_table(frame, SCHEMA, np.random.default_rng(0), role="real")


def fitted(method: str, **options: Any) -> sklar.Model:
    return sklar.fit(people(), SCHEMA, method=method, no_guarantee=True, seed=1, **options)


TVINE: dict[str, Any] = {"target": "ill", "sensitive": ["cost"]}


def test_tvine_section_2_2_is_one_c_vine_around_the_response() -> None:
    assert isinstance(fitted("tvine", **TVINE).table_model, VineTable)
    ours = fitted("tvine", **TVINE, conditional_root=None).table_model
    assert isinstance(ours, SplitVineTable)


@pytest.mark.parametrize("options", [TvineOptions, RvineOptions, StarOptions])
def test_tvine_appendix_b_1_has_ten_families_of_at_most_two_parameters(options: type) -> None:
    families = FAMILY_SETS[options().families]
    assert set(FAMILY_SETS["parametric"]) - set(families) == {"tawn"} and len(families) == 10 + 1
    assert options().selection == "aic"  # appendix K
    assert getattr(options(), "criterion", "tau") == "tau"  # algorithm 2


def test_tvine_software_draws_from_interpolated_quantiles_of_type_8() -> None:
    """Section 2.1 leaves the margins free; the software takes R's quantile(type = 8), numpy's median-unbiased ones."""
    assert TvineOptions().margins == RvineOptions().margins == StarOptions().margins == "quantiles"
    table = read(people())
    columns = prepare_columns(table, ("cost",), how="quantiles")
    u = np.linspace(0, 1, 5_001)[1:-1]
    cells = codes_at(columns.scales[0], u)
    wanted = np.quantile(table.numbers["cost"], u, method="median_unbiased")
    # Code k stands for the k-th cell of the schema's grid; code 0 is the lower bound itself.
    assert np.abs((cells - 0.5) * GRID - wanted).max() <= 1.001 * GRID


def test_a_margin_of_quantiles_has_the_mass_of_its_rows() -> None:
    codes = np.array([2, 2, 2, 3, 7, 9])
    margin = column_margin(SCHEMA, "visits", codes, "quantiles")
    # Three rows at 2 are two steps, each way to the next code is one, and the ends have 2/3 of a step more.
    wanted = np.zeros(10)
    wanted[[2, 3, 7, 9]] = [2 + 1 / 2 + 2 / 3, 1 / 2 + 1 / 8, 1 / 8 + 1 / 4, 1 / 4 + 2 / 3]
    wanted[[4, 5, 6]], wanted[8] = 1 / 4, 1 / 2
    assert margin.dense() == pytest.approx(wanted / (6 + 1 / 3))


def test_tvine_software_takes_numbers_for_continuous_and_labels_in_their_order() -> None:
    table = read(people())
    published, ours = (prepare_columns(table, SCHEMA.modelled, "ill", how) for how in ("quantiles", "smoothed"))
    assert published.discrete.tolist() == [False, False, True, True]
    assert ours.discrete.tolist() == [False, True, True, True]
    assert published.scales[2].order.tolist()[:3] == [0, 1, 2] != ours.scales[2].order.tolist()[:3]
    ranks = people()["visits"].rank() / (len(table.codes["visits"]) + 1)
    assert published.u[:, 1] == pytest.approx(ranks.to_numpy())


@pytest.mark.parametrize(("order", "most"), [("cost,visits,town", 3), ("visits,cost,town", 2), ("visits,town,cost", 1)])
def test_tvine_section_2_2_stops_before_a_sensitive_column_is_a_root(order: str, most: int) -> None:
    """t_max = d + 1 - j, j the position of the sensitive column, in an order of one's own too."""
    model = fitted("tvine", **TVINE, order=order, families="gaussian")
    assert model.inspect()["structure"]["fitted_levels"] == most
    assert fitted("tvine", **TVINE, order=order, level=most).inspect()["structure"]["fitted_levels"] == most
    with pytest.raises(UsageError, match=f"from 1 to {most}"):
        fitted("tvine", **TVINE, order=order, level=most + 1)


@pytest.mark.slow
def test_cop_section_3_3_takes_the_nearest_matrix_by_its_entries_and_moves_it_no_further() -> None:
    """Equation 3.10 and algorithm 3: Higham's projection of the correlations, and no rounds after it."""
    assert CopOptions() == CopOptions(rounds=0, projection="plain")
    corr = fitted("cop", bins=8).table_model.corr  # pyright: ignore[reportAttributeAccessIssue]
    ours = fitted("cop", bins=8, rounds=3, projection="weighted").table_model.corr  # pyright: ignore[reportAttributeAccessIssue]
    town = slice(8 + 8, 8 + 8 + 3)
    # Two values of a column never occur together, which asks for -1 in the paper's matrix; ours leaves those free.
    beside = corr[town, town][np.triu_indices(3, 1)]
    assert beside.max() < 0 and not np.allclose(corr, ours, atol=0.05)


def test_shirley_algorithm_3_is_dissmanns_vine_of_the_pseudo_observations_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    upper = rng.random((400, 3))
    upper[:, 1] = (upper[:, 0] + upper[:, 1]) / 2
    steps = Steps(lower=np.round(upper, 2), upper=np.round(upper + 0.01, 2).clip(0, 1), discrete=np.zeros(3, bool))
    options = ShirleyOptions(published=True)
    vine = fit_vine(steps, options, rng)
    plain = fit_rvine(
        pseudo_observations(steps, options, rng), families=options.families, criterion="spearman", truncation=2
    )
    assert vine is not None and np.array_equal(vine.parameters, plain.parameters)
    ours = fit_vine(steps, ShirleyOptions(match_ranks=True), rng)
    assert ours is not None and not np.array_equal(ours.parameters, plain.parameters)


def test_shirley_section_5_1() -> None:
    """All defaults of rvinecopulib but truncation at two trees and Spearman's correlation; the encoder is WOE."""
    options = ShirleyOptions(epsilon=1.0, reference="ill", published=True)
    assert set(FAMILY_SETS["all"]) - set(FAMILY_SETS[options.families]) == {"tawn"}
    assert (options.truncation, options.criterion, options.selection) == (2, "spearman", "aic")
    assert (options.encoding, options.mechanism, options.share_of_vine, options.ties) == ("woe", "laplace", 0.5, "edge")
    # The software: ordinal codes where no reference is named, and no split where there is no noise.
    assert (ShirleyOptions().encoding, ShirleyOptions().share_of_vine) == ("ordinal", None)


def test_shirley_algorithm_2_to_the_letter() -> None:
    """CDF = cumsum / sum of counts cut at 0 (the software's rule), and pseudo-observations F(x)."""
    options = ShirleyOptions(published=True)
    exact = np.array([3, 0, 5])
    assert noisy_counts(exact, options, np.random.default_rng(0)).tolist() == [3, 0, 5]
    steps = Steps(lower=np.array([[0.0], [0.375]]), upper=np.array([[0.375], [1.0]]), discrete=np.zeros(1, bool))
    assert pseudo_observations(steps, options, np.random.default_rng(0)).ravel() == pytest.approx([0.375, 1.0])


@pytest.mark.parametrize(
    ("method", "options", "ours"),
    [
        ("shirley", {}, {"ties": "spread"}),
        ("shirley", {}, {"match_ranks": True}),
        ("shirley", {}, {"families": "all"}),
        ("tvine", TVINE, {"conditional_root": None}),
        ("tvine", TVINE, {"margins": "smoothed"}),
        ("rvine", {}, {"families": "parametric"}),
        ("rvine-star1", {"target": "ill"}, {"margins": "smoothed"}),
    ],
)
def test_published_takes_nothing_of_ours(method: str, options: dict[str, Any], ours: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"'{next(iter(ours))}' as set is an extension"):
        fitted(method, **options, **ours, published=True)


def test_published_tvine_is_its_default_with_independent_rows() -> None:
    one, two = (fitted("tvine", **TVINE, level=1, published=published) for published in (True, False))
    assert one.sample(50, seed=1).equals(two.sample(50, seed=1, iid=True))
    assert not one.sample(50, seed=1).equals(two.sample(50, seed=1))
    assert one.fit_facts["options"]["published"] is True
