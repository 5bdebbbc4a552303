"""Griesbauer et al. 2025, figures 2 and 28 to 31: the tables of SUPPORT2 that its authors publish, beside ours.

python -m benchmarks.papers.tvine_published [--quick]

PrivPGD, CTGAN, TVAE and PrivBayes as their authors made them: `python -m benchmarks.data` fetches the tables, each
checked by git's hash. Those that cannot be had are named, and the others go on; without any this fails.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import pandas as pd

import sklar
from benchmarks.data.sources import SUPPORT2_TABLES, find
from benchmarks.papers.beside import Beside
from benchmarks.papers.figures import add_picture_options, panels, save
from benchmarks.papers.tvine_fidelity import NAMES, measured
from benchmarks.papers.tvine_levels import Tables, forest_auc, support2

DRAWN = ("totcst", "crea")
"""Columns whose margins are drawn, as in figures 29 to 31."""


def published_tables() -> dict[str, pd.DataFrame]:
    """The authors' tables that are at hand or can be fetched."""
    found: dict[str, pd.DataFrame] = {}
    for name in SUPPORT2_TABLES:
        try:
            found[name] = pd.read_csv(find(f"support2-{name.lower()}"))
        except (OSError, SystemExit) as error:
            print(f"{name}: {error}", flush=True)
    return found


def score_table(made: pd.DataFrame, tables: Tables) -> dict[str, float]:
    """AUC of 0/1 predictions, and precision, recall and authenticity of the covariates."""
    made = made[list(tables.train)]
    fidelity = measured(tables.train, made, tables.schema)
    return {"AUC": forest_auc(made, tables.test)[0], **dict(zip(NAMES, fidelity, strict=True))}


def draw_margins(made: dict[str, pd.DataFrame], tables: Tables, asked: argparse.Namespace) -> None:
    """Histograms of a sensitive column of each table beside the real one's."""
    for column in DRAWN:
        figure, axes = panels(list(made), column, "share")
        edges = np.quantile(tables.train[column], np.linspace(0, 1, 21))
        for axis, table in zip(axes, made.values(), strict=True):
            for rows, label in ((tables.train, "real"), (table, "synthetic")):
                axis.hist(rows[column], bins=np.unique(edges), weights=np.full(len(rows), 1 / len(rows)),
                          histtype="step", label=label)  # fmt: skip
            axis.legend(fontsize="x-small")
        save(figure, asked.out, f"tvine_published_{column}")


def main() -> None:
    """Print the scores of every table, and draw margins."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_picture_options(parser)
    asked = parser.parse_args()
    tables, theirs, beside = support2(), published_tables(), Beside()
    if not theirs:
        sys.exit("none of the authors' tables is at hand: python -m benchmarks.data names their addresses")
    settings = tables.settings()
    model = sklar.fit(tables.train, tables.schema, method="tvine", no_guarantee=True, **settings)
    cut = sklar.lab.at_level(model, 10).sample(len(tables.train), seed=0, iid=True).to_pandas()
    ours = sklar.fit(tables.train, tables.schema, epsilon=1.0, delta=1e-9).sample(len(tables.train), seed=0).to_pandas()
    ours_scores = score_table(ours, tables)
    for name, table in {**theirs, "C-vine, level 10": cut}.items():
        for measure, value in score_table(table, tables).items():
            beside.add(f"{measure} of {name}", "chart", value, ours_scores[measure])
    draw_margins({**theirs, "C-vine 10": cut, "vine, epsilon 1": ours}, tables, asked)
    beside.show()
    print("'as published' is the authors' own table, or the C-vine as published; 'ours' is `vine` at epsilon 1.")
    print("Why they differ: one table of each is published; ours has no learned embedding, so that only the order of")
    print("precision, recall and authenticity can be compared with the paper's.")


if __name__ == "__main__":
    main()
