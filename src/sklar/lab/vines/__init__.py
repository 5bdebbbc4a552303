"""The fast vine engine: regular vine copulas fitted to rows, many times as fast as pyvinecopulib's own fit.

Its face is `fit_rvine`, with the names of FAMILY_SETS, CRITERIA, SELECTIONS and STRUCTURES: pseudo-observations go in,
a `sklar.model.rvine.vine.RegularVine` comes out, which samples, truncates and turns into a pyvinecopulib vine. A pair
copula is screened against all members of all families on a grid of cells at once, then searched from the best few.
The room knows nothing about columns, schemas or methods; densities and h-functions are pyvinecopulib's, whose own fit
(`engine="pyvinecopulib"`) is the reference it is tested against. docs/vine-engine.md has formulas and measurements.

Start with `fit`; `trees` grows the vine, `pairs` fits a pair copula, `members` are the grids, `nelder_mead` the search.
"""

from sklar.lab.vines.fit import CRITERIA, FAMILY_SETS, SELECTIONS, STRUCTURES, fit_rvine

__all__ = ["CRITERIA", "FAMILY_SETS", "SELECTIONS", "STRUCTURES", "fit_rvine"]
