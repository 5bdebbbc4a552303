"""Render findings as one self-contained HTML page, without scripts or network access, suitable for print.

Templates use the attributes of a result (an evaluation, an attack, a comparison). Pages computed from real rows are for
the custodian: their names say so, and only the owner can read them. Pages computed from releases alone may be
published, and state that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike, fspath
from typing import Any

from sklar.errors import UsageError
from sklar.export.atomic import require_writable, write_bytes
from sklar.notebook import interval_text
from sklar.report import colours
from sklar.report.charts import compared
from sklar.report.charts import plots as charts
from sklar.report.charts.canvas import Canvas, require_picture, to_svg
from sklar.report.colours import theme_colour
from sklar.report.seen import correlations_seen

NOTICE = "For the custodian: computed from real rows, not private."
PUBLIC_NOTICE = "May be published: computed from noisy releases and public facts only, without reading rows."
ENDING = ".custodian.html"
CHARTS: tuple[Callable[..., Canvas], ...] = (
    compared.margin_chart, compared.pair_chart, compared.matrix_chart, charts.curve_chart, charts.cdf_chart,
    charts.learning_chart, charts.interval_chart, charts.epsilon_chart, charts.tradeoff_chart, charts.box_chart,
    compared.band_chart, compared.dependence_chart,
)  # fmt: skip
"""Charts that templates can draw, by name."""
GRADES = {"sampling": "at the floor", "good": "good", "fair": "fair", "poor": "poor", "none": "none"}


def custodian_name(path: str) -> str:
    """Return the name of a report with the custodian's ending: x.html becomes x.custodian.html."""
    plain = path.endswith(".html") and not path.endswith(ENDING)
    return path.removesuffix(".html") + ENDING if plain else path


def require_report(path: str | PathLike[str]) -> None:
    """Refuse a report whose name lacks the custodian's ending, or that cannot be written."""
    if not fspath(path).endswith(ENDING):
        raise UsageError(
            f"a report is computed from real rows and not private, so its name must end in {ENDING}; "
            f"found {fspath(path)}."
        )
    require_writable(path)


def require_custodian_picture(path: str | PathLike[str]) -> None:
    """Refuse a picture of real rows whose name lacks the custodian's ending or a format."""
    require_picture(path)
    if ".custodian." not in fspath(path):
        raise UsageError("a picture of real rows is for the custodian: its name must end in .custodian.svg or .png")


def write_page(path: str | PathLike[str], template: str, **values: Any) -> None:
    """Render a template and write the page, readable by its owner only."""
    import sklar

    require_report(path)
    page = render(template, **{"notice": NOTICE, "version": sklar.__version__, **values})
    write_bytes(path, page.encode(), mode=0o600)


def public_page(template: str, **values: Any) -> str:
    """Render a template with findings computed from releases alone."""
    import sklar

    return render(template, **{"notice": PUBLIC_NOTICE, "public": True, "version": sklar.__version__, **values}) + "\n"


def require_public_report(path: str | PathLike[str]) -> None:
    """Refuse a public report whose name has the custodian's ending or is not a page, or that cannot be written."""
    name = fspath(path)
    if not name.endswith(".html") or name.endswith(ENDING):
        raise UsageError(f"name a public report like people.public.html, not *{ENDING}; got {name}.")
    require_writable(path)


def write_public_page(path: str | PathLike[str], page: str) -> None:
    """Write a page that anyone may read."""
    require_public_report(path)
    write_bytes(path, page.encode())


def render(template: str, **values: Any) -> str:
    """Render a template."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("sklar.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    shown: dict[str, Any] = environment.globals  # type: ignore[assignment]
    shown.update(
        colours=colours, themed=theme_colour, grades=GRADES, number=format_number, interval=interval_text,
        figure=format_figure, words=format_setting, sentence=make_sentence, correlations_seen=correlations_seen,
        learning_span=learning_span,
        line_colour=lambda at: theme_colour(charts.line_colour(at)),
        **{chart.__name__: _make_inline(chart) for chart in CHARTS},
    )  # fmt: skip
    return environment.get_template(template).render(**values)


def _make_inline(chart: Callable[..., Canvas]) -> Callable[..., str]:
    from markupsafe import Markup

    return lambda *args: Markup(to_svg(chart(*args), inline=True))


def format_number(value: float | None) -> str:
    """Return a number with three digits after the point, or a dash."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.3f}"


def format_figure(value: float | None) -> str:
    """Return a number with four digits, or a dash."""
    return "-" if value is None else f"{value:.4f}" if abs(value) < 10 else f"{value:.4g}"


def format_setting(value: Any) -> str:
    """Return a setting as text; lists are comma-separated."""
    return ", ".join(map(format_setting, value)) if isinstance(value, list | tuple) else str(value)


def make_sentence(text: str) -> str:
    """Return a text as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def learning_span(results: Iterable[Any], measure: str) -> tuple[float, float]:
    """Return the common scale of the bars of a measure, for all learners."""
    same = [r for r in results if r.measure == measure]
    high = max([1.0 if measure != "rmse" else 0.0, *(max(r.real, r.synthetic) for r in same)])
    return min([0.0, *(max(-1.0, min(r.real, r.synthetic)) for r in same)]), high
