"""sklar verify."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import REFUSED, guarded
from sklar.cli.terminal.options import Json

NAME = "verify"


@guarded
def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A model file, or a bundle of `sklar bundle`.")],
    ledger: Annotated[
        str | None, typer.Option("--ledger", metavar="FILE", help="The ledger that the fit was charged to.")
    ] = None,
    rows: Annotated[
        str | None, typer.Option("--rows", metavar="FILE", help="Rows that are said to be drawn from the model.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="The seed they are said to be drawn with.")] = None,
    given: Annotated[
        list[str] | None, typer.Option("--given", metavar="COLUMN=VALUE", help="A condition they were drawn under.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="PUB", help="The custodian's public key: who signed the bundle?")
    ] = None,
    json: Json = False,
) -> None:
    """Check a release with nothing but what was published.

    Recomputes epsilon and delta from the noise of the releases, fits the model again from them, looks for the fit in
    the ledger, and draws the rows again. Ends with exit code 1 if anything is not as it says.

    \b
    Example:
      sklar verify people.release.zip --key custodian.key.pub
      sklar verify people.sklar --ledger people.ledger --rows synthetic.csv --seed 7
    """
    from sklar.pipeline.verify.verify import verify

    found = verify(file, ledger, rows, seed, key, given=_conditions(file, given) if given else None)
    if json:
        show.as_json(found.to_dict())
    else:
        for line in str(found).splitlines():
            show.paragraph(line)
    if not found.ok:
        raise typer.Exit(REFUSED)


def _conditions(file: str, given: list[str]) -> dict[str, Any]:
    from sklar.pipeline.model import load
    from sklar.sample.conditions import parse_given

    return dict(parse_given(load(file).schema, given))
