"""The first page: tables and files of the folder, and forms to add another one. Adding a table drafts its schema."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from starlette.responses import Response

from sklar.errors import UsageError
from sklar.portable import open_file
from sklar.studio import commands
from sklar.studio.folder import READING
from sklar.studio.pages.budget import spent_on
from sklar.studio.safety import UPLOAD_BYTES
from sklar.studio.visit import Visit, go_to


def page(visit: Visit) -> Response:
    """Show all tables, and files that may be tables."""
    shown = [(entry, visit.jobs.latest(entry.name)) for entry in visit.folder.tables().values()]
    files = visit.folder.candidates()
    return visit.show("tables.html", shown=shown, files=files, most=UPLOAD_BYTES >> 20)


def add(visit: Visit) -> Response:
    """Add a file of the folder, or a database table."""
    source = visit.text("address") or visit.text("source")
    if not source:
        raise UsageError("choose a file of the folder, or enter the address of a database table")
    reading = {key: visit.form.get(key, "") for key in (*READING, "table")}
    entry = visit.folder.new_table(source, visit.text("name"), reading)
    if not (visit.folder.root / entry.schema).exists():
        visit.jobs.start(entry.name, commands.draft(entry))
    return go_to("t", entry.name, "columns")


def forget(visit: Visit) -> Response:
    """Remove a table from the list, unless budget was spent on its rows."""
    if spent_on(visit):
        raise UsageError(f"this table cannot be removed: its ledger {visit.table.ledger} records spent budget")
    visit.jobs.forget(visit.table.name)
    visit.folder.forget(visit.table.name)
    return go_to("")


def upload(visit: Visit) -> Response:
    """Copy an upload into the folder, readable by its owner only, whole or not at all."""
    if visit.file is None or not visit.file[0]:
        raise UsageError("choose a file to copy into the folder")
    name, content = visit.file
    place = visit.folder.free_place(name)
    beside = Path(f"{visit.folder.state}/upload.{os.getpid()}.{place.name}")
    try:
        with os.fdopen(open_file(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            shutil.copyfileobj(content, file)
        os.link(beside, place)  # unlike a rename, this never replaces a file created in the meantime
    except FileExistsError:
        raise UsageError(f"the file {place.name} already exists") from None
    finally:
        beside.unlink(missing_ok=True)
    return go_to("", at="files")
