"""sklar bundle, sklar verify and sklar key: make a release, verify it, and make the keys that sign it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import REFUSED, guard_command
from sklar.cli.terminal.options import Json, ModelFile


@guard_command
def make_bundle(
    model: ModelFile,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Output file, such as people.release.zip.")
    ],
    rows: Annotated[int | None, typer.Option("--rows", "-n", help="Synthetic rows to draw.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the rows; it is published with them.")] = 0,
    ledger: Annotated[
        str | None, typer.Option("--ledger", metavar="FILE", help="The ledger of the fit; an extract is included.")
    ] = None,
    sign: Annotated[
        str | None, typer.Option("--sign", metavar="KEY", help="Sign with this private key, made by `sklar key`.")
    ] = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="The public report to include, made by `sklar report`."),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Include the release as one interactive page; that takes about a minute.")
    ] = False,
    name: Annotated[str | None, typer.Option("--name", help="Name of the release.")] = None,
    json: Json = False,
) -> None:
    """Bundle a model and its documents for publication.

    It contains the model, synthetic rows (CSV and Parquet), the claim as a page to sign and as data, a data dictionary,
    metadata for catalogues and registries, a ledger extract, and a manifest of hashes that may be signed.

    \b
    Example:
      sklar bundle people.sklar -o people.release.zip --ledger people.ledger --sign custodian.key
    """
    from sklar.pipeline.bundle.bundle import bundle

    place = bundle(model, output, rows=rows, seed=seed, ledger=ledger, sign=sign, report=report, page=page, name=name)
    signed = "signed" if sign is not None else "not signed"
    text = f"The release is in {place} ({signed}). Anyone can check it: sklar verify {place}"
    show.print_result(json, {"bundle": str(place), "signed": sign is not None}, text)


@guard_command
def verify_release(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A model file, a bundle of `sklar bundle`, or a page of `sklar page`.")
    ],
    ledger: Annotated[
        str | None, typer.Option("--ledger", metavar="FILE", help="The ledger that the fit was charged to.")
    ] = None,
    rows: Annotated[
        str | None, typer.Option("--rows", metavar="FILE", help="Rows claimed to be drawn from the model.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="The seed of these rows.")] = None,
    given: Annotated[
        list[str] | None, typer.Option("--given", metavar="COLUMN=VALUE", help="A condition of these rows.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="PUB", help="The custodian's public key, to check the signature.")
    ] = None,
    json: Json = False,
) -> None:
    """Verify a release from published files alone.

    Recomputes epsilon and delta from the noise of the releases, fits the model again from them, finds the fit in the
    ledger, and draws the rows again. Exit code 1 if anything contradicts the claim.

    \b
    Example:
      sklar verify people.release.zip --key custodian.key.pub
      sklar verify people.sklar --ledger people.ledger --rows synthetic.csv --seed 7
    """
    from sklar.pipeline.verify.verify import verify

    found = verify(file, ledger, rows, seed, key, given=_parse_conditions(file, given) if given else None)
    if json:
        show.as_json(found.to_dict())
    else:
        for line in str(found).splitlines():
            show.print_paragraph(line)
    if not found.ok:
        raise typer.Exit(REFUSED)


def _parse_conditions(file: str, given: list[str]) -> dict[str, Any]:
    from sklar.pipeline.model import load
    from sklar.sample.conditions import parse_given

    return dict(parse_given(load(file).schema, given))


@guard_command
def make_keys(
    path: Annotated[str, typer.Argument(metavar="FILE", help="The private key; the public one is FILE.pub.")],
    json: Json = False,
) -> None:
    """Make a pair of keys to sign releases.

    The private key is readable by its owner only and never overwritten. Publish the public key.

    \b
    Example:
      sklar key custodian.key
    """
    from sklar.pipeline.bundle.keys import make_key

    private, public = make_key(path)
    text = f"The private key is in {private}: keep it secret. The public key is in {public}: publish it."
    show.print_result(json, {"private": str(private), "public": str(public)}, text)
