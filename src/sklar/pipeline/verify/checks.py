"""Checks of the parts of a release: the price of its releases, its claim, the model, its ledger, its rows."""

from __future__ import annotations

import itertools
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import fields
from math import isclose
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sklar.accounting.budget import Budget, exceeds_limit
from sklar.accounting.claim import Claim
from sklar.accounting.ledger import FitRecord, LedgerView, fits_total, ledger_totals, read_ledger
from sklar.accounting.ledger.filters import check_reservation
from sklar.errors import LedgerError, OverspendError, SklarError, UsageError
from sklar.model.codec import ArrayPool, encode
from sklar.model.linked import LinkedModel
from sklar.model.protocol import TableModel
from sklar.pipeline.accept import read_criteria
from sklar.pipeline.fit.claim import make_claim
from sklar.pipeline.fit.prices import fingerprint_parts, require_addable, step_costs
from sklar.pipeline.model import Model
from sklar.pipeline.model_file import Stored, model_members
from sklar.pipeline.sampling.write import SampleForm, SampleRequest, sample_to_file
from sklar.pipeline.verify.findings import Check
from sklar.pipeline.verify.refit import Refit, reading_of, refit
from sklar.pipeline.versions import list_versions
from sklar.release.measurements import encode_step, hash_line
from sklar.schema.prices import Price

RELATIVE_TOLERANCE = 1e-6
"""Maximum relative difference between models that other library versions can cause."""
CHECKED_CLAIM_FIELDS = (
    "method", "guarantee", "accounting", "neighbours", "rows_per_person", "public", "assumed", "measured", "rules",
    "unpriced", "confirmed", "repeated", "prior", "person", "reading", "caveats", "not_covered", "numerics",
)  # fmt: skip
"""Fields of a claim that must equal those computed from schema and releases."""
FIT_FACTS = {"method", "options", "requested", "fit", "budget", "allowance", "unit", "rows", "seed", "steps",
             "versions", "kinds", "paid", "check_share", "accepted", "prior", "person", "reading"}  # fmt: skip
"""Allowed entries of the record of a fit; next, of the record of paid facts."""
PAID_FACTS = {"requested", "notes", "releases", "label_weight", "fit", "budget", "allowance"}
VERSION = re.compile(r"[0-9A-Za-z.+!_-]{1,40}")
"""Pattern of library versions."""
FIT_NAME = re.compile("([0-9a-f]{16})?")
"""Pattern of fit names in a ledger; empty in files written by older versions."""


def check_releases(stored: Stored) -> tuple[list[Check], Refit | None]:
    """Compute the price of the releases of a model and fit it again from them."""
    if not stored.claim.guarantee:
        says = "NO DP GUARANTEE: the model has no guarantee to check."
        return [Check(part="price", ok=None, says=says)], None
    try:
        again = refit(stored)
        return [
            _check_price(stored, again),
            _check_facts(stored, again),
            _claim(stored, again),
            _model(stored, again.model),
        ], again
    except (SklarError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = str(error) if isinstance(error, SklarError) else "its record is inconsistent"
        says = f"The releases are not those of the stated budget: {why}.{versions_hint(stored)}"
        return [Check(part="price", ok=False, says=says)], None


def _check_price(stored: Stored, again: Refit) -> Check:
    claim = stored.claim
    whole = (claim.epsilon or 0.0, claim.delta or 0.0)
    own = claim.own or whole
    total = fits_total(again.records)
    steps = sum(len(fit.steps) for fit in again.records)
    costs = f"epsilon = {total.epsilon:.6g} at delta = {total.delta:.3g}"
    says = f"The noise on what was released in {steps} steps costs {costs}, by {total.accountant} composition"
    if exceeds_limit(total.epsilon, own[0]) or exceeds_limit(total.delta, own[1]):
        return Check(part="price", ok=False, says=f"{says}; the claim says {own[0]} and {own[1]}. It is false.")
    earlier = f" and {whole[0] - own[0]:.6g} more for facts measured before" if claim.prices else ""
    return Check(part="price", ok=True, says=f"{says}; claimed are {own[0]:.6g} and {own[1]:.3g}{earlier}.")


def _check_facts(stored: Stored, again: Refit) -> Check:
    """Check that the schema has the declared facts and those of the releases, at their price or more."""
    schema, follows = stored.schema, again.schema
    marked = [name for word in ("from-rows", "pay") for name, _ in schema.facts_by_provenance(word)]
    wrong = marked + [name for name in schema if schema[name] != follows.get(name)]
    wrong += [name for name in follows if name not in schema]
    if wrong:
        return Check(part="facts", ok=False, says=f"Its facts about '{wrong[0]}' are not those requested or released.")
    notes = tuple(note for stage in ("kinds", "paid") for note in stored.fit.get(stage, {}).get("notes", ()))
    if (schema.names, schema.rules, schema.person, schema.null_values, schema.confirmed, notes) != (
        follows.names, follows.rules, follows.person, follows.null_values, follows.confirmed, again.notes
    ):  # fmt: skip
        says = "Its rules, its person or its confirmations are not those of the fit."
        return Check(part="facts", ok=False, says=says)
    own = {record.id for record in again.records}
    stated, due = ([price for price in one.prices if price.fit in own] for one in (schema, follows))
    if list(map(_terms, stated)) != list(map(_terms, due)) or any(
        exceeds_limit(getattr(b, name), getattr(a, name))
        for a, b in zip(stated, due, strict=True)
        for name in ("epsilon", "delta", "rho")
    ):
        return Check(part="facts", ok=False, says="The price of facts in its schema is not what they cost.")
    found = sum(len(price.facts) for price in due)
    says = f"The {found} measured facts are those of its releases." if found else "No facts were measured."
    return Check(part="facts", ok=True, says=says)


def _terms(price: Price) -> tuple[object, ...]:
    """Return the content of a price except its amounts and the name of its ledger."""
    return tuple(getattr(price, f.name) for f in fields(price) if f.name not in ("ledger", "epsilon", "delta", "rho"))


def _claim(stored: Stored, again: Refit) -> Check:
    """Check that the claim is the one computed from schema, releases and budget."""
    claim, wanted = stored.claim, Budget(**stored.fit.get("requested", stored.fit["budget"]))
    follows = make_claim(
        stored.schema, again.method, again.records, wanted, again.ledger, reading_of(stored), stored.prior,
        criteria="accepted" in stored.fit,
    )  # fmt: skip
    if claim.version != stored.fit.get("versions", {}).get("sklar", claim.version):
        return Check(part="claim", ok=False, says="The claim names another version of Sklar than the fit.")
    wrong = [name for name in CHECKED_CLAIM_FIELDS if getattr(claim, name) != getattr(follows, name)]
    wrong += [] if _list_prices(claim) == _list_prices(follows) else ["prices"]
    wrong += [] if _is_record_consistent(stored, again) else ["fit"]
    wrong += [] if _criteria_met(stored) else ["criteria"]
    wrong += [] if _same_amounts(claim.own, follows.own) else ["own"]
    wrong += [name for name in ("epsilon", "delta", "rho") if _less(getattr(claim, name), getattr(follows, name))]
    if wrong:
        faults = "; ".join(_describe_fault(name, claim, follows) for name in wrong[:3])
        says = f"The claim does not follow from schema and releases: {faults}.{versions_hint(stored)}"
        return Check(part="claim", ok=False, says=says)
    priced = f"; its {len(claim.prices)} earlier prices are checked with their ledger" if claim.prices else ""
    return Check(part="claim", ok=True, says=f"It follows from schema and releases{priced}.")


def _list_prices(claim: Claim) -> list[tuple[object, ...]]:
    return [(price.fit, price.ledger, price.epsilon, price.delta, price.kept) for price in claim.prices]


def _same_amounts(stated: tuple[float, float] | None, follows: tuple[float, float] | None) -> bool:
    """Return whether both are the same (epsilon, delta)."""
    if stated is None or follows is None or len(stated) != len(follows):
        return False
    return all(map(isclose, stated, follows))


def _is_record_consistent(stored: Stored, again: Refit) -> bool:
    """Return whether the record of the fit has the expected entries and steps, and nothing else."""
    facts, stated = stored.fit, stored.fit["steps"]
    steps = step_costs(again.records)
    near = len(stated) == len(steps) and all(_is_same_step(a, b) for a, b in zip(stated, steps, strict=True))
    bought = [facts[stage] for stage in ("kinds", "paid") if stage in facts]
    named = [facts.get("fit", ""), *(one["fit"] for one in bought)]
    known = set(facts) <= FIT_FACTS and all(set(one) <= PAID_FACTS for one in bought)
    made = facts.get("versions", {})
    plain = all(FIT_NAME.fullmatch(name) for name in named) and set(made) <= set(list_versions())
    plain = plain and all(VERSION.fullmatch(str(version)) for version in made.values())
    prior = None if stored.prior is None else stored.prior.digest
    return (
        near and known and plain and facts.get("prior") == prior and (stored.prior is None or stored.prior.is_whole())
    )


def _criteria_met(stored: Stored) -> bool:
    """Return whether the model meets the criteria in its record, if any."""
    stated = stored.fit.get("accepted")
    if stated is None:
        return True
    criteria = read_criteria(stated)
    return criteria.to_dict() == stated and not Model(stored).unmet(criteria)


def _is_same_step(stated: Mapping[str, Any], follows: Mapping[str, Any]) -> bool:
    numbers = ((stated[name], value) for name, value in follows.items() if isinstance(value, float))
    rest = all(stated.get(name) == value for name, value in follows.items() if not isinstance(value, float))
    return set(stated) == set(follows) and rest and all(isclose(a, b) for a, b in numbers)


def _less(stated: float | None, follows: float | None) -> bool:
    """Return whether a stated bound is below the computed one."""
    return (stated is None) != (follows is None) or (stated is not None and exceeds_limit(follows or 0.0, stated))


def _describe_fault(name: str, claim: Claim, follows: Claim) -> str:
    if name == "criteria":
        return "the criteria of its release are not met by the tables held back"
    if name == "fit":
        return "the record of the fit has other steps, or unknown entries"
    return f"{name} is {_shorten(getattr(claim, name))} and should be {_shorten(getattr(follows, name))}"


def _shorten(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _model(stored: Stored, again: TableModel) -> Check:
    """Check that the model is the one estimated from its releases."""
    apart, other = model_difference(stored.model, again), _other_versions(stored)
    if apart == 0.0:
        says = "Fitted again from its releases it is the same, bit for bit."
    elif apart is not None and apart <= RELATIVE_TOLERANCE:
        why = f"it was made by other versions ({other})" if other else "the processor may round differently"
        says = f"Fitted again from its releases it is the same to {apart:.0e}, but not to the bit; {why}."
        return Check(part="model", ok=None, says=says)
    elif other:
        says = f"Fitted again it is another model, but it was made by other versions ({other}): verify with those."
        return Check(part="model", ok=False, says=says)
    else:
        says = "Fitted again from its releases it is another model: it was changed."
        return Check(part="model", ok=False, says=says)
    return Check(part="model", ok=True, says=says)


def versions_hint(stored: Stored) -> str:
    """Return the advice to verify with the versions that made a model; empty if they are installed here."""
    other = _other_versions(stored)
    return f" It was made by other versions ({other}), which may behave differently: try those." if other else ""


def _other_versions(stored: Stored) -> str:
    """Return the versions that differ from those that made the model, as text; empty if none does."""
    made, here = stored.fit.get("versions"), list_versions()
    if not isinstance(made, Mapping):
        return "which it does not name"
    return ", ".join(
        f"{name} {made.get(name, 'none')}, here {here[name]}" for name in here if made.get(name) != here[name]
    )


def model_difference(one: TableModel, other: TableModel) -> float | None:
    """Return the largest difference of two models relative to the largest value per array; None if shapes differ."""
    pools = ArrayPool(distinct=False), ArrayPool(distinct=False)
    trees = [
        json.dumps(encode(model, pool.keep), sort_keys=True) for model, pool in zip((one, other), pools, strict=True)
    ]
    arrays = [pool.arrays for pool in pools]
    shapes = [[(array.shape, array.dtype) for array in side] for side in arrays]
    if trees[0] != trees[1] or shapes[0] != shapes[1]:
        return None
    return max((_measure_difference(a, b) for a, b in zip(*arrays, strict=True)), default=0.0)


def _measure_difference(one: np.ndarray, other: np.ndarray) -> float:
    if one.tobytes() == other.tobytes():
        return 0.0
    if one.dtype.kind not in "fiu":
        return float("inf")
    a, b = one.astype(np.float64), other.astype(np.float64)
    return float(np.nan_to_num(np.abs(a - b), nan=np.inf).max() / max(np.abs(a).max(), np.abs(b).max(), 1e-300))


def check_members(stored: Stored, path: str | PathLike[str]) -> Check:
    """Check that a model file contains the members of its model, none missing, and nothing else."""
    expected = model_members(stored)
    with zipfile.ZipFile(path) as archive:
        listed = archive.infolist()
        same = all(archive.read(info) == expected.get(info.filename) for info in listed)
        names = {info: len(info.filename.encode()) for info in listed}
        # Sizes in a zip: 46 bytes and the name per directory entry, 22 at the end, 30 and the name per header.
        end, ends = 0, archive.start_dir + sum(46 + size for size in names.values()) + 22 + len(archive.comment)
        for info in sorted(listed, key=lambda one: one.header_offset):
            end = end + 30 + names[info] + info.compress_size if info.header_offset == end else -1
        tight = end == archive.start_dir and ends == Path(path).stat().st_size
    if not same or sorted(info.filename for info in listed) != sorted(expected) or not tight:
        return Check(part="file", ok=False, says="The content of the file is not that of a file of this model.")
    return Check(part="file", ok=True, says=f"Its {len(listed)} members are those of the model, and nothing else.")


def check_ledger(stored: Stored, path: str | PathLike[str], again: Refit | None) -> Check:
    """Check that the fit is in this ledger, with these releases and this price, within the cap."""
    try:
        view = read_ledger(path)
        _require_cap(view)
        _fit_in(view, [hash_line(encode_step(step)) for step in stored.recorded])
        if again is not None:
            require_addable(stored.schema.prices, again.records[-1].unit, view)
            for record in again.records:
                known = _fit_in(view, list(record.digests.values()))
                _require_same(known, record, view)
                _require_stated(known, record, versions_hint(stored))
            _require_charged_here(stored.claim, view)
            _require_total(stored.claim, view, again.records[-1].id)
    except SklarError as error:
        return Check(part="ledger", ok=False, says=f"{error}")
    except (ArithmeticError, TypeError):  # a claim is read without validation, with any type for a number
        return Check(part="ledger", ok=False, says="The claim's total of the ledger is not valid.")
    total = view.totals()
    cap = view.header.cap
    capped = "no cap" if cap is None else f"its cap, epsilon = {cap.epsilon:g} at delta = {cap.delta:g}, holds"
    fits = "it is the only fit" if total.fits == 1 else f"all {total.fits} fits"
    says = (
        f"The chain of '{view.header.name}' is unbroken ({len(view.entries)} entries), {capped}. It contains the fit "
        f"with these releases and this price; {fits}: epsilon = {total.epsilon:.6g}, delta = {total.delta:.3g}."
    )
    return Check(part="ledger", ok=True, says=says)


def _require_cap(view: LedgerView) -> None:
    for place, fit in enumerate(view.fits):
        try:
            check_reservation(view.header, view.fits[:place], fit)
        except OverspendError:
            raise LedgerError(
                f"the ledger lets fit {fit.id} spend more than its cap or its own budget admits."
            ) from None


def _fit_in(view: LedgerView, digests: list[str]) -> FitRecord:
    """Return the fit that recorded these releases."""
    found = next((fit for fit in view.fits if digests and list(fit.digests.values()) == digests), None)
    if found is None:
        raise LedgerError(f"no fit in the ledger '{view.header.name}' recorded these releases: it is another ledger.")
    return found


def _require_same(fit: FitRecord, again: FitRecord, view: LedgerView) -> None:
    same = ("id", "method", "budget", "allowance", "unit")
    wrong = [name for name in same if getattr(fit, name) != getattr(again, name)]
    wrong += ["seed"] if again.seed and fit.seed != again.seed else []
    charged = [step.events for step in fit.steps if step.number in fit.digests]
    if charged != [step.events for step in again.steps if step.number in again.digests]:
        wrong.append("the charges of its steps")
    if wrong:
        raise LedgerError(f"the ledger '{view.header.name}' has another {', '.join(wrong)} for the fit than the model.")


def _require_stated(fit: FitRecord, again: FitRecord, hint: str) -> None:
    """Refuse a model whose settings, reading or declarations do not match their hash in the ledger."""
    messages = (
        f"the ledger recorded another schema or other options.{hint}",
        "the ledger recorded another way to read the rows.",
        "the ledger recorded another prior, share held back, person or criteria.",
    )
    for known, found, message in zip(fingerprint_parts(fit), fingerprint_parts(again), messages, strict=True):
        if known != found:
            raise LedgerError(message)


def _require_charged_here(claim: Claim, view: LedgerView) -> None:
    known = {fit.id for fit in view.fits}
    if any(price.charged_here and price.fit not in known for price in claim.prices):
        raise LedgerError("the claim says that the ledger has the price of a fit which it does not have.")


def _require_total(claim: Claim, view: LedgerView, fit: str) -> None:
    """Refuse a claim about another ledger, or with a number of fits that this one cannot have had."""
    total, header = claim.ledger, view.header
    place = [record.id for record in view.fits].index(fit)
    cap = None if header.cap is None or header.cap.epsilon is None else (header.cap.epsilon, header.cap.delta)
    if total is None or (total.name, total.cap) != (header.name, cap):
        raise LedgerError("the claim names another ledger than this one, or none.")
    if not place < total.fits <= len(view.fits):
        raise LedgerError(f"the claim counts {total.fits} fits, which the ledger cannot have had: lines are missing.")
    found = ledger_totals(header, view.fits[: total.fits])
    if exceeds_limit(found.epsilon, total.epsilon) or exceeds_limit(found.delta, total.delta):
        raise LedgerError("the claim states a smaller total than that of the fits in the ledger.")
    if found.in_advance and not total.in_advance:
        raise LedgerError("the claim omits that the total requires budgets that were set before the first result.")


def check_rows(stored: Stored, path: str | PathLike[str], seed: int, given: Mapping[str, Any] | None = None) -> Check:
    """Check that a file contains the rows that the model draws with this seed, as `sample` writes them."""
    try:
        table, same = _reader(path)
        rows, persons = table.num_rows, _persons_in(stored, table)
        forms: tuple[SampleForm, ...] = ("matched", "iid")
        amounts = [(rows, False), *([] if persons is None else [(persons, True)])]
        for (number, whole), form in itertools.product(amounts, forms):
            for safe in (False, True) if _is_text(path) else (False,):
                with tempfile.TemporaryDirectory() as folder:
                    drawn = Path(folder) / f"drawn{_get_suffix(path)}"
                    wanted = SampleRequest(rows=number, seed=seed, given=given, form=form, safe=safe, persons=whole)
                    sample_to_file(Model(stored), drawn, wanted)
                    if same(drawn):
                        return Check(part="rows", ok=True, says=f"All {rows:,} rows are those that seed {seed} draws.")
    except SklarError as error:
        return Check(part="rows", ok=False, says=str(error))
    return Check(part="rows", ok=False, says=f"These are not the {rows:,} rows that the model draws with seed {seed}.")


def _persons_in(stored: Stored, table: Any) -> int | None:
    """Return the number of persons of a table of linked rows; None if rows are independent."""
    person = stored.schema.person
    if person is None or not isinstance(stored.model, LinkedModel) or person.key not in table.column_names:
        return None
    return len(table[person.key].unique())


def _get_suffix(path: str | PathLike[str]) -> str:
    return Path(os.fspath(path)).suffix.lower()


def _is_text(path: str | PathLike[str]) -> bool:
    return _get_suffix(path) in (".csv", ".tsv")


def _reader(path: str | PathLike[str]) -> tuple[Any, Callable[[Path], bool]]:
    """Return a published table, and a function that compares it with another file."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    place, suffix = Path(path), _get_suffix(path)
    try:
        if _is_text(path):
            options = pyarrow.csv.ParseOptions(delimiter="\t" if suffix == ".tsv" else ",", newlines_in_values=True)
            table = pyarrow.csv.read_csv(place, parse_options=options)
            return table, lambda drawn: drawn.read_bytes() == place.read_bytes()
        if suffix == ".parquet":
            table = pyarrow.parquet.read_table(place)
            return table, lambda drawn: table.equals(pyarrow.parquet.read_table(drawn), check_metadata=True)
        if suffix in (".arrow", ".feather"):
            table = pyarrow.feather.read_table(place)
            return table, lambda drawn: table.equals(pyarrow.feather.read_table(drawn), check_metadata=True)
    except (OSError, pa.ArrowException):
        raise UsageError(f"cannot read the rows in {place}: it does not exist or is not a table") from None
    raise UsageError(f"rows are checked in .csv, .tsv, .parquet, .arrow or .feather files, not in {place.name}")
