"""Attacks on a release, run with the real rows at hand: every number with an interval, a baseline and a control.

An attack on one synthetic table is one file (`membership`, `attribute`, `copies`, `singling_out`); attacks on a method
play games of many fits. Nothing here may be published as it is. Start with `release` for the first kind and `method`
for the second; `result` says what every attack reports.
"""
