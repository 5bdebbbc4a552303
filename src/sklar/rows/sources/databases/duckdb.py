"""A table of a DuckDB file: the query that takes all of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklar.errors import SourceError
from sklar.rows.sources.source import Source, SourceOptions
from sklar.rows.sources.sql import SqlQuery
from sklar.schema.address import TableAddress


class DuckDBTable(SqlQuery):
    """One table of the file; a view is refused, for it may read anything."""

    what = "the table of the DuckDB database"

    def __init__(self, address: TableAddress, options: SourceOptions):
        if options.sql is not None:
            raise SourceError("name a table or give a query, not both")
        query = f"SELECT * FROM {address.name}"
        super().__init__(address.connection, replace(options, sql=query, rows_are_rows=False), _refuse_other)


def _refuse_other(data: Any, options: SourceOptions) -> Source:
    raise SourceError("a DuckDB database is a file")
