"""Writes the golden files anew: `python -m tests.golden.record`. Only for changes of numbers that are meant."""

from __future__ import annotations

import json

import pytest

from tests.golden.cases import CASES, fitted
from tests.golden.pins import FOLDER, PINS, circumstances, numbers, sample_bytes


def main() -> None:
    """Fit every case, and keep its model and the digests of its numbers and of a sample."""
    (FOLDER / "files").mkdir(exist_ok=True)
    cases = {}
    for name in CASES:
        with pytest.MonkeyPatch.context() as patch:
            model = fitted(name, patch)
        model.save(FOLDER / "files" / f"{name}.sklar", force=True)
        cases[name] = {"numbers": numbers(model)[1], "sample": sample_bytes(model)}
    PINS.write_text(json.dumps({"circumstances": circumstances(), "cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
