"""The full workflow on a made-up table: write it, describe it, fit within a ledger, sample, claim, evaluate."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sklar.errors import OutputError
from sklar.export.atomic import describe_reason, write_bytes
from sklar.lab.people import people_schema, people_table

NOTE = "README.txt"
NOTE_TEXT = """\
Made by `sklar demo`. Everything in this folder is made up, and the next demo here overwrites it.

people.csv      the table in the role of the private one (made up: no person in it exists)
people.toml     the schema: public facts about its columns
people.ledger   the budget of the table, and the part that was spent
people.sklar    the fitted model: may be published, under the claim
synthetic.csv   the synthetic table: may be published, under the claim
claim.txt       the privacy claim
people.public.html   the quality of the release, from releases only: may be published
people.release.zip   everything that may be published, in one file; check it with `sklar verify`

Compare both tables (with real people, only their custodian may do this):
sklar evaluate people.csv synthetic.csv -s people.toml --report people.custodian.html
"""
FILES = ("people.csv", "people.toml", "people.ledger", "people.sklar", "synthetic.csv", "claim.txt",
         "people.public.html", "people.release.zip")  # fmt: skip
REPORT = "people.custodian.html"
TARGET = "smoker"
"""Column that the classifiers of the report predict."""
DELTA = 1e-9
"""Delta of the fit: far below one over the number of rows."""
FIT_FRACTION = 0.3
"""Fraction of the work that is complete after the fit, for progress bars."""
FITS_IN_LEDGER = 3
"""The ledger of the demo has a budget for this number of fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """The files of a demo, its claim with its first sentence, and the number of synthetic rows."""

    folder: Path
    files: tuple[Path, ...]
    claim: str
    promise: str
    rows: int

    def __repr__(self) -> str:
        return f"<sklar.Demo in {self.folder}: {len(self.files)} files, {self.rows:,} synthetic rows>"


def demo(
    directory: str | os.PathLike[str],
    epsilon: float = 1.0,
    rows: int = 20_000,
    method: str | None = None,
    *,
    report: bool = False,
    progress: Callable[[str, float], None] | None = None,
) -> Demo:
    """Make a private synthetic table of a made-up one, and write all files to a folder.

    Args:
        directory: A new or empty folder, or that of an earlier demo, which is overwritten.
        epsilon: Privacy budget of the fit.
        rows: Rows of the made-up table.
        method: The method; by default that of `fit`.
        report: Whether to write a report for the custodian that compares the synthetic table with the private one.
        progress: Called with the current step and the fraction completed.
    """
    from sklar.accounting.budget import Budget
    from sklar.accounting.ledger import create_ledger
    from sklar.export.write import write_table
    from sklar.given_numbers import whole_number
    from sklar.lab.evaluate import report_on
    from sklar.methods.registry import find_method
    from sklar.pipeline.bundle.bundle import bundle
    from sklar.pipeline.fit.run import fit
    from sklar.pipeline.sampling.write import SampleRequest, sample_to_file

    rows = whole_number(rows, "the number of rows")
    budget, chosen = Budget(epsilon=epsilon, delta=DELTA), find_method(method)
    folder = _prepare_folder(Path(directory))
    table, schema, ledger, model_file, synthetic, claim, public, release = (folder / name for name in FILES)
    write_table(people_table(rows), table, people_schema())
    people_schema().write(schema)
    cap = FITS_IN_LEDGER * epsilon, FITS_IN_LEDGER * budget.delta
    create_ledger(ledger, "people (made up)", *cap, chosen.neighbours)
    show = progress or (lambda what, fraction: None)
    show("fitting the model", 0.0)
    model = fit(table, people_schema(), method=method, epsilon=epsilon, delta=DELTA, ledger=ledger)
    model.save(model_file)
    show("sampling rows", FIT_FRACTION)
    written = sample_to_file(model, synthetic, SampleRequest(seed=1))
    write_bytes(claim, f"{model.claim}\n".encode())
    show("checking the model against its releases", FIT_FRACTION)
    model.report(public)
    bundle(model, release, rows=written, seed=1, ledger=ledger, report=public, name="people")
    if report:
        report_on(
            table, synthetic, model, folder / REPORT, target=TARGET,
            progress=lambda what, done: show(f"evaluating, {what}", FIT_FRACTION + (1 - FIT_FRACTION) * done),
        )  # fmt: skip
    files = (*FILES, REPORT) if report else FILES
    return Demo(
        folder=folder, files=tuple(folder / name for name in files), claim=str(model.claim),
        promise=model.claim.first_sentence, rows=written,
    )  # fmt: skip


def _prepare_folder(folder: Path) -> Path:
    """Create the folder or remove the files of an earlier demo; reject a folder with other files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not _is_demo(folder):
            raise OutputError(f"the folder {folder} is not empty; name a new or empty one for the demo.")
        for old in folder.iterdir():
            if old.name.startswith(("people.", "synthetic.", "claim.")) and old.is_file():
                old.unlink()
    except OSError as error:
        raise OutputError(f"cannot make the folder {folder}: {describe_reason(error)}.") from None
    write_bytes(folder / NOTE, NOTE_TEXT.encode())
    return folder


def _is_demo(folder: Path) -> bool:
    note = folder / NOTE
    return note.is_file() and note.read_bytes().startswith(NOTE_TEXT.encode()[:20])
