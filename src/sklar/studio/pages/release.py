"""Step five: the release, in one file that anyone can verify."""

from __future__ import annotations

from starlette.responses import Response

from sklar.studio import commands
from sklar.studio.pages.look import jobs_of_model
from sklar.studio.visit import Visit, go_to


def page(visit: Visit) -> Response:
    """Show the bundle of the named or latest model, and its verification."""
    entry, models, number = visit.table, visit.folder.models(visit.table), visit.model
    if number is None:
        return visit.show("release.html", step="release", model=None, models=(), lines=commands.Lines())
    name, signed = entry.model(number), (visit.folder.root / commands.KEY).exists()
    work = commands.release(entry, number, commands.ReleaseForm(signed=signed, reported=_reported(visit, name)))
    ran = jobs_of_model(visit, name, "release")
    last = ran[0] if ran else None
    lines = commands.Lines(
        commands=(*(() if signed else commands.key().typed), *work.typed),
        python=(
            "import sklar",
            f'sklar.make_key("{commands.KEY}")',
            f'sklar.bundle("{name}.sklar", "{name}.release.zip", seed=0, ledger={entry.ledger!r}, '
            f'report="{name}.public.html", sign="{commands.KEY}")',
            f'sklar.verify("{name}.release.zip", ledger={entry.ledger!r}, key="{commands.KEY}.pub").ok',
        ),
    )
    checked = None if last is None or last.running else last.result()
    return visit.show(
        "release.html", step="release", model=number, models=models, name=name, signed=signed, lines=lines,
        bundle=f"{name}.release.zip" if visit.jobs.has_made(f"{name}.release.zip") else None, checked=checked,
        public_key=f"{commands.KEY}.pub" if signed else None,
        key_served=visit.jobs.has_made(f"{commands.KEY}.pub"),
    )  # fmt: skip


def key(visit: Visit) -> Response:
    """Make a pair of keys."""
    visit.jobs.start(visit.table.name, commands.key())
    return go_to("t", visit.table.name, "release")


def release(visit: Visit) -> Response:
    """Write the report and the bundle, and verify it."""
    signed = visit.text("signed") == "yes" and (visit.folder.root / commands.KEY).exists()
    settings = commands.ReleaseForm(
        rows=visit.whole("rows", "the number of rows"), seed=visit.whole("seed", "the seed") or 0, signed=signed,
        reported=_reported(visit, visit.table.model(visit.known_model)),
    )  # fmt: skip
    visit.jobs.start(visit.table.name, commands.release(visit.table, visit.known_model, settings))
    return go_to("t", visit.table.name, "release", visit.known_model)


def _reported(visit: Visit, name: str) -> bool:
    """Return whether the public report of a model exists and was written by a job."""
    page = f"{name}.public.html"
    return visit.jobs.has_made(page) and (visit.folder.root / page).is_file()
