"""Vine copulas fitted to rows without noise: the engine and the systems built on it."""
