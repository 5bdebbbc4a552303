"""Made-up texts keep to their pattern, as the regular expressions of Python read it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.errors import UsageError
from sklar.export.patterns import draw_texts

PIECES = st.sampled_from(
    ["a", "Z", "[A-C]", r"\d", r"\w", "[x-z0-3_]", r"\.", "(ab|c)", "(a|(b|cd){2})", "é", "-", "@"]
)
COUNTS = st.sampled_from(["", "?", "{3}", "{0,2}", "{2,5}"])
PATTERNS = st.lists(st.tuples(PIECES, COUNTS).map("".join), min_size=1, max_size=6).map("".join)


@given(PATTERNS)
def test_texts_match_their_pattern(pattern: str) -> None:
    texts = draw_texts(pattern, 20, np.random.default_rng(1))
    assert len(texts) == 20 and all(re.fullmatch(pattern, text, re.ASCII) for text in texts)


def test_every_choice_occurs_and_keys_are_distinct() -> None:
    assert set(draw_texts("(a|b|[cd])", 400, np.random.default_rng(2))) == set("abcd")
    assert len(set(draw_texts("[0-9]{3}", 700, np.random.default_rng(2), distinct=True))) == 700


@pytest.mark.parametrize(
    "pattern", ["a*", "a+", "[", "[]", "[^a]", "(a", "a)", "{2}", "a{3,1}", "a{201}", "\\", r"\q", "."]
)
def test_what_has_no_end_or_no_meaning_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="cannot be used"):
        draw_texts(pattern, 1, np.random.default_rng(1))
