"""Rows as base codes: opened once, kept compactly where they fit, passed over in parts, here or on a cluster.

Exact values stay inside the room; what counts them is in `sklar.rows.counting`. Start with `table`; `batch` is the form
of codes, `job` what can be worked out from any part, `kept` where codes wait for the next pass.
"""
