"""Audit a schema against real rows (disclosed): how often each value rule fires."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.disclosed.audit import Audit


def audit_schema(data: Any, schema: Schema, read: ReadOptions | None = None) -> Audit:
    """Exact counts, by column, of rows that are clipped, become `other`, cannot be read, or are missing.

    Args:
        data: The table, as for `fit`.
        schema: The public facts to audit.
        read: How to read the table, as for `fit`.
    """
    from sklar.disclosed.audit import audit_rules

    return audit_rules(data, schema, read)
