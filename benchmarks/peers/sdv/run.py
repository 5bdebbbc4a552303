"""SDV's Gaussian copula on the values themselves: run.py TRAIN SCHEMA ROWS OUTPUT.

No differential privacy: give it no epsilon, as --peer sdv='benchmarks/peers/run sdv {train} {schema} {rows} {output}',
and it is run once.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from public_grid import read_task

sys.path.pop(0)  # else `import ctgan` inside sdv finds the folder of that recipe

PROMISE = "NO DP GUARANTEE: learns from the rows without noise"
KINDS = {"category": "categorical", "ordinal": "categorical", "boolean": "boolean", "datetime": "datetime"}


def main() -> None:
    """Fit and write."""
    import sdv
    import sdv.single_table as models
    from sdv.metadata import Metadata

    train, schema, rows, output = sys.argv[1:]
    task = read_task([train, schema, "", "0", rows, output])
    facts = {c.name: {"sdtype": KINDS.get(c.kind, "numerical")} for c in task.columns}
    for column in task.columns:
        if column.kind == "datetime":
            facts[column.name]["datetime_format"] = "%Y-%m-%d %H:%M:%S"
            task.values[column.name] = task.values[column.name].astype("datetime64[us]")
    metadata = Metadata.load_from_dict({"tables": {"table": {"columns": facts}}})
    model = models.GaussianCopulaSynthesizer(metadata)
    # Since version 2 it takes and gives tables by name.
    by_name = int(sdv.__version__.split(".")[0]) >= 2
    model.fit({"table": task.values} if by_name else task.values)
    out = model.sample(task.rows)
    task.write_values(out["table"] if isinstance(out, dict) else out, PROMISE)


if __name__ == "__main__":
    main()
