"""The only code that reads private rows: sources, encoding, exact counting. For `private` and `disclosed` alone."""

from sklar.rows.count import TableSpec, exact_counts
from sklar.rows.table import CodeBatch, EncodedRows, open_rows

__all__ = ["CodeBatch", "EncodedRows", "TableSpec", "exact_counts", "open_rows"]
