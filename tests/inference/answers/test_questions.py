"""Questions are read from a small grammar, and what cannot be asked is refused in plain words."""

from __future__ import annotations

import pytest

import sklar
from sklar.errors import UsageError
from sklar.inference.answers.questions import Enquiry, list_groups, parse_question, validate_question

SCHEMA = sklar.Schema(
    {
        "age": sklar.Integer(0, 99),
        "income": sklar.Real(0, 1000, decimals=1),
        "sex": sklar.Category(["F", "M"]),
        "city": sklar.Category(["Rome", "Paris", "Oslo"]),
        "smoker": sklar.Boolean(nullable=True),
        "born": sklar.Datetime("2000-01-01", "2020-01-01"),
        "key": sklar.Id(),
    }
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mean(income)", {"statistic": "mean", "columns": ("income",)}),
        (" MEAN ( income ) by sex", {"statistic": "mean", "columns": ("income",), "by": "sex"}),
        ('mean("income") by `sex`', {"statistic": "mean", "columns": ("income",), "by": "sex"}),
        ("share(sex=F)", {"statistic": "share", "columns": ("sex",), "value": "F"}),
        ("share(sex = F)", {"statistic": "share", "columns": ("sex",), "value": "F"}),
        ("share(city=Rome,Paris)", {"statistic": "share", "columns": ("city",), "value": ["Rome", "Paris"]}),
        ("share(age=30..40) by sex", {"statistic": "share", "columns": ("age",), "value": (30, 40), "by": "sex"}),
        ("share(smoker)", {"statistic": "share", "columns": ("smoker",), "value": True}),
        ("median(age)", {"statistic": "quantile", "columns": ("age",), "at": 0.5}),
        ("quantile(age, 0.9)", {"statistic": "quantile", "columns": ("age",), "at": 0.9}),
        ("difference(age) by sex", {"statistic": "difference", "columns": ("age",), "by": "sex"}),
        ("difference(smoker=true) by sex", {"statistic": "difference", "columns": ("smoker",), "value": True}),
        ("correlation(age, income)", {"statistic": "correlation", "columns": ("age", "income")}),
        ("linear(income ~ age + sex)", {"statistic": "linear", "columns": ("income", "age", "sex")}),
        ("logistic(smoker ~ age) by city", {"statistic": "logistic", "columns": ("smoker", "age"), "by": "city"}),
        ("mean(age) by sex where city=Rome and age=1..2", {"by": "sex", "given": {"city": "Rome", "age": (1, 2)}}),
        ("total(income) where sex=F", {"statistic": "total", "given": {"sex": "F"}}),
    ],
)  # fmt: skip
def test_a_question_is_read(text: str, wanted: dict[str, object]) -> None:
    found = parse_question(text, SCHEMA)
    assert {name: getattr(found, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("income", "cannot parse"),
        ("", "cannot parse"),
        ("__import__('os').getcwd()", "cannot parse"),
        ("mode(income)", "unknown statistic 'mode'"),
        ("mean(income", "cannot parse"),
        ("mean(income) per sex", "cannot parse"),
        ("mean(wage)", "'wage' is not a modelled column"),
        ("mean(key)", "'key' is not a modelled column"),
        ("mean(income) by wage", "'wage' is not a modelled column"),
        ("mean(income) where wage=1", "'wage'"),
        ("mean(sex)", "needs numbers"),
        ("mean(born)", "needs numbers"),
        ("mean(age, income)", "takes 1 column"),
        ("correlation(age)", "takes 2 columns"),
        ("correlation(age, age)", "twice"),
        ("quantile(age, 1)", "between 0 and 1"),
        ("quantile(age, half)", "between 0 and 1"),
        ("mean(age) by income", "groups must be values of"),
        ("difference(age)", "needs two groups"),
        ("difference(age) by city", "state which two"),
        ("logistic(city ~ age)", "outcome of a logistic regression must have two values"),
        ("linear(income)", "an outcome and one or more"),
        ("linear(income ~ born)", "neither number nor label"),
        ("share(sex=X)", "'X'"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_plain_words(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_question(text, SCHEMA)


def test_groups_of_a_difference_can_be_chosen() -> None:
    asked = Enquiry(statistic="difference", columns=("age",), by="city", between=("Rome", "Oslo"))
    assert list_groups(validate_question(asked, SCHEMA), SCHEMA) == ("Rome", "Oslo")
    with pytest.raises(UsageError, match="'Bonn'"):
        validate_question(
            Enquiry(statistic="difference", columns=("age",), by="city", between=("Rome", "Bonn")), SCHEMA
        )
