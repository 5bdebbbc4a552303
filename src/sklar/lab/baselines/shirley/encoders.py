"""Supervised encoders: numbers for the categories of a column, learned from rows that the rest of the fit never sees.

The weight of evidence of a category c is ln(P(c | reference = 1) / P(c | reference = 0)), both with one pseudo-count.
GLMM is the random intercept of c in a mixed logistic (or, for an ordinal reference, linear) regression of the reference
on the category, fitted by the library category_encoders (McGinnis et al. 2018), as in the paper. The weight of evidence
equals that library's but is computed here, because importing the library takes longer than a small fit. A category that
the encoder has not seen, or null, is encoded as 0: no evidence.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Ints, Mask
from sklar.errors import MissingExtraError, UsageError
from sklar.lab.baselines.shirley.options import SUPERVISED, ShirleyOptions
from sklar.lab.tables.table import ExactTable

MAX_ENCODER_ROWS = {"woe": 1_000_000, "glmm": 10_000}
"""Maximum rows to fit an encoder: a mixed model takes seconds per column at 10,000, and more rows gain little."""
MIN_REFERENCE_ROWS = 10
"""Minimum rows with a value of the reference: with fewer, the order of categories is mostly chance."""


def set_aside(
    table: ExactTable, options: ShirleyOptions, rng: np.random.Generator
) -> tuple[ExactTable | None, ExactTable]:
    """Split off the rows for a supervised encoder; None if there is none."""
    if options.encoding not in SUPERVISED:
        return None, table
    chosen = rng.permutation(table.rows)
    cut = round(options.encoder_share * table.rows)
    return table.take(np.sort(chosen[:cut])), table.take(np.sort(chosen[cut:]))


def encoded_levels(table: ExactTable | None, options: ShirleyOptions, rng: np.random.Generator) -> dict[str, Floats]:
    """Encode every base code of each nominal column except the reference."""
    if table is None or options.referred is None:
        return {}
    reference = options.referred
    truth, known = _reference_values(table, reference, options)
    chosen, most = np.flatnonzero(known), MAX_ENCODER_ROWS[options.encoding]
    if len(chosen) > most:
        chosen = np.sort(rng.choice(chosen, most, replace=False))
    names = [name for name in table.names if not table.schema[name].ordered and name != reference]
    return {name: _encode_column(table, name, chosen, truth[chosen], options.encoding) for name in names}


def _reference_values(table: ExactTable, reference: str, options: ShirleyOptions) -> tuple[Floats, Mask]:
    """Return the reference as numbers (0 and 1 if it has two values) and the rows where it has a listed value."""
    column = table.schema[reference]
    codes = table.codes[reference].astype(np.int64)
    if column.other_code is not None and options.encoding == "woe" and (codes == column.other_code).any():
        raise UsageError(
            f"weight of evidence needs a reference with two values; '{reference}' has values that are not listed. "
            "Name another reference"
        )
    known = codes < column.value_cells
    if known.sum() < MIN_REFERENCE_ROWS or len(np.unique(codes[known])) < 2:
        raise UsageError(
            f"the rows for encoder '{options.encoding}' have fewer than {MIN_REFERENCE_ROWS} values of the reference "
            f"'{reference}', or only one different value; name another reference or use encoder='ordinal'"
        )
    return codes.astype(np.float64), known


def _encode_column(table: ExactTable, name: str, rows: Ints, truth: Floats, encoder: str) -> Floats:
    """Encode every base code of a column."""
    size = table.schema.size(name)
    codes = table.codes[name][rows]
    if len(np.unique(codes)) < 2:
        return np.zeros(size)
    return weights_of_evidence(codes, truth, size) if encoder == "woe" else random_intercepts(codes, truth, size)


def weights_of_evidence(codes: NDArray[np.integer], truth: Floats, size: int) -> Floats:
    """Return ln((p_c + 1) / (P + 2)) - ln((n_c + 1) / (N + 2)) of a category with p_c rows of reference 1 and n_c of 0.

    P and N are their totals. A category with one row gets 0, as in category_encoders.
    """
    counts = np.bincount(codes, minlength=size)
    ones = np.bincount(codes, weights=truth, minlength=size)
    zeros = counts - ones
    found = np.log((ones + 1) / (ones.sum() + 2)) - np.log((zeros + 1) / (zeros.sum() + 2))
    return np.where(counts > 1, found, 0.0)


def random_intercepts(codes: NDArray[np.integer], truth: Floats, size: int) -> Floats:
    """Return the random intercepts of a mixed model with the category as its only effect."""
    try:
        encoder = importlib.import_module("category_encoders").GLMMEncoder
        binary = len(np.unique(truth)) == 2
        library: Any = encoder(cols=["level"], binomial_target=binary, random_state=0)
    except ImportError:
        raise MissingExtraError(
            "encoder 'glmm' needs category_encoders and statsmodels: pip install '.[disclosed]' in the folder of Sklar."
        ) from None
    pandas = importlib.import_module("pandas")
    labels = np.array([f"c{code}" for code in range(size)], dtype=object)
    with warnings.catch_warnings():
        # The library uses deprecated parts of pandas and statsmodels.
        warnings.simplefilter("ignore")
        fitted = library.fit(pandas.DataFrame({"level": labels[codes]}), pandas.Series(truth))
        found = fitted.transform(pandas.DataFrame({"level": labels}))
    return np.nan_to_num(np.asarray(found["level"], dtype=np.float64))
