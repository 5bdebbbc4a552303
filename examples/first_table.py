"""A first private model: say what is public, fit at epsilon 1, sample, and read the claim.

Run it as `python examples/first_table.py [FOLDER]`; it writes there, or into a temporary folder. Take a new one for a
second run: a ledger is never written over.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import sklar


def people(rows: int = 5_000) -> pd.DataFrame:
    """A made-up table; in real life these rows are private."""
    rng = np.random.default_rng(1)
    age = rng.integers(16, 91, rows)
    smoker = rng.random(rows) < 0.35 - 0.003 * (age - 16)
    cost = rng.gamma(2.0, 200 + 20 * (age - 16) + 800 * smoker).round(2)
    return pd.DataFrame({"age": age, "sex": rng.choice(["F", "M"], rows), "smoker": smoker, "cost": cost})


# What is known without looking at the rows. Bounds read off the rows would leak.
SCHEMA = sklar.Schema(
    {
        "age": sklar.Integer(16, 100),
        "sex": sklar.Category(["F", "M"]),
        "smoker": sklar.Boolean(),
        "cost": sklar.Real(0, 50_000, decimals=2),
    }
)


def main(folder: Path) -> None:
    """Fit the table, write the model and synthetic rows, and print the claim."""
    # All fits of one table share a ledger. The cap is set before the first fit.
    ledger = folder / "people.ledger"
    sklar.Ledger.create(ledger, name="people", epsilon=3, delta=3e-9)

    model = sklar.fit(people(), SCHEMA, epsilon=1.0, ledger=ledger)
    print(model.claim)

    table = model.sample(1_000, seed=7)  # samples cost nothing: draw as many as you like
    print(table.to_pandas().head())
    table.to_pandas().to_csv(folder / "synthetic.csv", index=False)

    model.save(folder / "people.sklar")
    again = sklar.load(folder / "people.sklar")
    print("The file gives the same rows:", again.sample(1_000, seed=7).equals(table))

    left = sklar.Ledger.open(ledger).left(delta=1e-9)
    print(f"Left: one more fit of epsilon up to {left:.2f} at delta 1e-9.")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        place = Path(sys.argv[1])
        place.mkdir(parents=True, exist_ok=True)
        main(place)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
