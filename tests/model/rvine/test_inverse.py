"""Rows drawn through a vine: the same as pyvinecopulib's own transform, which searches by bisection."""

from __future__ import annotations

import numpy as np
import pytest
import pyvinecopulib as pv

from sklar.model.rvine.vine import BISECTED_FAMILIES, inverse_rosenblatt, quantile_given_second
from tests.tiers import slow_unless

MEMBERS = [
    ("frank", (3.0,)), ("frank", (-20.0,)), ("bb1", (0.5, 1.5)), ("bb1", (3.0, 4.0)), ("bb6", (1.5, 1.5)),
    ("bb6", (4.0, 5.0)), ("bb7", (1.5, 0.5)), ("bb7", (4.0, 6.0)), ("bb8", (3.0, 0.6)), ("bb8", (7.0, 0.95)),
    ("tawn", (0.6, 0.6, 2.0)), ("tawn", (0.9, 0.3, 10.0)), ("tawn", (0.99, 0.99, 20.0)),
]  # fmt: skip
OTHERS = [("gaussian", (-0.6,)), ("student", (0.5, 3.0)), ("clayton", (2.0,)), ("gumbel", (2.0,)), ("joe", (2.0,))]


def copula(family: str, parameters: tuple[float, ...], rotation: int = 0) -> pv.Bicop:
    values = np.asfortranarray(np.array(parameters).reshape(-1, 1))
    return pv.Bicop.from_family(getattr(pv.BicopFamily, family), rotation, values)


def test_every_searched_family_is_tried() -> None:
    assert {family for family, _ in MEMBERS} == set(BISECTED_FAMILIES)


@pytest.mark.parametrize("rotation", slow_unless((0, 90).__contains__, [0, 90, 180, 270]))
@pytest.mark.parametrize(("family", "parameters"), [*MEMBERS, *OTHERS])
def test_quantiles_are_those_of_a_bisection(family: str, parameters: tuple[float, ...], rotation: int) -> None:
    turns = family not in ("frank", "gaussian", "student")
    made = copula(family, parameters, rotation if turns else 0)
    w = np.asfortranarray(np.random.default_rng(rotation).random((3_000, 2)))
    found = quantile_given_second(made, w[:, 0], w[:, 1])
    assert np.abs(found - made.hinv2(w)).max() < 1e-6


@pytest.mark.parametrize("levels", [1, 2, 5])
@pytest.mark.parametrize(
    "structure", [pv.CVineStructure([3, 1, 5, 2, 6, 4]), pv.DVineStructure([3, 1, 5, 2, 6, 4]), None]
)
def test_rows_are_those_of_the_library(structure: pv.RVineStructure | None, levels: int) -> None:
    rng = np.random.default_rng(levels)
    full = pv.RVineStructure.sample(6, seeds=[1, 2]) if structure is None else structure
    members = [MEMBERS[0], *MEMBERS[2:3], MEMBERS[6], MEMBERS[8], MEMBERS[10], *OTHERS]
    pairs = [[copula(*members[int(rng.integers(len(members)))]) for _ in range(5 - tree)] for tree in range(levels)]
    vine = pv.Vinecop.from_structure(structure=full, pair_copulas=pairs)
    w = np.asfortranarray(rng.random((400, 6)))
    found = inverse_rosenblatt(vine, w)
    assert np.abs(found - vine.inverse_rosenblatt(w)).max() < 1e-6
    assert np.abs(vine.rosenblatt(np.asfortranarray(found)) - w).max() < 1e-6


def test_a_kernel_estimate_and_the_ends_of_the_interval() -> None:
    rows = copula("tawn", (0.9, 0.3, 4.0)).sample(800, seeds=[1])
    kernel = pv.Bicop.from_data(rows, pv.FitControlsBicop(family_set=[pv.BicopFamily.tll]))
    levels, second = np.linspace(0, 1, 50), np.linspace(1, 0, 50)
    for made in (kernel, copula("bb1", (2.0, 2.0)), copula("frank", (30.0,))):
        found = quantile_given_second(made, levels, second)
        assert np.isfinite(found).all() and found.min() > 0 and found.max() < 1
