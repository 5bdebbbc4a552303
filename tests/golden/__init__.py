"""Numbers that may change on purpose only: models fitted with scripted noise, and model files of every method."""
