"""Errors about wrong arguments are what Python calls them, too; those about data, files and the ledger are not."""

from __future__ import annotations

import pickle

import pytest

import sklar
from sklar import errors

ARGUMENTS = (errors.UsageError, errors.SchemaError, errors.BudgetError)
REST = (errors.SourceError, errors.LedgerError, errors.DoorError, errors.ModelFileError, errors.OutputError)


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_a_wrong_argument_is_a_value_error(kind: type[Exception]) -> None:
    assert issubclass(kind, errors.SklarError)
    assert issubclass(kind, ValueError)


@pytest.mark.parametrize("kind", REST)
def test_a_fault_of_data_or_files_is_none(kind: type[Exception]) -> None:
    assert issubclass(kind, errors.SklarError)
    assert not issubclass(kind, ValueError)


def test_it_is_caught_as_such_where_people_meet_it() -> None:
    table, schema = {"x": [1, 2]}, sklar.Schema({"x": sklar.Integer(0, 9)})
    with pytest.raises(ValueError, match="neighbours"):
        sklar.fit(table, schema, epsilon=1.0, neighbours="nobody")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="epsilon must be above 0"):
        sklar.fit(table, schema, epsilon=-1.0)
    with pytest.raises(ValueError, match="it has no columns"):
        sklar.Schema({})
    with pytest.raises(ValueError, match="ReadOptions has no 'separator'"):
        sklar.fit(table, schema, epsilon=1.0, read={"separator": ";"})


def test_all_faults_of_a_schema_are_still_carried_along() -> None:
    fault = pickle.loads(pickle.dumps(errors.UsageError("a rule")))
    assert isinstance(fault, ValueError)
    assert str(fault) == "a rule"
    assert errors.SchemaError(["one", "two"]).faults == ("one", "two")
