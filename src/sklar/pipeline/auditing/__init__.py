"""Auditing claims: worst-case neighbours, many runs, and what they show about the privacy loss."""
