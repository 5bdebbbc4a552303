"""The public list of classes of cells, by which the kind of an unknown column is determined.

Each cell is in exactly one class, by its own text alone (`sklar.rows.encode.classes`). A table of these classes is
measured like any other column, and what a column is follows from its noisy counts (`sklar.methods.facts.kinds`).
"""

from __future__ import annotations

CURRENCIES = ("€", "$", "£", "¥", "EUR", "USD", "CHF", "GBP")
"""Signs that stand before or after a number; other units stand after it."""
UNITS = (*CURRENCIES, "%", "kg", "g", "mg", "km", "m", "cm", "mm", "l", "ml", "h",
         "min", "s", "ms", "°C", "°F", "mmHg")  # fmt: skip
"""Signs and units that are recognized before or after a number."""
NULL = "null"
DIGITS = (1, 2, 3)
"""Numbers of digits after the decimal sign that are distinguished; more are one class."""
FRACTIONS = tuple(
    f"{sign}{mark}{digits}" for sign in ("", "-") for mark in ("point", "comma") for digits in (*DIGITS, "")
)
"""Numbers with a decimal point or comma, by their digits after it."""
THOUSANDS = ("1.234", "1,234", "1.234,5", "1,234.5", "1 234,5", "1'234.5")
"""Numbers with signs between thousands, of either sign; the first two may have a fraction instead."""
NUMBERS = ("zero", "one", "whole", "-whole", *FRACTIONS, *THOUSANDS)
AMOUNTS = tuple(f"{unit} {decimal}" for unit in UNITS for decimal in ".,")
"""Numbers with a unit, by their decimal sign."""
DATE, DATETIME = "date", "datetime"
ORDERS = ("day", "month", "either")
"""Which number of a date comes first: the one above 12 decides."""
WRITTEN_DATES = tuple(f"{order}{mark}{time}" for mark in "./-" for order in ORDERS for time in ("", " time"))
WORDS = ("padded", "identifier", "text", "long text")
"""Digits with leading zeros or more than 15 of them; keys, addresses; short and long texts."""
CELL_CLASSES = (NULL, *NUMBERS, *AMOUNTS, DATE, DATETIME, *WRITTEN_DATES, *WORDS)
NULL_WORDS = ("NA", "N/A", "n/a", "na", "#N/A", "#NA", "#NV", "N.A.", "n.a.", "NaN", "nan", "NAN", "NULL", "null",
              "<NA>", "<null>", "k.A.", "k. A.", "k.a.", "s/d", "n.d.", "?", "-", "--", "---", ".", "..",
              "\\N")  # fmt: skip
"""Texts that stand for a missing value in a table of which nothing is stated."""
