"""Gambs et al. 2021, table 2: seven Spearman coefficients of a curated table.

python -m benchmarks.papers.shirley_table2
"""

from __future__ import annotations

from benchmarks.curated import main

if __name__ == "__main__":
    main()
    print(
        "Why they differ: the paper's rows are not published, so the table is made anew from its coefficients. Rows\n"
        "are drawn evenly spread; lines 'ranks matched' learn from all rows and match ranks, which the paper does not."
    )
