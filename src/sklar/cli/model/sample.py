"""sklar sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import (
    STANDARD_OUTPUT,
    Force,
    Json,
    SafeCsv,
    Seed,
    refuse_json_with_data,
)
from sklar.cli.terminal.progress import row_bar

if TYPE_CHECKING:
    from sklar.export.write import TextStyle
    from sklar.pipeline.model import Model


@guard_command
def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            "--to",
            metavar="FILE",
            help=".csv, .tsv, .parquet, .feather, .arrow, .xlsx, .sav, .dta, - for CSV, FOLDER/ for Parquet in parts, "
            "or a database URL; for two tables FOLDER/, a .duckdb file or a database URL.",
        ),
    ],
    rows: Annotated[
        int | None, typer.Option("--rows", "-n", help="Number of rows; default: about that of the table.")
    ] = None,
    seed: Seed = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given", metavar="COLUMN=VALUE", help="Condition; repeatable. VALUE: x, low..high, x,y or null."
        ),
    ] = None,
    level: Annotated[
        int | None, typer.Option("--level", help="Truncation level of a vine without noise (tvine, rvine, ...).")
    ] = None,
    persons: Annotated[bool, typer.Option("--persons", help="Draw -n whole persons, for longitudinal data.")] = False,
    iid: Annotated[
        bool,
        typer.Option(
            "--iid",
            help="Draw rows independently. Samples of over a million rows always are; smaller ones are spread evenly.",
        ),
    ] = False,
    binary: Annotated[
        bool,
        typer.Option(
            "--binary", help="Write zeros and ones, a column for each value, such as race=White (methods dpc and cop)."
        ),
    ] = False,
    implicates: Annotated[
        int | None,
        typer.Option(
            "--implicates",
            metavar="M",
            help="Write M tables, each from its own replica, as out-01.csv, out-02.csv, ...; see docs/inference.md.",
        ),
    ] = None,
    fill: Annotated[
        list[str] | None,
        typer.Option(
            "--fill",
            metavar="COLUMN=PATTERN",
            help="Fill an unmodelled column with random texts; `null` fills all of them with nulls.",
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="FILE", help="Use delimiter, encoding and decimal sign of this text file."),
    ] = None,
    safe_csv: SafeCsv = False,
    force: Force = False,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes that write the parts of a folder; default: one per core.")
    ] = None,
    part_rows: Annotated[
        int | None, typer.Option("--part-rows", help="Rows of each part of a folder; default: about a million.")
    ] = None,
    json: Json = False,
) -> None:
    """Draw synthetic rows from a model, at no privacy cost.

    \b
    Example:
      sklar sample people.sklar -n 1000 -o out.parquet --seed 7
      sklar sample people.sklar -n 500 -o - --given sex=F --given age=30..40
      sklar sample people.sklar -n 1000000000 -o people/ --seed 7
      sklar sample panel.sklar --persons -n 5000 -o panel.csv --given sex=F --given "rows of the person=3.."
      sklar sample people.sklar -n 1000 -o out.csv --fill null
      sklar sample people.sklar -n 1000 -o out.csv --like export.csv
      sklar sample people.sklar --to "postgresql://host/db?table=synthetic&like=visits"
      sklar sample tvine.sklar -n 1000 -o out.csv --level 5
      sklar sample people.sklar -o bits.parquet --binary
      sklar sample people.sklar -o people.csv --implicates 20

    An interrupted folder of parts is continued by the same command.
    """
    from sklar.pipeline.sampling.write import SampleRequest, sample_form, sample_to_file
    from sklar.sample.conditions import parse_given

    refuse_json_with_data(output, json)
    in_parts = _in_parts(output, workers=workers, part_rows=part_rows, fill=fill, binary=binary, persons=persons)
    fitted = _load_level(model, level)
    conditions = parse_given(fitted.schema, given or ()) or None
    style = None if like is None else _style(fitted, output, like)
    claim = fitted.claim
    if not claim.guarantee and not json:  # before the rows, since a reader of a pipe may stop early
        show.note(f"{claim.label}: these rows may reveal facts about single people.")
    if implicates is not None:
        other = bool(given or fill or iid or binary or persons or like)
        _implicates(fitted, output, implicates, rows, seed, safe_csv, force, json, other)
        return
    with row_bar("sampling rows", fitted.rows_estimate if rows is None else rows) as written:
        if in_parts:
            count = fitted.write_rows(
                output, rows, seed=seed, given=conditions, workers=workers, part_rows=part_rows, written=written
            )
        else:
            request = SampleRequest(
                rows=rows, seed=seed, given=conditions, form=sample_form(iid, binary), fill=_fill(fill), safe=safe_csv,
                persons=persons, force=force, style=style,
            )  # fmt: skip
            count = sample_to_file(fitted, output, request, written)
    if json:
        show.as_json({"output": output, "rows": count, "guarantee": claim.label})
        return
    if output != STANDARD_OUTPUT:
        show.print_line(f"{count:,} rows are in {output}.")


def _implicates(
    fitted: Model, output: str, count: int, rows: int | None, seed: int | None, safe: bool, force: bool, json: bool,
    more: bool,
) -> None:  # fmt: skip
    """Write tables from replicas, each to a file of its own."""
    from sklar.pipeline.estimation.making import implicates_to_files

    if more:
        raise typer.BadParameter("implicates are independent rows: conditions, fill and other forms are not available")
    with row_bar("making implicates", count) as done:
        paths = implicates_to_files(fitted, output, count, rows, seed=seed, safe=safe, force=force, done=done)
    if json:
        show.as_json({"outputs": list(paths), "guarantee": fitted.claim.label})
        return
    show.print_line(
        f"{len(paths)} implicates are in {paths[0]} to {paths[-1]}; combine their results with sklar.combine."
    )


def _load_level(path: str, level: int | None) -> Model:
    from sklar.pipeline.model import load

    if level is None:
        return load(path)
    from sklar.lab.baselines.levels import at_level

    return at_level(load(path), level)


def _style(fitted: Model, output: str, like: str) -> TextStyle:
    """Return the style of a text file, by its header line alone and the number formats of the model's schema."""
    from sklar.export.write import require_text_output
    from sklar.pipeline.fit.style import like_dialect, style_of
    from sklar.pipeline.sampling.write import has_two_tables
    from sklar.schema.reading import ReadOptions

    if not has_two_tables(fitted):  # two tables are always text files, in a folder
        require_text_output(output)
    return style_of(fitted.schema, like_dialect(like, ReadOptions()))


def _in_parts(
    output: str, *, workers: int | None, part_rows: int | None, fill: list[str] | None, binary: bool, persons: bool
) -> bool:
    """Return whether the output is a folder of parts; refuse options that do not match."""
    from sklar.export.parts import is_parts_output

    if not is_parts_output(output):
        if workers is not None or part_rows is not None:
            raise typer.BadParameter("parts are written to a folder: use -o FOLDER/", param_hint="--output")
        return False
    if fill:
        raise typer.BadParameter("fill is available for one file, not for a folder of parts", param_hint="--fill")
    if binary:
        raise typer.BadParameter("the binary table is written to one file, not to a folder", param_hint="--binary")
    return not persons


def _fill(texts: list[str] | None) -> str | dict[str, str | None] | None:
    """Parse patterns by column; `null` alone means nulls in all unmodelled columns."""
    if not texts or texts == ["null"]:
        return "null" if texts else None
    pairs = [text.partition("=") for text in texts]
    if not all(name.strip() and equals for name, equals, _ in pairs):
        raise typer.BadParameter("write COLUMN=PATTERN, or null alone", param_hint="--fill")
    return {name.strip(): None if pattern == "null" else pattern for name, _, pattern in pairs}
