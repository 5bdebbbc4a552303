"""Rows as base codes: opened once, kept compactly where they fit, passed over in parts, here or on a cluster.

Exact values stay inside this package and the ones that may import it; what counts codes is in `sklar.counting`. Start
with `table`; `protocol` says what private rows offer, `kept` is where codes wait for the next pass, and `label_counts`
counts texts that no schema lists.
"""
