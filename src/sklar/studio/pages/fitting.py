"""Step three: the fit, in a process of its own, charged to the ledger before rows are read."""

from __future__ import annotations

from starlette.responses import Response

from sklar.errors import UsageError
from sklar.studio import commands
from sklar.studio.pages.budget import create_capped, fits_of, ledger_of, left_of, paid_columns
from sklar.studio.pages.columns import is_linked, read_schema
from sklar.studio.visit import Visit, go_to


def page(visit: Visit) -> Response:
    """Show the fits so far, the model that came out last, and a form for another one."""
    entry, schema = visit.table, visit.schema
    view, _ = ledger_of(visit)
    number = visit.folder.next_model(entry)
    example = commands.FitForm(epsilon=1)
    work = commands.fit(entry, number, example)
    latest = visit.jobs.latest(entry.name, "fit")
    lines = commands.Lines(
        commands=(latest or work).typed,
        python=commands.fit_in_python(entry, entry.model(number), example),
    )
    return visit.show(
        "fit.html", step="fit", lines=lines, left=left_of(view), view=view, fits=fits_of(view),
        paid=[] if schema is None else paid_columns(schema), models=visit.folder.models(entry),
        columns=() if schema is None else schema.modelled, person=None if schema is None else schema.person,
        open_questions=None if schema is None else len(schema.questions()),
    )  # fmt: skip


def fit(visit: Visit) -> Response:
    """Start a fit, after refusing what can be refused without it; the first one sets the cap."""
    entry, schema = visit.table, read_schema(visit)
    schema.require_confirmed()
    settings = commands.FitForm(
        epsilon=visit.number("epsilon", "epsilon"),
        delta=visit.number("delta", "delta") if visit.text("delta") else 1e-9,
        method=visit.text("method"),
        target=visit.text("target"),
        rows_per_person=visit.whole("rows_per_person", "the number of rows of a person") or 1,
        check_share=visit.number("check_share", "the share held back") if visit.text("check_share") else 0.0,
        linked=is_linked(schema),
    )
    if visit.text("cap") and not (visit.folder.root / entry.ledger).exists():
        cap = visit.number("cap", "the cap")
        if not 0 < settings.epsilon <= cap:
            raise UsageError(f"the cap must be at least the epsilon of the fit: {cap:g} is below {settings.epsilon:g}")
        if (job := visit.jobs.running(entry.name)) is not None:
            raise UsageError(f"wait for this table or cancel its job: {job.label} is running")
        create_capped(visit, cap)
    visit.folder.require_ledger(entry)
    visit.jobs.start(entry.name, commands.fit(entry, visit.folder.next_model(entry), settings))
    return go_to("t", entry.name, "fit")
