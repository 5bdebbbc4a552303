"""dpc beside the paper's numbers: errors of queries on Adult, and run times at the paper's sizes.

    python -m benchmarks.dpc adult [--runs 3]      Table 2 (Adult part): Q1, Q2, Q3, with splits and noise floors
    python -m benchmarks.dpc stand-in --case hospital|dss [--rows N]     its other parts, on tables of their sizes
    python -m benchmarks.dpc pure [--runs 2]       Table 5: delta = 0, epsilon 0.5, 1 and 5
    python -m benchmarks.dpc epsilon [--runs 2]    figure 6: dpc-laplace from epsilon 0.25 to 5
    python -m benchmarks.dpc times --case adult|hospital|dss|art1|art2 [--rows N]     Table 4

Cases of Table 4: adult (32,561 x 14), hospital (10,000 x 9, 1,201 binary), dss (5,240,260 x 27, 674 binary), art1 and
art2 (5,240,260 x 1,000 and 2,000 binary, streamed from a generated Parquet file). The last three take minutes.
"""

from __future__ import annotations

import argparse

from benchmarks.dpc_adult import STAND_INS
from benchmarks.dpc_errors import epsilon_curve, table_2, table_5
from benchmarks.dpc_times import CASES, run_case


def main() -> None:
    """Run one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["adult", "stand-in", "pure", "epsilon", "times"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--case", choices=list(CASES), default="adult")
    parser.add_argument("--rows", type=int, default=None, help="fewer rows than the paper's, for a quick look")
    parser.add_argument("--folder", default=None, help="where the generated Parquet file goes (art1, art2)")
    given = parser.parse_args()
    if given.what == "adult":
        table_2(given.runs)
    elif given.what == "stand-in":
        if given.case not in STAND_INS:
            parser.error(f"--case is one of {', '.join(STAND_INS)}")
        table_2(given.runs, given.case, given.rows)
    elif given.what == "pure":
        table_5(given.runs)
    elif given.what == "epsilon":
        epsilon_curve(given.runs)
    else:
        run_case(given.case, given.rows, given.folder)


if __name__ == "__main__":
    main()
