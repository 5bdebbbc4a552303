"""Vines without noise: fits beside pyvinecopulib's own, the cost of a sweep, and what forests learn from each level.

    python -m benchmarks.tvine [support2] [large] [utility] [utility-simulated] [utility-support2]

Both engines run in one process, on the same columns, families and criterion. Times are processor time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import prepare
from benchmarks.data.simulated import simulated
from sklar.lab.vines import fit_rvine

LEVELS = (1, 5, 10, 15, 20, 25)
UTILITY: dict[str, tuple[Callable[[], Any], list[str], float]] = {
    "simulated": (lambda: (simulated("train"), simulated("test")), ["X1"], 0.3),
    "SUPPORT2": (prepare.support2, ["totcst", "crea"], 0.6),
}
"""Training and test rows, sensitive columns and threshold of association of each table."""


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """A result and the processor seconds it took."""
    start = time.process_time()
    return work(), time.process_time() - start


def support2() -> None:
    """884 x 27, all parametric families, AIC, untruncated; and a sweep over six levels."""
    from pyvinecopulib.utils import to_pseudo_obs

    rows = prepare.support2()[0].to_numpy(float)
    u = to_pseudo_obs(rows)
    alive = 1 - rows[:, -1].mean()
    lower = u.copy()
    u[:, -1], lower[:, -1] = np.where(rows[:, -1] == 1, 1.0, alive), np.where(rows[:, -1] == 1, alive, 0.0)
    settings: dict[str, Any] = {
        "lower": lower, "discrete": [False] * 26 + [True], "structure": "cvine", "order": range(27), "threads": 1,
    }  # fmt: skip
    fit_rvine(u[:50, :4], structure="cvine", order=range(4))  # compiled and loaded
    fast, quick = timed(lambda: fit_rvine(u, **settings))
    slow, long = timed(lambda: fit_rvine(u, engine="pyvinecopulib", **settings))
    rng = np.random.default_rng(1)
    _, sweep = timed(lambda: [fast.truncate(level).simulate(len(u), rng) for level in LEVELS])
    print(f"support2: fast {quick:.1f} s, pyvinecopulib {long:.1f} s, {long / quick:.1f} times")
    print(f"  log-likelihood {fast.loglik:.0f} ({fast.free_parameters}) and {slow.loglik:.0f} ({slow.free_parameters})")
    print(f"  fit and six levels: {(quick + sweep) / quick:.2f} fits")


def large() -> None:
    """100,000 x 20: five edges of the row-wise fit, scaled to 190."""
    import pyvinecopulib as pv
    from pyvinecopulib.utils import to_pseudo_obs

    rng = np.random.default_rng(2)
    z = rng.standard_normal((100_000, 20)) @ (rng.standard_normal((20, 20)) + 2 * np.eye(20))
    z[:, 0] += np.exp(0.2 * z[:, 1])
    u = to_pseudo_obs(z)
    fit_rvine(u[:20_000, :3], structure="cvine", order=range(3))
    _, quick = timed(lambda: fit_rvine(u, structure="cvine", order=range(20)))
    controls = pv.FitControlsBicop(family_set=list(pv.families.parametric), selection_criterion="aic")
    pairs = [np.asfortranarray(u[:, [column, 19]]) for column in range(5)]
    _, long = timed(lambda: [pv.Bicop.from_data(pair, controls) for pair in pairs])
    print(f"100,000 x 20: fast {quick:.1f} s, pyvinecopulib {long * 38:.0f} s (five edges: {long:.1f} s), "
          f"{long * 38 / quick:.0f} times")  # fmt: skip


def utility(sets: int = 20) -> None:
    """Forests trained on synthetic rows, tested on real ones, at every candidate level; three fits of the same rows.

    "row-wise" is pyvinecopulib's fit, "fast" ours, of one vine each: same order, margins, families and sampler.
    "by response" is ours, a vine for each value of the response. Set s of each has the seed s.
    """
    for name in UTILITY:
        _utility(name, sets)


def _utility(name: str, sets: int) -> None:
    from sklar.lab.baselines.levels import candidate_levels

    tables, sensitive, threshold = UTILITY[name]
    rows, unseen = tables()
    print(f"{name}, {sets} sets, AUC by probabilities and by 0/1; real rows: {_told(_real(rows, unseen))}", flush=True)
    common: dict[str, Any] = {"target": "Y", "sensitive": sensitive, "threshold": threshold}
    fast, quick = timed(lambda: _fit(rows, **common))
    slow, long = timed(lambda: _row_wise(rows, fast, common))
    split, parts = timed(lambda: _fit(rows, **common, conditional_root=True))
    print(f"  fits: row-wise {long:.1f} s CPU, fast {quick:.1f}, by response {parts:.1f}", flush=True)
    for level in candidate_levels(fast):
        scores = {"row-wise": slow, "fast": fast, "by response": split}
        found = {what: _median(model, level, len(rows), unseen, sets) for what, model in scores.items()}
        line = ", ".join(f"{what} {_told(score)}" for what, score in found.items())
        print(f"  level {level}: {line}; fast - row-wise {found['fast'][0] - found['row-wise'][0]:+.3f}", flush=True)


def _fit(rows: Any, **options: Any) -> Any:
    import sklar

    ours = {"families": "parametric", "margins": "smoothed"}
    return sklar.fit(rows, _schema(rows), method="tvine", no_guarantee=True, **ours, **options)


def _row_wise(rows: Any, fast: Any, options: dict[str, Any]) -> Any:
    """The model `fast` with the vine of pyvinecopulib's own fit to the same pseudo-observations, in the same order."""
    import dataclasses

    from sklar.lab.baselines.columns import prepare_columns
    from sklar.lab.tables.reading import read_table
    from sklar.pipeline.model import Model

    made = fast.table_model
    table = read_table(rows, _schema(rows), np.random.default_rng(0), role="real")
    columns = prepare_columns(table, table.names, options["target"])
    vine = fit_rvine(
        columns.u, lower=columns.lower, discrete=columns.discrete.tolist(), truncation=made.level, structure="cvine",
        order=tuple(reversed(made.roots)), threads=1, engine="pyvinecopulib",
    )  # fmt: skip
    print(f"  log-likelihood: row-wise {vine.loglik:.0f}, fast {made.vine.loglik:.0f}", flush=True)
    return Model(dataclasses.replace(fast._stored, model=dataclasses.replace(made, vine=vine)))


def _median(model: Any, level: int, rows: int, unseen: Any, sets: int) -> tuple[float, float]:
    from sklar.lab.baselines.levels import at_level

    cut = at_level(model, level)
    found = [_scores(cut.sample(rows, seed=s).to_pandas(), unseen, s) for s in range(sets)]
    by_chance, by_guess = np.median(found, axis=0)
    return float(by_chance), float(by_guess)


def _real(rows: Any, unseen: Any) -> tuple[float, float]:
    by_chance, by_guess = np.median([_scores(rows, unseen, seed) for seed in range(5)], axis=0)
    return float(by_chance), float(by_guess)


def _told(scores: tuple[float, float]) -> str:
    return f"{scores[0]:.3f} / {scores[1]:.3f}"


def _schema(rows: Any) -> Any:
    import sklar

    columns: dict[str, Any] = {}
    for name in rows:
        low, high = float(rows[name].min()), float(rows[name].max())
        room = 0.05 * (high - low)
        columns[name] = sklar.Integer(0, 1) if name == "Y" else sklar.Real(low - room, high + room)
    return sklar.Schema(columns)


def _scores(rows: Any, unseen: Any, seed: int) -> tuple[float, float]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    forest = RandomForestClassifier(100, n_jobs=1, random_state=seed).fit(rows.drop(columns="Y"), rows["Y"])
    chance = forest.predict_proba(unseen.drop(columns="Y"))[:, 1]
    return float(roc_auc_score(unseen["Y"], chance)), float(roc_auc_score(unseen["Y"], chance > 0.5))


if __name__ == "__main__":
    PARTS: dict[str, Callable[[], None]] = {
        "support2": support2,
        "large": large,
        "utility": utility,
        "utility-simulated": lambda: _utility("simulated", 20),
        "utility-support2": lambda: _utility("SUPPORT2", 20),
    }
    for wanted in sys.argv[1:] or ("support2", "large", "utility"):
        PARTS[wanted]()
