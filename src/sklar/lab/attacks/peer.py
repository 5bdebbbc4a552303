"""A peer, an external command, as a generator of an attack: run anew for each fit, with the rows as its own file."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from sklar.errors import PeerError, UsageError
from sklar.lab.compare.peers import Limits, run_peer
from sklar.lab.compare.store import modelled_schema
from sklar.lab.compare.systems import read_peer
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import as_arrow
from sklar.sample.rng import generator
from sklar.schema.table import Schema

SECONDS = 3600.0
"""What one run of a peer may take, as in a comparison."""
DELTA = 1e-9
"""Delta of a peer that is told none, as in a comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerGenerator:
    """The command of a peer; its settings are that command, and the epsilon and delta it is told."""

    name: str
    schema: Schema
    settings: Mapping[str, Any]
    levels: tuple[str, ...] = ("",)
    table: Any = None

    def fit(self, table: Any, seed: int) -> PeerGenerator:
        """Keep the rows, under the value rules of the schema, until a table is asked for."""
        exact = read_table(table, self.schema, generator(seed), role="real")
        return replace(self, table=as_arrow(self.schema, exact))

    def generate(self, level: str, rows: int, seed: int) -> Any:
        """Run the command; where it fails, its messages stay in a folder of their owner's."""
        folder = Path(mkdtemp(prefix="sklar-peer-"))  # for its owner only
        work, log = folder / "work", folder / "logs" / f"{self.name}.log"
        try:
            made = self._run(work, log, rows)
        except PeerError as error:
            raise PeerError(f"the peer '{self.name}' failed: {error} (of {folder})", error.stopped) from None
        finally:
            shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        return made

    def _run(self, work: Path, log: Path, rows: int) -> Any:
        import pyarrow.parquet as pq

        work.mkdir()
        log.parent.mkdir()
        pq.write_table(self.table, work / "train.parquet")
        self.schema.write(work / "schema.toml")
        told = {
            "train": str(work / "train.parquet"), "schema": str(work / "schema.toml"), "rows": str(rows),
            "epsilon": "" if "epsilon" not in self.settings else f"{self.settings['epsilon']:g}",
            "delta": f"{self.settings.get('delta', DELTA):g}",
        }  # fmt: skip
        ended = run_peer(self.settings["command"], told, work, log, Limits(seconds=SECONDS))
        try:
            made = pq.read_table(ended.output)
        except Exception as error:  # the text of a library's error could quote a cell
            raise PeerError(f"its table cannot be read ({type(error).__name__})") from None
        if made.num_rows < rows:
            raise PeerError(f"it wrote {made.num_rows:,} rows where {rows:,} were asked for")
        return made.slice(0, rows)


def find_peer(
    schema: Schema, name: Any, peers: Mapping[str, str], settings: Mapping[str, Any], levels: Any = None
) -> PeerGenerator:
    """The peer of this name; it is told epsilon and delta, and nothing else."""
    if set(peers) != {name}:
        raise UsageError("one peer is attacked at a time: give its name as the method, and its command alone.")
    unknown = sorted(set(settings) - {"epsilon", "delta"})
    if unknown or levels:
        what = unknown[0] if unknown else "levels"
        raise UsageError(f"a peer is told epsilon and delta alone; write '{what}' into its command.")
    if read_peer(name, peers[name]).budgeted and "epsilon" not in settings:
        raise UsageError(f"the peer '{name}' is told an epsilon; give one, or a command with places but none for it.")
    return PeerGenerator(name=name, schema=modelled_schema(schema), settings={"command": peers[name], **settings})
