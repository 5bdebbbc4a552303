"""Pair copulas: h-functions, inverses and densities of every kind, against each other and pyvinecopulib."""

import numpy as np
import pytest
import pyvinecopulib as pv

from sklar.model.axis import interval_of
from sklar.model.pairs.copula import (
    GaussianPair,
    IndependentPair,
    fit_margins,
    kendall_tau,
    make_checkerboard,
    tabulate,
)
from sklar.model.pairs.families import cell_masses
from sklar.model.pairs.parametric import FAMILIES, MAX_PARAMETER, STUDENT_DF, ParametricPair

RNG = np.random.default_rng(4)
U, V, P = RNG.uniform(0.02, 0.98, (3, 400))


def random_board():
    edges1 = np.concatenate([[0.0], np.sort(RNG.uniform(0.05, 0.95, 5)), [1.0]])
    edges2 = np.concatenate([[0.0], np.sort(RNG.uniform(0.05, 0.95, 3)), [1.0]])
    return make_checkerboard(edges1, edges2, RNG.gamma(1.0, size=(6, 4)))


class Board:
    """A checkerboard with its density beside its h-functions."""

    def __init__(self, board):
        self.edges1, self.edges2, self.board, table = board.edges1, board.edges2, board, tabulate(board)
        self.hfunc1, self.hfunc2, self.hinv1, self.hinv2 = table.hfunc1, table.hfunc2, table.hinv1, table.hinv2

    def pdf(self, u, v):
        density = self.board.mass / np.outer(np.diff(self.edges1), np.diff(self.edges2))
        return density[interval_of(self.edges1, u), interval_of(self.edges2, v)]


class Member:
    """A family member, called with two columns as the pair copulas of a vine are."""

    def __init__(self, member):
        self.family, self._bicop = member.family, bicop(member)

    def __getattr__(self, name):
        return lambda u, v: getattr(self._bicop, name)(np.column_stack([u, v]))


def bicop(member):
    values = [[member.parameter]] + ([[float(STUDENT_DF)]] if member.family == "student" else [])
    return pv.Bicop(getattr(pv.BicopFamily, member.family), member.rotation, np.array(values))


def members():
    for name, family in FAMILIES.items():
        for rotation in family.rotations:
            yield ParametricPair(family=name, rotation=rotation, tau=0.4)
        turn = () if family.symmetric else (90, 270)
        yield from (ParametricPair(family=name, rotation=r, tau=-0.4) for r in turn)
        if family.symmetric:
            yield ParametricPair(family=name, rotation=0, tau=-0.4)


KINDS = [GaussianPair(corr=0.6), GaussianPair(corr=-0.9), Board(random_board()), *(Member(m) for m in members())]


@pytest.mark.parametrize("copula", KINDS, ids=lambda c: f"{type(c).__name__}-{getattr(c, 'family', '')}")
def test_inverses_undo_h_functions(copula):
    assert np.allclose(copula.hfunc1(U, copula.hinv1(U, P)), P, atol=1e-6)
    assert np.allclose(copula.hfunc2(copula.hinv2(P, V), V), P, atol=1e-6)


@pytest.mark.parametrize("copula", KINDS, ids=lambda c: f"{type(c).__name__}-{getattr(c, 'family', '')}")
def test_density_is_the_slope_of_both_h_functions(copula):
    step = 1e-5
    inside = np.ones(len(U), bool)
    if isinstance(copula, Board):
        inside &= np.min(np.abs(U[:, None] - copula.edges1), axis=1) > 2 * step
        inside &= np.min(np.abs(V[:, None] - copula.edges2), axis=1) > 2 * step
    u, v = U[inside], V[inside]
    slope1 = (copula.hfunc1(u, v + step) - copula.hfunc1(u, v - step)) / (2 * step)
    slope2 = (copula.hfunc2(u + step, v) - copula.hfunc2(u - step, v)) / (2 * step)
    assert np.allclose(slope1, copula.pdf(u, v), rtol=2e-3, atol=2e-3)
    assert np.allclose(slope2, copula.pdf(u, v), rtol=2e-3, atol=2e-3)


def test_independence_leaves_uniforms_as_they_are():
    assert IndependentPair().hfunc1(U, V) is V and IndependentPair().hfunc2(U, V) is U


def test_gaussian_agrees_with_pyvinecopulib():
    ours, theirs = GaussianPair(corr=0.55), pv.Bicop(pv.BicopFamily.gaussian, 0, np.array([[0.55]]))
    points = np.column_stack([U, V])
    for name in ("pdf", "hfunc1", "hfunc2", "hinv1", "hinv2"):
        assert np.allclose(getattr(ours, name)(U, V), getattr(theirs, name)(points), atol=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_cdfs_and_parameters_agree_with_pyvinecopulib(family):
    near = np.array([1e-9, 1e-5, 1e-3])
    grid = np.concatenate([near, np.linspace(0.02, 0.98, 25), 1 - near[::-1]])
    points = np.array(np.meshgrid(grid, grid, indexing="ij")).reshape(2, -1).T
    rotations = (0,) if FAMILIES[family].symmetric else (0, 90, 180, 270)
    for rotation in rotations:
        for size in (0.005, 0.03, 0.4, 0.7, 0.92):
            for tau in (size, -size) if FAMILIES[family].symmetric else (size,):
                member = ParametricPair(family=family, rotation=rotation, tau=tau)
                theirs = bicop(member)
                assert np.abs(member.cdf(grid, grid) - theirs.cdf(points).reshape(len(grid), -1)).max() < 1e-11
                capped = abs(member.parameter) == MAX_PARAMETER.get(family)
                assert capped or np.isclose(abs(theirs.tau), size, atol=1e-7), (member, theirs.tau)


def test_parameters_of_joe_pass_smoothly_through_two():
    taus = 1 - np.pi**2 / 6 + 1 + np.linspace(-1e-3, 1e-3, 41)  # tau = 2 - pi^2 / 6 at a parameter of 2
    steps = np.diff([ParametricPair(family="joe", rotation=0, tau=float(t)).parameter for t in taus])
    assert np.abs(np.diff(steps)).max() < 1e-3 * steps.mean()


@pytest.mark.parametrize("member", list(members()), ids=lambda m: f"{m.family}-{m.rotation}-{m.tau}")
def test_tabulated_families_agree_with_pyvinecopulib(member):
    grid = np.linspace(0, 1, 65)
    board = make_checkerboard(grid, grid, cell_masses(member, grid, grid))
    assert np.isclose(kendall_tau(board), member.tau, atol=0.02)
    ours, theirs = tabulate(board), Member(member)
    assert np.abs(ours.hfunc1(U, V) - theirs.hfunc1(U, V)).mean() < 0.006
    assert np.abs(ours.hfunc2(U, V) - theirs.hfunc2(U, V)).mean() < 0.006


def test_cell_masses_have_uniform_margins():
    grid = np.array([0.0, 0.1, 0.55, 1.0])
    masses = cell_masses(ParametricPair(family="clayton", rotation=270, tau=-0.3), grid, np.linspace(0, 1, 5))
    assert np.allclose(masses.sum(axis=1), np.diff(grid), atol=1e-6)
    assert np.allclose(masses.sum(axis=0), 0.25, atol=1e-6)


def test_simulated_pairs_have_the_cell_masses_of_their_board():
    board = random_board()
    first, p = np.random.default_rng(5).random((2, 200_000))
    second = tabulate(board).hinv1(first, p)
    seen = np.histogram2d(first, second, bins=[board.edges1, board.edges2])[0] / len(first)
    assert np.abs(seen - board.mass).max() < 6 * np.sqrt(0.25 / len(first))


def test_fit_margins_reaches_the_margins_and_keeps_odds_ratios():
    table = np.array([[4.0, 1.0], [2.0, 3.0]])
    fitted = fit_margins(table, np.array([0.3, 0.7]), np.array([0.6, 0.4]))
    assert np.allclose(fitted.sum(axis=1), [0.3, 0.7])
    assert np.allclose(fitted.sum(axis=0), [0.6, 0.4])
    assert np.isclose(fitted[0, 0] * fitted[1, 1] / (fitted[0, 1] * fitted[1, 0]), 6.0, rtol=1e-5)


def test_fit_margins_survives_an_all_zero_table():
    assert np.allclose(fit_margins(np.zeros((2, 2)), np.array([0.5, 0.5]), np.array([0.2, 0.8])), [[0.1, 0.4]] * 2)
