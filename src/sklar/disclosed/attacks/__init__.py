"""Attacks on a release, run with the real rows at hand and without noise: for the custodian's eyes only."""
