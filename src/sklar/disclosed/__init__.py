"""disclosed."""
