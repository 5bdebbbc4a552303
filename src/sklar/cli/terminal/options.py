"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sklar.schema.reading import ReadOptions

DataFile = Annotated[
    str | None, typer.Argument(metavar="[FILE]", help="The private table: CSV, TSV, Parquet, Arrow or Feather.")
]
SchemaFile = Annotated[str, typer.Option("--schema", "-s", metavar="TOML", help="Public facts about the columns.")]
Epsilon = Annotated[
    float | None, typer.Option("--epsilon", "-e", help="Privacy budget of this fit. It has no default.")
]
Delta = Annotated[
    float, typer.Option("--delta", help="Added to exp(epsilon) times any probability; 0 for pure epsilon.")
]
Rho = Annotated[float | None, typer.Option("--rho", help="Budget in zero-concentrated DP, instead of epsilon.")]
MethodName = Annotated[str | None, typer.Option("--method", "-m", help="See `sklar methods`.")]
LedgerFile = Annotated[str | None, typer.Option("--ledger", metavar="FILE", help="Default: next to the data.")]
NewLedger = Annotated[bool, typer.Option("--new-ledger", help="Make the ledger of --ledger, without a cap.")]
NeighboursName = Annotated[
    str | None, typer.Option("--neighbours", help="add-remove or replace; default: that of the method.")
]
RowsPerPerson = Annotated[int, typer.Option("--rows-per-person", help="The most rows one person may have.")]
Target = Annotated[str | None, typer.Option("--target", help="Column that others will be used to predict.")]
NoGuarantee = Annotated[bool, typer.Option("--no-guarantee", help="Needed by methods that promise nothing.")]
MethodOptions = Annotated[
    list[str] | None, typer.Option("--option", "-O", metavar="KEY=VALUE", help="An option of the method; repeatable.")
]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Of a text file; default: as in its header.")]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Of a text file; default: UTF-8.")]
NullValues = Annotated[
    list[str] | None, typer.Option("--null-value", metavar="TEXT", help="Text that stands for null; repeatable.")
]
Sql = Annotated[str | None, typer.Option("--sql", help="DuckDB query whose result is the table; FILE is `data` in it.")]
RowsAreRows = Annotated[
    bool,
    typer.Option("--rows-are-rows", help="You vouch that each row of the query comes from one row of the table alone."),
]
CacheFolder = Annotated[
    str | None,
    typer.Option(
        "--cache", metavar="FOLDER", help="Keep codes that outgrow the memory in a private file here, while it runs."
    ),
]
SparkMaster = Annotated[
    str | None, typer.Option("--spark", metavar="MASTER", help='Count on Spark: "local[2]" or spark://host:7077.')
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the sampling: same seed, same sample.")]
SafeCsv = Annotated[bool, typer.Option("--safe-csv", help="Disarm texts that spreadsheets take for formulas.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]

STANDARD_OUTPUT = "-"
NOT_OF_METHODS = frozenset(
    {
        "data", "schema", "method", "epsilon", "delta", "rho", "ledger", "new_ledger", "neighbours", "rows_per_person",
        "target", "no_guarantee", "resume", "read", "seed",
    }
)  # fmt: skip
"""What a fit takes besides the options of its method."""


def read_options(texts: Iterable[str] | None, *, also: Iterable[str] = ()) -> dict[str, Any]:
    """Options of a method from texts key=value; numbers, true, false and null are read as such.

    Args:
        texts: What was given with -O.
        also: Settings of a fit that a command without a flag for them takes as options.
    """
    options: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter(f"write an option as key=value; found {text!r}", param_hint="-O")
        name = key.strip().replace("-", "_")
        if name in NOT_OF_METHODS.difference(also):
            raise typer.BadParameter(f"'{name}' is not an option of methods; see --help", param_hint="-O")
        options[name] = _value(value)
    return options


def reader_options(
    delimiter: str | None,
    encoding: str | None,
    null_values: list[str] | None,
    sql: str | None,
    progress: Callable[[float], None] | None = None,
    cache: str | None = None,
    spark: str | None = None,
    rows_are_rows: bool = False,
) -> ReadOptions:
    """How to read the data, as it was said on the command line."""
    from sklar.schema.reading import ReadOptions  # not at import time: it loads numpy

    tab = "\t" if delimiter in ("\\t", "tab") else delimiter
    return ReadOptions(
        delimiter=tab, encoding=encoding, null_values=null_values or (), sql=sql, rows_are_rows=rows_are_rows,
        progress=progress, cache=cache, spark=spark,
    )  # fmt: skip


def require_data(file: str | None, sql: str | None) -> None:
    """Rows come from a file or a query."""
    if file is None and sql is None:
        raise typer.BadParameter("name the file with the rows, or a query with --sql", param_hint="FILE")


def refuse_json_with_data(output: str, json_wanted: bool) -> None:
    """Two kinds of output cannot share standard output."""
    if json_wanted and output == STANDARD_OUTPUT:
        raise typer.BadParameter("choose one: `-o -` writes the rows to standard output", param_hint="--json")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
