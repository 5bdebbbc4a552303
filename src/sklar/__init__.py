"""Sklar."""
