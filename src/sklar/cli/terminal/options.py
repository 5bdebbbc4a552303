"""Options that several commands share, and their parsing."""

from __future__ import annotations

import functools
import inspect
import json
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from sklar.schema.reading import ReadOptions

ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")]
DataFile = Annotated[
    str | None,
    typer.Argument(metavar="[FILE]", help="The private table: CSV, TSV, Parquet, Arrow or a database URL."),
]
SchemaFile = Annotated[
    str,
    typer.Option("--schema", "-s", metavar="TOML", help="Public facts about the columns; see `sklar schema draft`."),
]
Epsilon = Annotated[
    float | None, typer.Option("--epsilon", "-e", help="Privacy budget of this fit. It has no default.")
]
Delta = Annotated[float, typer.Option("--delta", help="Delta of (epsilon, delta)-DP; 0 for pure epsilon.")]
Rho = Annotated[float | None, typer.Option("--rho", help="Budget in zero-concentrated DP (rho), instead of epsilon.")]
MethodName = Annotated[
    str | None, typer.Option("--method", "-m", help="Method to fit; default: vine. See `sklar methods`.")
]
LedgerFile = Annotated[
    str | None, typer.Option("--ledger", metavar="FILE", help="Privacy ledger of the table; default: next to the data.")
]
NewLedger = Annotated[bool, typer.Option("--new-ledger", help="Create the ledger of --ledger, without a cap.")]
NeighboursName = Annotated[
    str | None,
    typer.Option("--neighbours", help="Neighbouring tables: add-remove or replace; default: that of the method."),
]
RowsPerPerson = Annotated[int, typer.Option("--rows-per-person", help="Maximum number of rows of one person.")]
Target = Annotated[str | None, typer.Option("--target", help="Column that users will predict from the others.")]
PriorFile = Annotated[
    str | None,
    typer.Option("--prior", metavar="FILE", help="PUBLIC table or model to use as a prior; it is not protected."),
]
PriorBy = Annotated[
    str, typer.Option("--prior-by", metavar="NAME", help="Name of who vouches that the prior is public.")
]
Workload = Annotated[
    list[str] | None,
    typer.Option("--workload", metavar="COLUMNS", help='Columns whose joint counts matter: "region * *"; repeatable.'),
]
NoGuarantee = Annotated[bool, typer.Option("--no-guarantee", help="Required for methods without a guarantee.")]
CheckShare = Annotated[
    float, typer.Option("--check-share", help="Share of the budget for tables that only check the model, such as 0.05.")
]
Accept = Annotated[
    str | None, typer.Option("--accept", metavar="FILE", help="Release only if these criteria (TOML) are met.")
]
MethodOptions = Annotated[
    list[str] | None, typer.Option("--option", "-O", metavar="KEY=VALUE", help="An option of the method; repeatable.")
]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="Delimiter of a text file; default: found in its header.")
]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Encoding of a text file; default: UTF-8.")]
NullValues = Annotated[
    list[str] | None, typer.Option("--null-value", metavar="TEXT", help="Text that means null; repeatable.")
]
Sql = Annotated[str | None, typer.Option("--sql", help="DuckDB query whose result is the table; FILE is `data` in it.")]
TableName = Annotated[
    str | None, typer.Option("--table", metavar="NAME", help="Table of a database (or of --sdv), as ?table=NAME in it.")
]
CountsPlace = Annotated[
    str | None,
    typer.Option(
        "--counts",
        metavar="PLACE",
        help="Where the tables of a database are counted: here (default) or in the database.",
    ),
]
RowsAreRows = Annotated[
    bool,
    typer.Option("--rows-are-rows", help="Declare that each row of a query or view comes from one row of a table."),
]
CacheFolder = Annotated[
    str | None,
    typer.Option(
        "--cache", metavar="FOLDER", help="Folder for a temporary private file of codes that exceed the memory."
    ),
]
SparkMaster = Annotated[
    str | None, typer.Option("--spark", metavar="MASTER", help='Count on Spark: "local[2]" or spark://host:7077.')
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the sampling: same seed, same sample.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing output.")]
SafeCsv = Annotated[bool, typer.Option("--safe-csv", help="Escape texts that spreadsheets take for formulas.")]
Learners = Annotated[
    str | None,
    typer.Option(
        "--learners",
        help="Learners of learning and G_eps+: boosting,forest,linear,svc,tree,xgboost or all; default: quick ones.",
    ),
]
Measures = Annotated[
    str | None, typer.Option("--measures", help="Measures of G_eps+: accuracy,f1,auc,mcc,r2; default: all but mcc.")
]
Weights = Annotated[str, typer.Option("--weights", help="Weights alpha,beta,gamma of G_eps+.")]
Targets = Annotated[
    str | None,
    typer.Option("--targets", metavar="A,B", help="Columns that G_eps+ predicts; default: the target, or all."),
]
RangeCount = Annotated[int, typer.Option("--range-queries", help="Number of random range queries (Li et al. 2014).")]
RangeSanity = Annotated[
    str, typer.Option("--range-sanity", help="Sanity bound s of range queries: rows, or a share as 0.05%.")
]
RangeCells = Annotated[
    float | None,
    typer.Option("--range-cells", help="Fixed size of range queries (product of all widths in cells); default: any."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

STANDARD_OUTPUT = "-"
NOT_OF_METHODS = frozenset(
    {
        "data", "schema", "method", "epsilon", "delta", "rho", "ledger", "new_ledger", "neighbours", "rows_per_person",
        "target", "prior", "no_guarantee", "resume", "read", "seed",
    }
)  # fmt: skip
"""Arguments of a fit that are not options of its method."""


def read_options(texts: Iterable[str] | None, *, also: Iterable[str] = ()) -> dict[str, Any]:
    """Parse options of a method from texts key=value; numbers, true, false and null have these types.

    Args:
        texts: The values of -O.
        also: Arguments of a fit that a command without a flag for them takes as options.
    """
    options: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter(f"write an option as key=value; got {text!r}", param_hint="-O")
        name = key.strip().replace("-", "_")
        if name in NOT_OF_METHODS.difference(also):
            raise typer.BadParameter(f"'{name}' is not an option of methods; see --help", param_hint="-O")
        options[name] = _parse_value(value)
    return options


def text_reading(delimiter: Delimiter = None, encoding: Encoding = None, null_value: NullValues = None) -> Any:
    """Return the options for reading text files."""
    return _make_read_options(delimiter=delimiter, encoding=encoding, null_value=null_value)


def make_reading(
    delimiter: Delimiter = None, encoding: Encoding = None, null_value: NullValues = None, sql: Sql = None,
    table: TableName = None, rows_are_rows: RowsAreRows = False,
) -> Any:  # fmt: skip
    """Return the options for reading files, queries and databases."""
    return _make_read_options(
        delimiter=delimiter, encoding=encoding, null_value=null_value, sql=sql, table=table, rows_are_rows=rows_are_rows
    )


def large_reading(
    delimiter: Delimiter = None, encoding: Encoding = None, null_value: NullValues = None, sql: Sql = None,
    table: TableName = None, counts: CountsPlace = None, rows_are_rows: RowsAreRows = False, cache: CacheFolder = None,
    spark: SparkMaster = None,
) -> Any:  # fmt: skip
    """Return the options for reading tables of any size, which are streamed."""
    return _make_read_options(
        delimiter=delimiter, encoding=encoding, null_value=null_value, sql=sql, table=table,
        counts=counts, rows_are_rows=rows_are_rows, cache=cache, spark=spark,
    )  # fmt: skip


def make_measuring(
    learners: Learners = None, measures: Measures = None, weights: Weights = "1,1,1", targets: Targets = None,
    range_queries: RangeCount = 1000, range_sanity: RangeSanity = "1", range_cells: RangeCells = None,
) -> Any:  # fmt: skip
    """Return the arguments of metrics for `evaluate` and `compare`."""
    from sklar.lab.metrics.ranges import RangeWorkload  # not at import time: it loads numpy

    return {
        "learners": "all" if learners == "all" else parse_words(learners), "measures": parse_words(measures),
        "targets": parse_words(targets), "weights": parse_numbers(weights, "--weights", "1,1,1"),
        "ranges": RangeWorkload(queries=range_queries, sanity=range_sanity, cells=range_cells),
    }  # fmt: skip


def parse_numbers(
    text: str | None, option: str, example: str = "0.5,1,3", kind: Callable[[str], Any] = float
) -> list[Any] | None:
    """Parse comma-separated numbers; None without a text."""
    try:
        return None if text is None else [kind(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise typer.BadParameter(f"write numbers as {example}; got {text!r}", param_hint=option) from None


def parse_words(text: str | None) -> list[str] | None:
    """Parse comma-separated words; None without a text."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _make_read_options(*, delimiter: str | None, null_value: list[str] | None, **given: Any) -> ReadOptions:
    from sklar.schema.reading import ReadOptions  # not at import time: it loads numpy

    tab = "\t" if delimiter in ("\\t", "tab") else delimiter
    return ReadOptions(delimiter=tab, null_values=null_value or (), **given)


def fit_settings(
    epsilon: Epsilon = None, delta: Delta = 1e-9, rho: Rho = None, method: MethodName = None, ledger: LedgerFile = None,
    new_ledger: NewLedger = False, neighbours: NeighboursName = None, rows_per_person: RowsPerPerson = 1,
    target: Target = None, prior: PriorFile = None, prior_by: PriorBy = "", no_guarantee: NoGuarantee = False,
    check_share: CheckShare = 0.0, accept: Accept = None, workload: Workload = None,
    option: MethodOptions = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the fields of a FitRequest except rows and schema."""
    return {
        "epsilon": epsilon, "delta": delta, "rho": rho, "method": method, "ledger": ledger, "new_ledger": new_ledger,
        "neighbours": neighbours, "rows_per_person": rows_per_person, "target": target, "no_guarantee": no_guarantee,
        "prior": _make_prior(prior, prior_by), "check_share": check_share, "accept": accept,
        "options": {**({"workload": tuple(workload)} if workload else {}), **read_options(option)},
    }  # fmt: skip


def _make_prior(file: str | None, by: str) -> Any:
    if file is None:
        if by:
            raise typer.BadParameter("there is no prior to vouch for: give one with --prior", param_hint="--prior-by")
        return None
    from sklar.pipeline.fit.prior import Prior  # not at import time: it loads numpy

    return Prior(data=file, by=by)


def shared_options(**groups: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of each group to a command; the group's result is passed as the argument of its name."""

    def share(command: Callable[..., None]) -> Callable[..., None]:
        taken = {name: _parameters(group) for name, group in groups.items()}
        added = [parameter for parameters in taken.values() for parameter in parameters]
        own = _parameters(command, without=groups)
        last = [parameter for parameter in own if parameter.name == "json"]
        first = [parameter for parameter in own if parameter.name != "json"]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            made = {
                name: group(**{parameter.name: given.pop(parameter.name) for parameter in taken[name]})
                for name, group in groups.items()
            }
            command(**given, **made)

        ordered = [*first, *added, *last]
        run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
        del run.__wrapped__  # type: ignore[attr-defined]
        return run

    return share


def _parameters(function: Callable[..., Any], without: Iterable[str] = ()) -> list[inspect.Parameter]:
    """Return the parameters of a function as keyword-only ones, with their types."""
    types = get_type_hints(function, include_extras=True)
    found = [
        parameter for parameter in inspect.signature(function).parameters.values() if parameter.name not in without
    ]
    return [p.replace(annotation=types[p.name], kind=inspect.Parameter.KEYWORD_ONLY) for p in found]


def require_data(file: str | None, read: ReadOptions) -> None:
    """Refuse a command without a file or a query."""
    if file is None and read.sql is None:
        raise typer.BadParameter("give the file with the rows, or a query with --sql", param_hint="FILE")


def refuse_overwriting(output: str | None, force: bool, hint: str = "-o") -> None:
    """Refuse to replace an existing file, before anything is done."""
    if output is not None and output != STANDARD_OUTPUT and os.path.isfile(output) and not force:
        raise typer.BadParameter(f"{output} already exists; --force overwrites it", param_hint=hint)


def refuse_json_with_data(output: str, json_wanted: bool) -> None:
    """Refuse to write both JSON and rows to standard output."""
    if json_wanted and output == STANDARD_OUTPUT:
        raise typer.BadParameter("choose one: `-o -` writes the rows to standard output", param_hint="--json")


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
