"""Step four: the quality of a model: its claim, both reports, synthetic rows under conditions, its vine."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from sklar.errors import UsageError
from sklar.schema.persons.linked import has_linked_rows
from sklar.studio import commands
from sklar.studio.jobs import StudioJob
from sklar.studio.pages.columns import is_linked
from sklar.studio.visit import Visit, go_to, rows_of

PREVIEWED_ROWS = 12
"""Synthetic rows on the page; the file has all."""
PREVIEW_BYTES = 200_000
"""Bytes of a file that are read for the preview."""
FORMS, LINKED_FORMS = ("csv", "parquet"), ("sqlite",)
"""Formats of a sample of one table, and of two."""


def page(visit: Visit) -> Response:
    """Show the named model, or the latest."""
    entry, models, number = visit.table, visit.folder.models(visit.table), visit.model
    if number is None:
        return visit.show("look.html", step="look", model=None, models=(), lines=commands.Lines())
    name = entry.model(number)
    samples = [job for job in visit.jobs.of(entry.name, "sample") if job.commands[0][1] == f"{name}.sklar"]
    drawn = [job.outputs[0] for job in samples if job.state == "done"] + [
        f"{name}.sample-1.{form}" for form in ("csv", "sqlite")
    ]
    drawn = [one for one in drawn if visit.jobs.has_made(one) and (visit.folder.root / one).exists()]
    shown = next((one for one in drawn if one.endswith(".csv")), None)
    header, rows = _preview(visit, shown)
    schema = visit.schema
    made = {what: visit.jobs.has_made(file) for what, file in _files(name).items()}
    lines = commands.Lines(
        commands=(
            commands.quote_typed(["report", f"{name}.sklar", "-o", f"{name}.public.html"]),
            *commands.evaluate(entry, number, "").typed,
            *commands.write_page(entry, number).typed,
            *commands.picture(entry, number).typed,
            *(samples[0] if samples else _example(visit, number)).typed,
        ),
        python=(
            "import sklar",
            f'model = sklar.load("{name}.sklar")',
            "print(model.claim)",
            f'model.report("{name}.public.html")',
            f'model.page("{name}.page.html", ledger={entry.ledger!r})',
            f'model.plot("{name}.svg")',
            'table = model.sample(1_000, seed=7, given={"sex": "F"})',
            f'sklar.evaluate({entry.source!r}, "{name}.synthetic.csv", {entry.schema!r}, claim=model.claim'
            f'{commands.read_in_python(entry)}).html("{name}.custodian.html")',
        ),
    )
    return visit.show(
        "look.html", step="look", model=number, models=models, name=name, claim=claim_of(visit, name), made=made,
        header=header, rows=rows, shown=shown, drawn=drawn, lines=lines, linked=is_linked(schema),
        has_vine=schema is None or not has_linked_rows(schema, schema.person),
        forms=LINKED_FORMS if is_linked(schema) else FORMS,
    )  # fmt: skip


def claim_of(visit: Visit, name: str) -> str | None:
    """Return the claim of a model, from the latest command that fitted or inspected it."""
    for job in visit.jobs.of(visit.table.name):
        for at, words in enumerate(job.commands):
            own = words[0] in ("fit", "inspect") and f"{name}.sklar" in words
            if own and (found := job.result(at)) is not None:
                return found["claim"]
    return None


def _files(name: str) -> dict[str, str]:
    kinds = {"public": "public.html", "custodian": "custodian.html", "page": "page.html", "picture": "svg"}
    return {kind: f"{name}.{ending}" for kind, ending in kinds.items()}


def _example(visit: Visit, number: int) -> commands.Work:
    return commands.sample(visit.table, number, 2, commands.SampleForm(rows=1000, seed=7, given=("sex=F",)))


def _preview(visit: Visit, name: str | None) -> tuple[Any, Any]:
    if name is None:
        return (), ()
    with (visit.folder.root / name).open(encoding="utf-8", newline="") as file:
        return rows_of(file.read(PREVIEW_BYTES), PREVIEWED_ROWS)


def sample(visit: Visit) -> Response:
    """Draw rows, optionally under conditions."""
    given = [line.strip() for line in visit.form.get("given", "").splitlines() if line.strip()]
    if any("=" not in line for line in given):
        raise UsageError("write one condition per line, as sex=F or age=30..40")
    forms = LINKED_FORMS if is_linked(visit.schema) else FORMS
    form = visit.text("form") or forms[0]
    if form not in forms:
        raise UsageError(f"the format of a sample must be {' or '.join(forms)}")
    settings = commands.SampleForm(
        rows=visit.whole("rows", "the number of rows"), seed=visit.whole("seed", "the seed"), given=given, form=form
    )
    number = visit.folder.next_sample(visit.table, visit.known_model)
    visit.jobs.start(visit.table.name, commands.sample(visit.table, visit.known_model, number, settings))
    return _back(visit)


def evaluate(visit: Visit) -> Response:
    """Compare with the real rows, for the custodian."""
    visit.jobs.start(visit.table.name, commands.evaluate(visit.table, visit.known_model, visit.text("target")))
    return _back(visit)


def interactive_page(visit: Visit) -> Response:
    """Write the release as one interactive page."""
    visit.jobs.start(visit.table.name, commands.write_page(visit.table, visit.known_model))
    return _back(visit)


def picture(visit: Visit) -> Response:
    """Draw the vine."""
    visit.jobs.start(visit.table.name, commands.picture(visit.table, visit.known_model))
    return _back(visit)


def _back(visit: Visit) -> Response:
    return go_to("t", visit.table.name, "look", visit.known_model)


def jobs_of_model(visit: Visit, name: str, kind: str) -> list[StudioJob]:
    """Return the jobs of one kind about a model."""
    return [job for job in visit.jobs.of(visit.table.name, kind) if any(f"{name}.sklar" in w for w in job.commands)]
