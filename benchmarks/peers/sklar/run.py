"""Sklar itself as an external command: run.py METHOD OPTIONS TRAIN SCHEMA EPSILON DELTA ROWS OUTPUT.

OPTIONS is JSON, as '{"target": "income"}'. Runs in the environment that Sklar is installed in (or from src).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "src"))


def main() -> None:
    """Fit and write."""
    import pyarrow.parquet as pq

    import sklar

    method, options, train, schema, epsilon, delta, rows, output = sys.argv[1:]
    # An Arrow table, not the file: the ledger of this fit is in memory, and gone with it.
    model = sklar.fit(
        pq.read_table(train), schema, method=method, epsilon=float(epsilon), delta=float(delta), **json.loads(options)
    )
    pq.write_table(model.sample(int(rows)), output)
    Path(output).with_name("promise.txt").write_text(f"{model.claim.method}: DP at epsilon {epsilon}, delta {delta}")


if __name__ == "__main__":
    main()
