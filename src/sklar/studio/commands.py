"""The commands of each step of the studio, as for the terminal, and the same in Python.

Pages show these commands and jobs run them, so that both are the same.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sklar.studio.folder import TableEntry

KEY = "custodian.key"
"""The private key of a folder; the public one is beside it."""
PREVIEW_ROWS = 200
"""Rows of the first sample, drawn right after a fit for preview."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Commands that a job runs one after another.

    Attributes:
        kind: The step that it belongs to.
        label: Short description.
        commands: Words of each command, without `sklar` and `--json`.
        outputs: Files that exist when all of them succeeded.
    """

    kind: str
    label: str
    commands: tuple[tuple[str, ...], ...]
    outputs: tuple[str, ...] = ()

    @property
    def typed(self) -> tuple[str, ...]:
        """The commands as typed at a terminal."""
        return tuple(quote_typed(words) for words in self.commands)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitForm:
    """The settings of a fit, from a form; `linked` states that the schema is of two tables."""

    epsilon: float
    delta: float = 1e-9
    method: str = ""
    target: str = ""
    rows_per_person: int = 1
    check_share: float = 0.0
    linked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleForm:
    """The settings of a sample, from a form."""

    rows: int | None = None
    seed: int | None = None
    given: Sequence[str] = ()
    form: str = "csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseForm:
    """The settings of a bundle, from a form; `reported` states that the public report exists."""

    rows: int | None = None
    seed: int = 0
    signed: bool = False
    reported: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A step as commands at a terminal and as lines of Python."""

    commands: Sequence[str] = field(default_factory=tuple[str, ...])
    python: Sequence[str] = field(default_factory=tuple[str, ...])


def quote_typed(words: Sequence[str]) -> str:
    """Return a command as typed at a terminal."""
    return shlex.join(["sklar", *words])


def format_exact(number: float) -> str:
    """Return a number as text without rounding: the requested amount is charged."""
    return repr(number).removesuffix(".0")


def reading(entry: TableEntry) -> list[str]:
    """Return the options for reading the table."""
    given = entry.reading
    words = [word for key in ("delimiter", "encoding") if given.get(key) for word in (f"--{key}", given[key])]
    nulls = [text for text in given.get("null_values", "").split(",") if text]
    return words + [word for text in nulls for word in ("--null-value", text)]


def draft(entry: TableEntry) -> Work:
    """Draft the schema."""
    words = ("schema", "draft", entry.source, "-o", entry.schema, "--preview", *reading(entry))
    return Work(kind="draft", label="drafting a schema", commands=(words,), outputs=(entry.schema,))


def plan(entry: TableEntry, epsilons: Sequence[float], unit: tuple[str, int], fit: FitForm) -> Work:
    """Check that the schema reads the rows, for the custodian, and forecast accuracy.

    Args:
        unit: What is protected, "rows" or "persons", and a guess at their number.
    """
    wanted = ",".join(format_exact(one) for one in epsilons)
    check = ("schema", "check", entry.schema, entry.source, "--audit", *reading(entry))
    words = ["plan", entry.schema, "-e", wanted, f"--{unit[0]}", str(unit[1]), *_settings(fit, plan=True)]
    return Work(kind="plan", label="checking and planning", commands=(check, tuple(words)))


def fit(entry: TableEntry, model: int, settings: FitForm) -> Work:
    """Fit, write the public report and draw a few synthetic rows."""
    name = entry.model(model)
    words = ["fit", entry.source, "-s", entry.schema, "-e", format_exact(settings.epsilon), *_settings(settings)]
    words += ["--ledger", entry.ledger, *reading(entry), "-o", f"{name}.sklar"]
    page, rows = f"{name}.public.html", f"{name}.sample-1.{'sqlite' if settings.linked else 'csv'}"
    look = ("report", f"{name}.sklar", "-o", page)
    sample = ("sample", f"{name}.sklar", "-n", str(PREVIEW_ROWS), "--seed", "1", "-o", _target(rows))
    return Work(
        kind="fit", label=f"fitting {name}", commands=(tuple(words), look, sample),
        outputs=(f"{name}.sklar", page, rows),
    )  # fmt: skip


def picture(entry: TableEntry, model: int) -> Work:
    """Show claim and content of a model, and draw its vine."""
    name = entry.model(model)
    words = ("inspect", f"{name}.sklar", "--plot", f"{name}.svg")
    return Work(kind="picture", label=f"drawing {name}", commands=(words,), outputs=(f"{name}.svg",))


def write_page(entry: TableEntry, model: int) -> Work:
    """Write the release as one interactive page."""
    name = entry.model(model)
    words = ("page", f"{name}.sklar", "-o", f"{name}.page.html", "--ledger", entry.ledger)
    return Work(kind="page", label=f"writing the page of {name}", commands=(words,), outputs=(f"{name}.page.html",))


def sample(entry: TableEntry, model: int, number: int, settings: SampleForm) -> Work:
    """Draw rows."""
    name = entry.model(model)
    output = f"{name}.sample-{number}.{settings.form}"
    words = ["sample", f"{name}.sklar", "-o", _target(output)]
    words += [] if settings.rows is None else ["-n", str(settings.rows)]
    words += [] if settings.seed is None else ["--seed", str(settings.seed)]
    words += [word for one in settings.given for word in ("--given", one)]
    return Work(kind="sample", label=f"sampling from {name}", commands=(tuple(words),), outputs=(output,))


def _target(output: str) -> str:
    """Return the argument that has a sample written to this file: a database is written by its address."""
    return f"sqlite://{output}" if output.endswith(".sqlite") else output


def evaluate(entry: TableEntry, model: int, target: str) -> Work:
    """Compare a synthetic table with the real one of the same size, for the custodian."""
    name = entry.model(model)
    table, page = f"{name}.synthetic.csv", f"{name}.custodian.html"
    drawn = ("sample", f"{name}.sklar", "--seed", "1", "-o", table, "--force")
    words = ["evaluate", entry.source, table, "-s", entry.schema, "--model", f"{name}.sklar", *reading(entry)]
    words += ["--report", page, *(["--target", target] if target else [])]
    return Work(
        kind="evaluate", label=f"comparing {name} with the real rows", commands=(drawn, tuple(words)),
        outputs=(table, page),
    )  # fmt: skip


def key() -> Work:
    """Make a pair of keys."""
    return Work(kind="key", label="making a key", commands=(("key", KEY),), outputs=(KEY, f"{KEY}.pub"))


def release(entry: TableEntry, model: int, settings: ReleaseForm) -> Work:
    """Bundle and verify, with the public report, which is written first if it does not exist."""
    name = entry.model(model)
    page, place = f"{name}.public.html", f"{name}.release.zip"
    report = ("report", f"{name}.sklar", "-o", page)
    words = ["bundle", f"{name}.sklar", "-o", place, "--ledger", entry.ledger, "--report", page]
    words += ["--seed", str(settings.seed), *([] if settings.rows is None else ["-n", str(settings.rows)])]
    words += ["--sign", KEY] if settings.signed else []
    check = ["verify", place, "--ledger", entry.ledger, *(["--key", f"{KEY}.pub"] if settings.signed else [])]
    return Work(
        kind="release", label=f"releasing {name}", outputs=(*(() if settings.reported else (page,)), place),
        commands=(*(() if settings.reported else (report,)), tuple(words), tuple(check)),
    )  # fmt: skip


def _settings(settings: FitForm, plan: bool = False) -> list[str]:
    words = ["--delta", format_exact(settings.delta)]
    words += ["--method", settings.method] if settings.method else []
    words += ["--target", settings.target] if settings.target else []
    words += ["--rows-per-person", str(settings.rows_per_person)] if settings.rows_per_person != 1 else []
    return words + (["--check-share", format_exact(settings.check_share)] if settings.check_share and not plan else [])


def read_in_python(entry: TableEntry) -> str:
    """Return the argument for reading the table; empty by default."""
    given: dict[str, Any] = {key: entry.reading[key] for key in ("delimiter", "encoding") if entry.reading.get(key)}
    nulls = [text for text in entry.reading.get("null_values", "").split(",") if text]
    given |= {"null_values": nulls} if nulls else {}
    return f", read=sklar.ReadOptions({', '.join(f'{k}={v!r}' for k, v in given.items())})" if given else ""


def fit_in_python(entry: TableEntry, name: str, settings: FitForm) -> list[str]:
    """Return the lines of Python that fit and save."""
    more: dict[str, Any] = {"method": settings.method, "target": settings.target, "check_share": settings.check_share}
    more |= {} if settings.rows_per_person == 1 else {"rows_per_person": settings.rows_per_person}
    words = "".join(f", {key}={value!r}" for key, value in more.items() if value)
    return [
        "import sklar",
        f"model = sklar.fit({entry.source!r}, {entry.schema!r}, epsilon={format_exact(settings.epsilon)}, "
        f"delta={format_exact(settings.delta)}, ledger={entry.ledger!r}{words}{read_in_python(entry)})",
        f'model.save("{name}.sklar")',
        f'model.report("{name}.public.html")',
        f'model.write_rows("{name}.sample-1.csv", {PREVIEW_ROWS}, seed=1)',
    ]
