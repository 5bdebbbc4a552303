"""Rows of persons: bounded, weighted, gathered across batches and files; how far one person moves a table."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sklar
from sklar.counting.tables import exact_pair_counts
from sklar.errors import SourceError
from sklar.rows import exact_counts, open_rows
from sklar.rows.persons import choice, gather, used
from sklar.rows.persons import rows as person_rows
from sklar.rows.persons.keys import Secret
from sklar.schema.coordinates import coordinates

SECRET = Secret(words=(1, 2, 3, 4, 5))
VOTE = 1 << 20
COLUMNS = {"year": sklar.Integer(2000, 2029), "sex": sklar.Category(["F", "M"]), "ward": sklar.Integer(0, 6)}
Row = tuple[Any, int, str, int]


def schema(rows: int = 3, order: str | None = "year", weights: str = "votes") -> sklar.Schema:
    person = sklar.Person(key="id", rows=rows, order=order, weights=weights, linked=False)
    return sklar.Schema({"id": sklar.Id(), **COLUMNS}, person=person)


@pytest.fixture(autouse=True)
def _one_secret(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr(person_rows, "Secret", lambda: SECRET)


def made(persons: int = 60, seed: int = 1, most: int = 8) -> list[Row]:
    """Persons of 1 to `most` rows, of different years each, in random order."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for person in range(persons):
        for year in rng.choice(30, rng.integers(1, most + 1), replace=False):
            rows.append((person, 2000 + int(year), "FM"[rng.integers(2)], int(rng.integers(7))))
    return [rows[at] for at in rng.permutation(len(rows))]


def table(rows: list[Row]) -> pa.Table:
    names = ("id", *COLUMNS)
    return pa.table({name: pa.array([row[at] for row in rows]) for at, name in enumerate(names)})


def expected(rows: list[Row], bound: int, axes: tuple[int, ...]) -> Counter[tuple[Any, ...]]:
    """Votes by brute force: the first rows of each person by year."""
    of: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        of[row[0]].append(row)
    votes: Counter[tuple[Any, ...]] = Counter()
    for own in of.values():
        used = sorted(own, key=lambda row: row[1])[:bound]
        for row in used:
            votes[tuple(row[at] for at in axes)] += VOTE // len(used)
    return votes


def sex_by_ward(data: Any, facts: sklar.Schema, **read: Any) -> np.ndarray:
    (counts,) = exact_counts(open_rows(data, facts, **read), [(("sex", "ward"), None)])
    return counts[:2, :7]


def as_table(votes: Counter[tuple[Any, ...]]) -> np.ndarray:
    counts = np.zeros((2, 7), dtype=np.int64)
    for (sex, ward), weight in votes.items():
        counts["FM".index(sex), ward] += weight
    return counts


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 40])
def test_the_first_rows_of_a_person_share_one_vote(bound: int) -> None:
    rows = made()
    assert np.array_equal(sex_by_ward(table(rows), schema(bound)), _scaled(expected(rows, bound, (2, 3)), bound))


def _scaled(votes: Counter[tuple[Any, ...]], bound: int) -> np.ndarray:
    """With one row a person there is nothing to share, and rows are counted as rows."""
    return as_table(votes) // VOTE if bound == 1 else as_table(votes)


def test_the_number_of_used_rows_is_a_column() -> None:
    rows = made()
    facts = schema(3)
    name = coordinates(facts).rows_of_person
    assert name is not None
    opened = open_rows(table(rows), facts)
    (counts,) = exact_counts(opened, [((name,), None)])
    used = [min(count, 3) for count in Counter(row[0] for row in rows).values()]
    assert counts.tolist() == [used.count(m) * (VOTE // m) * m for m in (1, 2, 3)]
    assert opened.exact_persons == len(used)
    assert opened.exact_rows == sum(used)


def test_counting_rows_keeps_the_bound_and_counts_whole_rows() -> None:
    rows = made()
    counts = sex_by_ward(table(rows), schema(3, weights="rows"))
    assert counts.sum() == sum(min(count, 3) for count in Counter(row[0] for row in rows).values())
    assert (counts <= as_table(expected(rows, 3, (2, 3))) * 3 // VOTE + 1).all()


def test_all_ways_of_counting_agree_on_votes() -> None:
    """Pairs by bits, single tables by bits, and tables row by row."""
    rng = np.random.default_rng(3)
    names = [f"c{k}" for k in range(12)]
    data = {name: rng.integers(0, 2, 900) for name in names} | {"id": rng.integers(0, 300, 900)}
    facts = sklar.Schema({name: sklar.Integer(0, 1) for name in names}, person=sklar.Person(key="id", rows=2))
    rows = open_rows(pa.table(data), facts)
    same = np.arange(2, dtype=np.int32)
    pairs = exact_pair_counts(rows, names, [same] * 12).reshape(-1, 2, 2)
    many = exact_counts(rows, [((a, b), None) for a in names for b in names if a < b])
    few = exact_counts(rows, [((names[0], names[1]), None), ((names[0],), None)])
    order = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    told = dict(zip(order, pairs, strict=True))
    for (a, b), counts in zip([(a, b) for a in names for b in names if a < b], many, strict=True):
        wanted = told[a, b] if (a, b) in told else told[b, a].T
        assert np.array_equal(counts, wanted)
    assert np.array_equal(few[0], told[names[0], names[1]])
    assert np.array_equal(few[1], few[0].sum(axis=1))


def test_keys_meet_across_batches_files_and_kinds_of_files(tmp_path: Path) -> None:
    rows = made(200)
    wanted = as_table(expected(rows, 3, (2, 3)))
    whole, folder = table(rows), tmp_path / "folder"
    folder.mkdir()
    pyarrow.csv.write_csv(whole, tmp_path / "whole.csv")
    pyarrow.parquet.write_table(whole, tmp_path / "whole.parquet", row_group_size=50)
    pyarrow.csv.write_csv(whole[:300], folder / "a.csv")
    pyarrow.parquet.write_table(whole[300:], folder / "b.parquet")
    stream = pa.RecordBatchReader.from_batches(whole.schema, whole.to_batches(max_chunksize=7))
    for data in (tmp_path / "whole.csv", tmp_path / "whole.parquet", folder, stream, whole.to_pandas()):
        assert np.array_equal(sex_by_ward(data, schema(3)), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["year", None])
def test_what_outgrows_its_memory_is_gathered_on_disk(
    order: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = table(made(400))
    in_memory = sex_by_ward(rows, schema(3, order))
    monkeypatch.setattr(gather.Gathering.__init__, "__defaults__", (2_000,))
    assert np.array_equal(sex_by_ward(rows, schema(3, order), cache_bytes=0), in_memory)
    cache = tmp_path / "cache"
    assert np.array_equal(sex_by_ward(rows, schema(3, order), cache_bytes=0, cache=cache), in_memory)
    assert not list(cache.iterdir())


def test_one_key_for_all_rows_is_one_person(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(7, 2000 + k % 30, "FM"[k % 2], k % 7) for k in range(500)]
    for memory in (1 << 20, 2_000):  # the second looks at the person in slices
        monkeypatch.setattr(gather.Gathering.__init__, "__defaults__", (memory,))
        for order in ("year", None):
            counts = sex_by_ward(table(rows), schema(3, order))
            assert counts.sum() == VOTE // 3 * 3


NO_KEYS = [None, "", "NA", "  ", " NA", 2.0**53, -1e300, float("nan"), [1]]


@pytest.mark.parametrize("weights", ["votes", "rows"])
@pytest.mark.parametrize("missing", NO_KEYS, ids=str)
def test_rows_without_a_key_are_left_out(missing: Any, weights: str) -> None:
    """One of several people behind them moves nothing: as one person together, they would change what others count."""
    facts, known = schema(5, weights=weights), made()

    def counts(rows: list[Row]) -> list[Any]:
        columns = {name: [row[at] for row in rows] for at, name in enumerate(("id", *COLUMNS))}
        opened = open_rows(columns, facts, null_values=("NA",))
        return [exact_counts(opened, [(("sex", "ward"), None)])[0].tolist(), opened.exact_persons, opened.exact_rows]

    without = counts(known)
    for more in (1, 2, 20):
        rows: list[Row] = [(missing, 2000 + k, "F", k % 7) for k in range(more)]
        assert counts([*rows, *known]) == without
    assert counts([(missing, 2000, "F", 1)]) == [np.zeros_like(without[0]).tolist(), 0, 0]


def test_a_float_below_two_to_the_53_is_the_integer_that_it_was() -> None:
    top = 2**53 - 1
    rows: list[Row] = [
        (top, 2000, "F", 0),
        (float(top), 2001, "M", 1),
        (2**53, 2000, "F", 2),
        (2**53 + 1, 2000, "F", 3),
    ]
    columns = {name: [row[at] for row in rows] for at, name in enumerate(("id", *COLUMNS))}
    counts = sex_by_ward(columns, schema(3))
    assert counts[0].tolist() == [VOTE // 2, 0, VOTE, VOTE, 0, 0, 0] and counts[1, 1] == VOTE // 2


@pytest.mark.parametrize("keys", [pa.array([7, 7]), pa.array([7.0, 7.0]), pa.array(["7", " 7 "])])
def test_a_key_is_its_text(keys: Any) -> None:
    own = pa.table({"id": keys, "year": [2000, 2001], "sex": ["F", "M"], "ward": [0, 1]})
    counts = sex_by_ward(own, schema(3))
    assert counts[0, 0] == counts[1, 1] == VOTE // 2


def test_which_rows_are_used_depends_on_the_rows_of_the_person_alone() -> None:
    rng, rows = np.random.default_rng(5), made(80, most=12)
    facts = schema(3, None)
    before = sex_by_ward(table(rows), facts)
    assert np.array_equal(sex_by_ward(table([rows[at] for at in rng.permutation(len(rows))]), facts), before)
    own = [row for row in rows if row[0] == 5]
    without = sex_by_ward(table([row for row in rows if row[0] != 5]), facts)
    assert np.array_equal(before - without, sex_by_ward(table(own), facts))


@pytest.mark.slow
def test_every_row_of_a_person_is_as_likely_to_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine equal rows and one other, one used: the other comes up in a tenth of secrets, not in half of them."""
    rows = table([(1, 2000, "F", 0)] * 9 + [(1, 2000, "M", 0)])
    found, rng = 0, np.random.default_rng(8)
    for _ in range(400):
        secret = Secret(words=tuple(int(word) for word in rng.integers(0, 2**63, 5)))
        monkeypatch.setattr(person_rows, "Secret", lambda secret=secret: secret)
        found += int(sex_by_ward(rows, schema(1, None))[1, 0])
    assert 20 <= found <= 65  # 40 expected, with a standard deviation of 6


def test_persons_with_the_same_rows_choose_apart() -> None:
    """One row of either sex each, one used: about half of a thousand persons are of either, not all of them."""
    counts = sex_by_ward(table([(k, 2000, sex, 0) for k in range(1_000) for sex in "FM"]), schema(1, None))
    assert counts.sum() == 1_000 and 350 < counts[0, 0] < 650


def test_a_crowd_of_equal_rows_takes_no_memory_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person of many equal rows and few others, in slices: the same rows are used, however they are held."""
    rows = [(7, 2000, "F", 0)] * 5_000 + [(7, 2000, "M", k % 7) for k in range(70)] + made(30)
    expected = [sex_by_ward(table(rows), schema(3, order)) for order in ("year", None)]
    held: list[int] = []
    right = choice._merge_blocks

    def merged(blocks: Any, mixing: int) -> Any:
        held.append(sum(len(block[0]) for block in blocks))
        return right(blocks, mixing)

    monkeypatch.setattr(choice, "_merge_blocks", merged)
    monkeypatch.setattr(choice, "COPIES_AT_ONCE", 1_000)
    monkeypatch.setattr(gather, "READ_ROWS", 200)
    monkeypatch.setattr(gather.Gathering.__init__, "__defaults__", (4_000,))
    found = [sex_by_ward(table(rows), schema(3, order)) for order in ("year", None)]
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    assert 0 < max(held) < 600


NEIGHBOURS: dict[str, list[Row]] = {
    "all rows in one cell": [("x", 2000 + k, "F", 0) for k in range(3)],
    "rows spread": [("x", 2000 + k, "FM"[k % 2], k) for k in range(3)],
    "beyond the bound": [("x", 2000 + k, "FM"[k % 2], k % 7) for k in range(30)],
    "beyond the bound, no order": [("x", 2010, "F", 0)] * 30,
    "one row": [("x", 2005, "M", 6)],
}


def largest_move(person: list[Row], facts: sklar.Schema, folder: Path) -> int:
    """How far a whole person moves a table, in one file and with its rows in two files."""
    others: list[Row] = [(f"p{row[0]}", *row[1:]) for row in made(40)]
    moves: list[np.ndarray] = []
    without = sex_by_ward(table(others), facts)
    for mixed in (others + person, person + others, person[::2] + others + person[1::2]):
        moves.append(sex_by_ward(table(mixed), facts) - without)
    folder.mkdir(exist_ok=True)
    pyarrow.csv.write_csv(table(others[::2] + person[::2]), folder / "a.csv")
    pyarrow.csv.write_csv(table(others[1::2] + person[1::2]) if person[1::2] else table(others[1::2]), folder / "b.csv")
    moves.append(sex_by_ward(folder, facts) - without)
    assert all((move >= 0).all() for move in moves)
    return max(int(np.abs(move).sum()) for move in moves)


@pytest.mark.parametrize("which", NEIGHBOURS)
def test_one_person_moves_a_table_by_at_most_one_vote(which: str, tmp_path: Path) -> None:
    moved = largest_move(NEIGHBOURS[which], schema(4, None if "no order" in which else "year"), tmp_path / "both")
    assert VOTE - 4 < moved <= VOTE


@pytest.mark.parametrize("which", NEIGHBOURS)
def test_with_rows_as_weights_one_person_moves_a_table_by_the_bound(which: str, tmp_path: Path) -> None:
    assert largest_move(NEIGHBOURS[which], schema(4, weights="rows"), tmp_path / "both") <= 4


def test_a_weight_that_is_one_too_large_is_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    right = person_rows.vote_weight
    monkeypatch.setattr(person_rows, "vote_weight", lambda rows: right(rows) + 1)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert largest_move(NEIGHBOURS["rows spread"], schema(4), tmp_path / "both") > VOTE


def test_a_bound_that_is_not_kept_is_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    right = used.select_rows
    monkeypatch.setattr(used, "select_rows", lambda keys, order, ties, bound: right(keys, order, ties, 10**9))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert largest_move(NEIGHBOURS["beyond the bound"], schema(4, weights="rows"), tmp_path / "both") > 4


def test_keys_that_do_not_meet_across_files_are_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each batch as if its persons were other people."""
    right = gather.Gathering.add

    def alone(self: Any, columns: Any) -> None:
        self.seen = getattr(self, "seen", 0) + 1
        right(self, [columns[0], columns[1] + np.uint64(self.seen), *columns[2:]])

    monkeypatch.setattr(gather.Gathering, "add", alone)
    assert largest_move(NEIGHBOURS["beyond the bound"], schema(4), tmp_path / "both") > VOTE


def test_a_table_without_the_key_is_refused_by_its_name() -> None:
    with pytest.raises(SourceError, match="'id'"):
        open_rows(table(made()).drop_columns(["id"]), schema())


def test_one_vote_shared_by_any_number_of_rows_is_at_most_a_vote() -> None:
    for rows in range(1, 1001):
        assert rows * person_rows.vote_weight(rows) <= VOTE
        assert rows * person_rows.vote_weight(rows) > VOTE - rows
