"""Write the page of a release: one HTML file that shows, draws, answers and checks, without a network."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from sklar.errors import UsageError
from sklar.export.atomic import require_writable, write_bytes
from sklar.page.document import build_page
from sklar.pipeline.bundle.extract import extract_ledger
from sklar.pipeline.bundle.keys import make_signature
from sklar.pipeline.model_file import Stored, write_model
from sklar.pipeline.public_report.report import public_report
from sklar.pipeline.release_page.answers import estimate_answers
from sklar.pipeline.release_page.facts import describe_schema
from sklar.pipeline.release_page.measured import describe_measured
from sklar.pipeline.release_page.pictures import describe_claim, describe_dependence, describe_report, describe_vine

ENDING = ".page.html"
Done = Callable[[str, float], None]
"""Progress callback: called with the current step and the completed fraction."""
REPORT_FRACTION = 0.2
"""Fraction of the work that is complete after the report."""
Place = str | PathLike[str]


def page_path(path: Place) -> str:
    """Return the default path of the page of a model: beside it, as people.page.html."""
    return os.fspath(Path(path).with_suffix(ENDING))


def title_of(path: Place) -> str:
    """Return the name of a release by the name of its page."""
    name = Path(path).name
    return name.removesuffix(ENDING) if name.endswith(ENDING) else Path(path).stem


def require_page(path: Place) -> None:
    """Refuse a page whose name is not one of a page to publish, or that cannot be written."""
    name = os.fspath(path)
    if not name.endswith(".html") or name.endswith(".custodian.html"):
        raise UsageError(f"name a page like people{ENDING}, not *.custodian.html; got {name}.")
    require_writable(path)


def make_page(
    stored: Stored,
    *,
    title: str = "release",
    questions: Sequence[str] = (),
    ledger: Place | None = None,
    sign: Place | None = None,
    done: Done | None = None,
) -> bytes:
    """Return the page of a model. The same model and questions give the same bytes.

    Args:
        stored: The content of the model file.
        title: Its name.
        questions: Further questions to answer in it, as "mean(income) by sex where age=30..40".
        ledger: The ledger of the fit; an extract is included.
        sign: A private key of `sklar key`; its signature of the page is included.
        done: Progress callback.

    Raises:
        UsageError: The model has no guarantee.
    """
    content = gather_facts(stored, title=title, questions=questions, done=done)
    extract = None if ledger is None else extract_ledger(ledger, stored)
    signer: Callable[[bytes], bytes] | None = None if sign is None else partial(make_signature, key=sign)
    return build_page(title, content, model_bytes(stored), ledger=extract, sign=signer)


def gather_facts(
    stored: Stored, *, title: str, questions: Sequence[str] = (), done: Done | None = None
) -> dict[str, Any]:
    """Return what a page shows, as plain data: a function of the model, the title and the questions alone."""
    show = done or _ignore
    show("checking the model", 0.0)
    report = public_report(stored)
    facts = describe_schema(stored)
    declared = set(stored.schema.modelled)
    pairs = [pair.columns for pair in report.pairs if pair.signal and declared >= set(pair.columns)]
    measured = None if facts["unsupported"] else describe_measured(stored)
    return {
        "title": title,
        "questions": list(questions),
        "rows": stored.model.rows_estimate,
        "claim": describe_claim(stored),
        "schema": facts,
        "report": describe_report(report),
        "trees": describe_vine(stored),
        "dependence": describe_dependence(stored, with_rows=bool(facts["unsupported"])),
        "measured": measured,
        "answers": estimate_answers(
            stored, None if measured else pairs, questions,
            lambda part: show("estimating answers", REPORT_FRACTION + (1 - REPORT_FRACTION) * part),
        ),
    }  # fmt: skip


def write_page(path: Place, page: bytes) -> None:
    """Write a page that anyone may read."""
    require_page(path)
    write_bytes(path, page)


def model_bytes(stored: Stored) -> bytes:
    """Return the bytes of the model file."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model.sklar"
        write_model(stored, place)
        return place.read_bytes()


def _ignore(what: str, fraction: float) -> None:
    """Ignore progress."""
