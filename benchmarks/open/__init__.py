"""The open benchmark: public tables, every tool, entries that anyone can check.

`python -m benchmarks.open --help` lists the commands. `packages` fetches tables from the package index, `listed` states
their public facts, `tables` loads them, `tools` and `runs` make synthetic rows and keep them, `entries` scores what was
made (by `sklar.lab.entries`, which `sklar bench verify` uses, too), `page` writes docs/benchmark.md, and `submission`
prepares NIST's files. Start with `__main__`.
"""
