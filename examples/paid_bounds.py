"""Bounds and labels nobody knows: pay for them from the budget, and find the price in the claim.

Run it as `python examples/paid_bounds.py [FOLDER]`; it writes there, or into a temporary folder. Take a new one for a
second run: a ledger is never written over.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import sklar


def stays(rows: int = 8_000) -> pd.DataFrame:
    """A made-up table; in real life these rows are private."""
    rng = np.random.default_rng(2)
    ward = rng.choice(["surgery", "medicine", "birth"], rows, p=[0.3, 0.5, 0.2])
    nights = 1 + rng.poisson(np.where(ward == "medicine", 6, 3))
    return pd.DataFrame({"ward": ward, "nights": nights, "cost": (nights * rng.gamma(4.0, 150, rows)).round(2)})


# What stands under the mark "pay" is a placeholder: it is not used, not even to narrow the search.
BOUNDS = {"lower": "pay", "upper": "pay"}
SCHEMA = sklar.Schema(
    {
        "ward": sklar.Category(["?"], source={"values": "pay"}),
        "nights": sklar.Integer(0, 365),
        "cost": sklar.Real(0, 1, decimals=2, source=BOUNDS),
    }
)


def main(folder: Path) -> None:
    """Pay for the facts, write the schema that holds them and their price, and fit with it."""
    table, ledger = stays(), folder / "stays.ledger"
    sklar.Ledger.create(ledger, name="stays", epsilon=2, delta=2e-9)

    # Bounds are the outermost cells that are clearly occupied: thin tails are cut, and rare labels stay unlisted.
    paid = sklar.pay(table, SCHEMA, epsilon=0.3, ledger=ledger)
    for note in paid.notes:
        print(note)
    print(f"The facts cost epsilon {paid.epsilon:.3g} at delta {paid.delta:.3g}.")
    paid.schema.write(folder / "stays.toml")

    # The schema carries the price, so the claim of this fit is its own epsilon plus what the facts cost.
    model = sklar.fit(table, folder / "stays.toml", method="independent", epsilon=0.7, ledger=ledger)
    print(model.claim)
    print("All prices are in the claim:", model.claim.complete)
    model.save(folder / "stays.sklar")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        place = Path(sys.argv[1])
        place.mkdir(parents=True, exist_ok=True)
        main(place)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
