"""Checks of the project's language: words to avoid, docstrings that do not stand alone, and one-word function names.

`python -m tests.architecture.words` prints the counts of each package beside the allowed ones.
`python -m tests.architecture.words schema` lists every fault in one package.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

WORDS = {
    r"tell|tells|telling|told|untold": "report, state, show, estimate, determine, distinguish, describe",
    r"law|laws": "distribution",
    r"worth|worthless": "accuracy, quality, effective sample size",
    r"lean|leans|leaned|leaning": "shrink towards the prior",
    r"bear|bears|bearable|bearing|borne": "support, afford, be consistent with",
    r"(stand|stands|stood|standing) out": "be significant (and state the level)",
    r"sure|surely|surest": "significant, certain",
    r"proved|believed|believe|believes": "significant, estimated",
    r"drown|drowns|drowned": "be below the noise level",
    r"heaps": "heaping at round numbers",
    r"gaps": "missing values",
    r"hair": "(delete it)",
    r"laboratory|house": "lab, package, module",
    r"(so|as|that) many": "the number of ...",
    r"nobody": "no one",
    r"of old": "legacy, of format N",
    r"(as|so) far as|in so far": "when, to the extent that",
    r"settled|settle|settles": "decided, validated",
    r"heard|listen|listens|listened": "measurements",
    r"asked|asks": "query, request",
    r"liveliest": "most dependent",
    r"follow one another|follows another": "longitudinal data, trajectories",
    r"alike|likewise|besides|beforehand|anew": "the same for both, also, in advance, again",
    r"whosoever|whatever|whichever|wherever": "any",
    r"thereof|therein|thereby|whereby|of whose": "(use a plain clause)",
}
"""Words to avoid, as a pattern of whole words, with what to write instead.

Words that are also good plain English in other senses (none, known, clear, moment, wall, door) are left to the reader.
"""

FRAGMENT_STARTS = ("The same", "Of ", "So many", "As many")
"""Beginnings of docstrings that can only be understood below another docstring."""

ONE_WORD_NAMES = """
    ask assemble attack auc audit bundle calibrate cancel charge check combine command compare compile complain
    complete compute concatenate connect convert count create decode demo describe discretise diverge draft
    embed encode enforce estimate evaluate export extract f1 fail fingerprint fisher fit format gather group
    hash holm kendall ks load main mcc measure merge normalise note open optimise parse pay pearson phik plan
    pmse print quote r2 read recode reconstruct record refit register regress release render replay resume
    reweight risk rmse round run sample save scatter score serve shade shorten shuffle sign simulate siphash
    sort spearman split standardize stream suggest summarise sweep synth synthesize tabulate take tally tint
    tradeoff train transform unlock upload validate verify write
"""
"""Verbs, and names of statistics and pictures, that may name a public function by themselves: they cannot be
mistaken."""

ALLOWED: dict[str, tuple[int, int, int]] = {
    "accounting": (0, 0, 0),
    "cli": (1, 0, 0),
    "counting": (0, 0, 0),
    "export": (0, 0, 0),
    "inference": (1, 0, 0),
    "lab": (0, 0, 0),
    "methods": (1, 0, 5),
    "model": (0, 0, 7),
    "pipeline": (0, 0, 0),
    "private": (0, 0, 0),
    "release": (0, 0, 0),
    "report": (0, 0, 0),
    "rows": (0, 0, 0),
    "sample": (0, 0, 3),
    "schema": (0, 0, 1),
    "sklar": (0, 0, 1),
    "studio": (8, 0, 24),
}
"""The faults that each package may still have: words, docstrings, names. Lower a number when the count has fallen."""

Rule = Callable[[Path], Iterator[str]]


def find_words(path: Path) -> Iterator[str]:
    """List the words to avoid in identifiers, docstrings, comments and strings of one module."""
    text = path.read_text().replace(".tell()", "")  # the method of Python's files
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "\0", text)
    for match in _ANY_WORD.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        word = re.sub(r"\s+", " ", match[0])
        yield f"{path}:{line}: '{word}': write {_find_advice(word)}"


_START, _END = r"(?<![A-Za-z])", r"(?![a-z])"
_ANY_WORD = re.compile(_START + "(?:" + "|".join(w.replace(" ", r"\s+") for w in WORDS) + ")" + _END, re.IGNORECASE)


def _find_advice(word: str) -> str:
    return next(advice for pattern, advice in WORDS.items() if re.fullmatch(pattern, word, re.IGNORECASE))


def find_fragments(path: Path) -> Iterator[str]:
    """List the docstrings of one module, those of constants included, that begin as a fragment."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstring = node.value.value.strip()
            if docstring.startswith(FRAGMENT_STARTS):
                yield f"{path}:{node.lineno}: docstring begins with '{docstring[:30]}'"


def find_one_word_names(path: Path) -> Iterator[str]:
    """List the public functions of one module whose name is a single word that is not in `ONE_WORD_NAMES`."""
    one_word_names = ONE_WORD_NAMES.split()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and "_" not in node.name and node.name not in one_word_names:
            yield f"{path}:{node.lineno}: {node.name}() is not a verb phrase"


RULES: tuple[Rule, Rule, Rule] = (find_words, find_fragments, find_one_word_names)
"""The rules in the order of the numbers in `ALLOWED`."""


def list_modules(root: Path) -> dict[str, list[Path]]:
    """List the modules of each package under `root`; those outside a package are listed as `sklar`."""
    modules: dict[str, list[Path]] = {}
    for path in sorted((root / "sklar").rglob("*.py")):
        parts = path.relative_to(root / "sklar").parts
        modules.setdefault(parts[0] if len(parts) > 1 else "sklar", []).append(path)
    return modules


def find_faults(root: Path) -> dict[str, tuple[list[str], ...]]:
    """List the faults of each package under `root`, one list for each rule."""
    return {
        package: tuple([fault for path in paths for fault in rule(path)] for rule in RULES)
        for package, paths in list_modules(root).items()
    }


def main(packages: list[str]) -> None:
    """Print the faults of the named packages, or the counts of all packages."""
    faults = find_faults(Path(__file__).resolve().parents[2] / "src")
    for package in packages:
        print("\n".join(fault for found in faults[package] for fault in found))
    if not packages:
        for package, found in faults.items():
            counts, allowed = tuple(map(len, found)), ALLOWED.get(package, (0, 0, 0))
            advice = "" if counts == allowed else "  lower it to " + str(tuple(map(min, counts, allowed)))
            print(f"{package:12}{counts}, allowed {allowed}{advice}")


if __name__ == "__main__":
    main(sys.argv[1:])
