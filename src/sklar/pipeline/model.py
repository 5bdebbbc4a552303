"""The public model: what a fit returns and a model file loads to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from sklar import notebook
from sklar.accounting.claim import Claim
from sklar.errors import UsageError
from sklar.export.atomic import refuse_overwriting
from sklar.model.linked import LinkedModel
from sklar.model.proportion import in_proportion
from sklar.model.protocol import TableModel
from sklar.pipeline.estimation.memory import REPLICAS, Memory
from sklar.pipeline.found_facts import FoundFacts, found_facts
from sklar.pipeline.inspection import inspect_model, structure_picture
from sklar.pipeline.model_file import Stored, read_model, write_model
from sklar.release.measurements import Measurement, Recorded, measurements_in
from sklar.report.charts.canvas import Canvas, write_picture
from sklar.schema.confirming import describe_column
from sklar.schema.coordinates import Coordinates
from sklar.schema.table import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sklar.export.frames import Fill
    from sklar.model.vine.intervals import Interval
    from sklar.pipeline.public_report.report import PublicReport
    from sklar.sample.decode import SampledTable

BATCH_ROWS = 65_536


class Model:
    """A fitted model of a table: sample from it, save it, read its claim. A private one holds no row, no exact count.

    Made by `sklar.fit` and `sklar.load`.
    """

    __slots__ = ("_replicas", "_report", "_stored")

    def __init__(self, stored: Stored, path: str | PathLike[str] | None = None):
        self._stored = stored
        self._replicas = Memory(path=None if path is None else os.fspath(path))
        self._report: PublicReport | None = None

    def __repr__(self) -> str:
        return f"<sklar.Model: method {self.method}, {len(self.schema.names)} columns>"

    def _repr_html_(self) -> str:
        rows = [(name, describe_column(column)) for name, column in self.schema.items()]
        about = notebook.paragraph(self.claim.label[:1].upper() + self.claim.label[1:] + ".")
        more = notebook.paragraph(f"About {self.rows_estimate:,} rows. See .claim, .sample(n), .inspect(), .plot().")
        head = f"Model of {len(self.schema)} columns"
        return notebook.card(head, about, more, notebook.table(("column", "what it is"), rows))

    @property
    def schema(self) -> Schema:
        """Public facts about the columns."""
        return self._stored.schema

    @property
    def coordinates(self) -> Coordinates:
        """What the model is over: the columns of the schema, or what public rules leave of them to be measured."""
        return self._stored.coordinates

    @property
    def claim(self) -> Claim:
        """What is promised; `str(model.claim)` is one plain paragraph."""
        return self._stored.claim

    @property
    def method(self) -> str:
        """The method that made the model."""
        return self._stored.claim.method

    @property
    def releases(self) -> tuple[Recorded, ...]:
        """Every noisy value the model was made from, step by step."""
        return self._stored.recorded

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """What was measured: queries, noisy values and the noise, in the order in which they were asked for."""
        return measurements_in(self._stored.recorded)

    @property
    def found_facts(self) -> FoundFacts | None:
        """What the fit measured about columns before it modelled them; None if everything was stated."""
        return found_facts(self.schema, self._stored.fit, self._stored.model.rows_estimate)

    @property
    def fit_facts(self) -> Mapping[str, Any]:
        """How it was fitted, as plain data: method, options, budget, allowance, unit, steps, seed."""
        return self._stored.fit

    @property
    def table_model(self) -> TableModel:
        """The joint distribution over base codes behind the samples."""
        return self._stored.model

    @property
    def rows_estimate(self) -> int:
        """The noisy number of rows (the exact one under replace-one, where it is public, and without a guarantee).

        Where rows of a person share a vote: the number of persons times how many rows they have on average.
        """
        by = self.coordinates
        return in_proportion(self._stored.model, by.schema.modelled, by.rows_of_person).rows_estimate

    def sample(
        self,
        n: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, Any] | None = None,
        iid: bool = False,
        binary: bool = False,
        to: Literal["pandas", "polars", "arrow", "duckdb"] | None = None,
        like: Any = None,
        fill: Fill | None = None,
    ) -> Any:
        """Synthetic rows as an Arrow table, or as the data frame that is asked for.

        Args:
            n: How many rows; by default the noisy number of rows of the fitted table. Where rows of a person are linked
                they come person by person, and the last one may be cut short; `sample_persons` draws whole persons.
            seed: Any whole number; the same seed gives the same rows. Sampling costs no privacy, however often.
            given: Conditions on columns, as {"sex": "F", "age": (30, 40), "city": ["Rome", "Paris"]}; the effective
                sample size behind the rows is in the table's metadata under "sklar.effective_sample_size".
            iid: Rows drawn without matching any totals. By default the tables of a sample vary less than those of
                independent rows would, unless the fit was told published=True. (A vine draws them from fresh weighted
                pools, so they are independent only up to the pool; see docs/vine.md.)
            binary: The binary table of dpc's paper (models of dpc and cop only): zeros and ones, a column for each
                value, as "race=White" or "age=30..39". Rows are independent; one may have two values of a column, or
                none.
            to: "pandas", "polars", "duckdb" or "arrow".
            like: A data frame, as the one that was fitted: the sample has its library, order of columns and types
                (nullable integers, categories, time zones), and the name of its index. None of its cells is looked at,
                and the labels of its categories are not used: those of the schema are. Plain numbers of pandas have
                the type that the schema gives them, since one missing value turns int8 into float64. State types to
                have them: like=df.dtypes, or {"age": "int8"}.
            fill: Columns that are left out (`id`, `ignore`, or of `like` alone) in the sample: "null" fills them with
                nulls, a pattern with made-up texts, as {"email": "[a-z]{6}@example\\.org", "key": "P[0-9]{6}"}; all
                different for an `id`.
        """
        import pyarrow as pa

        from sklar.export.frames import as_frame, filled
        from sklar.pipeline.sampling.write import binary_tables

        rows = self.rows_estimate if n is None else n
        if binary:
            bits = pa.concat_tables(binary_tables(self, rows, seed, given))
            return bits if to is None else as_frame(bits, self.schema, to=to, like=None)
        told = notebook.notebook_rows("sampling", rows)
        table = self.sample_table(rows, seed=seed, given=given, iid=iid, drawn=told)
        if fill is not None:
            table = filled(table, self.schema, fill, like=like, seed=seed)
        return table if to is None and like is None else as_frame(table, self.schema, to=to, like=like)

    def sample_persons(
        self,
        n: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, Any] | None = None,
        iid: bool = False,
        to: Literal["pandas", "polars", "arrow", "duckdb"] | None = None,
    ) -> Any:
        """Whole synthetic persons, one after the other, each with its rows in order and a key of its own.

        Of a model of `Tables`, both tables by their names.

        Args:
            n: How many persons; by default the noisy number of persons of the fitted table.
            seed: Any whole number; the same seed gives the same persons.
            given: Conditions on persons, written as in `sample`: on static columns (those of the parents), their number
                of rows, "rows of the person", and columns of their first row, as "first income".
            iid: As in `sample`, of the rows that persons begin with.
            to: "pandas", "polars", "duckdb" or "arrow" (the default).
        """
        from sklar.export.arrow import to_arrow
        from sklar.export.frames import as_frame
        from sklar.sample.draw import sample_persons
        from sklar.schema.persons.tables import table_schemas

        model, facts = self._stored.model, self.schema
        if not isinstance(model, LinkedModel):
            raise UsageError(
                "this model tells rows that stand alone: sample rows, or fit with a person that has an order"
            )
        persons = model.persons_estimate if n is None else n

        tables, worth = sample_persons(model, facts, persons, seed=seed, given=given, iid=iid)
        notes = {"sklar.effective_sample_size": f"{worth:.1f}"} if given else {}

        def shown(schema: Schema, values: SampledTable) -> Any:
            table = _labelled(to_arrow(schema, values), self.claim, notes)
            return table if to is None else as_frame(table, schema, to=to, like=None)

        if facts.person is None or facts.person.parents is None:
            return shown(facts, tables[""])
        return {name: shown(schema, tables[name]) for name, schema in table_schemas(facts).items()}

    def _require_single_rows(self, what: str) -> None:
        """Refuse what is not worked out for persons whose rows follow one another."""
        if isinstance(self._stored.model, LinkedModel):
            raise UsageError(
                f"{what} is for rows that stand alone, and this model tells persons whose rows follow one another: use "
                "its samples, or fit with linked=False in Person"
            )

    def sample_table(
        self,
        rows: int,
        *,
        seed: int | None,
        given: Mapping[str, Any] | None,
        iid: bool,
        drawn: Callable[[int], None] | None = None,
    ) -> pa.Table:
        """Rows as an Arrow table, as in `sample`; `drawn` is told how many more there are, while many are drawn."""
        from sklar.export.arrow import to_arrow
        from sklar.sample.draw import sample_with_worth

        alone = iid or self.fit_facts.get("options", {}).get("published") is True  # as all papers draw them
        values, worth = sample_with_worth(
            self._stored.model, self.schema, rows, seed=seed, given=given, iid=alone, drawn=drawn
        )
        notes = {"sklar.effective_sample_size": f"{worth:.1f}"} if given else {}
        return _labelled(to_arrow(self.schema, values), self.claim, notes)

    def stream(
        self,
        n: int,
        *,
        seed: int | None = None,
        batch_rows: int = BATCH_ROWS,
        given: Mapping[str, Any] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Independent synthetic rows in batches, in bounded memory."""
        from sklar.export.arrow import to_arrow
        from sklar.sample.draw import stream_tables

        tables = stream_tables(self._stored.model, self.schema, n, seed=seed, batch_rows=batch_rows, given=given)
        arrow = (_labelled(to_arrow(self.schema, table), self.claim, {}) for table in tables)
        return (batch for table in arrow for batch in table.combine_chunks().to_batches())

    def complete(
        self,
        data: Any,
        *,
        seed: int | None = None,
        nulls: Literal["draw", "keep"] = "draw",
        to: Literal["pandas", "polars", "arrow", "duckdb"] | None = None,
    ) -> Any:
        """A table of which each row's known values are its condition; the rest is drawn. See `sklar.complete`.

        Of persons whose rows follow one another, rows that follow the given ones are drawn as well.

        Given cells stay as they are, and nothing is promised about them: reading tables is the laboratory's business.
        """
        import sklar

        return sklar.complete(self, data, seed=seed, nulls=nulls, to=to)

    def interval(self, given: Mapping[str, Any], *, coverage: float = 0.95, seed: int | None = None) -> Interval:
        """How many rows of the fitted table are as asked for, with error bars from the known noise.

        Where a released table answers the query (a margin, or a measured pair, along its own groups) the coverage is
        promised over the noise of the fit. Other queries are answered by the model, and the interval is labelled "noise
        only, model error not included".

        Args:
            given: Conditions on columns, as in `sample`.
            coverage: Wanted probability that the interval holds the true count.
            seed: Seed of the simulation behind intervals of the second kind.
        """
        from sklar.model.vine.intervals import count_interval
        from sklar.model.vine.model import VineModel
        from sklar.sample.conditions import allowed_codes, read_conditions
        from sklar.sample.rng import generator
        from sklar.sample.translate import exactly_on_coordinates

        model = self._stored.model
        self._require_single_rows("interval")
        if not isinstance(model, VineModel):
            raise UsageError("error bars are given by models of the method 'vine' that measured pairs of columns")
        if self.coordinates.rows_of_person is not None:
            raise UsageError("rows of a person share one vote, so rows were not counted; ask for a share (estimate)")
        conditions = exactly_on_coordinates(self.coordinates, read_conditions(self.schema, given))
        return count_interval(model, allowed_codes(self.coordinates.schema, conditions), generator(seed), coverage)

    def estimate(
        self,
        statistic: str,
        *columns: str,
        value: Any = None,
        at: float = 0.5,
        by: str | None = None,
        between: tuple[Any, Any] | None = None,
        given: Mapping[str, Any] | None = None,
        confidence: float = 0.95,
        of: Literal["population", "table"] = "population",
        replicas: int = REPLICAS,
        seed: int = 0,
        done: Callable[[int], None] | None = None,
    ) -> Any:
        """A number with error bars, which hold the noise of the fit; it costs no privacy, however often it is asked.

        The first question that no released table answers takes as long as `replicas` fits of such a table; these are
        kept in FILE.replicas beside a model file, and later questions are answered from them. See docs/inference.md. Of
        persons whose rows follow one another, columns are static ones, "rows of the person", "first income" for first
        rows, and "previous income" beside "income" for steps; see docs/trajectories.md.

        Args:
            statistic: "share", "mean", "total", "quantile", "difference", "correlation", "linear" or "logistic"; or a
                whole question as text, as "mean(income) by sex where age=30..40".
            columns: What it is of: one column, two for a correlation, the outcome and then the terms of a regression.
            value: Of a share or a difference of shares: what the column must be, as in `given`. By default true.
            at: Of a quantile: which, between 0 and 1.
            by: One estimate for each value of this column; a difference is between two of them.
            between: Of a difference: the two values of `by`, the first minus the second.
            given: Only rows that are as these conditions say, as in `sample`.
            confidence: How often such intervals hold the truth.
            of: Whose value is meant: that of the "population" the rows came from, or of the fitted "table" itself.
            replicas: How many.
            seed: Of the replicas; the same seed gives the same intervals.
            done: Told how many more replicas there are: one, after each.

        Returns:
            An `Estimated`; a tuple of them with `by`, one for each group, and for regressions, one for each term.
        """
        from sklar.inference.answers.questions import Enquiry, parse_question
        from sklar.pipeline.estimation.asking import Wanted, ask
        from sklar.pipeline.estimation.of_persons import ask_persons, persons_schema
        from sklar.schema.columns import Boolean

        linked = isinstance(self._stored.model, LinkedModel)
        facts = persons_schema(self.schema) if linked else self.schema
        wanted = Wanted(confidence=confidence, of=of, replicas=replicas, seed=seed)
        if "(" in statistic:
            if columns or by is not None or given:
                raise UsageError("a question in words says all: write columns, groups and conditions into it.")
            question = parse_question(statistic, facts)
        else:
            truth = bool(columns) and isinstance(facts.get(columns[0]), Boolean)
            value = True if value is None and statistic == "share" and truth else value
            question = Enquiry(
                statistic=statistic, columns=columns, value=value, at=at, by=by, between=between, given=given or {}
            )
        found = (ask_persons if linked else ask)(self._stored, question, wanted, self._replicas, done)
        single = question.statistic == "difference" or question.by is None
        return found[0] if single and len(found) == 1 else found

    def implicates(
        self, m: int = REPLICAS, n: int | None = None, *, seed: int | None = None,
        done: Callable[[int], None] | None = None,
    ) -> Iterator[pa.Table]:  # fmt: skip
        """Tables of replicas of this model, for analyses in any program; `sklar.combine` puts their answers together.

        Args:
            m: How many tables.
            n: Rows of each; by default the noisy number of rows of the fitted table.
            seed: Any whole number; the same seed gives the same tables.
            done: Told how many more tables there are: one, after each.
        """
        from sklar.export.arrow import to_arrow
        from sklar.given_numbers import whole_number
        from sklar.pipeline.estimation.making import make_implicates
        from sklar.sample.rng import seed_entropy

        self._require_single_rows("implicates")
        count = whole_number(m, "the number of implicates")
        rows = whole_number(self.rows_estimate if n is None else n, "the number of rows")
        tables = make_implicates(self._stored, count, rows, seed_entropy(seed), done)
        return (_labelled(to_arrow(self.schema, table), self.claim, {}) for table in tables)

    def sample_spark(
        self,
        n: int,
        *,
        spark: Any = None,
        seed: int | None = None,
        given: Mapping[str, Any] | None = None,
        part_rows: int | None = None,
    ) -> Any:
        """Independent synthetic rows as a Spark data frame, drawn by the executors: the rows of `stream`, in any order.

        Args:
            n: How many rows.
            spark: The Spark session; by default the active one.
            seed: Any whole number; the same seed gives the same rows. The frame is the same however often it is used.
            given: Conditions on columns, as in `sample`.
            part_rows: Rows of a partition, rounded up to whole blocks of 65,536; about a million by default.
        """
        from sklar.pipeline.sampling.spark import spark_frame

        return spark_frame(self._stored, n, spark=spark, seed=seed, given=given, part_rows=part_rows)

    def sample_parts(
        self,
        folder: str | PathLike[str],
        n: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, Any] | None = None,
        part_rows: int | None = None,
        workers: int | None = None,
        written: Callable[[int], None] | None = None,
    ) -> int:
        """Independent synthetic rows as a folder of Parquet files, any number of them; gives the number of rows.

        The rows are those of `stream` for the same seed. Repeat a run that was cut short, and it goes on. Of a model of
        `Tables`, n persons go to a CSV file for each table.

        Args:
            folder: Where to.
            n: How many rows; by default the noisy number of rows of the fitted table.
            seed: Any whole number; the same seed gives the same rows.
            given: Conditions on columns, as in `sample`.
            part_rows: Rows of a part, rounded up to whole blocks of 65,536; about a million by default.
            workers: Number of processes, by default one for each usable core.
            written: Told the number of rows after each part.
        """
        from sklar.pipeline.sampling.parts import sample_to_parts
        from sklar.pipeline.sampling.write import SampleRequest, tells_two_tables, write_two_tables

        if tells_two_tables(self):
            return write_two_tables(self, folder, SampleRequest(rows=n, seed=seed, given=given))
        rows = self.rows_estimate if n is None else n
        return sample_to_parts(
            self._stored, folder, rows, seed=seed, given=given, part_rows=part_rows, workers=workers,
            written=written or notebook.notebook_rows("sampling", rows),
        )  # fmt: skip

    def sample_to(
        self,
        path: str | PathLike[str],
        n: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, Any] | None = None,
        iid: bool = False,
        binary: bool = False,
        fill: Fill | None = None,
        safe: bool = False,
        force: bool = False,
    ) -> int:
        """Synthetic rows as a file whose name tells its format; gives the number of rows.

        More than a million rows are drawn in batches, in bounded memory, and are always independent.

        Args:
            path: .csv, .tsv, .parquet, .feather or .arrow; or the URL of a new table in a database (postgresql, duckdb,
                sqlite). It appears whole or not at all. Of a model of `Tables`, n persons go to both tables of a
                folder, a .duckdb file or a database.
            n: How many rows; by default the noisy number of rows of the fitted table.
            seed: Any whole number; the same seed gives the same file.
            given: Conditions on columns, as in `sample`.
            iid: As in `sample`.
            binary: As in `sample`.
            fill: As in `sample`.
            safe: Disarm texts that a spreadsheet would take for formulas, in text files.
            force: Overwrite a file that is there already.
        """
        from sklar.pipeline.sampling.write import SampleRequest, sample_form, sample_to_file

        form = sample_form(iid, binary)
        return sample_to_file(
            self, path, SampleRequest(rows=n, seed=seed, given=given, form=form, fill=fill, safe=safe, force=force)
        )

    def inspect(self) -> dict[str, Any]:
        """Claim, budget by step, margins and structure, as plain data."""
        return inspect_model(self._stored)

    def plot(self, path: str | PathLike[str] | None = None) -> Canvas:
        """Draw the trees of its vine: into an .svg or .png file, or for a notebook. `sklar.draw_model` has more."""
        canvas = structure_picture(self.inspect())
        if path is not None:
            write_picture(canvas, path)
        return canvas

    def report(self, path: str | PathLike[str] | None = None) -> PublicReport:
        """What the release is worth, from releases only: may be published. Nothing is read, and nothing is charged.

        Args:
            path: A page to write, as "people.public.html"; by default none is written.
        """
        from sklar.pipeline.public_report.report import public_report
        from sklar.report.page import require_public_report

        if path is not None:
            require_public_report(path)
        if self._report is None:  # it follows from the model alone, and takes seconds
            self._report = public_report(self._stored)
        if path is not None:
            self._report.html(path)
        return self._report

    def unmet(self, criteria: Any) -> tuple[str, ...]:
        """Which criteria the model does not meet on the tables that were held back (`check_share`), in sentences.

        Args:
            criteria: As `accept` of `sklar.fit` takes them.
        """
        from sklar.pipeline.accept import found_out, read_criteria, unmet

        if not self.fit_facts.get("check_share"):
            raise UsageError("nothing was held back to check this model by: fit with check_share, as 0.05")
        return unmet(found_out(self._stored.fitted), read_criteria(criteria))

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write a model file; it may be published wherever the claim is acceptable.

        A file that is there already is refused, since it may hold a model that was paid for; `force` overwrites it.
        """
        refuse_overwriting(path, force=force)
        write_model(self._stored, path)
        self._replicas.path = os.fspath(path)


def _labelled(table: pa.Table, claim: Claim, notes: Mapping[str, str]) -> pa.Table:
    """The table with notes in its metadata; rows of a model that promises nothing always say so."""
    said = {**notes, **claim.notes}
    return table.replace_schema_metadata(said) if said else table


def load(path: str | PathLike[str]) -> Model:
    """Read a model file."""
    return Model(read_model(path), path)
