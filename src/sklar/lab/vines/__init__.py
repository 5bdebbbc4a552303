"""The fast vine engine: regular vine copulas fitted to rows, many times as fast as pyvinecopulib's own fit.

Its interface is `fit_rvine`, with the names in FAMILY_SETS, CRITERIA, SELECTIONS and STRUCTURES. It takes
pseudo-observations and returns a `sklar.model.rvine.vine.RegularVine`, which samples, truncates and converts to a
pyvinecopulib vine. A pair copula is screened against all members of all families on a grid of cells at once, then
optimized from the best few. Columns, schemas and methods are unknown here; densities and h-functions are
pyvinecopulib's, whose own fit (`engine="pyvinecopulib"`) is the tested reference. docs/vine-engine.md has formulas and
measurements.

Start with `fit`; `trees` grows the vine, `pairs` fits a pair copula, `members` has the grids of the families.
"""

from sklar.lab.vines.fit import CRITERIA, FAMILY_SETS, SELECTIONS, STRUCTURES, fit_rvine

__all__ = ["CRITERIA", "FAMILY_SETS", "SELECTIONS", "STRUCTURES", "fit_rvine"]
