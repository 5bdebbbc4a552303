"""The tables of the papers and of the yardstick: where to get them, how to check, prepare or generate them.

`python -m benchmarks.data [NAME ...]` fetches and checks every file, or those named. No data is part of the repository:
files are kept in `benchmarks/data/files` (ignored by git), or in the folder that SKLAR_DATA names, which is then read
and never written. Simulated tables need no file.
"""
