"""Counts made inside a database: codes as SQL expressions, counted there, so that no row leaves the server.

Counts equal those of the kernels exactly, or rows are streamed, with a warning. Start with `rows`, what a fit sees;
`engines` counts tables in each database, `encoding` writes a column's code as SQL, `dialects` has the differences
between PostgreSQL and DuckDB.
"""
