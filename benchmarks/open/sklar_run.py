"""One fit of Sklar: METHOD OPTIONS TRAIN SCHEMA EPSILON DELTA ROWS OUTPUT; a release bundle is written, too."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq

import sklar


def main() -> None:
    """Fit, write rows and bundle."""
    method, options, train, schema, epsilon, delta, rows, output = sys.argv[1:]
    place = Path(output).parent
    ledger = sklar.Ledger.create(place / "run.ledger", name="public table", epsilon=float(epsilon), delta=float(delta))
    model = sklar.fit(
        pq.read_table(train), schema, method=method, epsilon=float(epsilon), delta=float(delta), ledger=ledger,
        **json.loads(options),
    )  # fmt: skip
    sklar.bundle(model, place / "run.release.zip", rows=int(rows), seed=0, ledger=place / "run.ledger")
    pq.write_table(model.sample(int(rows), seed=0), output)


if __name__ == "__main__":
    main()
