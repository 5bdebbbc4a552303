"""dpmm's MST, AIM or PrivBayes on the public grid: run.py mst|aim|privbayes TRAIN SCHEMA EPSILON DELTA ROWS OUTPUT."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from public_grid import read_task

PROMISES = {
    "mst": "(epsilon, delta)-DP by zCDP; discrete domains from the schema, OpenDP noise, measured marginals of a tree",
    "aim": "(epsilon, delta)-DP by zCDP; discrete domains from the schema, OpenDP noise, marginals chosen in rounds",
    "privbayes": "(epsilon, delta)-DP by zCDP for marginals, exponential mechanism for the network; the number of rows "
    "sets the sensitivity, so neighbours have the same number of rows",
}


def main() -> None:
    """Fit and write."""
    import dpmm.pipelines as pipelines

    kind = sys.argv[1]
    task = read_task()
    made = {"mst": "MSTPipeline", "aim": "AIMPipeline", "privbayes": "PrivBayesPipeline"}[kind]
    options = {"n_iters": int(os.environ["DPMM_ITERATIONS"])} if "DPMM_ITERATIONS" in os.environ else {}
    if kind == "aim":
        options["max_model_size"] = float(os.environ.get("DPMM_MODEL_MB", "80"))
    size = options.pop("max_model_size", None)
    pipeline = getattr(pipelines, made)(
        epsilon=task.epsilon,
        delta=task.delta,
        disable_processing=True,
        n_jobs=1,
        gen_kwargs=options,
        max_model_size=size,
    )
    # Names as c0, c1, ...: dpmm gives some names a meaning of its own.
    names = {name: f"c{at}" for at, name in enumerate(task.sizes)}
    codes = task.codes.rename(columns=names).astype("int32")
    pipeline.fit(codes, domain={names[name]: size for name, size in task.sizes.items()})
    out = pipeline.generate(n_records=task.rows)
    task.write(out.rename(columns={short: name for name, short in names.items()}), PROMISES[kind])


if __name__ == "__main__":
    main()
