"""Counts made inside a database: codes as SQL expressions, counted there, so that no row leaves the server.

Exact to the last integer with the kernels, or not done at all: what SQL cannot say exactly is streamed, in words. Start
with `rows`, what a fit sees; `encoding` writes a column's code as SQL, `dialects` what PostgreSQL and DuckDB say
differently, `counts` whole tables of counts.
"""
