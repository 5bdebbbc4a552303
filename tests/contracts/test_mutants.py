"""The known ways to break the promise, planted one at a time: each must be caught."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar.private.door as door_module
import sklar.private.session as session_module
from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.errors import DoorError, OverspendError
from sklar.methods.evidence import Measure
from sklar.pipeline.fit.run import fit
from sklar.private.door import PrivateDoor
from sklar.private.recorder import Recorder
from sklar.release.coefficients import Coefficients
from sklar.release.measurements import Measurement
from sklar.release.taus import TauVector
from tests.contracts.record_replay import DivergedError, compare, record
from tests.contracts.tables import odd_rows, people, schema


def caught(monkeypatch: pytest.MonkeyPatch, method: str = "vine", **options: Any) -> list[str]:
    """What record and replay says about the planted fault, on a neighbour with one extreme row more."""
    base = people(300)
    more = pd.concat([base, odd_rows().iloc[[0]]], ignore_index=True)
    settings = {"schema": schema(), "method": method, "epsilon": 20.0, **options}
    first = record(monkeypatch, data=base, **settings)
    try:
        return compare(first, record(monkeypatch, first, data=more, **settings))
    except DivergedError as error:
        return [str(error)]


def test_without_a_mutant_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert caught(monkeypatch) == []


@pytest.mark.parametrize("method", ["vine", "independent"])
def test_unsplit_budget(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Every table gets the noise of the whole allowance."""
    monkeypatch.setattr(Allowance, "part", lambda self, fraction: self)
    with pytest.raises(OverspendError):
        fit(people(300), schema(), method=method, epsilon=1.0)


@pytest.mark.parametrize(("method", "options"), [("independent", {}), ("independent", {"histogram": "privelet"})])
def test_noise_divided_by_n(monkeypatch: pytest.MonkeyPatch, method: str, options: dict[str, Any]) -> None:
    """The noise is drawn for a mean, as if one row moved it by 1/n, and charged as if it were not."""
    real = door_module._noise_in_units  # pyright: ignore[reportPrivateUsage]

    def shrunken(noise: Noise, step: float) -> Noise:
        return real(replace(noise, scale=noise.scale / 256), step)

    monkeypatch.setattr(door_module, "_noise_in_units", shrunken)
    assert any("not the one that was charged" in fault for fault in caught(monkeypatch, method, **options))


def test_ranks_over_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are replaced by their ranks in the whole table, so that one row moves many others."""
    real = session_module.open_rows

    def ranked(data: pd.DataFrame, schema: Any, read: Any) -> Any:
        ranks = data["income"].rank(method="first", ascending=False) / (len(data) + 1)
        return real(data.assign(income=ranks * 1e6), schema, read)

    monkeypatch.setattr(session_module, "open_rows", ranked)
    assert any("moved" in fault for fault in caught(monkeypatch, "independent"))


def test_domain_from_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds are taken from the rows: a new extreme shifts everybody's cell."""
    real = session_module.open_rows

    def scaled(data: pd.DataFrame, schema: Any, read: Any) -> Any:
        finite = data["income"].replace([np.inf, -np.inf], np.nan)
        return real(data.assign(income=finite / finite.max() * 1e6), schema, read)

    monkeypatch.setattr(session_module, "open_rows", scaled)
    assert any("moved" in fault for fault in caught(monkeypatch, "independent"))


def test_exact_number_of_rows_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact n reaches the method under add-remove."""
    monkeypatch.setattr(PrivateDoor, "public_rows", property(lambda self: self._rows.exact_rows))
    faults = caught(monkeypatch)
    # Whether the questions change with n is up to the noise; that the number itself was shown is seen in any case.
    assert any("something else was shown" in fault or "asked different questions" in fault for fault in faults)


def test_a_look_without_a_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are read a second time for one charge."""
    real = door_module.add_noise

    def twice(source: Any, exact: Any, noises: Any, cells: Any = None) -> Any:
        source.add(exact, noises, cells)
        return real(source, exact, noises, cells)

    monkeypatch.setattr(door_module, "add_noise", twice)
    assert "a look without a charge" in caught(monkeypatch, "independent")


def test_understated_sensitivity(monkeypatch: pytest.MonkeyPatch) -> None:
    """The query claims a tenth of how far one row moves it; charge and noise both follow the claim."""
    real = Coefficients.sensitivity

    def understated(self: Coefficients, unit: Any) -> tuple[float, float]:
        l1, l2 = real(self, unit)
        return l1 / 10, l2 / 10

    monkeypatch.setattr(Coefficients, "sensitivity", understated)
    assert any("moved" in fault for fault in caught(monkeypatch, "independent", histogram="privelet"))


@pytest.mark.parametrize("planted", [False, True])
def test_phase_left_without_noise(monkeypatch: pytest.MonkeyPatch, planted: bool) -> None:
    """EFPA as its authors' code does it: the size of a coefficient gets noise, its phase (here a sign) gets none."""
    exact_sums: list[np.ndarray] = []
    real_values, real_step = door_module.exact_values, PrivateDoor._run_step  # pyright: ignore[reportPrivateUsage]

    def remembered(queries: Any, rows: Any) -> list[np.ndarray]:
        exact_sums[:] = real_values(queries, rows)
        return list(exact_sums)

    def phased(releases: Any) -> Any:
        if not any(isinstance(release, Measurement) for release in releases):
            return releases
        return tuple(
            replace(release, values=np.copysign(release.values, exact))
            if isinstance(release.query, Coefficients | TauVector)
            else release
            for release, exact in zip(releases, exact_sums, strict=True)
        )

    def step(self: PrivateDoor, label: str, events: Any, digest: str, asked: Any, read: Any) -> Any:
        return real_step(self, label, events, digest, asked, lambda: phased(read()))

    if planted:
        monkeypatch.setattr(door_module, "exact_values", remembered)
        monkeypatch.setattr(PrivateDoor, "_run_step", step)
    base = people(6)
    other = pd.concat([base.iloc[1:], odd_rows().iloc[[0]]], ignore_index=True)
    settings = {"schema": schema(), "method": "dpcopula-kendall", "margins": "efpa", "epsilon": 20.0}
    first = record(monkeypatch, data=base, **settings)
    try:
        found = compare(first, record(monkeypatch, first, data=other, **settings))
    except DivergedError as error:
        found = [str(error)]
    betrayed = ("something else was shown", "asked different questions")
    assert any(words in fault for fault in found for words in betrayed) if planted else found == []


def test_charging_after_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge that is refused must leave the rows unread."""
    read: list[str] = []
    for reading in ("exact_values", "exact_counts", "exact_label_counts"):
        monkeypatch.setattr(door_module, reading, lambda *_: read.append("rows"))

    def refuse(self: Recorder, events: Any, label: str, request: str) -> int:
        raise OverspendError("no")

    monkeypatch.setattr(Recorder, "charge", refuse)
    with pytest.raises(OverspendError):
        fit(people(50), schema(), method="independent", epsilon=1.0)
    assert read == []


def test_a_callable_through_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that hands a function to the Door is stopped before anything is charged or read."""
    from sklar.methods import independent

    charged: list[str] = []
    monkeypatch.setattr(Recorder, "charge", lambda self, events, label, request: charged.append(label))

    def sneaky(evidence: Any) -> Any:
        return Measure(label="rows please", requests=(lambda rows: rows,))  # type: ignore[arg-type]

    method = replace(independent.INDEPENDENT, ask=sneaky)
    monkeypatch.setattr("sklar.pipeline.fit.request.find_method", lambda *_: method)
    with pytest.raises(DoorError, match="never functions"):
        fit(people(50), schema(), method="independent", epsilon=1.0)
    assert charged == []
