"""Compiled loops over arrays, imported only when rows are read. They know nothing of sources, schemas or Arrow."""
