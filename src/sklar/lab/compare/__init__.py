"""Comparing methods and peers on folds of one table: systems, cells, worker processes, ranks, one result.

Metrics and attacks are not defined here, only run. Start with `compare`; `systems` says what is compared, `cell` what
happens to one system at one epsilon on one fold, `store` keeps what is finished, `result` tells what was found.
"""
