"""What a SQL query may do: read tables whose types are declared, and work on each row by itself.

DuckDB guesses the types and the dialect of text and JSON files from their rows, so that one row could change how all
others are read; such files are refused inside a query. And what lets one row change or multiply others (windows,
aggregates, joins, LIMIT, subqueries, random numbers, ...) needs the custodian's word that the rows of the result still
are rows of the table. Both are lists of what is allowed: what is not known is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from sklar.errors import SourceError
from sklar.rows.sources.source import suffix_of

Node = dict[str, Any]
ROW_WISE = frozenset(
    {
        "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION",
        "LAMBDA", "OPERATOR", "POSITIONAL_REFERENCE", "STAR", "TYPE",
    }
)  # fmt: skip
"""Classes of expressions whose value depends on one row alone."""
ROW_WISE_MACROS = frozenset({"if", "nullif"})
"""DuckDB's own macros whose value depends on one row alone."""
PSEUDO_COLUMNS = frozenset({"rowid", "file_row_number", "file_index"})
"""Columns with the position of a row among the others."""
PARQUET = (".parquet", ".pq")
TEXTS = (".csv", ".tsv", ".tab", ".txt")
GUESSED = (*TEXTS, ".json", ".jsonl", ".ndjson", ".xlsx")
"""Files whose types DuckDB would guess from their rows."""
TYPED_READERS = frozenset({"read_parquet", "parquet_scan", "unnest", "range", "generate_series"})
"""Table functions that guess nothing from rows."""
SELECT_PARTS = frozenset({"type", "select_list", "from_table", "where_clause"})
TABLE_PARTS = frozenset(
    {
        "type", "alias", "query_location", "query_location_length", "schema_name", "table_name", "column_name_alias",
        "catalog_name", "qualified_name", "function",
    }
)  # fmt: skip
EMPTY: tuple[Any, ...] = (None, [], {}, "", {"map": []}, "STANDARD_HANDLING", "WITHOUT_ORDINALITY")
"""Values by which DuckDB marks a part that a query does not have."""
NAMES = {
    "DISTINCT_MODIFIER": "DISTINCT", "LIMIT_MODIFIER": "LIMIT", "LIMIT_PERCENT_MODIFIER": "LIMIT",
    "ORDER_MODIFIER": "ORDER BY", "SET_OPERATION_NODE": "a set operation", "WINDOW": "a window function",
    "SUBQUERY": "a subquery", "JOIN": "a join", "cte_map": "WITH", "sample": "a sample", "qualify": "QUALIFY",
    "aggregate_handling": "GROUP BY", "group_expressions": "GROUP BY", "having": "HAVING",
}  # fmt: skip
"""Names of the parts of a query."""


def require_typed_tables(connection: Any, sql: str, has_data: bool) -> None:
    """Refuse a query that reads something whose types are not declared."""
    tree = _tree(sql)
    known = _tables(connection) | ({"data"} if has_data else set())
    known |= {str(node["key"]).lower() for node in _nodes(tree) if "key" in node and "value" in node}
    for node in _nodes(tree):
        if node.get("type") == "BASE_TABLE" and "table_name" in node:
            name = str(node["table_name"])
            if name.lower() not in known and not name.lower().endswith(PARQUET):
                _refuse_reader(f"'{name}'")
        if node.get("type") == "TABLE_FUNCTION" and _get_function_name(node["function"]) not in TYPED_READERS:
            _refuse_reader(f"{_get_function_name(node['function'])}(...)")
    own = _list_own_macros(connection) & {_get_function_name(node) for node in _nodes(tree) if "function_name" in node}
    if own:
        raise SourceError(f"the SQL query calls the macro '{min(own)}'; write out what it does")


def queried_files(sql: str) -> list[str]:
    """Return the names and patterns of the files that a query reads; a name that it computes is not found.

    A query that DuckDB cannot parse reads none: it is refused, or run elsewhere, when the rows are opened.
    """
    try:
        tree = _tree(sql)
    except (SourceError, ImportError):
        return []
    names = [str(node["table_name"]) for node in _nodes(tree) if node.get("type") == "BASE_TABLE"]
    readers = [node["function"] for node in _nodes(tree) if node.get("type") == "TABLE_FUNCTION"]
    literals = [node["literal"] for node in _nodes(readers) if isinstance(node.get("literal"), dict)]
    texts = [str(literal.get("text", "")) for literal in literals]
    return [name for name in names if name.lower().endswith(PARQUET)] + [text for text in texts if text]


def require_typed_relation(relation: Any) -> None:
    """Refuse a DuckDB relation that visibly reads data without declared types."""
    try:
        tree = _tree(relation.sql_query())
    except Exception:  # not every relation can be written as a query; its types are then those that it states
        return
    for node in _nodes(tree):
        name, alias = str(node.get("table_name", "")), str(node.get("alias", ""))
        if node.get("type") == "TABLE_FUNCTION" and _get_function_name(node["function"]) not in TYPED_READERS:
            _refuse_reader(f"{_get_function_name(node['function'])}(...)")
        if suffix_of(name) in GUESSED:
            _refuse_reader(f"'{name}'")
        if name.startswith("__duckdb_source") and alias.startswith("df_"):
            raise SourceError("DuckDB guesses the types of a pandas frame from its rows; pass the frame itself")


def require_row_wise(sql: str) -> None:
    """Refuse a query in which one row might change or multiply others."""
    reason = _reason(_tree(sql), _scalars())
    if reason is not None:
        raise SourceError(
            "without rows_are_rows=True (--rows-are-rows) a SQL query may only choose and compute columns of one table "
            f"and leave out rows, each row by itself; this one has {reason}. Say it only if each row of the result "
            "comes from one row of the table alone: the claim will rest on it"
        )


def _tree(sql: str) -> Node:
    """Return the query as DuckDB's parser sees it, in an empty database, where no macro changes the answer."""
    found = json.loads(_ask(None, "SELECT json_serialize_sql(?::VARCHAR)", [sql])[0][0])
    if found.get("error") or len(found["statements"]) != 1:
        raise SourceError("sql must be one SELECT statement, without PIVOT")
    return found["statements"][0]["node"]


def _ask(connection: Any, question: str, parameters: list[Any] | None = None) -> list[Any]:
    import duckdb

    if connection is not None:
        return connection.execute(question).fetchall()
    with duckdb.connect() as empty:
        return empty.execute(question, parameters).fetchall()


def _nodes(tree: Any) -> Iterator[Node]:
    """Yield all objects of a tree."""
    if isinstance(tree, dict):
        yield cast("Node", tree)
    parts: list[Any] = list(cast("Node", tree).values()) if isinstance(tree, dict) else tree
    for part in parts if isinstance(tree, dict | list) else ():
        yield from _nodes(part)


def _get_function_name(node: Node) -> str:
    return str(node["function_name"]).lower()


def _tables(connection: Any) -> set[str]:
    """Return the names of tables that are no views: a view may read anything."""
    tables = _ask(connection, "SELECT table_name FROM duckdb_tables() WHERE NOT internal")
    views = _ask(connection, "SELECT view_name FROM duckdb_views()")
    return {name.lower() for (name,) in tables} - {name.lower() for (name,) in views}


def _list_own_macros(connection: Any) -> set[str]:
    found = _ask(connection, "SELECT function_name FROM duckdb_functions() WHERE NOT internal")
    return {name.lower() for (name,) in found}


def _scalars() -> set[str]:
    """Return DuckDB's deterministic functions of one row."""
    names = _ask(
        None,
        "SELECT lower(function_name) FROM duckdb_functions() WHERE function_type NOT IN ('table', 'table_macro', "
        "'pragma') GROUP BY 1 HAVING bool_and(function_type = 'scalar' AND stability = 'CONSISTENT')",
    )
    return {name for (name,) in names} | ROW_WISE_MACROS


def _refuse_reader(what: str) -> None:
    raise SourceError(
        f"the query reads {what}, which is neither a table of the database nor a Parquet file; DuckDB would guess "
        "types from the rows of text or JSON. Hand a CSV file over as the data and write FROM data: its columns are "
        "text there. Copy a view into a table first"
    )


def _reason(node: Node, scalars: set[str]) -> str | None:
    """Return the first part of a query that is not about one row of one table; None if there is none."""
    if node["type"] != "SELECT_NODE":
        return NAMES.get(node["type"], "more than a SELECT")
    for modifier in node["modifiers"]:
        return NAMES.get(modifier["type"], "a modifier")
    for part, value in node.items():
        if part not in SELECT_PARTS and value not in EMPTY:
            return NAMES.get(part, f"the part {part}")
    return _find_table_fault(node["from_table"]) or _find_expression_fault(
        [node["select_list"], node["where_clause"]], scalars
    )


def _find_table_fault(table: Node) -> str | None:
    if table["type"] not in ("BASE_TABLE", "TABLE_FUNCTION"):
        return NAMES.get(table["type"], "something else than one table")
    for part, value in table.items():
        if part not in TABLE_PARTS and value not in EMPTY:
            return NAMES.get(part, f"the part {part}")
    return _file_reason(table)


def _file_reason(table: Node) -> str | None:
    """Accept one Parquet file by its name: folders of a pattern would become columns with guessed types."""
    name = str(table.get("table_name", ""))
    if table["type"] == "TABLE_FUNCTION":
        arguments = table["function"]["arguments"]
        literals = [argument["expression"].get("literal") or {} for argument in arguments]
        if _get_function_name(table["function"]) not in ("read_parquet", "parquet_scan") or len(literals) != 1:
            return "a table function"
        name = str(literals[0].get("text", "*"))
    return "a pattern of files" if set(name) & set("*?[") else None


def _find_expression_fault(expressions: Any, scalars: set[str]) -> str | None:
    for node in _nodes(expressions):
        if "class" not in node:
            continue
        if node["class"] not in ROW_WISE:
            return NAMES.get(node["class"], f"an expression of class {node['class']}")
        if node["class"] == "FUNCTION" and _get_function_name(node) not in scalars:
            return f"the function {_get_function_name(node)}, which is not one of a single row"
        names = [str(name).lower() for name in node.get("column_names", [])]
        if PSEUDO_COLUMNS.intersection(names[-1:]):
            return f"the column {names[-1]}, the place of a row among others"
    return None
