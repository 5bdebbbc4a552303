"""Seeded samplers: base codes drawn from a model become plain numpy values that obey the public rules of the schema."""
