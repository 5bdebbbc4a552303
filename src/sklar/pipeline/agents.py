"""Serve a released model through the Model Context Protocol: tools that read the model file and nothing else.

All results are functions of the release, so its claim holds for any number of calls. A model without a guarantee is
refused. This needs the package `mcp` (the extra `mcp`).
"""

from __future__ import annotations

import importlib
import json
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

from sklar.errors import MissingExtraError, UsageError
from sklar.pipeline.model import Model, load


def serve_model(path: str | PathLike[str], *, max_rows: int = 1000) -> None:
    """Serve a model file on standard input and output until the client disconnects.

    Args:
        path: A released model.
        max_rows: Maximum number of rows that one call samples.
    """
    make_server(path, max_rows=max_rows).run("stdio")


def make_server(path: str | PathLike[str], *, max_rows: int = 1000) -> Any:
    """Return the server with its tools."""
    try:
        make: Any = importlib.import_module("mcp.server").MCPServer
    except (ImportError, AttributeError):
        raise MissingExtraError("sklar mcp needs the package mcp, version 2 or newer: pip install mcp") from None
    model = load(path)
    if not model.claim.guarantee:
        raise UsageError("the model has no privacy guarantee, so it cannot be served for unlimited queries")
    server: Any = make(
        name="sklar",
        instructions=(
            "Synthetic rows and statistics from a differentially private model of a table. No row is that of "
            f"a real person. {model.claim}"
        ),
    )
    for tool in model_tools(model, Path(path), max_rows):
        server.add_tool(tool)
    return server


def model_tools(model: Model, path: Path, max_rows: int) -> list[Any]:
    """Return the tools, as functions whose names, arguments and docstrings the protocol shows."""

    def schema() -> dict[str, Any]:
        """Return the columns of the table, what is public about them, and the privacy claim of the model."""
        return {"schema": model.schema.toml(), "claim": str(model.claim), "rows": model.rows_estimate}

    def sample(rows: int = 100, seed: int | None = None, given: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Return synthetic rows. `given` are conditions by column: a value, or [lowest, highest] for numbers."""
        if not 1 <= rows <= max_rows:
            raise ValueError(f"rows must be between 1 and {max_rows}")
        wanted = {name: tuple(value) if isinstance(value, list) else value for name, value in (given or {}).items()}
        table = model.sample(rows, seed=seed, given=wanted or None)
        return json.loads(json.dumps(table.to_pylist(), default=str))

    def estimate(
        statistic: str, columns: list[str], value: Any = None, by: str | None = None, confidence: float = 0.95
    ) -> Any:
        """Return a statistic (mean, share, quantile, ...) with an interval for the privacy noise and sampling."""
        found = model.estimate(statistic, *columns, value=value, by=by, confidence=confidence)
        listed = found if isinstance(found, list | tuple) else [found]
        return json.loads(json.dumps([one.to_dict() for one in listed], default=str))

    def report() -> str:
        """Return the public report on the quality of the release, as HTML."""
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "model.public.html"
            model.report(page)
            return page.read_text(encoding="utf-8")

    def verify() -> dict[str, Any]:
        """Check the model file against its claim: noise, price and model are computed again."""
        from sklar.pipeline.verify.verify import verify as check

        return json.loads(json.dumps(check(path).to_dict(), default=str))

    return [schema, sample, estimate, report, verify]
