"""The DP vine as a method."""

from __future__ import annotations

from sklar.methods.method import Method
from sklar.methods.vine.ask import ask
from sklar.methods.vine.estimate import estimate, estimate_margins
from sklar.methods.vine.options import VineOptions, check_options, resolve_options
from sklar.methods.vine.pairs import chooses_pairs
from sklar.methods.vine.stages import expect_vine, outline_vine

VINE = Method(
    name="vine",
    summary="A vine copula from noisy tables of counts, calibrated to all of them; picks its regime by itself.",
    options=VineOptions,
    ask=ask,
    estimate=estimate,
    margins=estimate_margins,
    gaussian=lambda schema, options: not chooses_pairs(len(schema.modelled)),
    outline=outline_vine,
    expect=expect_vine,
    takes_target=True,
    takes_prior=True,
    check=check_options,
    resolve=resolve_options,
)
