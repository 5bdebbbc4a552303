"""The only code that reads private rows: sources, encoding, exact counting. For `private` and `disclosed` alone."""

from sklar.rows.batch import CodeBatch
from sklar.rows.binary import exact_ones
from sklar.rows.count import exact_counts
from sklar.rows.job import Counts, GroupJob, Job, Rows
from sklar.rows.label_counts import exact_label_counts
from sklar.rows.open import open_rows
from sklar.rows.pairs import exact_pair_counts, require_pair_room
from sklar.rows.part import CodedPart
from sklar.rows.plan import TableSpec
from sklar.rows.table import EncodedRows

__all__ = [
    "CodeBatch",
    "CodedPart",
    "Counts",
    "EncodedRows",
    "GroupJob",
    "Job",
    "Rows",
    "TableSpec",
    "exact_counts",
    "exact_label_counts",
    "exact_ones",
    "exact_pair_counts",
    "open_rows",
    "require_pair_room",
]
