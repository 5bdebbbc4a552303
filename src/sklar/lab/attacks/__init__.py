"""Attacks on a release, run with the real rows at hand: every number with an interval, a baseline and a control.

Attacks on one synthetic table are in `closeness` (membership and copies), `attribute` and `singling_out` (and
linkability); attacks on a method play `games` of many fits (`shadow`, `attribute_fits`), also of a peer by its
command. Nothing here may be published as it is. Start with `release` for the first kind and `method` for the second;
`result` says what every attack reports.
"""
