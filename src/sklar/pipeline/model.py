"""The public model: what a fit returns and a model file loads to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from sklar.pipeline.inspection import draw_structure, inspect_model
from sklar.pipeline.model_file import Stored, read_model, write_model
from sklar.release.measurements import Measurement, Recorded, collect_measurements
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
    """A fitted model of a table: sample from it, save it, read its claim. A private one contains no row or exact count.

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
        about = notebook.make_paragraph(self.claim.label[:1].upper() + self.claim.label[1:] + ".")
        more = notebook.make_paragraph(
            f"About {self.rows_estimate:,} rows. See .claim, .sample(n), .inspect(), .plot()."
        )
        head = f"Model of {len(self.schema)} columns"
        return notebook.make_card(head, about, more, notebook.make_table(("column", "what it is"), rows))

    @property
    def schema(self) -> Schema:
        """Public facts about the columns."""
        return self._stored.schema

    @property
    def coordinates(self) -> Coordinates:
        """The coordinates that the model is over: columns of the schema, or what public rules leave to be measured."""
        return self._stored.coordinates

    @property
    def claim(self) -> Claim:
        """The privacy claim: `print(model.claim)` shows a paragraph, and a line for each fact that it rests on."""
        return self._stored.claim

    @property
    def method(self) -> str:
        """The method that made the model."""
        return self._stored.claim.method

    @property
    def releases(self) -> tuple[Recorded, ...]:
        """Every noisy value that the model was estimated from, step by step."""
        return self._stored.recorded

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The measurements (query, noisy values, noise), in order."""
        return collect_measurements(self._stored.recorded)

    @property
    def found_facts(self) -> FoundFacts | None:
        """Facts that the fit measured before modelling; None if everything was stated."""
        return found_facts(self.schema, self._stored.fit, self._stored.model.rows_estimate)

    @property
    def fit_facts(self) -> Mapping[str, Any]:
        """The record of the fit as plain data: method, options, budget, allowance, unit, steps, seed."""
        return self._stored.fit

    @property
    def table_model(self) -> TableModel:
        """The joint distribution over base codes behind the samples."""
        return self._stored.model

    @property
    def rows_estimate(self) -> int:
        """The noisy number of rows (the exact one under replace-one, where it is public, and without a guarantee).

        If rows of a person share one vote, it is the number of persons times their mean number of rows.
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
        to: Literal["pandas", "polars", "arrow", "duckdb", "spark"] | None = None,
        like: Any = None,
        fill: Fill | None = None,
    ) -> Any:
        """Draw synthetic rows, as an Arrow table or a data frame.

        Args:
            n: Number of rows; by default the noisy number of rows of the fitted table. Linked rows come person by
                person, and the last person may be incomplete; `sample_persons` draws whole persons.
            seed: Any whole number; the same seed gives the same rows. Sampling costs no privacy, however often.
            given: Conditions on columns, as {"sex": "F", "age": (30, 40), "city": ["Rome", "Paris"]}; the effective
                sample size behind the rows is in the table's metadata under "sklar.effective_sample_size".
            iid: Draw rows without matching any totals. By default the tables of a sample vary less than those of
                independent rows, unless the fit had published=True. (A vine draws rows from fresh weighted pools, so
                they are independent only up to the pool; see docs/vine.md.)
            binary: Return the binary table of dpc's paper (models of dpc and cop only): zeros and ones, a column for
                each value, as "race=White" or "age=30..39". Rows are independent; one may have two values of a column,
                or none.
            to: "pandas", "polars", "duckdb", "arrow" or "spark". "spark" is a frame of the active session whose
                executors draw the rows of `stream`, in any order; it takes n, seed and given alone.
            like: A data frame, as the one that was fitted: the sample has its library, order of columns and types
                (nullable integers, categories, time zones), and the name of its index. Its cells are not read, and
                labels are those of the schema, not of its categories. Plain numbers of pandas have the type that the
                schema implies, since one missing value turns int8 into float64. To fix types, state them:
                like=df.dtypes, or {"age": "int8"}.
            fill: Content of columns that are not modelled (`id`, `ignore`, or of `like` alone): "null" for nulls, or a
                pattern for random texts, as {"email": "[a-z]{6}@example\\.org", "key": "P[0-9]{6}"}; unique for an
                `id`.
        """
        import pyarrow as pa

        from sklar.export.frames import as_frame, fill_unmodelled
        from sklar.pipeline.sampling.write import binary_tables

        rows = self.rows_estimate if n is None else n
        if to == "spark":
            from sklar.pipeline.sampling.spark import spark_frame

            if iid or binary or like is not None or fill is not None:
                raise UsageError('to="spark" takes n, seed and given alone: its rows are independent')
            return spark_frame(self._stored, rows, seed=seed, given=given)
        if binary:
            bits = pa.concat_tables(binary_tables(self, rows, seed, given))
            return bits if to is None else as_frame(bits, self.schema, to=to, like=None)
        bar = notebook.notebook_rows("sampling", rows)
        table = self.draw_table(rows, seed=seed, given=given, iid=iid, drawn=bar)
        if fill is not None:
            table = fill_unmodelled(table, self.schema, fill, like=like, seed=seed)
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
        """Draw whole synthetic persons, each with its rows in order and a key of its own.

        For a model of `Tables`, the result is a dict of both tables.

        Args:
            n: Number of persons; by default the noisy number of persons of the fitted table.
            seed: Any whole number; the same seed gives the same persons.
            given: Conditions on persons, written as in `sample`: on static columns (those of the parents), their number
                of rows, "rows of the person", and columns of their first row, as "first income".
            iid: As in `sample`, for first rows.
            to: "pandas", "polars", "duckdb" or "arrow" (the default).
        """
        from sklar.export.arrow import to_arrow
        from sklar.export.frames import as_frame
        from sklar.sample.draw import sample_persons
        from sklar.schema.persons.tables import table_schemas

        model, facts = self._stored.model, self.schema
        if not isinstance(model, LinkedModel):
            raise UsageError("this model has independent rows: sample rows, or fit with a person that has an order")
        persons = model.persons_estimate if n is None else n
        tables, effective = sample_persons(model, facts, persons, seed=seed, given=given, iid=iid)
        notes = {"sklar.effective_sample_size": f"{effective:.1f}"} if given else {}

        def shown(schema: Schema, values: SampledTable) -> Any:
            table = _labelled(to_arrow(schema, values), self.claim, notes)
            return table if to is None else as_frame(table, schema, to=to, like=None)

        if facts.person is None or facts.person.parents is None:
            return shown(facts, tables[""])
        return {name: shown(schema, tables[name]) for name, schema in table_schemas(facts).items()}

    def _require_single_rows(self, what: str) -> None:
        """Refuse a feature that is not available for longitudinal data."""
        if isinstance(self._stored.model, LinkedModel):
            raise UsageError(
                f"{what} is not available for longitudinal data (rows of a person in order): use samples, or fit with "
                "linked=False in Person"
            )

    def draw_table(
        self,
        rows: int,
        *,
        seed: int | None,
        given: Mapping[str, Any] | None,
        iid: bool,
        drawn: Callable[[int], None] | None = None,
    ) -> pa.Table:
        """Draw rows as an Arrow table for `sample` and `write_rows`; `drawn` is called with the rows of each block."""
        from sklar.export.arrow import to_arrow
        from sklar.sample.draw import draw_sample

        alone = iid or self.fit_facts.get("options", {}).get("published") is True  # the published methods draw i.i.d.
        values, effective = draw_sample(
            self._stored.model, self.schema, rows, seed=seed, given=given, iid=alone, drawn=drawn
        )
        notes = {"sklar.effective_sample_size": f"{effective:.1f}"} if given else {}
        return _labelled(to_arrow(self.schema, values), self.claim, notes)

    def stream(
        self,
        n: int,
        *,
        seed: int | None = None,
        batch_rows: int = BATCH_ROWS,
        given: Mapping[str, Any] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Draw independent synthetic rows in batches, in bounded memory."""
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
        """Complete a table: draw missing values and columns given each row's known values. See `sklar.complete`.

        For longitudinal data, later rows of each person are drawn as well. Given cells stay as they are, without any
        guarantee: the table is read by the lab.
        """
        import sklar

        return sklar.complete(self, data, seed=seed, nulls=nulls, to=to)

    def interval(self, given: Mapping[str, Any], *, coverage: float = 0.95, seed: int | None = None) -> Interval:
        """Estimate the number of rows of the fitted table that meet conditions, with an interval for the known noise.

        If a released table answers the query (a margin, or a measured pair, along its own groups), the coverage is
        guaranteed over the noise of the fit. Other queries are answered by the model, and the interval is labelled
        "noise only, model error not included".

        Args:
            given: Conditions on columns, as in `sample`.
            coverage: Probability that the interval contains the true count.
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
            raise UsageError("intervals are available for models of the method 'vine' that measured pairs of columns")
        if self.coordinates.rows_of_person is not None:
            raise UsageError("rows of a person share one vote, so rows were not counted; use estimate() for a share")
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
        """Estimate a statistic with error bars for the noise of the fit; it costs no privacy, however often.

        The first question that no released table answers takes as long as `replicas` fits of such a table. Replicas are
        cached in FILE.replicas beside a model file. See docs/inference.md. For longitudinal data, columns are static
        ones, "rows of the person", "first income" for first rows, and "previous income" beside "income" for
        transitions; see docs/trajectories.md.

        Args:
            statistic: "share", "mean", "total", "quantile", "difference", "correlation", "linear" or "logistic"; or a
                whole question as text, as "mean(income) by sex where age=30..40".
            columns: One column, two for a correlation, or the outcome and then the terms of a regression.
            value: For a share or a difference of shares: the condition on the column, as in `given`; true by default.
            at: For a quantile: its level, between 0 and 1.
            by: One estimate for each value of this column; a difference is between two of them.
            between: For a difference: the two values of `by`, the first minus the second.
            given: Conditions on rows, as in `sample`.
            confidence: Coverage of the intervals.
            of: What is estimated: the value in the "population" the rows came from, or in the fitted "table".
            replicas: Number of replicas.
            seed: Seed of the replicas; the same seed gives the same intervals.
            done: Progress callback: called with 1 after each replica.

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
                raise UsageError("write columns, groups and conditions into the question, not as further arguments.")
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
        """Draw tables from replicas of this model, for analyses in any program; `sklar.combine` combines the results.

        Args:
            m: Number of tables.
            n: Rows of each; by default the noisy number of rows of the fitted table.
            seed: Any whole number; the same seed gives the same tables.
            done: Progress callback: called with 1 after each table.
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

    def write_rows(
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
        part_rows: int | None = None,
        workers: int | None = None,
        written: Callable[[int], None] | None = None,
    ) -> int:
        """Write synthetic rows to a file, a folder or a database; return the number of rows.

        More than a million rows are drawn in batches, in bounded memory, and are always independent. So are those of
        a folder of Parquet files, which are the rows of `stream` for the same seed; an interrupted folder is continued
        when the call is repeated.

        Args:
            path: .csv, .tsv, .parquet, .feather, .arrow, .xlsx, .sav, .zsav or .dta; the URL of a new table in a
                database (postgresql, duckdb, sqlite); or a folder for Parquet files, if it exists, its name ends in
                a slash, or `part_rows` or `workers` is given. Writing to a file is atomic. For a model of `Tables`, n
                persons are written to both tables of a folder, a .duckdb file or a database.
            n: Number of rows; by default the noisy number of rows of the fitted table.
            seed: Any whole number; the same seed gives the same rows.
            given: Conditions on columns, as in `sample`.
            iid: As in `sample`.
            binary: As in `sample`.
            fill: As in `sample`; for one file.
            safe: In text files, escape texts that a spreadsheet would take for formulas.
            force: Overwrite an existing file.
            part_rows: For a folder: rows of a file, rounded up to whole blocks of 65,536; about a million by default.
            workers: For a folder: number of processes; by default one for each usable core.
            written: Called with the number of rows that were written since the last call.
        """
        from sklar.export.parts import is_parts_output
        from sklar.pipeline.sampling.parts import sample_to_parts
        from sklar.pipeline.sampling.write import SampleRequest, has_two_tables, sample_form, sample_to_file

        request = SampleRequest(
            rows=n, seed=seed, given=given, form=sample_form(iid, binary), fill=fill, safe=safe, force=force
        )
        in_parts = is_parts_output(path) or os.path.isdir(path) or workers is not None or part_rows is not None
        if has_two_tables(self) or not in_parts:
            return sample_to_file(self, path, request, written)
        if fill is not None or binary:
            raise UsageError("fill and the binary table are for one file, not for a folder of parts")
        rows = self.rows_estimate if n is None else n
        return sample_to_parts(
            self._stored, path, rows, seed=seed, given=given, part_rows=part_rows, workers=workers,
            written=written or notebook.notebook_rows("sampling", rows),
        )  # fmt: skip

    def inspect(self) -> dict[str, Any]:
        """Return claim, budget by step, margins and structure as plain data."""
        return inspect_model(self._stored)

    def plot(self, path: str | PathLike[str] | None = None) -> Canvas:
        """Draw the trees of its vine: into an .svg or .png file, or for a notebook. `sklar.lab.draw_model` has more."""
        canvas = draw_structure(self.inspect())
        if path is not None:
            write_picture(canvas, path)
        return canvas

    def report(self, path: str | PathLike[str] | None = None) -> PublicReport:
        """Report the quality of the release, from releases only: it may be published, and nothing is charged.

        Args:
            path: A page to write, as "people.public.html"; by default none is written.
        """
        from sklar.pipeline.public_report.report import public_report
        from sklar.report.page import require_public_report

        if path is not None:
            require_public_report(path)
        if self._report is None:  # it depends on the model alone, and takes seconds
            self._report = public_report(self._stored)
        if path is not None:
            self._report.html(path)
        return self._report

    def page(
        self,
        path: str | PathLike[str],
        *,
        questions: Sequence[str] = (),
        ledger: str | PathLike[str] | None = None,
        sign: str | PathLike[str] | None = None,
        name: str | None = None,
        done: Callable[[str, float], None] | None = None,
    ) -> None:
        """Write the release as one page that shows, samples, answers and verifies, in any browser and without network.

        It contains the model file and what follows from it, so it may be published, and nothing is charged.

        Args:
            path: The page to write, as "people.page.html".
            questions: Further questions to answer in it, as for `estimate`.
            ledger: The ledger that the fit was charged to; an extract is included.
            sign: A private key of `sklar key`.
            name: Name of the release; by default that of the file.
            done: Progress callback, called with the current step and the completed fraction.
        """
        from sklar.pipeline.release_page.gather import make_page, require_page, title_of, write_page

        require_page(path)
        title = name or title_of(path)
        page = make_page(self._stored, title=title, questions=questions, ledger=ledger, sign=sign, done=done)
        write_page(path, page)

    def unmet(self, criteria: Any) -> tuple[str, ...]:
        """Return the criteria that the model does not meet on the tables held back (`check_share`), as sentences.

        Args:
            criteria: Criteria as for `accept` of `sklar.fit`.
        """
        from sklar.pipeline.accept import check_held_out, read_criteria, unmet_criteria

        if not self.fit_facts.get("check_share"):
            raise UsageError("no tables were held back to check this model: fit with check_share, such as 0.05")
        return unmet_criteria(check_held_out(self._stored.fitted), read_criteria(criteria))

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write a model file, publishable if the claim is acceptable; `force` overwrites an existing file."""
        refuse_overwriting(path, force=force)
        write_model(self._stored, path)
        self._replicas.path = os.fspath(path)


def _labelled(table: pa.Table, claim: Claim, notes: Mapping[str, str]) -> pa.Table:
    """Return the table with notes in its metadata; rows of a model without a guarantee always say so."""
    metadata = {**notes, **claim.notes}
    return table.replace_schema_metadata(metadata) if metadata else table


def load(path: str | PathLike[str]) -> Model:
    """Read a model file."""
    return Model(read_model(path), path)
