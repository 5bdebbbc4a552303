"""Which Parquet files a Spark frame reads, told by its plan; whatever is not understood for sure is left to Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

SCAN = "org.apache.spark.sql.execution.FileSourceScanExec"
CHOICE = "org.apache.spark.sql.execution.ProjectExec"
COLUMN = "org.apache.spark.sql.catalyst.expressions.AttributeReference"
PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
LISTING_OPTIONS = {
    "path", "paths", "mergeschema", "recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter",
}  # fmt: skip
"""Options that say which files are read, and not how."""
PLAIN_SETTINGS = MappingProxyType(
    {
        "spark.sql.files.ignoreCorruptFiles": "false",
        "spark.sql.files.ignoreMissingFiles": "false",
        "spark.sql.parquet.fieldId.read.enabled": "false",
    }
)
"""Settings under which Spark takes all rows of all files, and columns by their names."""
REBASES = ("spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.legacy.parquet.datetimeRebaseModeInRead")
CRYPTO = "parquet.crypto.factory.class"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One place of a plan where Parquet files of this machine's file system are read.

    Attributes:
        files: Their paths.
        size: Bytes they have in Spark's own list of files.
        kinds: The columns that are read, and Spark's names of their types.
        plain: The frame is all rows of the files, with these columns as they are.
        merged: Files without some of the columns were asked for.
        exact_case: Names that differ in case only are different columns.
    """

    files: tuple[str, ...]
    size: int
    kinds: Mapping[str, str]
    plain: bool
    merged: bool
    exact_case: bool


def scans_of(frame: Any) -> tuple[Scan, ...]:
    """The scans of a frame that are understood; none where Spark does not show its plan, as through Spark Connect."""
    try:
        return tuple(_scans(frame))
    except Exception:  # the plan is an inner matter of Spark; the frame itself can be read without it
        return ()


def _scans(frame: Any) -> Iterator[Scan]:
    plan, settings = frame._jdf.queryExecution().sparkPlan(), frame.sparkSession.conf
    whole = _scan_below(plan)
    leaves = plan.collectLeaves()
    for at in range(leaves.size()):
        node = leaves.apply(at)
        if (
            _class(node) != SCAN
            or _class(node.relation().fileFormat()) != PARQUET
            or node.tableIdentifier().isDefined()
        ):
            continue
        files = [_local_path(uri) for uri in node.relation().location().inputFiles()]
        if not files or None in files:
            continue
        options = _options(node.relation().options())
        merged = options.get("mergeschema") or str(settings.get("spark.sql.parquet.mergeSchema"))
        yield Scan(
            files=tuple(file for file in files if file is not None),
            size=int(node.relation().location().sizeInBytes()),
            kinds=_kinds(node.requiredSchema()),
            plain=whole is not None and leaves.size() == 1 and _takes_all(node, options, frame.sparkSession),
            merged=merged.lower() == "true",
            exact_case=str(settings.get("spark.sql.caseSensitive")).lower() == "true",
        )


def _scan_below(plan: Any) -> Any:
    """The scan of a plan that only chooses among its columns; None for any other plan."""
    while _class(plan) == CHOICE:
        chosen = plan.projectList()
        if any(_class(chosen.apply(at)) != COLUMN for at in range(chosen.size())):
            return None
        plan = plan.child()
    return plan if _class(plan) == SCAN else None


def _takes_all(node: Any, options: Mapping[str, str], session: Any) -> bool:
    """Whether a scan gives all rows of its files, by the rules of the format alone."""
    filters = (node.partitionFilters(), node.dataFilters(), node.optionalBucketSet())
    encrypted = session.sparkContext._jsc.hadoopConfiguration().get(CRYPTO)
    return (
        all(found.isEmpty() for found in filters)
        and node.relation().partitionSchema().length() == 0
        and options.keys() <= LISTING_OPTIONS
        and encrypted is None
        and all(session.conf.get(name, usual).lower() == usual for name, usual in PLAIN_SETTINGS.items())
        and all(session.conf.get(name, "CORRECTED").upper() != "LEGACY" for name in REBASES)
    )


def _kinds(schema: Any) -> dict[str, str]:
    return {schema.apply(at).name(): schema.apply(at).dataType().typeName() for at in range(schema.length())}


def _options(options: Any) -> dict[str, str]:
    pairs = options.toSeq()
    found = (pairs.apply(at) for at in range(pairs.size()))
    return {str(pair._1()).lower(): str(pair._2()) for pair in found}


def _local_path(uri: str) -> str | None:
    """The path of a file that every machine sees in its own file system; None for other stores."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" and not parts.netloc else None


def _class(thing: Any) -> str:
    return thing.getClass().getName()
