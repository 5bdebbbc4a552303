"""Recipes of peers that run in this Python: PrivBayes, its bound, its noise and what it learns; CTGAN's tables."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sklar
from benchmarks.papers.competitors import networks, php, privbayes
from benchmarks.papers.privelet import answer_ranges, draw_noise, invert, weights
from sklar.lab.metrics.queries import random_ranges

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"


@pytest.fixture
def recipe(monkeypatch):
    """The module of a recipe; each is called run.py and finds the public grid beside its folder."""

    def load(name):
        monkeypatch.setattr(sys, "path", [str(PEERS / name), str(PEERS), *sys.path])
        monkeypatch.delitem(sys.modules, "run", raising=False)
        import run

        return run

    yield load
    sys.modules.pop("run", None)


@pytest.mark.parametrize(("sizes", "binary"), [((2, 3), True), ((3, 3), False)])
def test_no_replaced_row_moves_the_mutual_information_further(recipe, sizes, binary):
    """All tables of four rows and their neighbours; the worst of them reaches the bound or stays below."""
    run, cells = recipe("privbayes"), list(itertools.product(*map(range, sizes)))
    worst = 0.0
    scores = {
        rows: run.Information(codes=np.array(rows), sizes=sizes).mutual(0, (1,))
        for rows in itertools.combinations_with_replacement(cells, 4)
    }
    for rows, score in scores.items():
        for at, cell in itertools.product(range(4), cells):
            other = tuple(sorted((*rows[:at], *rows[at + 1 :], cell)))
            worst = max(worst, abs(score - scores[other]))
    assert 0.5 * run.sensitivity(4, binary) < worst <= run.sensitivity(4, binary) + 1e-12


def test_mutual_information_is_that_of_the_joint_table(recipe):
    run, rng = recipe("privbayes"), np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, 3, 500), rng.integers(0, 2, 500), rng.integers(0, 4, 500)])
    joint = np.zeros((3, 8))
    np.add.at(joint, (codes[:, 0], codes[:, 1] * 4 + codes[:, 2]), 1 / 500)
    outer = joint.sum(1, keepdims=True) * joint.sum(0)
    expected = (joint * np.log2(np.where(joint > 0, joint / outer, 1))).sum()
    assert run.Information(codes=codes, sizes=(3, 2, 4)).mutual(0, (1, 2)) == pytest.approx(expected)


def test_noise_has_the_scale_of_its_share(recipe):
    run = recipe("privbayes")
    codes = np.zeros((1_000, 1), dtype=np.int64)
    codes[:, 0] = np.arange(1_000) % 2
    drawn = [run.noisy_table(codes, (2,), (0,), 8.0, np.random.default_rng(s)) - 500 for s in range(4_000)]
    assert np.abs(drawn).mean() == pytest.approx(8.0, rel=0.06)  # 5.4 standard errors of 8,000 draws


def test_old_noise_is_as_many_times_too_little_as_there_are_rows_and_says_so(recipe, monkeypatch):
    run, scales = recipe("privbayes"), list[float]()
    codes = np.random.default_rng(0).integers(0, 3, (500, 4))
    exact = run.noisy_table
    monkeypatch.setattr(run, "noisy_table", lambda *words: scales.append(words[3]) or exact(*words))
    for old_noise in (False, True):
        run.synthesize(codes, (3, 3, 3, 3), 2, 1.0, 50, np.random.default_rng(1), old_noise)
    assert scales[:2] == [8.0, 8.0] and scales[2:] == [8.0 / 500, 8.0 / 500]
    assert "NO GUARANTEE" in run.NO_PROMISE and "NO GUARANTEE" in privbayes(1.0, old_noise=True).label
    assert privbayes(1.0, old_noise=True).command.endswith(" old-noise")


def test_php_scores_every_cut_as_by_hand_and_no_row_moves_a_score_further(recipe):
    run, rng = recipe("php"), np.random.default_rng(0)

    def uneven(counts):
        parts = ((counts[:at], counts[at:]) for at in range(1, len(counts)))
        return np.array([sum(np.abs(part - part.mean()).sum() for part in pair) for pair in parts])

    def sparse(counts):
        filled = np.flatnonzero(counts)
        return run.uneven(filled + 20, counts[filled], 20, 27, np.arange(21, 27))

    worst = 0.0
    for counts in rng.integers(0, 4, (60, 7)):
        np.testing.assert_allclose(sparse(counts), uneven(counts), atol=1e-12)
        for at in range(7):
            more = counts + (np.arange(7) == at)
            worst = max(worst, np.abs(sparse(more) - sparse(counts)).max())
    assert 1.0 < worst <= run.SENSITIVITY


def test_php_finds_even_parts(recipe):
    run, rng = recipe("php"), np.random.default_rng(1)
    codes = rng.integers(0, [8, 4], (6_000, 2))  # evenly in one half of both columns, nothing elsewhere
    made = run.synthesize(codes, (16, 8), 1e6, 6_000, rng)
    assert (made < [8, 4]).all() and made.shape == (6_000, 2)
    one, two = (np.bincount(rows[:, 0] * 4 + rows[:, 1], minlength=32) for rows in (codes, made))
    assert np.abs(one - two).max() < 6 * np.sqrt(2 * 188)  # six standard deviations of both draws
    assert php(1.0).command.endswith("peers/php/run.py")


def test_php_puts_cells_of_any_table_in_a_row_and_never_leaves_its_domain(recipe):
    run, rng = recipe("php"), np.random.default_rng(2)
    sizes = (5, 1020, 2)
    codes = rng.integers(0, sizes, (500, 3))
    assert (run.to_codes(run.to_places(codes, sizes), sizes) == codes).all()
    assert len(run.places_of_bits(sizes)) == 3 + 10 + 1
    made = run.synthesize(codes, sizes, 0.01, 2_000, rng)
    assert (made < sizes).all() and made.min() == 0


def test_fp_keeps_what_reaches_its_threshold_and_as_many_empty_cells_as_its_noise_says(recipe):
    run, rng = recipe("fp"), np.random.default_rng(3)
    cells, epsilon, alpha = 100_000, 0.5, np.exp(-0.5)
    threshold = run.find_threshold(cells, 1_000, epsilon)
    share = alpha**threshold / (1 + alpha)
    assert cells * share <= 1_000 < cells * share / alpha
    at = np.arange(0, 2_000, 2)
    kept, values = run.filter_cells(at, np.full(1_000, threshold), cells, threshold, epsilon, rng)
    real = np.isin(kept, at)
    assert len(np.unique(kept)) == len(kept) and values.min() == threshold
    assert abs(real.sum() - 1_000 / (1 + alpha)) < 6 * np.sqrt(250)  # of a symmetric noise, P(noise >= 0)
    assert abs((~real).sum() - cells * share) < 6 * np.sqrt(cells * share)
    assert abs(values[~real].mean() - (threshold - 1 + 1 / (1 - alpha))) < 6 * np.sqrt(alpha) / (1 - alpha) / 25


def test_fp_samples_without_bias_and_finds_full_cells(recipe):
    run, rng = recipe("fp"), np.random.default_rng(4)
    values = rng.integers(1, 50, 400)
    totals = [run.sample_by_priority(values, 100, rng)[1].sum() for _ in range(300)]
    assert abs(np.mean(totals) / values.sum() - 1) < 6 * np.std(totals) / np.sqrt(300) / values.sum()
    codes = np.repeat([[3, 400, 1], [4, 20, 0]], 5_000, axis=0)
    made = run.synthesize(codes, (5, 1020, 2), 5.0, 10_000, rng)
    assert 4_500 < (made == codes[0]).all(axis=1).sum() < 5_500


def test_privelet_has_the_sensitivity_and_the_noise_that_it_states():
    """Forward transforms of one row by brute force: the weighted sum of its coefficients is 1 + log2 of the cells."""
    size = 16
    inverse = invert(np.eye(size), 0)
    moved = np.abs(np.linalg.solve(inverse, np.eye(size))) * weights(size)[:, None]
    np.testing.assert_allclose(moved.sum(axis=0), 1 + np.log2(size))
    rng, sizes = np.random.default_rng(5), (40, 2, 32)
    queries = random_ranges(sizes, 5, rng)
    found = np.array([answer_ranges(draw_noise(sizes, 1.0, rng), np.zeros(5), queries) for _ in range(200)])
    scale = (1 + np.log2(64)) * (1 + np.log2(32))
    for q in range(5):
        inside = [np.zeros(padded) for padded in (64, 2, 32)]
        for axis, cells in enumerate(inside):
            cells[queries.low[q, axis] : queries.high[q, axis] + 1] = 1
        waves = [(inside[axis] @ invert(np.eye(n), 0) / weights(n)) ** 2 for axis, n in ((0, 64), (2, 32))]
        variance = 2 * scale**2 * waves[0].sum() * inside[1].sum() * waves[1].sum()
        assert abs(found[:, q].var() / variance - 1) < 0.8 and abs(found[:, q].mean()) < 6 * np.sqrt(variance / 200)


def test_without_noise_a_chain_is_learned(recipe):
    run, rng = recipe("privbayes"), np.random.default_rng(1)
    a = rng.integers(0, 4, 20_000)
    b = np.where(rng.random(20_000) < 0.8, a, rng.integers(0, 4, 20_000))
    c = np.where(rng.random(20_000) < 0.8, b, rng.integers(0, 4, 20_000))
    codes = np.column_stack([a, c, b])
    network = run.find_network(codes, (4, 4, 4), 1, 1e9, np.random.default_rng(2))
    assert {frozenset((column, *parents)) for column, parents in network if parents} == {
        frozenset((0, 2)),
        frozenset((1, 2)),
    }
    for degree in (1, 2, 5):
        made = run.synthesize(codes, (4, 4, 4), degree, 1e9, 20_000, np.random.default_rng(3))
        for one, two in ((0, 2), (1, 2), (0, 1)):
            real, drawn = (np.bincount(x[:, one] * 4 + x[:, two], minlength=16) / 20_000 for x in (codes, made))
            assert np.abs(real - drawn).sum() < 0.06


def test_at_a_small_epsilon_nothing_is_learned(recipe):
    run = recipe("privbayes")
    a = np.random.default_rng(0).integers(0, 3, 300)
    made = run.synthesize(np.column_stack([a, a, a]), (3, 3, 3), 1, 1e-3, 3_000, np.random.default_rng(1))
    assert (made[:, 0] == made[:, 1]).mean() < 0.9


def test_psd_answers_ranges_and_its_tree_agrees(recipe):
    run, rng = recipe("psd"), np.random.default_rng(0)
    x = np.clip(rng.normal(500, 90, 20_000), 0, 999).astype(int)
    codes = np.column_stack([x, np.clip(x + rng.normal(0, 60, 20_000), 0, 999).astype(int)])
    errors = []
    for epsilon in (10.0, 0.01):
        made = run.synthesize(codes, (1000, 1000), epsilon, 20_000, np.random.default_rng(1))
        assert made.min() >= 0 and made.max() < 1000
        boxes = [(400, 500, 300, 600), (500, 600, 0, 500), (0, 450, 0, 450)]
        errors.append(max(abs(_inside(codes, box) - _inside(made, box)) for box in boxes))
    assert errors[0] < 400 < errors[1]


def _inside(codes, box):
    a, b, c, d = box
    return int(((codes[:, 0] >= a) & (codes[:, 0] < b) & (codes[:, 1] >= c) & (codes[:, 1] < d)).sum())


def test_psd_shares_epsilon_among_levels_and_cuts(recipe):
    run = recipe("psd")
    shares = run.level_shares(2.0)
    assert shares.sum() + run.CUTS_SHARE * 2.0 == pytest.approx(2.0) and (np.diff(shares) > 0).all()


def test_psd_counts_that_agree_stay_and_others_become_least_squares(recipe):
    run = recipe("psd")
    tree = [np.array([10.0]), np.array([6.0, 4.0]), np.array([5.0, 1.0, 2.0, 2.0])]
    assert run.agreeing(tree, np.array([1.0, 1.0, 1.0])).tolist() == pytest.approx([5, 1, 2, 2])
    rng, variances = np.random.default_rng(0), np.array([4.0, 2.0, 1.0])
    noisy = [counts + rng.normal(size=len(counts)) for counts in tree]
    design = np.vstack([np.ones((1, 4)), [[1, 1, 0, 0], [0, 0, 1, 1]], np.eye(4)])
    weights = np.repeat(1 / np.sqrt(variances), [1, 2, 4])
    expected = np.linalg.lstsq(design * weights[:, None], np.concatenate(noisy) * weights, rcond=None)[0]
    assert run.agreeing(noisy, variances) == pytest.approx(expected)


def test_psd_cuts_near_the_median_if_it_may(recipe):
    run = recipe("psd")
    codes = np.arange(1_000) % 100
    assert abs(run.cut_place(codes, 0, 100, 50.0, np.random.default_rng(0)) - 50) <= 2
    far = [run.cut_place(codes, 0, 100, 1e-6, np.random.default_rng(s)) for s in range(200)]
    assert min(far) < 20 and max(far) > 80  # without a budget any cut will do


def test_the_command_writes_a_table_of_the_schema():
    rng = np.random.default_rng(0)
    x = rng.normal(size=3_000)
    frame = pd.DataFrame({"x": x, "y": np.where(x > 0, "up", "down"), "z": rng.integers(0, 50, 3_000)})
    schema = sklar.Schema(
        {"x": sklar.Real(-5, 5), "y": sklar.Category(["up", "down"]), "z": sklar.Integer(0, 49)},
    )
    made = privbayes(100.0, degree=1, cells=10).made(frame, schema, 2_000)
    assert list(made) == ["x", "y", "z"] and len(made) == 2_000
    assert (made.loc[made["y"] == "up", "x"] > 0).mean() > 0.95
    assert made["z"].between(0, 49).all() and made["z"].nunique() == 50


def test_networks_are_left_out_where_torch_is_not(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SKLAR_PEERS", str(tmp_path))
    assert networks("simulated", quick=True) == []
    assert "setup ctgan" in capsys.readouterr().out


def test_values_go_to_the_networks_and_back(recipe, tmp_path):
    run = recipe("ctgan")
    schema = sklar.Schema(
        {
            "x": sklar.Real(0, 1, nullable=True), "y": sklar.Category(["up", "down"]), "b": sklar.Boolean(),
            "t": sklar.Datetime("2020-01-01", "2020-12-31"), "z": sklar.Integer(0, 9),
        }
    )  # fmt: skip
    schema.write(tmp_path / "s.toml")
    import public_grid

    columns = public_grid.read_columns(tmp_path / "s.toml")
    frame = pd.DataFrame(
        {
            "x": [0.5, None, 0.25], "y": ["up", "down", "up"], "b": [True, False, True],
            "t": pd.to_datetime(["2020-02-01", "2020-03-01", "2020-04-01"]), "z": [1, 2, 9],
        }
    )  # fmt: skip
    plain, labels = run.to_plain(columns, frame)
    assert labels == ["y", "b", "x is null"] and plain.notna().all(axis=None)
    back = run.from_plain(columns, plain)
    assert [None if pd.isna(x) else x for x in back["x"]] == [0.5, None, 0.25]
    assert back["y"].tolist() == ["up", "down", "up"] and back["b"].tolist() == [True, False, True]
    assert (pd.to_datetime(back["t"]) == frame["t"]).all() and back["z"].tolist() == [1, 2, 9]
