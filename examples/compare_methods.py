"""Two methods on one table: what a copula keeps that margins alone lose.

Scores are computed from real rows without noise. They are for the custodian, and choosing a release by them is covered
by no claim: do it on a made-up or public table, as here.

Run it as `python examples/compare_methods.py [FOLDER]`; it writes there, or into a temporary folder.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import sklar

METRICS = ("tvd1", "tvd2", "spearman", "copies")


def people(rows: int = 2_000) -> pd.DataFrame:
    """A made-up table in which every column depends on the others."""
    rng = np.random.default_rng(3)
    skill = rng.normal(size=rows)
    school = np.clip(np.round(11 + 2.5 * skill + rng.normal(size=rows)), 4, 20).astype(int)
    wage = np.exp(2.2 + 0.08 * school + 0.3 * rng.normal(size=rows)).clip(5, 200).round(2)
    union = np.where(rng.random(rows) < 1 / (1 + np.exp(skill)), "yes", "no")
    return pd.DataFrame({"school": school, "wage": wage, "union": union})


SCHEMA = sklar.Schema(
    {
        "school": sklar.Integer(4, 20),
        "wage": sklar.Real(5, 200, decimals=2),
        "union": sklar.Category(["no", "yes"]),
    }
)


def main(folder: Path) -> None:
    """Fit both methods, print their scores beside the floor, and write a report on the vine."""
    real = people()
    found = {}
    for method in ("independent", "vine"):
        model = sklar.fit(real, SCHEMA, method=method, epsilon=1.0)
        synthetic = model.sample(len(real), seed=7)
        found[method] = sklar.evaluate(real, synthetic, SCHEMA, name=method, claim=model.claim)

    print(f"{'metric':10}", *(f"{name:>12}" for name in (*found, "floor")))
    for metric in METRICS:
        scores = [evaluation[metric] for evaluation in found.values()]
        print(f"{metric:10}", *(f"{number:12.3f}" for number in (*(s.value for s in scores), scores[-1].floor)))

    found["vine"].html(folder / "vine.custodian.html")  # readable by its owner only, and not to be published


if __name__ == "__main__":
    if len(sys.argv) > 1:
        place = Path(sys.argv[1])
        place.mkdir(parents=True, exist_ok=True)
        main(place)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
