"""Metrics that compare a synthetic table with real rows, without noise: for the custodian's eyes only."""
