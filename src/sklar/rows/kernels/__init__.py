"""Compiled loops over rows: splitting text, reading numbers and moments, finding cells.

Plain arrays in and out; imported when first used, since numba is slow to load. Start with `cells` (numbers to cells).
"""
