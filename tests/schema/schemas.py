"""Hypothesis strategies for valid schemas of every kind of column."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from sklar.schema import (
    AtMost,
    Boolean,
    Category,
    Column,
    Datetime,
    Function,
    Id,
    Ignore,
    Integer,
    Never,
    Ordinal,
    Price,
    Real,
    Schema,
)
from sklar.schema.columns import BOUGHT, PROVENANCES, UNMEASURABLE
from sklar.schema.grid import RESOLUTIONS

texts = st.text(st.characters(codec="utf-8"), max_size=12)
names = texts.filter(lambda name: bool(name.strip()))
int64 = st.integers(-(2**63), 2**63 - 2)
reals = st.floats(-1e300, 1e300, allow_nan=False)


def sources(facts: tuple[str, ...]) -> st.SearchStrategy[Any]:
    def words(fact: str) -> st.SearchStrategy[str]:
        return st.sampled_from([word for word in PROVENANCES if fact not in UNMEASURABLE or word not in BOUGHT])

    return st.sampled_from(PROVENANCES) | st.fixed_dictionaries({}, optional={fact: words(fact) for fact in facts})


@st.composite
def labels(draw: st.DrawFn) -> Column:
    values = draw(
        st.lists(texts, min_size=1, max_size=6, unique=True) | st.lists(int64, min_size=1, max_size=6, unique=True)
    )
    kind = draw(st.sampled_from([Category, Ordinal]))
    return kind(values, nullable=draw(st.booleans()), source=draw(sources(kind.facts)))


@st.composite
def integers(draw: st.DrawFn) -> Column:
    lower, upper = sorted((draw(int64), draw(int64)))
    inside = st.integers(lower, upper)
    cuts = draw(st.lists(inside, max_size=4))
    edges = sorted({lower, *cuts, upper + 1}) if draw(st.booleans()) else []
    return Integer(
        lower,
        upper,
        bins=None if edges else draw(st.none() | st.integers(1, 5000)),
        edges=edges,  # type: ignore[arg-type]
        atoms=draw(st.lists(inside, max_size=3)),  # type: ignore[arg-type]
        nullable=draw(st.booleans()),
        missing_value=draw(st.none() | inside),
        source=draw(sources(Integer.facts)),
    )


@st.composite
def real_columns(draw: st.DrawFn) -> Column:
    lower, upper = sorted(draw(st.lists(reals, min_size=2, max_size=2, unique=True)))
    inside = st.floats(lower, upper)
    cuts = draw(st.lists(inside, max_size=4))
    edges = sorted({lower, *cuts, upper}) if draw(st.booleans()) else []
    return Real(
        lower,
        upper,
        bins=None if edges else draw(st.none() | st.integers(1, 5000)),
        edges=edges,  # type: ignore[arg-type]
        atoms=draw(st.lists(inside, max_size=3)),  # type: ignore[arg-type]
        decimals=draw(st.none() | st.integers(0, 15)),
        nullable=draw(st.booleans()),
        missing_value=draw(st.none() | inside),
        source=draw(sources(Real.facts)),
    )


@st.composite
def datetimes(draw: st.DrawFn) -> Column:
    moment = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))
    lower, upper = sorted((draw(moment), draw(moment)))
    middle = lower + timedelta(seconds=int((upper - lower).total_seconds() / 2))
    return Datetime(
        lower.isoformat(),
        upper.isoformat(),
        resolution=draw(st.sampled_from(["", *RESOLUTIONS])),
        format=draw(st.sampled_from([None, "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S", "%m/%d/%y"])),
        bins=draw(st.none() | st.integers(1, 5000)),
        nullable=draw(st.booleans()),
        missing_value=draw(st.none() | st.just(middle.isoformat())),
        source=draw(sources(Datetime.facts)),
    )


booleans = st.builds(Boolean, nullable=st.booleans(), missing_value=st.booleans(), source=sources(Boolean.facts))
modelled = labels() | integers() | real_columns() | datetimes() | booleans
unread = st.builds(Id, prefix=texts, source=sources(Id.facts)) | st.builds(Ignore, source=sources(Ignore.facts))
columns = modelled | unread


printable = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=12)
amounts = st.floats(1e-300, 1e300)
prices = st.builds(
    Price,
    fit=printable.filter(bool),
    ledger=printable,
    epsilon=amounts,
    delta=st.floats(0, 1, exclude_max=True),
    rho=amounts,
    neighbours=st.sampled_from(["add-remove", "replace"]),
    rows_per_person=st.integers(1, 10**9),
    facts=st.lists(names.map(lambda name: f"{name}.lower"), max_size=3),
)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """A schema with at least one modelled column, and rules between some columns that are always there."""
    table = draw(st.dictionaries(names, columns, max_size=5))
    table |= {"sex": Category(["F", "M"]), "a": Integer(0, 9), "b": Real(0, 9), "yes": Boolean()}
    rules = [
        AtMost(low="a", high="b"),
        Never(values={"sex": "M", "yes": True, "a": 3}),
        Function(column="yes", of="sex", table={"F": True, "M": False}),
    ]
    paid = draw(st.lists(prices, max_size=2, unique_by=lambda price: price.fit))
    return Schema(table, draw(st.lists(st.sampled_from(rules), max_size=3, unique=True)), paid)
