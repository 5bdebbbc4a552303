"""Comparisons rank by G_eps+, MCC and RMSE, and draw G_eps+ over epsilon."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

import sklar
from sklar.errors import UsageError
from sklar.lab.compare.result import TRAINED_ON_REAL
from tests.lab.compare.test_compare import SCHEMA, table

QUICK = {"folds": 2, "jobs": 1, "learners": ["tree"]}


@pytest.mark.slow
def test_g_epsilon_plus_ranks_generators_over_epsilon_with_its_plot(tmp_path: Path) -> None:
    """The better of two methods comes first at every epsilon; both scores of the paper are drawn."""
    found = sklar.compare(
        table(600), SCHEMA, {"kept": {"method": "vine"}, "lost": {"method": "independent"}}, [50.0, 100.0],
        metrics=["g_epsilon_plus", "g_epsilon"], measures=["accuracy", "r2"], weights=[1, 1, 0], targets=["old", "pay"],
        output=tmp_path / "out", **QUICK,
    )  # fmt: skip
    plus, basic = found.measures
    assert [(m.name, m.better) for m in found.measures] == [("g_epsilon_plus", "lower"), ("g_epsilon", "lower")]
    for epsilon in found.epsilons:
        order = [standing.system for standing in found.standings(epsilon, plus)]
        assert order == ["kept", "lost"]
        # Without the weight of single columns both are the same.
        assert [s.mean for s in found.standings(epsilon, plus)] == [s.mean for s in found.standings(epsilon, basic)]
    for name in ("g_epsilon_plus.svg", "g_epsilon.svg"):
        path = tmp_path / "out" / name
        text = path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert "over epsilon" in text and ">kept<" in text and ">lost<" in text and ">50<" in text
    with pytest.raises(UsageError, match="was not measured"):
        found.plot(tmp_path / "x.svg", "tvd1")


@pytest.mark.slow
@pytest.mark.parametrize(("target", "measure", "other"), [("old", "mcc", "rmse"), ("pay", "rmse", "mcc")])
def test_mcc_and_rmse_are_ranked_beside_what_real_rows_give(target: str, measure: str, other: str) -> None:
    options = {"methods": ["independent"], "target": target, **QUICK}
    found = sklar.compare(table(), SCHEMA, metrics=["learning", measure], **options)
    frame = found.frame()
    assert {measure, f"{measure}_real"} <= set(frame) and frame[measure].notna().all()
    (chosen,) = (one for one in found.measures if one.name == measure)
    standing = {s.system: s for s in found.standings(1.0, chosen)}
    assert standing["independent"].rank == 1 and standing[TRAINED_ON_REAL].rank is None
    assert standing[TRAINED_ON_REAL].mean == pytest.approx(frame[f"{measure}_real"].mean())
    # pay is 1.5 times age, and old is whether age exceeds 50: real rows tell. What a tree learns from 60 rows of
    # independent columns splits at chance, which may be right by chance too: only its errors in pay are always large.
    real, made = frame[f"{measure}_real"].mean(), frame[measure].mean()
    assert real > 0.8 and abs(made) <= 1 if measure == "mcc" else real < 0.5 * made
    assert found.lines(chosen)[-1][0] == TRAINED_ON_REAL
    with pytest.raises(UsageError, match=f"'{other}' needs a target of"):
        sklar.compare(table(), SCHEMA, metrics=[other], **options)


def test_by_default_a_target_brings_its_measure() -> None:
    from sklar.lab.compare.systems import read_metrics

    assert read_metrics(None, "old", SCHEMA)[-2:] == ("learning", "mcc")
    assert read_metrics(None, "pay", SCHEMA)[-2:] == ("learning", "rmse")
    assert "mcc" not in read_metrics(["all"], "pay", SCHEMA) and "r2" in read_metrics(["all"], "pay", SCHEMA)
    assert not {"mcc", "learning"} & set(read_metrics(["all"], None, SCHEMA))
