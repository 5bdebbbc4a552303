"""One request of a page: its table, its form, and its response."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sklar.errors import UsageError
from sklar.schema.address import has_secrets
from sklar.schema.table import Schema
from sklar.studio.folder import StudioFolder, TableEntry
from sklar.studio.jobs import Jobs
from sklar.studio.safety import Secrets

STEPS = ("columns", "budget", "fit", "look", "release", "history")
"""Steps of one table in order, as in addresses."""
TITLES = {
    "columns": "Columns", "budget": "Budget", "fit": "Fit", "look": "Results", "release": "Release",
    "history": "History",
}  # fmt: skip
"""Their titles."""
ENVIRONMENT = Environment(
    loader=PackageLoader("sklar.studio"), autoescape=True, trim_blocks=True, lstrip_blocks=True, auto_reload=False
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Studio:
    """State shared by all requests; everything that changes is on disk."""

    folder: StudioFolder
    jobs: Jobs
    known: Secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request.

    Attributes:
        path: Parameters of the address.
        form: Fields of the form; of several values of one name the last.
        file: An upload: its name and a file object.
        error: The error of the preceding action.
    """

    studio: Studio
    path: Mapping[str, str] = field(default_factory=dict[str, str])
    form: Mapping[str, str] = field(default_factory=dict[str, str])
    file: tuple[str, Any] | None = None
    error: str = ""

    @property
    def folder(self) -> StudioFolder:
        """The folder of the studio."""
        return self.studio.folder

    @property
    def jobs(self) -> Jobs:
        """The jobs of the studio."""
        return self.studio.jobs

    @property
    def table(self) -> TableEntry:
        """The table that the address names."""
        return self.folder.table(self.path["table"])

    @property
    def schema(self) -> Schema | None:
        """The schema of the table; None if there is none yet."""
        place = self.folder.root / self.table.schema
        return Schema.read(place) if place.exists() else None

    @property
    def model(self) -> int | None:
        """The model that the address names, or the latest; None if there is none at all."""
        models = self.folder.models(self.table)
        if "model" not in self.path:
            return models[0] if models else None
        found = next((number for number in models if str(number) == self.path["model"]), None)
        if found is None:
            raise UsageError("there is no such model")
        return found

    @property
    def known_model(self) -> int:
        """The model that the address names, or the latest; refused if there is none."""
        if (number := self.model) is None:
            raise UsageError("there is no model yet: fit one first")
        return number

    def text(self, name: str) -> str:
        """Return the text of a field."""
        return self.form.get(name, "").strip()

    def number(self, name: str, words: str) -> float:
        """Return the number in a field."""
        try:
            return float(self.text(name))
        except ValueError:
            raise UsageError(f"{words} must be a number, as 1 or 0.5") from None

    def whole(self, name: str, words: str) -> int | None:
        """Return the whole number in a field; None if it is empty."""
        text = self.text(name).replace(",", "").replace("_", "")
        if not text:
            return None
        if not text.isdecimal() or len(text) > 12:
            raise UsageError(f"{words} must be a whole number, as 1000")
        return int(text)

    def show(self, template: str, *, step: str = "", **values: Any) -> Response:
        """Render a template; for a table, with its steps and its latest job."""
        entry = self.table if "table" in self.path else None
        finished = set[str]() if entry is None else self._finished(entry)
        job = None if entry is None else self.jobs.running(entry.name) or self.jobs.latest(entry.name)
        page = ENVIRONMENT.get_template(template).render(
            step=step, steps=STEPS, titles=TITLES, finished=finished, table=entry, job=job,
            time_left="" if job is None else self.jobs.describe_time_left(job),
            secret=self.studio.known.form, error=self.error,
            said={name: text for name, text in self.form.items() if not has_secrets(text)},
            folder=self.folder.root.name, **values,
        )  # fmt: skip
        return HTMLResponse(page, status_code=400 if self.error else 200)

    def _finished(self, entry: TableEntry) -> set[str]:
        """Return the steps that are done, as their files show."""
        root, models = self.folder.root, self.folder.models(entry)
        done: set[str] = set()
        with suppress(OSError):
            text = (root / entry.schema).read_text(encoding="utf-8")
            done |= {"columns"} if '"from-rows"' not in text else set()
        done |= {"budget"} if (root / entry.ledger).is_file() else set()
        done |= {"fit"} if models else set()
        released = any((root / f"{entry.model(number)}.release.zip").is_file() for number in models)
        return done | ({"look", "release"} if released else set())


Page = Callable[[Visit], Response]


def go_to(*parts: str | int, at: str = "") -> Response:
    """Redirect the browser, so that a reload does not repeat an action."""
    address = "/" + "/".join(quote(str(part), safe="") for part in parts)
    return RedirectResponse(f"{address}#{at}" if at else address, status_code=303)


def rows_of(text: str, most: int) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return the header and first rows of a synthetic CSV file."""
    import csv
    import io

    lines = list(csv.reader(io.StringIO(text)))
    return (lines[0] if lines else []), [*lines[1 : most + 1]]
