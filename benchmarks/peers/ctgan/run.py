"""CTGAN or TVAE by their authors' library: run.py ctgan|tvae EPOCHS BATCH LATENT TRAIN SCHEMA ROWS OUTPUT.

Xu, Skoularidou, Cuesta-Infante, Veeramachaneni (2019). No differential privacy: give it no epsilon, as --peer
ctgan='benchmarks/peers/run ctgan ctgan 300 500 128 {train} {schema} {rows} {output}', and it is run once. Needs torch,
which the package index has with CUDA only (6 GB); it runs on the CPU all the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from public_grid import Column, numbers_of, read_task

PROMISE = "NO DP GUARANTEE: learns from the rows without noise"
NULL = " is null"
"""Ends the name of the column that says where numbers are missing: the library has no such thing."""


def to_plain(columns: tuple[Column, ...], values: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Labels as words, numbers as numbers, and which columns are labels."""
    out: dict[str, pd.Series] = {}
    for column in columns:
        found = values[column.name]
        if column.labels:
            out[column.name] = found.map(lambda value: "" if pd.isna(value) else str(value))
            continue
        null, numbers = found.isna().to_numpy(), numbers_of(column, found)
        if null.any():
            numbers = np.where(null, column.lower if null.all() else numbers[~null].mean(), numbers)
            out[column.name + NULL] = pd.Series(null).map(str)
        out[column.name] = pd.Series(numbers)
    labels = [c.name for c in columns if c.labels]
    return pd.DataFrame(out), labels + [name for name in out if name.endswith(NULL)]


def from_plain(columns: tuple[Column, ...], made: pd.DataFrame) -> pd.DataFrame:
    """The way back; numbers are kept to their bounds."""
    out: dict[str, pd.Series] = {}
    for column in columns:
        found = made[column.name]
        if column.labels:
            known = {str(label): label for label in column.labels}
            out[column.name] = found.map(lambda word, known=known: known.get(word))
            continue
        numbers = found.clip(column.lower, column.upper)
        if column.kind != "real":
            numbers = numbers.round().astype("int64")
        numbers = pd.Series(numbers.to_numpy().astype(f"datetime64[{column.unit}]")) if column.unit else numbers
        null = made.get(column.name + NULL)
        out[column.name] = numbers if null is None else numbers.astype(object).where(null != "True", None)
    return pd.DataFrame(out)


def main() -> None:
    """Fit and write."""
    import ctgan

    kind, epochs, batch, latent, train, schema, rows, output = sys.argv[1:]
    task = read_task([train, schema, "", "0", rows, output])
    plain, labels = to_plain(task.columns, task.values)
    model = {"ctgan": ctgan.CTGAN, "tvae": ctgan.TVAE}[kind](
        epochs=int(epochs), batch_size=int(batch), embedding_dim=int(latent), enable_gpu=False
    )
    model.fit(plain, labels)
    task.write_values(from_plain(task.columns, model.sample(task.rows)), PROMISE)


if __name__ == "__main__":
    main()
