"""*** The only code that reads private rows. *** Sources, encoding, exact counting, for `private` and `lab` alone.

Nothing here adds noise, so nothing here may be shown: errors name columns and public facts, never a cell or a count. A
code is a function of its value alone. Start with `sources` (where rows come from), then `encode` (values to codes),
`codes` (rows as codes), `counting` (codes to counts); `kernels` are compiled loops, `spark` the same on a cluster.
"""

from sklar.rows.codes.batch import CodeBatch
from sklar.rows.codes.job import CodedPart, GroupJob, Job, Rows
from sklar.rows.codes.table import EncodedRows
from sklar.rows.counting.binary import exact_ones
from sklar.rows.counting.count import exact_counts, exact_pair_counts, require_pair_room
from sklar.rows.counting.labels import exact_label_counts
from sklar.rows.counting.tables import TableSpec
from sklar.rows.open import open_rows

__all__ = [
    "CodeBatch",
    "CodedPart",
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
