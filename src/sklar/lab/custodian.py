"""Reports for the custodian: computed from real rows, so their names say whom they are for and only the owner reads."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

import sklar
from sklar.errors import UsageError
from sklar.export.atomic import atomic_file, require_writable

NOTICE = "For the custodian: computed from real rows, not private."
ENDING = ".custodian.html"


def require_report(path: str | PathLike[str]) -> None:
    """Refuse a name that does not tell whom the report is for, or a place that cannot be written."""
    if not fspath(path).endswith(ENDING):
        raise UsageError(
            f"a report is computed from real rows and not private, so its name must end in {ENDING}; "
            f"found {fspath(path)}."
        )
    require_writable(path)


def write_page(path: str | PathLike[str], template: str, **values: Any) -> None:
    """Write the page that a template of the report room makes of some findings, readable by its owner only."""
    from sklar.report.page import render

    require_report(path)
    page = render(template, **{"notice": NOTICE, "version": sklar.__version__, **values})
    with atomic_file(path, mode=0o600) as file:
        file.write(page.encode())
