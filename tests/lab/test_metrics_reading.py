"""Tables are read as a fit reads them, with the numbers kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import SourceError
from sklar.lab.tables.table import ordered_values
from sklar.rows import open_rows
from tests.lab.pairs import MIXED, mixed_frame, read


def test_codes_are_those_of_a_fit(tmp_path: Path) -> None:
    frame = mixed_frame(300, 1)
    frame.to_csv(tmp_path / "t.csv", index=False)
    expected = np.concatenate(list(open_rows(frame, MIXED).code_matrix_batches(MIXED.modelled)))
    for table in (read(frame), read(tmp_path / "t.csv")):
        assert np.array_equal(np.stack([table.codes[n] for n in MIXED.modelled], axis=1), expected)


def test_numbers_are_exact_from_text_and_from_frames(tmp_path: Path) -> None:
    frame = mixed_frame(300, 2)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for table in (read(frame), read(tmp_path / "t.csv")):
        for name in ("age", "income", "debt"):
            assert np.array_equal(table.numbers[name], frame[name].to_numpy(float), equal_nan=True)


def test_value_rules_hold_for_numbers() -> None:
    schema = sklar.Schema({"x": sklar.Real(0, 10, missing_value=3.0), "y": sklar.Real(0, 10, nullable=True)})
    cells = [" 2.5", "x", None, "1e400", "-7", "9"]
    table = read(pd.DataFrame({"x": cells, "y": cells}), schema)
    assert table.numbers["x"].tolist() == [2.5, 3.0, 3.0, 10.0, 0.0, 9.0]
    assert np.isnan(table.numbers["y"]).tolist() == [False, True, True, False, False, False]
    assert table.numbers["y"][3] == 10.0


def test_large_tables_are_thinned_evenly() -> None:
    schema = sklar.Schema({"x": sklar.Integer(0, 99_999)})
    table = read(pd.DataFrame({"x": np.arange(100_000)}), schema, rows_kept=2_000)
    assert (table.rows, table.total) == (2_000, 100_000)
    assert (np.diff(table.numbers["x"]) > 0).all()
    assert abs(table.numbers["x"].mean() - 50_000) < 6 * 100_000 / np.sqrt(12 * 2_000)


def test_ordered_values_leave_out_other_and_null() -> None:
    schema = sklar.Schema({"level": sklar.Ordinal(["low", "high"], nullable=True)})
    values = ordered_values(read({"level": ["low", "high", "odd", None]}, schema), "level")
    assert values[:2].tolist() == [0.0, 1.0]
    assert np.isnan(values[2:]).all()


@pytest.mark.parametrize("frame", [pd.DataFrame({"age": [1]}), mixed_frame(1, 0).iloc[:0]])
def test_a_table_without_columns_or_rows_is_named(frame: pd.DataFrame) -> None:
    with pytest.raises(SourceError, match="the real table"):
        read(frame)
