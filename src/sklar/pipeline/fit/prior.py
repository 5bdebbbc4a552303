"""Priors: a public table, or the model of one, as counts that a fit shrinks towards."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from itertools import combinations
from math import sqrt
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from sklar.arrays import Ints
from sklar.errors import UsageError
from sklar.model.axis import lay_out
from sklar.model.pairs.grouping import group_cells
from sklar.pipeline.model import Model
from sklar.pipeline.model_file import read_model
from sklar.private.public import PublicRows, open_public, public_columns, queried_files, same_memory, same_table
from sklar.schema.address import is_pattern, remove_secrets
from sklar.schema.columns import Column
from sklar.schema.coordinates import coordinates
from sklar.schema.prior import PublicColumn, PublicPrior
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

MAX_GROUPS, MIN_GROUPS = 32, 6
"""Groups of a column in tables of pairs: more describe dependence better, but need more public rows."""
MAX_PAIR_CELLS = 2_000_000
"""Maximum number of cells of all tables of pairs together: with many columns they are coarser."""
PRIOR_MODEL_ROWS = 50_000
"""Rows that are drawn, with a fixed seed, from a model that serves as a prior."""
MODEL_SUFFIX = ".sklar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """A table or model that the custodian declares public, and who vouches for it.

    Attributes:
        data: Data as in `fit`, a model, or the path of a model file.
        name: Its name in the claim; by default the name of its file.
        by: The person who vouches that it is public.
    """

    data: Any
    name: str | None = None
    by: str = ""


def as_prior(prior: Any) -> Prior | None:
    """Return a prior with its name; a model file is read."""
    if prior is None:
        return None
    given = prior if isinstance(prior, Prior) else Prior(data=prior)
    return Prior(data=_load_prior(given.data), name=given.name or _name(given.data), by=given.by)


def require_public(prior: Prior, data: Any, schema: Schema, read: ReadOptions, charged: Sequence[str]) -> None:
    """Refuse, before anything is spent, a prior that is the private table or has none of its columns."""
    tables = (data, *cast("Mapping[str, Any]", data).values()) if isinstance(data, Mapping) else (data,)
    if any(_is_same_data(prior.data, one, read) for one in tables):
        raise UsageError(
            "the prior is the private table itself, or a copy or a part of it: a prior must be public, since nothing "
            "in it is protected"
        )
    if isinstance(prior.data, Model):
        if not prior.data.claim.guarantee:
            raise UsageError("the prior is a model without a guarantee; only public rows of it can be a prior")
        if prior.data.fit_facts.get("fit") in charged:
            raise UsageError(
                "the prior is a model of the same rows, by this ledger: what it cost would be missing from the claim"
            )
        common: tuple[str, ...] = _common(prior.data, schema)
    else:
        common = public_columns(prior.data, schema, read)
    if not common:
        raise UsageError("the prior has none of the columns of the schema")


def count_prior(prior: Prior, schema: Schema, read: ReadOptions) -> PublicPrior:
    """Count the public table as the schema codes it."""
    data, promise = prior.data, ""
    if isinstance(data, Model):
        promise = f"{data.claim.label}, for {data.claim.protected}"
        data = data.sample(PRIOR_MODEL_ROWS, seed=0).select(list(_common(data, schema)))
    with open_public(data, schema, read) as public:
        if not public.rows:
            raise UsageError("the prior has no rows")
        columns = _count_columns(public, schema)
        lookups = {column.name: column.groups.astype(np.int32) for column in columns}
        tables = [((a, b), (lookups[a], lookups[b])) for a, b in combinations(lookups, 2)]
        counts = public.count(tables) if tables else []
        flat = np.concatenate([table.ravel() for table in counts]) if counts else np.zeros(0, np.int64)
        return PublicPrior(
            name=prior.name or "", by=prior.by, rows=public.rows, columns=columns, pairs=flat, promise=promise
        )


def _count_columns(public: PublicRows, schema: Schema) -> tuple[PublicColumn, ...]:
    by = coordinates(schema).schema
    pairs = max(len(public.names) * (len(public.names) - 1) // 2, 1)
    most = int(np.clip(sqrt(MAX_PAIR_CELLS / pairs), MIN_GROUPS, MAX_GROUPS))
    counts = public.count([((name,), None) for name in public.names])
    named = zip(public.names, counts, strict=True)
    return tuple(PublicColumn(name=name, counts=own, groups=_groups(by[name], own, most)) for name, own in named)


def _groups(column: Column, counts: Ints, most: int) -> Ints:
    """Return groups of base codes with about equal numbers of public rows; nulls stay alone."""
    scale = lay_out(np.arange(len(counts)), counts, len(counts), nominal=not column.ordered)
    alone = column.ordered and column.null_code == len(counts) - 1
    return group_cells(scale, most, 0.0, last_alone=alone).lookup


def _common(model: Model, schema: Schema) -> tuple[str, ...]:
    """Return the columns that a model and the schema share, with the same kind."""
    there = model.schema
    return tuple(n for n in schema.modelled if n in there and there[n].modelled and there[n].kind == schema[n].kind)


def _load_prior(data: Any) -> Any:
    if isinstance(data, str | PathLike) and os.fspath(data).endswith(MODEL_SUFFIX):
        return Model(read_model(data))
    return data


def _name(data: Any) -> str:
    if isinstance(data, str | PathLike):
        return Path(remove_secrets(os.fspath(data))).name
    return "a model" if isinstance(data, Model) else "a table in memory"


def _is_same_data(prior: Any, data: Any, read: ReadOptions) -> bool:
    return prior is data or same_memory(prior, data) or _is_same_place(prior, data, read)


def _is_same_place(one: Any, other: Any, read: ReadOptions) -> bool:
    both = isinstance(one, str | PathLike) and isinstance(other, str | PathLike)
    if both and same_table(os.fspath(one), os.fspath(other), read):
        return True
    queried = [file for name in queried_files(read.sql) for file in _files(name)] if read.sql else []
    private = [*_files(other), *filter(os.path.isfile, queried)]
    return any(_is_same_file(public, file) for public in _files(one) for file in private)


def _files(data: Any) -> list[str]:
    """Return the files of a path or a pattern; none for other data."""
    if not isinstance(data, str | PathLike):
        return []
    path = os.fspath(data)
    return glob(path, recursive=True) if is_pattern(path) else [path]


def _is_same_file(one: str, other: str) -> bool:
    places = [Path(os.path.realpath(place)) for place in (one, other)]
    if places[0].is_relative_to(places[1]) or places[1].is_relative_to(places[0]):  # a folder and a file of it, too
        return True
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False
