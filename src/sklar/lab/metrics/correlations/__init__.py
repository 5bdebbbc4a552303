"""Metrics that compare the correlations of two tables, pair by pair of their columns.

What is done with two matrices of them belongs here, too; no table is read here. Start with `matrices`, which says what
an undefined correlation counts, then `spearman`.
"""
