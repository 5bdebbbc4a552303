"""The fast engine against pyvinecopulib's own: same likelihood, same dependence, and rotations the right way round."""

from __future__ import annotations

import numpy as np
import pytest
import pyvinecopulib as pv

from sklar.lab.vines import FAMILY_SETS, fit_rvine
from sklar.lab.vines.fit import flip_pair
from sklar.lab.vines.members import (
    KINDS,
    Node,
    cell_edges,
    cells_as_points,
    count_rows,
    log_masses,
    rows_as_points,
)
from sklar.lab.vines.pairs import compare_with_kernel, fit_pair, turn_counts
from sklar.lab.vines.trees import h_function
from sklar.model.rvine.vine import FamilyMember

pytestmark = pytest.mark.slow

FAMILIES = FAMILY_SETS["parametric"]
SAMPLES = [
    ("gaussian", (-0.5,), 0), ("student", (0.3, 4.0), 0), ("clayton", (1.0,), 90), ("gumbel", (2.5,), 180),
    ("frank", (-3.0,), 0), ("joe", (1.5,), 270), ("bb1", (0.5, 1.3), 180), ("bb7", (1.5, 0.6), 90),
    ("bb8", (3.0, 0.8), 0), ("tawn", (0.8, 0.3, 3.0), 90),
]  # fmt: skip


def bicop(family: str, parameters: np.ndarray, rotation: int = 0) -> pv.Bicop:
    return FamilyMember(family=family, parameters=parameters, rotation=rotation).bicop()


def draw(family: str, parameters: tuple[float, ...], rotation: int, rows: int) -> np.ndarray:
    return bicop(family, np.array(parameters), rotation).sample(rows, seeds=[1, 2])


def nodes(u: np.ndarray) -> tuple[Node, Node]:
    return Node(u=np.ascontiguousarray(u[:, 0])), Node(u=np.ascontiguousarray(u[:, 1]))


@pytest.mark.parametrize("family", KINDS)
def test_cells_have_the_mass_of_the_density_inside(family: str) -> None:
    parameters = np.array(KINDS[family].grid[len(KINDS[family].grid) // 3])
    assert np.allclose(KINDS[family].from_free(KINDS[family].to_free(parameters)), parameters)
    logs = log_masses(bicop(family, parameters), 8)
    widths = np.diff(cell_edges(8))
    mass = np.exp(logs) * np.outer(widths, widths)
    assert mass.sum(axis=0) == pytest.approx(widths, abs=1e-9)
    draws = bicop(family, parameters).sample(40_000, seeds=[3])
    seen = count_rows(*nodes(draws), 8) / 40_000
    # Each cell lies within six standard errors of its share.
    assert (np.abs(seen - mass) < 6 * np.sqrt(mass / 40_000) + 1e-4).all()


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_turned_counts_fit_the_unturned_copula(turn: int) -> None:
    counts = count_rows(*nodes(draw("tawn", (0.9, 0.3, 4.0), turn, 5_000)), 16)
    straight = np.vdot(counts, log_masses(bicop("tawn", np.array([0.9, 0.3, 4.0]), turn), 16))
    turned = np.vdot(turn_counts(counts, turn), log_masses(bicop("tawn", np.array([0.9, 0.3, 4.0])), 16))
    assert turned == pytest.approx(straight, rel=1e-6)


@pytest.mark.parametrize(("family", "parameters", "rotation"), SAMPLES)
def test_one_pair_is_no_worse_than_the_row_wise_fit(family: str, parameters: tuple[float, ...], rotation: int) -> None:
    u = np.asfortranarray(draw(family, parameters, rotation, 600))
    assert lost(u) <= 1.0


def lost(u: np.ndarray) -> float:
    """AIC of the fast fit beyond that of the row-wise one."""
    controls = pv.FitControlsBicop(family_set=[getattr(pv.BicopFamily, name) for name in FAMILIES])
    found = fit_pair(*nodes(u), FAMILIES, "aic", grid=False)
    return 2 * len(found.parameters) - 2 * found.loglik - pv.Bicop.from_data(u, controls).aic(u)


@pytest.mark.parametrize(("parameters", "rows"), [((0.6, 0.99, 1.9), 884), ((0.7, 0.95, 2.2), 2_000)])
def test_the_grid_of_asymmetric_pairs_is_fine_enough(parameters: tuple[float, ...], rows: int) -> None:
    """Half as many points along each axis lose more than one here, and hundreds in the deep trees of a vine."""
    assert lost(np.asfortranarray(draw("tawn", parameters, 0, rows))) <= 0.5


@pytest.mark.parametrize(("family", "parameters", "rotation"), SAMPLES)
def test_counts_find_what_rows_would(family: str, parameters: tuple[float, ...], rotation: int) -> None:
    u = draw(family, parameters, rotation, 20_000)
    found = fit_pair(*nodes(u), FAMILIES, "bic", grid=True)
    truth = bicop(family, np.array(parameters), rotation)
    made = found.bicop()
    at = np.asfortranarray(u)
    assert made.loglik(at) > truth.loglik(at) - 5
    assert made.tau == pytest.approx(truth.tau, abs=0.02)


@pytest.mark.parametrize(("family", "parameters", "rotation"), SAMPLES)
def test_h_functions_from_a_table(family: str, parameters: tuple[float, ...], rotation: int) -> None:
    pair = FamilyMember(family=family, rotation=rotation, parameters=np.array(parameters))
    one, two = nodes(np.random.default_rng(4).random((2_000, 2)))
    for given in (1, 2):
        exact, table = (h_function(pair, one, two, given=given, grid=grid).u for grid in (False, True))
        assert np.abs(exact - table).max() < 2e-2
        assert np.abs(exact - table).mean() < 5e-4


def test_flipped_pairs_exchange_their_columns() -> None:
    u = np.random.default_rng(4).random((50, 2))
    for family, parameters, rotation in SAMPLES:
        pair = FamilyMember(family=family, rotation=rotation, parameters=np.array(parameters))
        other = flip_pair(pair)
        one = pair.bicop().pdf(np.asfortranarray(u))
        two = other.bicop().pdf(np.asfortranarray(u[:, ::-1]))
        assert np.allclose(one, two)


def test_points_of_discrete_rows_keep_the_likelihood() -> None:
    u = draw("gumbel", (1.8,), 0, 20_000)
    edges = np.array([0, 0.2, 0.5, 0.8, 1.0])
    step = np.digitize(u[:, 1], edges[1:-1])
    one, two = Node(u=np.ascontiguousarray(u[:, 0])), Node(u=edges[step + 1], lower=edges[step])
    pair = FamilyMember(family="gumbel", rotation=0, parameters=np.array([1.8]))
    few, all_rows = cells_as_points(one, two, 32), rows_as_points(one, two)
    assert len(few.at) <= 32 * 4
    assert few.loglik(pair.bicop(few.kinds)) == pytest.approx(all_rows.loglik(pair.bicop(few.kinds)), rel=0.01)
    found = fit_pair(one, two, FAMILIES, "bic", grid=True)
    assert found.bicop().tau == pytest.approx(1 - 1 / 1.8, abs=0.03)


def test_parity_at_100_000_rows() -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((100_000, 3)) @ np.array([[1, 0.7, 0.3], [0, 1, 0.5], [0, 0, 1.0]])
    x[:, 0] += np.maximum(x[:, 2], 0) ** 2
    u = (x.argsort(axis=0).argsort(axis=0) + 1) / 100_001
    fits = {
        engine: fit_rvine(u, families="one-parameter", structure="cvine", order=range(3), engine=engine)
        for engine in ("fast", "pyvinecopulib")
    }
    fast, slow = (fit.to_vinecop().loglik(np.asfortranarray(u)) for fit in fits.values())
    assert fast == pytest.approx(slow, rel=0.01)
    assert np.allclose(fits["fast"].tau, fits["pyvinecopulib"].tau, atol=0.01)


def test_no_kernel_estimate_of_common_points() -> None:
    u = draw("frank", (6.0,), 0, 800)
    tied = np.ceil(u * 5) / 6
    best = FamilyMember(family="gaussian", rotation=0, parameters=np.array([0.01]))
    # A nearly independent member is beaten by any estimate, but where nearly all rows agree with others it is kept.
    assert compare_with_kernel(best, *nodes(u), "aic", grid=False).family == "tll"
    assert compare_with_kernel(best, *nodes(tied), "aic", grid=False) is best
    assert fit_rvine(tied, families="nonparametric").describe(["a", "b"])[0]["edges"][0]["family"] == "tll"
