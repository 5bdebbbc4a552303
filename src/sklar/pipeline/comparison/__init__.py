"""Comparing methods and peers on folds of one table: plan, cells, processes, store, ranks, report."""
