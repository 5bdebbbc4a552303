"""Metrics that compare the correlations of two tables for all pairs of columns.

Operations on two matrices of correlations belong here, too; no table is read here. Start with `matrices`, which defines
how undefined correlations count, then `spearman`.
"""
