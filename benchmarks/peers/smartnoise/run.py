"""smartnoise-synth's MST or AIM on the public grid: run.py mst|aim TRAIN SCHEMA EPSILON DELTA ROWS OUTPUT."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from public_grid import read_task

PROMISE = "(epsilon, delta)-DP by zCDP, but the categories of each column are read off the rows, unpaid"


def main() -> None:
    """Fit and write."""
    from snsynth import Synthesizer

    kind = sys.argv[1]
    task = read_task()
    names = {name: f"c{at}" for at, name in enumerate(task.sizes)}
    model = Synthesizer.create(kind, epsilon=task.epsilon, delta=task.delta)
    codes = task.codes.rename(columns=names)
    model.fit(codes, categorical_columns=list(codes.columns), preprocessor_eps=0.0)
    out = model.sample(task.rows)
    task.write(out.rename(columns={short: name for name, short in names.items()}), PROMISE)


if __name__ == "__main__":
    main()
