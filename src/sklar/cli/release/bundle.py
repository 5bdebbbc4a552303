"""sklar bundle."""

from __future__ import annotations

from typing import Annotated

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guarded
from sklar.cli.terminal.options import Json

NAME = "bundle"


@guarded
def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The bundle, as people.release.zip.")],
    rows: Annotated[int | None, typer.Option("--rows", "-n", help="Synthetic rows to draw.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the rows; published with them.")] = 0,
    ledger: Annotated[
        str | None, typer.Option("--ledger", metavar="FILE", help="The ledger of the fit; goes along up to its end.")
    ] = None,
    sign: Annotated[str | None, typer.Option("--sign", metavar="KEY", help="A private key of `sklar key`.")] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="A page that may be published, to go along.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="What the release is called.")] = None,
    json: Json = False,
) -> None:
    """Put all that is published about a model into one file.

    Model, synthetic rows (CSV and Parquet), the claim as a page to sign and as data, a data dictionary, metadata for
    catalogues and registries, a ledger extract, and a manifest of hashes that may be signed.

    \b
    Example:
      sklar bundle people.sklar -o people.release.zip --ledger people.ledger --sign custodian.key
    """
    from sklar.pipeline.bundle.bundle import bundle

    place = bundle(model, output, rows=rows, seed=seed, ledger=ledger, sign=sign, report=report, name=name)
    if json:
        show.as_json({"bundle": str(place), "signed": sign is not None})
        return
    signed = "signed" if sign is not None else "not signed"
    show.line(f"The release is in {place} ({signed}). Anyone can check it: sklar verify {place}")
