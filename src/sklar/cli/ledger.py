"""sklar ledger create, show and verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import Json

if TYPE_CHECKING:
    from sklar.accounting.ledger import LedgerView

app = typer.Typer(
    help="Create, show and verify the privacy ledger of a dataset.", no_args_is_help=True, rich_markup_mode=None
)

LedgerPath = Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger file.")]


@app.command("create")
@guard_command
def create(
    ledger: LedgerPath,
    name: Annotated[str, typer.Option("--name", help="Name of the dataset; do not derive it from the rows.")],
    epsilon: Annotated[float | None, typer.Option("--epsilon", "-e", help="Cap on the total of all fits.")] = None,
    delta: Annotated[float | None, typer.Option("--delta", help="Delta of the cap; 0 for pure epsilon.")] = None,
    neighbours: Annotated[
        str, typer.Option("--neighbours", help="Neighbouring tables: add-remove or replace.")
    ] = "add-remove",
    set_aside: Annotated[
        float | None,
        typer.Option("--set-aside", metavar="DELTA", help="Part of the cap's delta kept for finding labels."),
    ] = None,
    json: Json = False,
) -> None:
    """Create a ledger that caps all fits of a dataset.

    \b
    Example:
      sklar ledger create people.ledger --name people --epsilon 3 --delta 1e-8
    """
    from sklar.accounting.ledger import create_ledger, read_ledger

    relation: Any = neighbours
    create_ledger(ledger, name, epsilon, delta, relation, set_aside)
    capped = "without a cap" if epsilon is None else f"with a cap of epsilon {epsilon:g} at delta {delta:g}"
    text = f"{ledger}: a ledger for '{name}' {capped}, {neighbours} neighbours."
    show.print_result(json, _collect_facts(read_ledger(ledger)), text)


@app.command("show")
@guard_command
def show_ledger(
    ledger: LedgerPath,
    delta: Annotated[
        float | None, typer.Option("--delta", help="Show what is left for a fit with this delta; default: 1e-9.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what was spent and what one more fit may spend.

    \b
    Example:
      sklar ledger show people.ledger
    """
    from sklar.accounting.ledger import read_ledger

    view = read_ledger(ledger)
    facts = _collect_facts(view, delta)
    if json:
        show.as_json(facts)
        return
    show.print_line(
        f"{facts['name']}: {facts['neighbours']} neighbours, {_describe_cap(facts)}; since {facts['created']}."
    )
    if facts["fits"]:
        show.print_table(
            ["fit", "opened", "method", "epsilon", "delta", "steps", "state"],
            [
                (f["id"], f["opened"], f["method"], f["epsilon"], f["delta"], f["steps"], f["state"])
                for f in facts["fits"]
            ],
        )
    total = facts["total"]
    show.print_line(
        f"{_begin_total(len(facts['fits']))}: epsilon {show.format_number(total['epsilon'])} "
        f"at delta {show.format_number(total['delta'])} (rho {show.format_number(total['rho'])})."
    )
    if facts["left"] is not None:
        show.print_line(f"Left: {view.describe_left(delta)}.")


@app.command("verify")
@guard_command
def verify(
    ledger: LedgerPath,
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="HASH", help="A hash noted earlier, to detect that lines were cut off."),
    ] = None,
    json: Json = False,
) -> None:
    """Check that no line was changed, moved or removed.

    \b
    Example:
      sklar ledger verify people.ledger
    """
    from sklar.accounting.ledger import verify_ledger

    view = verify_ledger(ledger, head)
    data = {"ledger": ledger, "valid": True, "entries": len(view.entries), "head": view.head, "torn": view.torn}
    text = f"{ledger}: {len(view.entries)} entries, unbroken chain. Hash of the last line: {view.head}"
    cut = "The last line is incomplete: writing it was interrupted. It had no effect and will be dropped."
    show.print_result(json, data, text, *([cut] if view.torn else []))


def _collect_facts(view: LedgerView, delta: float | None = None) -> dict[str, Any]:
    from sklar.accounting.ledger import common_delta, fit_total

    total, left, cap = view.totals(), view.left, view.header.cap
    at = common_delta(view.header, view.fits) if delta is None else delta
    return {
        "name": view.header.name,
        "created": view.header.created,
        "neighbours": view.header.neighbours,
        "cap": None if cap is None else {"epsilon": cap.epsilon, "delta": cap.delta},
        "fits": [
            {**_fit(fit), **_collect_amounts(fit_total(fit)), "state": _name_state(view, fit)} for fit in view.fits
        ],
        "total": _collect_amounts(total),
        "left": None if left is None else _describe_left(view, at, left),
        "head": view.head,
    }


def _describe_left(view: LedgerView, delta: float, left: tuple[str, float]) -> dict[str, Any]:
    return {"epsilon": view.left_epsilon(delta), "delta": delta, "measure": left[0], "amount": left[1]}


def _fit(fit: Any) -> dict[str, Any]:
    return {"id": fit.id, "opened": fit.opened, "method": fit.method, "steps": len(fit.steps)}


def _collect_amounts(total: Any) -> dict[str, Any]:
    return {"epsilon": total.epsilon, "delta": total.delta, "rho": total.rho, "accountant": total.accountant}


def _name_state(view: LedgerView, fit: Any) -> str:
    if fit.closed:
        return "finished"
    return "running" if fit.id in view.alive else "unfinished"


def _begin_total(fits: int) -> str:
    return "This fit" if fits == 1 else f"All {fits} fits together"


def _describe_cap(facts: dict[str, Any]) -> str:
    cap = facts["cap"]
    return "no cap" if cap is None else f"cap epsilon {cap['epsilon']:g} at delta {cap['delta']:g}"
