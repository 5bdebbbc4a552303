"""The clock of a zone, against the standard library, also where it jumps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from sklar.schema.grid import EPOCH
from sklar.schema.zones import MICRO, is_zone, zone_clock

ZONES = ["Europe/Vienna", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca", "UTC"]
LOWER, UPPER = "2010-03-02", "2024-11-30"


@pytest.mark.parametrize("name", ZONES)
def test_the_clock_shows_what_the_standard_library_says(name: str) -> None:
    first, last = (datetime.fromisoformat(day) for day in (LOWER, UPPER))
    minutes = np.random.default_rng(1).integers(0, (last - first) // timedelta(minutes=1), 4_000)
    moments = [first + timedelta(minutes=int(m)) for m in minutes]
    # Every hour of the weeks in which clocks change, too.
    moments += [datetime(2019, month, 1) + timedelta(hours=h) for month in (3, 10, 11) for h in range(24 * 30)]
    utc = np.array([(m - EPOCH) // MICRO for m in moments])
    clock, zone = zone_clock(name, LOWER, UPPER), ZoneInfo(name)
    local = [m.replace(tzinfo=UTC).astimezone(zone) for m in moments]
    shown = np.array([(m.replace(tzinfo=None) - EPOCH) // MICRO for m in local])
    np.testing.assert_array_equal(clock.to_local(utc), shown)
    first_time = np.array([m.fold == 0 for m in local])
    np.testing.assert_array_equal(clock.to_utc(shown)[first_time], utc[first_time])


def test_times_that_no_clock_shows_stay_in_order() -> None:
    clock = zone_clock("Europe/Vienna", "2024-01-01", "2024-12-31")
    gap = np.array([(datetime(2024, 3, 31, 2, m) - EPOCH) // MICRO for m in range(60)])
    utc = clock.to_utc(gap)
    assert (np.diff(utc) > 0).all()
    assert EPOCH + timedelta(microseconds=int(utc[0])) == datetime(2024, 3, 31, 1, 0)


def test_names_of_zones() -> None:
    assert is_zone("Europe/Vienna")
    assert not any(is_zone(name) for name in ("Europe/Nowhere", "", "../etc/passwd", 3, None, "Europe"))
