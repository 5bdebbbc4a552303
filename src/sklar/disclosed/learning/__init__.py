"""Downstream learning on real and synthetic rows, without noise: for the custodian's eyes only."""
