"""Rows under conditions: `given=` draws from the model as if only such rows were asked for, at no cost.

Run it as `python examples/conditional.py [FOLDER]`; it writes there, or into a temporary folder.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import sklar


def loans(rows: int = 5_000) -> pd.DataFrame:
    """A made-up table; in real life these rows are private."""
    rng = np.random.default_rng(4)
    wealth = rng.normal(size=rows)
    income = np.exp(10 + 0.5 * wealth + 0.3 * rng.normal(size=rows)).clip(0, 300_000).round()
    region = np.array(["north", "south", "west"])[np.digitize(wealth + rng.normal(size=rows), [-0.7, 0.7])]
    default = rng.random(rows) < 0.3 / (1 + np.exp(2 * wealth))
    return pd.DataFrame({"region": region, "income": income, "default": default})


SCHEMA = sklar.Schema(
    {
        "region": sklar.Category(["north", "south", "west"]),
        "income": sklar.Integer(0, 300_000),
        "default": sklar.Boolean(),
    }
)


def main(folder: Path) -> None:
    """Fit once, then ask for rows of single groups."""
    model = sklar.fit(loans(), SCHEMA, epsilon=1.0)

    # A value, a range (both ends included) or a list of values, for any columns.
    for given in ({"region": "north"}, {"region": ["south", "west"]}, {"income": (10_000, 20_000), "default": True}):
        table = model.sample(500, given=given, seed=7)
        worth = float(table.schema.metadata[b"sklar.effective_sample_size"])
        frame = table.to_pandas()
        print(f"{given}: {len(frame)} rows, worth {worth:.0f} independent ones;", end=" ")
        print(f"median income {frame['income'].median():.0f}, defaults {frame['default'].mean():.1%}")

    frame.to_csv(folder / "given.csv", index=False)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        place = Path(sys.argv[1])
        place.mkdir(parents=True, exist_ok=True)
        main(place)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
