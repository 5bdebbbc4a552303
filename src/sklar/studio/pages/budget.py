"""Step two: accuracy and risk of each epsilon, then the cap, which is set once, and the fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from sklar.accounting.budget import risk
from sklar.accounting.composition.zcdp import epsilon_to_rho
from sklar.accounting.ledger import LedgerView, create_ledger, fit_total, read_ledger
from sklar.errors import SklarError, UsageError
from sklar.schema.table import Schema
from sklar.studio import commands
from sklar.studio.jobs import StudioJob
from sklar.studio.visit import Visit, go_to

EPSILONS = "0.3, 1, 3, 6"
"""Default epsilons of a plan, from strong to weak privacy."""
MAX_EPSILONS = 6
USUAL_EPSILON, USUAL_CAP = 1.0, 3.0
"""Suggestions for data on people: one fit at the first leaves room for two more under the second."""
CAP_DELTA = 1e-8
"""Default delta of a cap: ten fits at the default delta of a fit."""
DELTA = 1e-9
"""Delta of the fits whose prices are shown: the default of a fit."""
PRIOR_PROBABILITIES = (0.01, 0.1, 0.5)
"""Probabilities of a belief before a release, for which the risk is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedEpsilon:
    """One epsilon: expected accuracy, risk, and whether the ledger admits it."""

    epsilon: float
    expect: str
    risks: tuple[tuple[str, str], ...]
    price: str
    admitted: bool


def page(visit: Visit) -> Response:
    """Show the ledger and the latest plan."""
    entry = visit.table
    view, broken = ledger_of(visit)
    planned = visit.jobs.latest(entry.name, "plan")
    found = planned.result() if planned is not None and planned.state == "done" else None
    example = commands.plan(entry, [0.3, 1, 3, 6], ("rows", 10_000), commands.FitForm(epsilon=1))
    schema = visit.schema
    person = None if schema is None else schema.person
    make = ["ledger", "create", entry.ledger, "--name", entry.name, "--epsilon", "3", "--delta", "1e-8"]
    lines = commands.Lines(
        commands=[commands.quote_typed(make), *(planned or example).typed],
        python=(
            "import sklar",
            f"ledger = sklar.Ledger.create({entry.ledger!r}, name={entry.name!r}, epsilon=3, delta=1e-8)",
            "ledger.left(delta=1e-9)",
            f"sklar.plan(sklar.Schema.read({entry.schema!r}), epsilon=[0.3, 1, 3, 6], rows=10_000)",
            "sklar.risk(1.0, prior=0.01)",
        ),
    )
    return visit.show(
        "budget.html", step="budget", view=view, broken=broken, fits=fits_of(view), lines=lines, epsilons=EPSILONS,
        choices=choices(found, view), left=left_of(view), schema=schema, person=person, audit=audit_of(visit),
        guess=_last_guess(planned), open_questions=0 if schema is None else len(schema.questions()),
        usual=USUAL_EPSILON, usual_cap=USUAL_CAP, paid=[] if schema is None else paid_columns(schema),
        columns=() if schema is None else schema.modelled,
    )  # fmt: skip


def start_plan(visit: Visit, schema: Schema, preview: Mapping[str, Any] | None) -> None:
    """Start checking and planning with the number of rows, or persons, that the draft saw, rounded."""
    if preview is None or visit.jobs.running(visit.table.name) is not None:
        return
    persons = schema.person is not None and preview["persons"]
    seen = int(preview["persons"] if persons else preview["rows"])
    unit = ("persons" if persons else "rows", int(float(f"{seen:.2g}")))
    epsilons = [float(part) for part in EPSILONS.split(",")]
    visit.jobs.start(
        visit.table.name, commands.plan(visit.table, epsilons, unit, commands.FitForm(epsilon=epsilons[0]))
    )


def audit_of(visit: Visit) -> dict[str, Any] | None:
    """Return how the rows of the table are read, exactly, from the latest check; it is for the custodian alone."""
    job = visit.jobs.latest(visit.table.name, "plan")
    found = None if job is None or job.commands[0][:2] != ("schema", "check") else job.result(0)
    return found if found and "audit" in found else None


def paid_columns(schema: Schema) -> list[str]:
    """Return the columns of which some facts are measured and paid for."""
    return sorted({name for name, _ in schema.facts_by_provenance("pay")})


def _last_guess(job: StudioJob | None) -> str:
    """Return the number of rows or persons of the latest plan."""
    words = () if job is None else job.commands[-1]
    return next((words[at + 1] for at, word in enumerate(words) if word in ("--rows", "--persons")), "")


def ledger_of(visit: Visit) -> tuple[LedgerView | None, str]:
    """Return the ledger of the table, or the reason why it cannot be read."""
    try:
        return read_ledger(visit.folder.require_ledger(visit.table)), ""
    except SklarError as error:
        return None, str(error) if (visit.folder.root / visit.table.ledger).exists() else ""


def spent_on(visit: Visit) -> bool:
    """Return whether the ledger of the table contains a fit, or cannot be read."""
    view, broken = ledger_of(visit)
    return bool(broken or (view is not None and view.fits))


def left_of(view: LedgerView | None) -> str:
    """Return what one more fit may spend, as text."""
    return "" if view is None or view.header.cap is None else f"Left: {view.describe_left()}."


def fits_of(view: LedgerView | None) -> list[dict[str, Any]]:
    """Return what was spent, fit by fit."""
    if view is None:
        return []
    alive = {fit.id: "running" for fit in view.fits if fit.id in view.alive}
    return [
        {
            "id": fit.id, "opened": fit.opened, "method": fit.method, "epsilon": (total := fit_total(fit)).epsilon,
            "delta": total.delta, "state": "finished" if fit.closed else alive.get(fit.id, "unfinished"),
        }
        for fit in view.fits
    ]  # fmt: skip


def choices(found: dict[str, Any] | None, view: LedgerView | None) -> list[PricedEpsilon]:
    """Return the epsilons of a plan with their accuracy and risk."""
    planned = [] if found is None else list(zip(found["fits"], found["words"], strict=False))
    return [
        PricedEpsilon(
            epsilon=fit["epsilon"],
            expect=words.partition(" expect, typically: ")[2] or words,
            risks=tuple((f"{prior:.0%}", at_most(risk(fit["epsilon"], prior))) for prior in PRIOR_PROBABILITIES),
            price=price_of(fit["epsilon"], view),
            admitted=view is None or fit["epsilon"] <= view.left_epsilon(DELTA) * (1 + 1e-9),
        )
        for fit, words in planned
    ]


def at_most(chance: float) -> str:
    """Return a bound in percent, rounded up."""
    return f"{math.ceil(1000 * chance) / 10:g}%"


def price_of(epsilon: float, view: LedgerView | None) -> str:
    """Return the share of the remaining budget that a fit would spend, in the measure that the ledger adds up."""
    left = None if view is None else view.left
    if view is None or left is None:
        return "There is no ledger yet." if view is None else "The ledger has no cap: any fit is possible."
    if epsilon > view.left_epsilon(DELTA) * (1 + 1e-9):
        return "It exceeds what is left in the ledger."
    measure, amount = left
    share = (epsilon if measure == "epsilon" else epsilon_to_rho(epsilon, DELTA)) / amount if amount else 1.0
    return f"About {min(share, 1):.0%} of what is left." if share >= 0.005 else "Below 1% of what is left."


def make_ledger(visit: Visit) -> Response:
    """Create the ledger, with a cap."""
    create_capped(visit, visit.number("epsilon", "the cap"))
    return go_to("t", visit.table.name, "budget")


def create_capped(visit: Visit, epsilon: float) -> None:
    """Create the ledger of the table; a cap is never raised later."""
    entry = visit.table
    if (visit.folder.root / entry.ledger).exists():
        raise UsageError(f"the ledger {entry.ledger} already exists, and cannot be replaced")
    delta = visit.number("cap_delta", "the cap's delta") if visit.text("cap_delta") else CAP_DELTA
    relation: Any = visit.text("neighbours") or "add-remove"
    create_ledger(visit.folder.root / entry.ledger, visit.text("name") or entry.name, epsilon, delta, relation)


def plan(visit: Visit) -> Response:
    """Start a plan."""
    schema = visit.schema
    persons = schema is not None and schema.person is not None
    what = "persons" if persons else "rows"
    number = visit.whole("rows", f"the guess at the number of {what}")
    if number is None:
        raise UsageError(f"enter a guess at the number of {what}, as 10000")
    try:
        epsilons = sorted({float(part) for part in visit.text("epsilons").split(",") if part.strip()})
    except ValueError:
        raise UsageError("write epsilons as 0.5, 1, 3") from None
    if not 0 < len(epsilons) <= MAX_EPSILONS:
        raise UsageError(f"enter one to {MAX_EPSILONS} epsilons, as 0.5, 1, 3")
    settings = commands.FitForm(epsilon=epsilons[0], target=visit.text("target"))
    visit.jobs.start(visit.table.name, commands.plan(visit.table, epsilons, (what, number), settings))
    return go_to("t", visit.table.name, "budget", at="plan")
