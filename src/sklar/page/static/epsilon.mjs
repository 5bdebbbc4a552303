// Recomputes epsilon from the noise scales of a fit whose noise is Gaussian (see docs/page.md for the formula).

import { ndtr } from "./normal.mjs";

const TOLERANCE = 1e-6;

// log P(Z <= x), also far in the tail, by the continued fraction of Mills' ratio.
export function logNdtr(x) {
  if (x > -5) return Math.log(ndtr(x));
  let ratio = 0;
  for (let k = 60; k > 0; k--) ratio = k / (-x + ratio);
  return -0.5 * x * x - 0.5 * Math.log(2 * Math.PI) - Math.log(-x + ratio);
}

// The delta at epsilon of one normal number that a person moves by `shift` standard deviations.
export function gaussianDelta(shift, epsilon) {
  const upper = logNdtr(0.5 * shift - epsilon / shift), lower = epsilon + logNdtr(-0.5 * shift - epsilon / shift);
  return Math.exp(upper) * -Math.expm1(Math.min(lower - upper, 0));
}

export function gaussianEpsilon(shift, delta) {
  let low = 0, high = 1;
  while (gaussianDelta(shift, high) > delta) high *= 2;
  for (let i = 0; i < 200; i++) {
    const middle = (low + high) / 2;
    if (gaussianDelta(shift, middle) > delta) low = middle;
    else high = middle;
  }
  return high;
}

// The epsilon of rho-zCDP at delta, by the best Renyi order 1 + t.
export function zcdpEpsilon(rho, delta) {
  const value = (x) => {
    const t = Math.exp(x);
    return (1 + t) * rho - Math.log(delta) / t - Math.log1p(t) / t - Math.log1p(1 / t);
  };
  let low = -25, high = 25;
  for (let i = 0; i < 200; i++) {
    const third = (high - low) / 3;
    if (value(low + third) < value(high - third)) high -= third;
    else low += third;
  }
  return Math.max(value((low + high) / 2), 0);
}

const CONVERSIONS = { gaussian: (total, delta) => gaussianEpsilon(Math.sqrt(2 * total), delta), zcdp: zcdpEpsilon };

// The squared L2 distance by which one person moves a table; null of queries that this page does not know.
function squaredSensitivity(query, shape, unit) {
  const rows = unit.rows_per_person ** 2, both = unit.neighbours === "replace" ? 2 : 1;
  if (query.class === "counts") return rows * both;
  if (query.class !== "interaction") return null;
  const left = shape.map((size) => 1 - 1 / size), one = left.reduce((product, x) => product * x, 1);
  return rows * (both === 1 ? one : (2 * one) / Math.min(...left));
}

// Half the squared shift of one step: from its noise scales if its queries are known, else as recorded.
function stepCost(step, queries, unit, dither) {
  let cost = 0;
  for (const [i, release] of step.releases.entries()) {
    if (release.type !== "measurement" || release.noise.kind !== "gaussian") return null;
    const squared = squaredSensitivity(queries[i], release.shape, unit);
    if (squared === null) return null;
    cost += (0.5 * squared) / (release.noise.scale ** 2 - (dither * release.resolution) ** 2);
  }
  return cost;
}

// Returns { ok, says } about the price of a fit.
export function recomputePrice(fit, claim, steps, queries) {
  const known = Object.keys(fit.unit).every((name) => ["neighbours", "rows_per_person"].includes(name));
  if (!(claim.accounting in CONVERSIONS) || !known || fit.kinds || fit.paid) {
    return { ok: null, says: "The price of this fit is not recomputed here: run `sklar verify`." };
  }
  let total = 0, recorded = 0;
  for (const [i, step] of steps.entries()) {
    const cost = stepCost(step, queries[i], fit.unit, fit.allowance.dither), stated = fit.steps[i].cost;
    if (cost === null) recorded += 1;
    else if (cost > stated * (1 + TOLERANCE)) return { ok: false, says: `The noise of the step '${step.label}' costs more than its record states.` };
    total += Math.max(cost ?? 0, stated);
  }
  const [epsilon, delta] = claim.own, found = CONVERSIONS[claim.accounting](total, delta);
  const how = recorded ? ` The cost of ${recorded} of ${steps.length} steps, which are not counts, is taken as recorded.` : "";
  if (found > epsilon * (1 + TOLERANCE)) return { ok: false, says: `The noise scales give epsilon = ${found.toPrecision(6)}; the claim states ${epsilon}.` };
  return { ok: true, says: `The noise scales give epsilon = ${found.toPrecision(6)} at delta = ${delta}; the claim states ${epsilon}.${how}` };
}
