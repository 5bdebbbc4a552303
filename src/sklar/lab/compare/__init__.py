"""Comparisons of methods and peers on folds of one table: systems, cells, worker processes, ranks, one result.

Metrics and attacks are not defined here, only run. Start with `compare`; `systems` defines what is compared, `cell`
runs one system at one epsilon on one fold, `store` keeps finished cells, and `result` ranks and reports them.
"""
