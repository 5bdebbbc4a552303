"""The commands `sklar attack`, `sklar attack-method` and `sklar audit`: what an adversary gets out of a release.

As everywhere on the command line there is no logic here. Start with `table`, which attacks a synthetic table; `method`
attacks a method by fitting it many times, and `audit` holds a claim against worst-case neighbours.
"""
