"""Footers of Parquet files behind a Spark frame: that all have the columns, and how tasks may share the rows out.

Spark reads Parquet in Java, copies it row by row into Arrow and sends that to Python. Where a frame is provably all
rows of some files, and their types mean the same to Spark and to Arrow, tasks read them directly instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sklar.errors import SourceError
from sklar.rows.sources.files import FileStamp
from sklar.rows.sources.source import listed
from sklar.rows.spark.scans import Scan

READERS = 8
PART_BYTES = 128 << 20
"""A task reads at most this much, but always a whole row group."""
LEAST_BYTES = 4 << 20
TASKS_A_CORE = 4
"""Tasks for each core where files are large enough: the last to finish should not keep the others waiting."""
LEGACY_KEYS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
KINDS: dict[str, tuple[str, ...]] = {
    "byte": ("int8",),
    "short": ("int16", "uint8"),
    "integer": ("int32", "uint16"),
    "long": ("int64", "uint32"),
    "float": ("float",),
    "double": ("double",),
    "boolean": ("bool",),
    "string": ("string", "large_string"),
    "date": ("date32[day]",),
    "timestamp_ntz": ("timestamp[ms]", "timestamp[us]"),
}
"""Spark's types, and Arrow's for the same values in a file; what is not here is read by Spark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """What a file says about itself: names and Arrow types of its columns, and (rows, bytes) of its row groups."""

    stamp: FileStamp
    kinds: tuple[tuple[str, str], ...]
    groups: tuple[tuple[int, int], ...]
    legacy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some row groups of a file, and the rows they hold."""

    stamp: FileStamp
    groups: tuple[int, ...]
    rows: int


Part = tuple[Piece, ...]
"""What one task reads."""


def parts_to_read(scans: Sequence[Scan], columns: Sequence[str], cores: int) -> tuple[Part, ...]:
    """The parts of the files, if tasks may read them themselves; none if Spark must. Refuses files without a column."""
    parts: tuple[Part, ...] = ()
    for scan in scans:
        footers = _footers(scan.files)
        if footers is None:  # Spark may know how to read them, and says so if it does not
            continue
        if not scan.merged:
            _require_columns(scan, footers)
        if scan.plain and set(scan.kinds) == set(columns) and _means_the_same(scan, footers):
            parts = _shared_out(footers, cores)
    return parts


def _footers(files: Sequence[str]) -> list[Footer] | None:
    with ThreadPoolExecutor(READERS) as pool:
        try:
            return list(pool.map(_footer, files))
        except Exception:
            return None


def _footer(path: str) -> Footer:
    import pyarrow as pa
    import pyarrow.parquet as pq

    stamp = FileStamp(path)
    with pq.ParquetFile(path) as file:
        about, keys = file.metadata, file.metadata.metadata or {}
        kinds = [(field.name, field.type) for field in file.schema_arrow]
        groups = [about.row_group(at) for at in range(about.num_row_groups)]
        return Footer(
            stamp=stamp,
            kinds=tuple((n, str(k.value_type if pa.types.is_dictionary(k) else k)) for n, k in kinds),
            groups=tuple((group.num_rows, group.total_byte_size) for group in groups),
            legacy=any(key in keys for key in LEGACY_KEYS)
            or keys.get(b"org.apache.spark.version", b"3").startswith((b"1.", b"2.")),
        )


def _require_columns(scan: Scan, footers: Sequence[Footer]) -> None:
    """Spark would fill a column that a file lacks with nulls, without a word."""
    same: Callable[[str], str] = str if scan.exact_case else str.lower
    for footer in footers:
        there = {same(name) for name, _ in footer.kinds}
        missing = [name for name in scan.kinds if same(name) not in there]
        if missing:
            raise SourceError(
                f"the Parquet file {footer.stamp.path} lacks {listed(missing)}, where Spark would put nulls; add them, "
                "or read the frame with the option mergeSchema=true if nulls are meant"
            )


def _means_the_same(scan: Scan, footers: Sequence[Footer]) -> bool:
    """Whether Arrow and Spark take the same values from these files, which are those in Spark's list."""
    return sum(footer.stamp.size for footer in footers) == scan.size and all(_agrees(scan, f) for f in footers)


def _agrees(scan: Scan, footer: Footer) -> bool:
    found = dict(footer.kinds)
    names = [name.lower() for name, _ in footer.kinds]
    once = all(names.count(name.lower()) == 1 for name in scan.kinds)
    dated = any(kind in ("date", "timestamp_ntz") for kind in scan.kinds.values())
    typed = all(found.get(name) in KINDS.get(kind, ()) for name, kind in scan.kinds.items())
    return once and typed and not (dated and footer.legacy)


def _shared_out(footers: Sequence[Footer], cores: int) -> tuple[Part, ...]:
    """Runs of row groups of about the same size, in the order of the files."""
    total = sum(size for footer in footers for _, size in footer.groups)
    most = min(max(total / (TASKS_A_CORE * max(cores, 1)), LEAST_BYTES), PART_BYTES)
    parts: list[Part] = []
    waiting: list[tuple[Footer, int]] = []
    held = 0
    for footer, at in _groups(footers):
        size = footer.groups[at][1]
        if waiting and held + size / 2 > most:
            parts.append(_part(waiting))
            waiting, held = [], 0
        waiting.append((footer, at))
        held += size
    return (*parts, _part(waiting)) if waiting else tuple(parts)


def _groups(footers: Sequence[Footer]) -> Iterator[tuple[Footer, int]]:
    return ((footer, at) for footer in footers for at in range(len(footer.groups)))


def _part(chosen: Sequence[tuple[Footer, int]]) -> Part:
    files: dict[str, list[tuple[Footer, int]]] = {}
    for footer, at in chosen:
        files.setdefault(footer.stamp.path, []).append((footer, at))
    return tuple(
        Piece(
            stamp=mine[0][0].stamp,
            groups=tuple(at for _, at in mine),
            rows=sum(footer.groups[at][0] for footer, at in mine),
        )
        for mine in files.values()
    )
